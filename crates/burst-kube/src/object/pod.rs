//! The objects that tell which pod has an address: EndpointSlices, and the metadata of Pods.
//!
//! Nothing but the metadata of a Pod is requested, see [`Source::accept`](crate::Source::accept).

use crate::name::{Name, ObjectName};
use crate::object::{InvalidObject, RawMetadata, name};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::net::IpAddr;

/// The metadata of a Pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodObject {
    /// Its namespace and name.
    pub name: ObjectName,
    /// `metadata.labels`, as [`LabelText`](crate::label_text::LabelText).
    pub own_labels: Box<str>,
}

/// An EndpointSlice: addresses, and the pod behind each.
/// <https://kubernetes.io/docs/reference/kubernetes-api/service-resources/endpoint-slice-v1/>
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointSlice {
    /// Its namespace and name.
    pub name: ObjectName,
    /// The addresses that belong to a pod of the slice's namespace.
    pub endpoints: Box<[PodEndpoint]>,
    /// How many endpoints name a pod of another namespace. They are ignored: a user of one namespace must not decide to
    /// which pod of another one its requests count.
    pub foreign_endpoints: u32,
}

/// An address of a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodEndpoint {
    /// The address, IPv4 or IPv6.
    pub address: IpAddr,
    /// The pod, in the namespace of the slice.
    pub pod: Name,
    /// Whether the endpoint is ready. An endpoint that does not say so is ready.
    pub is_ready: bool,
    /// Since when the slice is known to have this address for this pod, in milliseconds since the Unix epoch. The API does
    /// not say it: the reader of the slice sets it, and it is 0 before.
    pub since: u64,
}

/// An item with `metadata` only, or of which only that is read.
#[derive(Deserialize)]
pub(crate) struct RawPod<'a> {
    #[serde(borrow)]
    metadata: RawMetadata<'a>,
}

#[derive(Deserialize)]
pub(crate) struct RawEndpointSlice<'a> {
    #[serde(borrow)]
    metadata: RawMetadata<'a>,
    #[serde(borrow, default)]
    endpoints: Option<Vec<RawEndpoint<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawEndpoint<'a> {
    #[serde(borrow, default)]
    addresses: Option<Vec<Cow<'a, str>>>,
    #[serde(default)]
    conditions: Option<RawConditions>,
    #[serde(borrow, default)]
    target_ref: Option<TargetRef<'a>>,
}

#[derive(Deserialize)]
struct RawConditions {
    #[serde(default)]
    ready: Option<bool>,
}

#[derive(Deserialize)]
struct TargetRef<'a> {
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    namespace: Cow<'a, str>,
}

impl EndpointSlice {
    /// Notes since when the slice has each address for its pod: as in the version of the slice `before`, or since `now`, in
    /// milliseconds since the Unix epoch.
    pub fn set_since(&mut self, before: Option<&Self>, now: u64) {
        let before = before.map(|slice| &*slice.endpoints).unwrap_or_default();
        for endpoint in &mut self.endpoints {
            let same = |old: &&PodEndpoint| (old.address, &old.pod) == (endpoint.address, &endpoint.pod);
            endpoint.since = before.iter().find(same).map_or(now, |old| old.since);
        }
    }
}

impl RawPod<'_> {
    pub(crate) fn pod(self) -> Result<PodObject, InvalidObject> {
        Ok(PodObject {
            name: self.metadata.name()?,
            own_labels: self.metadata.labels(true)?,
        })
    }
}

