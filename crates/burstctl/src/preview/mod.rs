//! What the filter would say of a cluster that it does not run in yet: read by the filter's own poller, joined by its
//! own index, served from its own snapshot.

mod json;
mod read;
mod text;

use std::io;

use burst_model::config::{Config, Content};
use burst_model::index::{Explanation, LoadFinding, NoLoadReason, UnmatchedHpa, explain};
use burst_model::kube::page::InvalidItem;
use burst_model::name::{Name, ObjectName};
use burst_model::serve::{Absence, ServingCache};
use burst_model::snapshot::InvalidSnapshot;
use burst_model::time::Time;

use crate::args::Output;
use crate::page::Page;

pub use read::{Answer, Read, Refused, read};

/// What the filter would say.
#[derive(Debug)]
pub struct Preview {
    /// The name of the header.
    pub header: String,
    /// Every Service, by `namespace/name`.
    pub services: Vec<Told>,
    /// HPAs that stand for nothing that is read.
    pub astray: Vec<UnmatchedHpa>,
    /// Objects that cannot be read, each with its kind.
    pub bad: Vec<(String, InvalidItem)>,
    /// Kinds that the cluster does not know, as RBAC names them.
    pub absent: Vec<String>,
}

/// What the filter would say of one Service.
#[derive(Debug)]
pub struct Told {
    /// Which.
    pub of: ObjectName,
    /// The header's value, or why there is none.
    pub value: Result<String, NoHeader>,
    /// What is odd about it.
    pub remarks: Vec<LoadFinding>,
}

/// Why responses of a Service have no header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoHeader {
    /// It has no load.
    NoLoad(NoLoadReason),
    /// What the filter gives as its reason, where the join has none.
    Filter(Absence),
}

/// Says what the filter would of what was read.
///
/// # Errors
/// The snapshot cannot be read back, which would be a bug.
pub fn preview(config: &Config, read: Read, now: Time) -> Result<Preview, InvalidSnapshot> {
    let mut picture = ServingCache::default();
    picture.take(read.snapshot)?;
    picture.refresh(config, Some(&read.confirmed), now);
    let lists = read.resume.lists.iter().map(|list| list.objects.as_slice());
    let Explanation {
        services,
        unmatched_hpas: astray,
    } = explain(config.content.sources.iter().zip(lists), config.content.target);
    let told = services.into_iter().map(|explained| Told {
        value: picture
            .header_of_service(config, &explained.of)
            .map(|value| value.to_string())
            .map_err(|absence| explained.no_load.map_or(NoHeader::Filter(absence), NoHeader::NoLoad)),
        of: explained.of,
        remarks: explained.findings,
    });
    Ok(Preview {
        header: config.header.name.clone(),
        services: told.collect(),
        astray,
        bad: read.bad,
        absent: read.absent,
    })
}

/// The configuration reads other namespaces than the one asked for.
#[derive(Debug, thiserror::Error)]
#[error("the configuration does not read namespace {0}: it is not in `namespaces`")]
pub struct NotRead(Name);

/// Reads one namespace of those that the configuration names, or of all. Nothing of the join reaches over the border of
/// a namespace.
///
/// # Errors
/// The configuration leaves it out.
pub fn narrow(content: &mut Content, namespace: Name) -> Result<(), NotRead> {
    content
        .sources
        .retain(|source| source.namespace.as_ref().is_none_or(|read| *read == namespace));
    if content.sources.is_empty() {
        return Err(NotRead(namespace));
    }
    for source in &mut content.sources {
        source.namespace = Some(namespace.clone());
    }
    Ok(())
}

impl NoHeader {
    fn is_trouble(&self) -> bool {
        match self {
            Self::NoLoad(why) => why.is_problem(),
            Self::Filter(_) => true,
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::NoLoad(why) => why.as_str(),
            Self::Filter(_) => "filter",
        }
    }

    fn advice(&self) -> &'static str {
        match self {
            Self::NoLoad(why) => why.advice(),
            Self::Filter(_) => "this should not be: report it",
        }
    }
}

impl std::fmt::Display for NoHeader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoLoad(why) => why.fmt(f),
            Self::Filter(absence) => write!(f, "the filter says {absence:?}"),
        }
    }
}

impl Told {
    fn is_trouble(&self) -> bool {
        self.value.as_ref().is_err_and(NoHeader::is_trouble) || self.remarks.iter().any(LoadFinding::is_problem)
    }
}

impl Preview {
    /// How many things there are to object to.
    #[must_use]
    pub fn troubles(&self) -> usize {
        self.services.iter().filter(|told| told.is_trouble()).count() + self.astray.len() + self.bad.len()
    }

    /// A line of numbers.
    #[must_use]
    pub fn summary(&self) -> String {
        let with = self.services.iter().filter(|told| told.value.is_ok()).count();
        let (all, header) = (self.services.len(), &self.header);
        let services = if all == 1 { "Service" } else { "Services" };
        format!("{all} {services}, {with} with {header}; {} to look at", self.troubles())
    }
}

/// Writes it.
///
/// # Errors
/// If it cannot be written.
pub fn write(preview: &Preview, output: Output, page: &mut Page<'_>) -> io::Result<()> {
    match output {
        Output::Text => text::write(preview, page),
        Output::Json => json::write(preview, page),
    }
}

/// What a bad object costs.
const BAD: &str = "unreadable";
/// What to do about it.
const BAD_ADVICE: &str = "correct the object; the filter leaves it out, and serves the others";
/// A kind that is not there.
const ABSENT: &str = "kind-absent";
/// What to do about it.
const ABSENT_ADVICE: &str = "nothing, if its CRD is still to come; else take it out of `workloads`";
