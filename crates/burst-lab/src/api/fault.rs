//! Faults that can be injected.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use super::stream_fault::StreamFault;

/// The verb of a watch.
const WATCH: &str = "watch";

/// A way in which a response fails.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Fault {
    /// 401, a `Status`.
    Unauthorized,
    /// 403, a `Status` with the message of RBAC.
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
    /// No response; the connection stays open.
    Hang,
    /// The head and half of the body, then nothing; the connection stays open.
    Stall,
    /// The connection is reset before the response.
    Reset,
    /// The connection is reset after the head and half of the body.
    ResetMidway,
    /// A 200 whose JSON is cut in the middle.
    Truncate,
    /// The head at once, the body in small parts over this many seconds.
    Trickle {
        /// Until the body is complete.
        seconds: u32,
    },
    /// A 200 of JSON with one byte that is not UTF-8.
    NotText,
    /// A 200 whose body is HTML, as from a captive portal or a wrong port.
    NotJson,
    /// A 200 of valid JSON that is not a list of this kind.
    OtherKind,
    /// One object of the list has a string as its `spec`; the others are valid.
    MalformedObject {
        /// `namespace/name`; the default is the first object of each page.
        #[serde(default)]
        object: Option<String>,
    },
    /// Adds these objects, exactly as written, to lists and to watches.
    Also {
        /// JSON, or invalid JSON.
        objects: Vec<String>,
    },
    /// Every page has a new continue token, and the objects are repeated forever.
    Endless,
    /// The Services of a namespace have selectors of this many bytes, in lists.
    LargeSelectors {
        /// The namespace of the Services.
        namespace: String,
        /// Bytes per object.
        bytes: usize,
    },
    /// Every object has an annotation of this many bytes, so that smaller pages have smaller bodies.
    Padding {
        /// Bytes per object.
        bytes: usize,
    },
    /// A watch that opens and then fails. It applies to watches only; other requests leave it for the next watch.
    Stream(StreamFault),
}

/// A fault with its resource and count, as `PUT /lab/fault` sends it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Injection {
    /// Such as `horizontalpodautoscalers.autoscaling`; `*` matches every resource.
    pub resource: String,
    /// The fault.
    pub fault: Fault,
    /// Only requests with this verb of RBAC fail, such as `watch`; `None` is every request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verb: Option<String>,
    /// The number of requests; `None` is until it is cleared.
    #[serde(default)]
    pub times: Option<u32>,
}

impl Injection {
    fn applies(&self, resource: &str, verb: &str) -> bool {
        let wanted = match self.fault {
            Fault::Stream(_) => Some(WATCH),
            _ => self.verb.as_deref(),
        };
        (self.resource == resource || self.resource == "*") && wanted.is_none_or(|wanted| wanted == verb)
    }
}

/// The faults in force; clones share them. Faults of one resource apply in the order in which they were injected.
#[derive(Clone, Default)]
pub struct Faults(Arc<Mutex<VecDeque<Injection>>>);

impl Faults {
    /// Fails every request for the resource until the fault is cleared.
    pub fn inject(&self, resource: &str, fault: Fault) {
        self.add(Injection {
            resource: resource.to_owned(),
            fault,
            verb: None,
            times: None,
        });
    }

    /// Fails the next `times` requests for the resource.
    pub fn inject_times(&self, resource: &str, fault: Fault, times: u32) {
        self.add(Injection {
            resource: resource.to_owned(),
            fault,
            verb: None,
            times: Some(times),
        });
    }

    /// Fails every watch of the resource until the fault is cleared; lists work.
    pub fn inject_watches(&self, resource: &str, fault: Fault) {
        self.add(Injection {
            resource: resource.to_owned(),
            fault,
            verb: Some(WATCH.to_owned()),
            times: None,
        });
    }

    /// Adds a fault to the queue.
    pub fn add(&self, injection: Injection) {
        crate::locked(&self.0).push_back(injection);
    }

    /// Returns the faults in force, in order.
    pub fn pending(&self) -> Vec<Injection> {
        crate::locked(&self.0).iter().cloned().collect()
    }

    /// Clears all faults.
    pub fn clear(&self) {
        crate::locked(&self.0).clear();
    }

    /// Clears the faults of this resource; those of `*` stay.
    pub fn clear_resource(&self, resource: &str) {
        crate::locked(&self.0).retain(|injection| injection.resource != resource);
    }

    /// Returns the fault for the next request of the resource and decreases its count.
    pub(super) fn take(&self, resource: &str, verb: &str) -> Option<Fault> {
        let mut queue = crate::locked(&self.0);
        queue.retain(|injection| injection.times != Some(0));
        let next = queue.iter_mut().find(|injection| injection.applies(resource, verb))?;
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
        assert_eq!(faults.take("deployments.apps", "list"), Some(Fault::Gone));
        assert_eq!(
            [
                faults.take("services", "list"),
                faults.take("services", "list"),
                faults.take("services", "list")
            ],
            [Some(Fault::Hang), Some(Fault::Hang), None]
        );
        assert!(faults.pending().is_empty());
    }

    #[test]
    fn a_fault_without_a_count_stays_until_cleared() {
        let faults = Faults::default();
        faults.inject("services", Fault::Unavailable);
        assert!((0..5).all(|_| faults.take("services", "list").is_some()));
        faults.clear_resource("services");
        assert_eq!(faults.take("services", "list"), None);
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
