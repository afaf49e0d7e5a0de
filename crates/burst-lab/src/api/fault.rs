//! What can go wrong with a Kubernetes API, on demand.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

/// One way in which an answer fails.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Fault {
    /// 401, a `Status`.
    Unauthorized,
    /// 403, a `Status` in RBAC's words.
    Forbidden,
    /// 404, a `Status`: the server does not know the resource.
    NotFound,
    /// 410, a `Status` of reason Expired.
    Gone,
    /// 429 in plain text, as priority and fairness answers.
    TooManyRequests {
        /// Seconds, in `Retry-After`.
        retry_after: u32,
    },
    /// 500, a `Status`.
    InternalError,
    /// 503, a `Status`.
    Unavailable,
    /// No byte of an answer, ever; the connection stays open.
    Hang,
    /// The head and half of the body, then nothing; the connection stays open.
    Stall,
    /// The connection is reset before a byte of the answer.
    Reset,
    /// The connection is reset after the head and half of the body.
    ResetMidway,
    /// A well-framed 200 whose JSON ends in the middle.
    Truncate,
    /// The head at once and the body drop by drop, whole only after so many seconds.
    Trickle {
        /// For the whole of it.
        seconds: u32,
    },
    /// A 200 of JSON with a byte in it that is not UTF-8.
    NotText,
    /// A 200 whose body is HTML, as a captive portal or a wrong port gives.
    NotJson,
    /// A 200 of valid JSON that is not a list of this kind.
    OtherKind,
    /// One object of the list has a text where its `spec` should be; the others are good.
    MalformedObject {
        /// `namespace/name`; without it the first of each page.
        #[serde(default)]
        object: Option<String>,
    },
    /// These objects stand in a list too, or come by the watch, just as they are written here.
    Also {
        /// JSON, or what is none.
        objects: Vec<String>,
    },
    /// Each page of a list leads to one more, by a token that no page before it had, and the objects come again and again.
    Endless,
    /// The Services of a namespace select pods by so many bytes of labels, in lists.
    LargeSelectors {
        /// Whose Services.
        namespace: String,
        /// Bytes per object.
        bytes: usize,
    },
    /// Every object carries an annotation of this many bytes, so that smaller pages make smaller bodies.
    Padding {
        /// Bytes per object.
        bytes: usize,
    },
}

/// A fault, what it befalls, and how often; as `PUT /lab/fault` takes it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Injection {
    /// Such as `horizontalpodautoscalers.autoscaling`; `*` is every resource.
    pub resource: String,
    /// What happens.
    pub fault: Fault,
    /// For so many requests; none is until cleared.
    #[serde(default)]
    pub times: Option<u32>,
}

/// A handle on the faults in force; clones share them. Those of one resource take their turns in the order in which
/// they were injected.
#[derive(Clone, Default)]
pub struct Faults(Arc<Mutex<VecDeque<Injection>>>);

impl Faults {
    /// Fails every request for the resource until cleared.
    pub fn inject(&self, resource: &str, fault: Fault) {
        self.add(Injection {
            resource: resource.to_owned(),
            fault,
            times: None,
        });
    }

    /// Fails the next `times` requests for the resource.
    pub fn inject_times(&self, resource: &str, fault: Fault, times: u32) {
        self.add(Injection {
            resource: resource.to_owned(),
            fault,
            times: Some(times),
        });
    }

    /// Puts one more in the queue.
    pub fn add(&self, injection: Injection) {
        crate::locked(&self.0).push_back(injection);
    }

    /// What is still in force, in its order.
    pub fn pending(&self) -> Vec<Injection> {
        crate::locked(&self.0).iter().cloned().collect()
    }

    /// Everything works again.
    pub fn clear(&self) {
        crate::locked(&self.0).clear();
    }

    /// This resource works again, unless a fault of `*` is in force.
    pub fn clear_resource(&self, resource: &str) {
        crate::locked(&self.0).retain(|injection| injection.resource != resource);
    }

    /// The fault that meets the next request for the resource, used up by one.
    pub(super) fn take(&self, resource: &str) -> Option<Fault> {
        let mut queue = crate::locked(&self.0);
        queue.retain(|injection| injection.times != Some(0));
        let next = queue
            .iter_mut()
            .find(|injection| injection.resource == resource || injection.resource == "*")?;
        next.times = next.times.map(|times| times - 1);
        let fault = next.fault.clone();
        queue.retain(|injection| injection.times != Some(0));
        Some(fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_a_resource_take_their_turns() {
        let faults = Faults::default();
        faults.inject_times("services", Fault::Hang, 2);
        faults.inject_times("*", Fault::Gone, 1);
        assert_eq!(faults.take("deployments.apps"), Some(Fault::Gone));
        assert_eq!(
            [
                faults.take("services"),
                faults.take("services"),
                faults.take("services")
            ],
            [Some(Fault::Hang), Some(Fault::Hang), None]
        );
        assert!(faults.pending().is_empty());
    }

    #[test]
    fn a_fault_without_a_count_stays_until_cleared() {
        let faults = Faults::default();
        faults.inject("services", Fault::Unavailable);
        assert!((0..5).all(|_| faults.take("services").is_some()));
        faults.clear_resource("services");
        assert_eq!(faults.take("services"), None);
    }

    #[test]
    fn an_injection_is_written_as_the_control_path_takes_it() {
        let text = r#"{"resource":"services","fault":{"tooManyRequests":{"retryAfter":3}},"times":2}"#;
        let injection: Injection = serde_json::from_str(text).unwrap();
        assert_eq!(injection.fault, Fault::TooManyRequests { retry_after: 3 });
        assert_eq!(serde_json::to_string(&injection).unwrap(), text);
        assert!(serde_json::from_str::<Injection>(r#"{"resource":"x","fault":"explode"}"#).is_err());
    }
}
