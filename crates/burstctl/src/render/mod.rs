//! `burstctl hpa render`: writes HPAs and short forms as canonical `autoscaling/v2` YAML.

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

/// The result of rendering an input.
#[derive(Debug, Default)]
pub struct Rendered {
    /// A YAML document for each object that could be rendered.
    pub documents: Vec<String>,
    /// Why the other objects could not be rendered.
    pub findings: Vec<Finding>,
    /// The `spec.replicas` that were removed.
    pub stripped: Vec<StrippedReplicas>,
    /// Fields that the conversion from an older API version loses, except the status, which is never written.
    pub lost: Vec<(Object, Note)>,
}

/// Renders every object of the input: HPAs and short forms as `autoscaling/v2`, and others unchanged, except that
/// workloads that an HPA scales lose `spec.replicas`. `defaults` adds the defaults that Kubernetes will fill in.
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
    // The lint has already reported the invalid objects.
    for object in input.objects.iter().filter(|object| object.invalid_reason().is_none()) {
        let hpa = if is_short(object) {
            // The lint has already reported the errors.
            build(object, &targets, options).ok()
        } else if object.is_hpa() {
            read(object, &refused, &mut rendered.lost)
        } else {
            others.push((rendered.documents.len(), object));
            rendered.documents.push(String::new());
            continue;
        };
        if let Some(hpa) = hpa {
            let shown = if defaults { defaulted(hpa, options) } else { hpa };
            rendered.documents.push(to_document(&shown));
            hpas.push(shown);
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

/// Converts an HPA of any known version. Returns `None` if the lint found an error of the apiserver in it.
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
    // The apiserver ignores the status of an applied object.
    hpa.status = None;
    Some(hpa)
}

fn to_document(hpa: &HorizontalPodAutoscaler) -> String {
    let json = serde_json::to_string(hpa).unwrap_or_default();
    Node::from_json(&json).map(|node| to_yaml(&node)).unwrap_or_default()
}
