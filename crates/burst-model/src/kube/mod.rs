//! What is asked of the Kubernetes API and what comes back: requests as values, answers as objects, as changes of them,
//! or as a named failure. Nothing is sent here.
//! <https://kubernetes.io/docs/reference/using-api/api-concepts/>

pub mod answer;
pub mod object;
pub mod outcome;
pub mod page;
pub mod resource;
pub mod watch;

pub use answer::{Answer, Failure, Response};
pub use object::{Hpa, Object, PolicySpec, Service, TargetRef, Workload};
pub use outcome::Outcome;
pub use page::{Page, Progress};
pub use resource::{Reads, Resource, Source, Verb};
pub use watch::{Change, Window};
