//! `burstctl hpa render`: canonical `autoscaling/v2` YAML, from HPAs and from the short form.

mod build;
mod duration;
mod strip;
mod targets;
mod words;

pub(crate) use build::{hpa as build, regretted};
use burst_hpa::{Node, Options, Severity, decode, defaulted, migrate};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use strip::Scaled;
pub use strip::Stripped;
pub(crate) use targets::Targets;
pub(crate) use words::is_short;

use crate::input::Input;
use crate::lint::{self, Finding};
use crate::objects::Object;
use crate::yaml::to_yaml;

/// The JSON schema of the short form.
pub const SCHEMA: &str = include_str!("../../l2.schema.json");

/// What came of an input.
#[derive(Debug, Default)]
pub struct Rendered {
    /// A YAML document for each object that has one.
    pub documents: Vec<String>,
    /// Why the others have none.
    pub findings: Vec<Finding>,
    /// Fixed replicas that are gone.
    pub stripped: Vec<Stripped>,
}

/// Writes every object of the input: HPAs and short forms as `autoscaling/v2`, others as they are, but for the replicas
/// of what is scaled. `defaults` shows what Kubernetes will fill in.
#[must_use]
pub fn render(input: &Input, options: Options, defaults: bool) -> Rendered {
    let mut rendered = Rendered::default();
    let refused: Vec<Finding> = lint::check(input, options)
        .into_iter()
        .filter(|finding| finding.severity == Severity::Error)
        .collect();
    let targets = Targets::of(input);
    let mut others = Vec::new();
    let mut hpas = Vec::new();
    for object in &input.objects {
        let hpa = if is_short(object) {
            // Why there is none is among what was refused.
            build(object, &targets, options).ok()
        } else if object.is_hpa() {
            read(object, &refused)
        } else {
            others.push((rendered.documents.len(), object));
            rendered.documents.push(String::new());
            continue;
        };
        if let Some(hpa) = hpa {
            let hpa = if defaults { defaulted(hpa, options) } else { hpa };
            rendered.documents.push(written(&hpa));
            hpas.push(hpa);
        }
    }
    let scaled = Scaled::by(&hpas);
    for (index, object) in others {
        let (node, stripped) = scaled.without_replicas(object);
        rendered.stripped.extend(stripped);
        if let Some(document) = rendered.documents.get_mut(index) {
            *document = to_yaml(&node);
        }
    }
    rendered.findings = refused;
    rendered
}

/// An HPA that nothing was said against, whatever its version.
fn read(object: &Object, refused: &[Finding]) -> Option<HorizontalPodAutoscaler> {
    let refused = refused.iter().any(|finding| {
        finding.mistake.rule() == "apiserver"
            && (finding.source, finding.document) == (object.source, object.document)
            && finding.object == object.title()
    });
    let node = migrate(&object.tree.to_node()).ok()?.document;
    let mut hpa = decode(&node).ok().filter(|_| !refused)?;
    // The apiserver would discard it.
    hpa.status = None;
    Some(hpa)
}

fn written(hpa: &HorizontalPodAutoscaler) -> String {
    let json = serde_json::to_string(hpa).unwrap_or_default();
    Node::from_json(&json).map(|node| to_yaml(&node)).unwrap_or_default()
}
