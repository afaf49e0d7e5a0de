//! Shows the headers that the filter would serve in a cluster where it does not run yet. It uses the filter's own code
//! to list the resources, join them and compute the headers.

mod json;
mod read;
mod text;

use std::io;

use burst_model::config::{Config, Content};
use burst_model::index::{Explanation, LoadFinding, NoLoadReason, UnmatchedHpa, explain};
use burst_model::kube::item::InvalidItem;
use burst_model::kube::{ObjectKind, Source};
use burst_model::name::{Name, ObjectName};
use burst_model::serve::{Absence, ServingCache};
use burst_model::snapshot::InvalidSnapshot;
use burst_model::time::Time;

use crate::args::OutputFormat;
use crate::printer::Printer;

pub use read::{ApiAnswer, ClusterRead, ListError, read};

/// The headers that the filter would serve, and its findings.
#[derive(Debug)]
pub struct Preview {
    /// The name of the header.
    pub header: String,
    /// Every Service, sorted by `namespace/name`.
    pub services: Vec<ServicePreview>,
    /// HPAs whose target is not among the resources that the filter reads.
    pub unmatched_hpas: Vec<UnmatchedHpa>,
    /// Objects that cannot be decoded, each with its kind.
    pub bad: Vec<(String, InvalidItem)>,
    /// Resources that the cluster does not serve, in the notation of RBAC.
    pub absent: Vec<String>,
}

/// The header that the filter would serve for one Service.
#[derive(Debug)]
pub struct ServicePreview {
    /// The namespace and name of the Service.
    pub service: ObjectName,
    /// The header's value, or why there is none.
    pub value: Result<String, NoHeader>,
    /// Findings about the Service, whether or not it has a header.
    pub remarks: Vec<LoadFinding>,
}

/// Why responses of a Service have no header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoHeader {
    /// The join has no replicas for the Service.
    NoLoad(NoLoadReason),
    /// The join has no reason, but the filter would serve no header. This would be a bug.
    Filter(Absence),
}

/// Computes the headers that the filter would serve for a cluster.
///
/// # Errors
/// Returns an error if the snapshot cannot be decoded, which would be a bug.
pub fn preview(config: &Config, read: ClusterRead, now: Time) -> Result<Preview, InvalidSnapshot> {
    let mut cache = ServingCache::default();
    cache.take(read.snapshot)?;
    cache.refresh(config, Some(&read.confirmed), now);
    let lists = read.resume.lists.iter().map(|list| list.objects.as_slice());
    let Explanation {
        services,
        unmatched_hpas,
    } = explain(config.content.sources.iter().zip(lists), config.content.target);
    let service_preview = services.into_iter().map(|explained| ServicePreview {
        value: cache
            .header_of_service(config, &explained.name)
            .map(|value| value.to_string())
            .map_err(|absence| explained.no_load.map_or(NoHeader::Filter(absence), NoHeader::NoLoad)),
        service: explained.name,
        remarks: explained.findings,
    });
    Ok(Preview {
        header: config.header.name.clone(),
        services: service_preview.collect(),
        unmatched_hpas,
        bad: read.bad,
        absent: read.absent,
    })
}

/// The configuration does not read the requested namespace.
#[derive(Debug, thiserror::Error)]
#[error("the configuration does not read namespace {0}: it is not in `namespaces`")]
pub struct NamespaceNotConfigured(Name);

/// Restricts a configuration to one namespace. This does not change the result for that namespace, because the join
/// never crosses namespaces.
///
/// # Errors
/// Returns an error if the configuration does not read the namespace.
pub fn restrict_to_namespace(content: &mut Content, namespace: Name) -> Result<(), NamespaceNotConfigured> {
    content
        .sources
        .retain(|source| source.namespace.as_ref().is_none_or(|read| *read == namespace));
    if content.sources.is_empty() {
        return Err(NamespaceNotConfigured(namespace));
    }
    for source in &mut content.sources {
        source.namespace = Some(namespace.clone());
    }
    Ok(())
}

/// Has the preview read no pods and none of their addresses: no header depends on them.
pub fn exclude_pods(content: &mut Content) {
    let is_of_pods = |source: &Source| matches!(source.kind, ObjectKind::EndpointSlices | ObjectKind::Pods);
    content.sources.retain(|source| !is_of_pods(source));
}

impl NoHeader {
    fn is_problem(&self) -> bool {
        match self {
            Self::NoLoad(why) => why.is_problem(),
            Self::Filter(_) => true,
        }
    }

    fn as_str(&self) -> &'static str {
        match self {
            Self::NoLoad(why) => why.as_str(),
            Self::Filter(_) => "filter",
        }
    }

    fn advice(&self) -> &'static str {
        match self {
            Self::NoLoad(why) => why.advice(),
            Self::Filter(_) => "this is a bug; please report it",
        }
    }
}

impl std::fmt::Display for NoHeader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoLoad(why) => why.fmt(f),
            Self::Filter(absence) => write!(f, "the filter reports {absence:?}"),
        }
    }
}

impl ServicePreview {
    fn is_problem(&self) -> bool {
        self.value.as_ref().is_err_and(NoHeader::is_problem) || self.remarks.iter().any(LoadFinding::is_problem)
    }
}

impl Preview {
    /// Returns the number of problems.
    #[must_use]
    pub fn problems(&self) -> usize {
        self.services
            .iter()
            .filter(|service_preview| service_preview.is_problem())
            .count()
            + self.unmatched_hpas.len()
            + self.bad.len()
    }

    /// Returns a line with the number of Services, headers and problems.
    #[must_use]
    pub fn summary(&self) -> String {
        let with = self
            .services
            .iter()
            .filter(|service_preview| service_preview.value.is_ok())
            .count();
        let (all, header) = (self.services.len(), &self.header);
        let services = if all == 1 { "Service" } else { "Services" };
        format!("{all} {services}, {with} with {header}; problems: {}", self.problems())
    }
}

/// Writes a preview.
///
/// # Errors
/// Returns an error if the printer cannot write.
pub fn write(preview: &Preview, output: OutputFormat, printer: &mut Printer<'_>) -> io::Result<()> {
    match output.objects() {
        None => text::write(preview, printer),
        Some(format) => json::write(preview, format, printer),
    }
}

/// The reason shown for an object that cannot be decoded.
const BAD: &str = "unreadable";
const BAD_ADVICE: &str = "correct the object; the filter ignores it and serves the others";
/// The reason shown for a resource that the cluster does not serve.
const ABSENT: &str = "kind-absent";

const ABSENT_ADVICE: &str = "nothing if its CRD will be installed later; otherwise remove it from `workloads`";
