//! The parameters of a request for `/burstmetrics`: `wait`, `scope`, `format`, and those of a format. Other parameters are
//! ignored.

use super::path::{BurstPath, decode};
use crate::config::PeersConfig;
use crate::config::duration::{self, NotADuration};
use crate::index::SERVICES;
use crate::printable::{LONGEST_QUOTE, printable};
use crate::serve::format::{ClustersFormat, DatacenterKey, Format, LoadObject, NAMES};
use crate::signals::SignalSet;
use std::borrow::Cow;
use std::time::Duration;

/// The longest domain, data center or resource that is written into a load object.
const MAX_NAME: usize = 253;

/// What a request asks for besides its target.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BurstQuery {
    /// For how long the request may wait for a change.
    pub(super) wait: Option<Duration>,
    /// What the answer shows.
    pub(super) view: BurstView,
}

/// What an answer shows, and in which format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BurstView {
    /// The own cluster; without a format, the text of the header.
    OwnCluster(Option<Format>),
    /// The own cluster and its peers, by `scope=all`.
    AllClusters(ClustersFormat),
}

/// Why a query cannot be answered.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum InvalidQuery {
    #[error("the parameter wait {NotADuration}")]
    Wait,
    #[error(
        "the parameter format is \"{0}\", and must be one of {NAMES}; without it the answer is what the header says"
    )]
    Format(String),
    #[error("format=weight is one number: ask for one object, with KIND/NAMESPACE/NAME")]
    WeightOfAll,
    #[error(
        "format=gtm needs the parameter domain, the GTM domain, and either datacenter, the name of the data center, or \
         datacenterId, its number"
    )]
    IncompleteGtm,
    #[error("the parameter {0} must be a text of 1 to {MAX_NAME} bytes without control characters")]
    Text(&'static str),
    #[error("the parameter datacenterId must be a whole number below 4294967296")]
    DatacenterId,
    #[error("the parameter resource names one object: ask for KIND/NAMESPACE/NAME")]
    ResourceOfAll,
    #[error("the parameter scope must be \"all\"; without it the answer is about the own cluster")]
    Scope,
    #[error("scope=all needs other clusters to read, and this proxy has no peers in its configuration")]
    NoPeers,
    #[error("scope=all is answered for services: of other clusters nothing else is read")]
    ScopeOfOtherKind,
    #[error(
        "scope=all is answered in format=json and format=prometheus, because a line of text has no place for clusters"
    )]
    ScopeFormat,
}

/// Parses the query of the part of a path after the prefix. The extra fields and the peers are those of the configuration.
pub(super) fn parse(
    path: &[u8],
    target: &BurstPath<'_>,
    extra_fields: SignalSet,
    peers: Option<&PeersConfig>,
) -> Result<BurstQuery, InvalidQuery> {
    let path = path.split(|b| *b == b'#').next().unwrap_or_default();
    let query = Parameters(path.splitn(2, |b| *b == b'?').nth(1).unwrap_or_default());
    Ok(BurstQuery {
        wait: query.wait()?,
        view: query.view(target, extra_fields, peers)?,
    })
}

/// `a=b&c=d`. The first parameter of a name counts.
struct Parameters<'a>(&'a [u8]);

impl<'a> Parameters<'a> {
    fn get(&self, name: &str) -> Option<&'a [u8]> {
        let mut parameters = self.0.split(|b| *b == b'&');
        parameters.find_map(|parameter| parameter.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
    }

    fn wait(&self) -> Result<Option<Duration>, InvalidQuery> {
        let Some(wait) = self.get("wait") else {
            return Ok(None);
        };
        let wait = decode(wait).map_err(|_| InvalidQuery::Wait)?;
        duration::parse(&wait).map(Some).map_err(|_| InvalidQuery::Wait)
    }

    fn view(
        &self,
        target: &BurstPath<'_>,
        extra_fields: SignalSet,
        peers: Option<&PeersConfig>,
    ) -> Result<BurstView, InvalidQuery> {
        match (self.get("scope"), self.get("format")) {
            (None, _) => Ok(BurstView::OwnCluster(self.format(target, extra_fields)?)),
            (Some(b"all"), _) if peers.is_none() => Err(InvalidQuery::NoPeers),
            (Some(b"all"), _) if target.kind() != SERVICES => Err(InvalidQuery::ScopeOfOtherKind),
            (Some(b"all"), Some(b"json")) => Ok(BurstView::AllClusters(ClustersFormat::Json(extra_fields))),
            (Some(b"all"), Some(b"prometheus")) => Ok(BurstView::AllClusters(ClustersFormat::Prometheus(extra_fields))),
            (Some(b"all"), _) => Err(InvalidQuery::ScopeFormat),
            (Some(_), _) => Err(InvalidQuery::Scope),
        }
    }

    fn format(&self, target: &BurstPath<'_>, extra_fields: SignalSet) -> Result<Option<Format>, InvalidQuery> {
        let Some(format) = self.get("format") else {
            return Ok(None);
        };
        Ok(Some(match (format, target) {
            (b"json", _) => Format::Json(extra_fields),
            (b"prometheus", _) => Format::Prometheus(extra_fields),
            (b"gtm", _) => Format::Gtm(self.load_object(target)?),
            (b"weight", BurstPath::Single { .. }) => Format::Weight,
            (b"weight", BurstPath::Bulk { .. }) => return Err(InvalidQuery::WeightOfAll),
            _ => {
                let found = String::from_utf8_lossy(format);
                return Err(InvalidQuery::Format(printable(found, LONGEST_QUOTE)));
            }
        }))
    }

    fn load_object(&self, target: &BurstPath<'_>) -> Result<LoadObject, InvalidQuery> {
        let datacenter = match (self.text("datacenter")?, self.get("datacenterId")) {
            (Some(name), None) => DatacenterKey::Name(name),
            (None, Some(id)) => DatacenterKey::Id(number(id).ok_or(InvalidQuery::DatacenterId)?),
            _ => return Err(InvalidQuery::IncompleteGtm),
        };
        let resource = self.text("resource")?;
        if resource.is_some() && matches!(target, BurstPath::Bulk { .. }) {
            return Err(InvalidQuery::ResourceOfAll);
        }
        Ok(LoadObject {
            domain: self.text("domain")?.ok_or(InvalidQuery::IncompleteGtm)?,
            datacenter,
            resource,
        })
    }

    fn text(&self, name: &'static str) -> Result<Option<String>, InvalidQuery> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let value = decode(value).map_err(|_| InvalidQuery::Text(name))?;
        // XML has no way to write a control character, or U+FFFE and U+FFFF.
        let is_xml = |char: char| !char.is_control() && !matches!(char, '\u{fffe}' | '\u{ffff}');
        Some(value)
            .filter(|value| (1..=MAX_NAME).contains(&value.len()) && value.chars().all(is_xml))
            .map(Cow::into_owned)
            .map(Some)
            .ok_or(InvalidQuery::Text(name))
    }
}

fn number(digits: &[u8]) -> Option<u32> {
    let digits = Some(digits).filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
