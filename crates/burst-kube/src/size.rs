//! The memory that an object takes in the store, and its limit.
//!
//! The number is the same on every machine, so that all proxies of a cluster exclude the same objects. It is an upper
//! estimate: allocations, and the join's index of each label, count by round numbers for wasm32.

use crate::object::{LabelMap, Object};

/// The limit of one object: some 700 labels.
pub const MAX_OBJECT_BYTES: usize = 128 << 10;

/// The limit of a policy, whose text is stored several times: a `spec` of 256 KiB.
pub const MAX_POLICY_BYTES: usize = 1 << 20;

/// The bytes of an object without its strings.
const OBJECT_OVERHEAD: usize = 512;

/// The bytes of a label, of a workload or of a selector, without its strings.
const LABEL_OVERHEAD: usize = 128;

/// How often a string is stored that is served, or that every VM reads.
const TEXT_COPIES: usize = 4;

impl Object {
    /// The bytes that the object takes.
    #[must_use]
    pub fn size(&self) -> usize {
        let text = match self {
            Self::Hpa(hpa) => TEXT_COPIES * hpa.own_labels.len() + hpa.target.group.len() + hpa.target.kind.len(),
            Self::Service(service) => TEXT_COPIES * service.own_labels.len() + labels_size(&service.selector),
            Self::Workload(workload) => TEXT_COPIES * workload.own_labels.len() + labels_size(&workload.labels),
            Self::Policy(policy) => TEXT_COPIES * policy.spec.len(),
        };
        OBJECT_OVERHEAD + text
    }

    /// The limit of an object of its kind.
    #[must_use]
    pub fn size_limit(&self) -> usize {
        match self {
            Self::Policy(_) => MAX_POLICY_BYTES,
            Self::Hpa(_) | Self::Service(_) | Self::Workload(_) => MAX_OBJECT_BYTES,
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
    use crate::resource::{ObjectKind, Resource, Source};

    /// A Service that selects by so many labels.
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
    fn an_object_ten_times_too_large_is_left_out_by_its_name_and_one_just_small_enough_is_read() {
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
    fn a_policy_of_a_thousand_rules_is_small_enough() {
        let rule = r#"{"metric":"burst_headroom","selector":{"matchLabels":{"service":"web","deployment":"web-frontend-v1"}},"subjects":["x"],"deny":true}"#;
        let policy = |rules: usize| {
            let rules = vec![rule; rules].join(",");
            let json = format!(r#"{{"metadata":{{"name":"p","namespace":"shop"}},"spec":{{"rules":[{rules}]}}}}"#);
            Object::parse(ObjectKind::Policies, &json, false).unwrap()
        };
        let is_too_large = |object: &Object| object.size() > object.size_limit();
        assert!(!is_too_large(&policy(1_000)));
        assert!(is_too_large(&policy(10_000)));
    }
}
