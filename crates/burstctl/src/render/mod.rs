//! `burstctl hpa render`: canonical `autoscaling/v2` YAML, from HPAs and from the short form.

mod strip_replicas;

use burst_hpa::migrate::Note;
use burst_hpa::{Node, Options, Severity, decode, defaulted, migrate};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use strip_replicas::ScaledWorkloads;
pub use strip_replicas::StrippedReplicas;

use crate::finding::Finding;
use crate::input::Input;
use crate::lint;
use crate::objects::Object;
use crate::short_form::{ScaleTargets, build, is_short};
use crate::yaml::to_yaml;

pub use crate::short_form::SCHEMA;

/// What came of an input.
#[derive(Debug, Default)]
pub struct Rendered {
    /// A YAML document for each object that has one.
    pub documents: Vec<String>,
    /// Why the others have none.
    pub findings: Vec<Finding>,
    /// Fixed replicas that are gone.
    pub stripped: Vec<StrippedReplicas>,
    /// What an older version said and the new one does not, but for a status, which is never written.
    pub lost: Vec<(Object, Note)>,
}

/// Writes every object of the input: HPAs and short forms as `autoscaling/v2`, others as they are, but for the replicas
/// of what is scaled. `defaults` shows what Kubernetes will fill in.
#[must_use]
pub fn render(input: &Input, options: Options, defaults: bool) -> Rendered {
    let mut rendered = Rendered::default();
    let refused: Vec<Finding> = lint::check_of_any_version(input, options)
        .into_iter()
        .filter(|finding| finding.severity == Severity::Error)
        .collect();
    let targets = ScaleTargets::of(input);
    let mut others = Vec::new();
    let mut hpas = Vec::new();
    // What is no object is among what was refused, and is not passed on.
    for object in input.objects.iter().filter(|object| object.invalid_reason().is_none()) {
        let hpa = if is_short(object) {
            // Why there is none is among what was refused.
            build(object, &targets, options).ok()
        } else if object.is_hpa() {
            read(object, &refused, &mut rendered.lost)
        } else {
            others.push((rendered.documents.len(), object));
            rendered.documents.push(String::new());
            continue;
        };
        if let Some(hpa) = hpa {
            let hpa = if defaults { defaulted(hpa, options) } else { hpa };
            rendered.documents.push(to_document(&hpa));
            hpas.push(hpa);
        }
    }
    let scaled = ScaledWorkloads::by(&hpas);
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
fn read(object: &Object, refused: &[Finding], lost: &mut Vec<(Object, Note)>) -> Option<HorizontalPodAutoscaler> {
    let refused = refused.iter().any(|finding| {
        finding.kind.rule() == "apiserver"
            && (finding.source, finding.document) == (object.source, object.document)
            && finding.object == object.title()
    });
    let migration = migrate(&object.tree).ok()?;
    let mut hpa = decode(&migration.document).ok().filter(|_| !refused)?;
    let notes = migration.notes.into_iter().filter(|note| note.field != "status");
    lost.extend(notes.map(|note| (object.clone(), note)));
    // The apiserver would discard it.
    hpa.status = None;
    Some(hpa)
}

fn to_document(hpa: &HorizontalPodAutoscaler) -> String {
    let json = serde_json::to_string(hpa).unwrap_or_default();
    Node::from_json(&json).map(|node| to_yaml(&node)).unwrap_or_default()
}