impl RawEndpointSlice<'_> {
    pub(crate) fn endpoint_slice(self) -> Result<EndpointSlice, InvalidObject> {
        let slice = self.metadata.name()?;
        let (mut endpoints, mut foreign_endpoints) = (Vec::new(), 0u32);
        for raw in self.endpoints.unwrap_or_default() {
            let Some(target) = raw.target_ref.filter(|target| target.kind == "Pod") else {
                continue;
            };
            if !target.namespace.is_empty() && target.namespace != slice.namespace.as_str() {
                foreign_endpoints = foreign_endpoints.saturating_add(1);
                continue;
            }
            let pod = name("endpoints[].targetRef.name", &target.name)?;
            let is_ready = raw.conditions.and_then(|conditions| conditions.ready).unwrap_or(true);
            // A slice may have host names in place of addresses.
            let addresses = raw.addresses.unwrap_or_default();
            let addresses = addresses.iter().filter_map(|address| address.parse::<IpAddr>().ok());
            endpoints.extend(addresses.map(|address| PodEndpoint {
                address: address.to_canonical(),
                pod: pod.clone(),
                is_ready,
                since: 0,
            }));
        }
        Ok(EndpointSlice {
            name: slice,
            endpoints: endpoints.into(),
            foreign_endpoints,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Object;
    use crate::resource::{KeptFields, ObjectKind};

    fn slice(endpoints: &str) -> Result<EndpointSlice, InvalidObject> {
        let json = format!(
            r#"{{"metadata":{{"name":"web-x","namespace":"shop"}},"addressType":"IPv4","endpoints":{endpoints}}}"#
        );
        match Object::parse(ObjectKind::EndpointSlices, &json, KeptFields::default())? {
            Object::EndpointSlice(slice) => Ok(slice),
            other => panic!("{other:?}"),
        }
    }

    /// Address, pod and readiness of each endpoint.
    fn endpoints(json: &str) -> Vec<(String, String, bool)> {
        let slice = slice(json).unwrap();
        let endpoints = slice.endpoints.iter();
        endpoints
            .map(|endpoint| {
                let (address, pod) = (endpoint.address.to_string(), endpoint.pod.to_string());
                (address, pod, endpoint.is_ready)
            })
            .collect()
    }

    #[test]
    fn an_endpoint_slice_tells_which_pod_has_an_address() {
        let pod = |name: &str| format!(r#""targetRef":{{"kind":"Pod","namespace":"shop","name":"{name}","uid":"u"}}"#);
        let json = format!(
            r#"[{{"addresses":["10.0.0.1"],"conditions":{{"ready":true}},{}}},
                {{"addresses":["10.0.0.2"],"conditions":{{"ready":false,"serving":true}},{}}},
                {{"addresses":["fd00:0:0::3","::ffff:10.0.0.3"],"conditions":{{}},{}}}]"#,
            pod("a"),
            pod("b"),
            pod("c")
        );
        let expected = [
            ("10.0.0.1", "a", true),
            ("10.0.0.2", "b", false),
            ("fd00::3", "c", true),
            ("10.0.0.3", "c", true),
        ];
        let expected = expected.map(|(address, pod, is_ready)| (address.to_owned(), pod.to_owned(), is_ready));
        assert_eq!(endpoints(&json), expected);
        assert_eq!(endpoints("null"), []);
    }

    #[test]
    fn an_endpoint_keeps_its_time_while_the_address_has_the_same_pod() {
        let of = |pods: [&str; 2]| {
            let [a, b] = pods.map(|pod| format!(r#""targetRef":{{"kind":"Pod","name":"{pod}"}}"#));
            slice(&format!(
                r#"[{{"addresses":["10.0.0.1"],{a}}},{{"addresses":["10.0.0.2"],{b}}}]"#
            ))
            .unwrap()
        };
        let since = |slice: &EndpointSlice| [0, 1].map(|index| slice.endpoints[index].since);
        let mut first = of(["a", "b"]);
        assert_eq!(since(&first), [0, 0]);
        first.set_since(None, 5);
        assert_eq!(since(&first), [5, 5]);
        let mut next = of(["a", "c"]);
        next.set_since(Some(&first), 9);
        assert_eq!(since(&next), [5, 9]);
    }

    #[test]
    fn endpoints_that_are_not_pods_of_the_namespace_are_ignored() {
        let slice = slice(
            r#"[{"addresses":["10.0.0.1"]},
                {"addresses":["10.0.0.2"],"targetRef":{"kind":"Node","name":"n"}},
                {"addresses":["web.example.org"],"targetRef":{"kind":"Pod","name":"a"}},
                {"addresses":null,"targetRef":{"kind":"Pod","name":"a"}},
                {"addresses":["10.0.0.3"],"targetRef":{"kind":"Pod","namespace":"other","name":"a"}}]"#,
        )
        .unwrap();
        assert_eq!((slice.endpoints.len(), slice.foreign_endpoints), (0, 1));
    }

    #[test]
    fn a_pod_without_a_valid_name_makes_the_slice_invalid() {
        let error = slice(r#"[{"addresses":["10.0.0.1"],"targetRef":{"kind":"Pod","name":"A b"}}]"#).unwrap_err();
        assert!(error.to_string().starts_with("endpoints[].targetRef.name: "), "{error}");
    }

    #[test]
    fn of_a_pod_only_the_metadata_is_read() {
        let json = r#"{"kind":"PartialObjectMetadata","metadata":{"name":"web-0","namespace":"shop",
            "labels":{"app":"web","a":"b"}},"spec":"never sent"}"#;
        let pod = Object::parse(ObjectKind::Pods, json, KeptFields::default()).unwrap();
        let expected = PodObject {
            name: ObjectName::new("shop", "web-0").unwrap(),
            own_labels: "a=b,app=web".into(),
        };
        assert_eq!(pod, Object::Pod(expected));
    }
}
