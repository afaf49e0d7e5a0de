//! The memory that an object needs in the store, and its limit.
//!
//! The estimate is the same on every machine, so all proxies of a cluster exclude the same objects. It is an upper
//! bound: allocations, and the entry of each label in the join's index, count as round numbers for wasm32.

use crate::object::{LabelMap, Object};

/// The limit for an object: about 700 labels.
pub const MAX_OBJECT_BYTES: usize = 128 << 10;

/// The limit for a policy: a `spec` of 256 KiB, which is stored several times.
pub const MAX_POLICY_BYTES: usize = 1 << 20;

/// The limit for the JSON of an object, and for an event of a watch. A larger one is excluded without keeping its bytes.
/// kube-apiserver accepts no request of more than 3 MiB, and etcd stores at most 1.5 MiB of an object by default.
pub const MAX_ITEM_BYTES: usize = 4 << 20;

/// The size of an object without its strings, in bytes.
const OBJECT_OVERHEAD: usize = 512;

/// The size of a label of a workload or selector without its strings, in bytes.
const LABEL_OVERHEAD: usize = 128;

/// The size of an endpoint without the name of its pod, in bytes.
const ENDPOINT_OVERHEAD: usize = 256;

/// The number of copies of a string that is served or that every VM reads.
const TEXT_COPIES: usize = 4;

impl Object {
    /// Returns the memory that the object needs, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        let text = match self {
            Self::Hpa(hpa) => TEXT_COPIES * hpa.own_labels.len() + hpa.target.group.len() + hpa.target.kind.len(),
            Self::Service(service) => TEXT_COPIES * service.own_labels.len() + labels_size(&service.selector),
            Self::Workload(workload) => TEXT_COPIES * workload.own_labels.len() + labels_size(&workload.labels),
            Self::Policy(policy) => TEXT_COPIES * policy.spec.len(),
            Self::EndpointSlice(slice) => {
                let names = slice.endpoints.iter().map(|endpoint| endpoint.pod.as_str().len());
                names.map(|length| ENDPOINT_OVERHEAD + length).sum()
            }
            Self::Pod(pod) => TEXT_COPIES * pod.own_labels.len(),
        };
        OBJECT_OVERHEAD + text
    }

    /// Returns the limit for an object of this kind, in bytes.
    #[must_use]
    pub fn size_limit(&self) -> usize {
        match self {
            // A slice has 1,000 endpoints at most.
            Self::Policy(_) | Self::EndpointSlice(_) => MAX_POLICY_BYTES,
            Self::Hpa(_) | Self::Service(_) | Self::Workload(_) | Self::Pod(_) => MAX_OBJECT_BYTES,
        }
    }
}

fn labels_size(labels: &LabelMap) -> usize {
    labels
        .iter()
        .map(|(key, value)| LABEL_OVERHEAD + key.len() + value.len())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page;
    use crate::resource::{KeptFields, ObjectKind, Resource, Source};

    /// A Service whose selector has a number of labels.
    fn service(labels: usize) -> String {
        let selector: Vec<_> = (0..labels)
            .map(|n| format!(r#""key-{n:05}":"{}""#, "v".repeat(50)))
            .collect();
        format!(
            r#"{{"metadata":{{"name":"s-{labels}","namespace":"shop"}},"spec":{{"selector":{{{}}}}}}}"#,
            selector.join(",")
        )
    }

    #[test]
    fn an_object_over_the_limit_is_excluded_by_name_and_one_just_below_it_is_read() {
        let labels = MAX_OBJECT_BYTES / (LABEL_OVERHEAD + 59);
        let items = [
            service(labels - 3),
            service(labels + 1),
            service(10 * labels),
            service(1),
        ]
        .join(",");
        let body = format!(r#"{{"kind":"ServiceList","metadata":{{"resourceVersion":"7"}},"items":[{items}]}}"#);
        let source = Source::all_namespaces(ObjectKind::Services, Resource::services());
        let page = page::parse(&source, body.as_bytes(), &mut ()).unwrap();
        let names = |of: Vec<String>| of.join(" ");
        assert_eq!(
            names(page.objects.iter().map(|object| object.name().to_string()).collect()),
            format!("shop/s-{} shop/s-1", labels - 3)
        );
        assert_eq!(
            names(page.invalid.iter().map(|bad| bad.name.clone()).collect()),
            format!("shop/s-{} shop/s-{}", labels + 1, 10 * labels)
        );
        assert!(
            page.invalid[0]
                .reason
                .ends_with("bytes of memory, more than the limit of 131072"),
            "{:?}",
            page.invalid[0]
        );
    }

    #[test]
    fn a_policy_of_a_thousand_rules_is_within_the_limit() {
        let rule = r#"{"metric":"burst_headroom","selector":{"matchLabels":{"service":"web","deployment":"web-frontend-v1"}},"subjects":["x"],"deny":true}"#;
        let policy = |rules: usize| {
            let rules = vec![rule; rules].join(",");
            let json = format!(r#"{{"metadata":{{"name":"p","namespace":"shop"}},"spec":{{"rules":[{rules}]}}}}"#);
            Object::parse(ObjectKind::Policies, &json, KeptFields::default()).unwrap()
        };
        let is_too_large = |object: &Object| object.size() > object.size_limit();
        assert!(!is_too_large(&policy(1_000)));
        assert!(is_too_large(&policy(10_000)));
    }
}
