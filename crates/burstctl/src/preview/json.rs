//! One JSON object a line: one for each Service, then one for each thing that is about no Service.

use std::io;

use burst_model::index::{LoadFinding, UnmatchedHpa};
use serde::Serialize;

use super::{ABSENT, ABSENT_ADVICE, BAD, BAD_ADVICE, Preview, Told};
use crate::page::Page;

/// The order of the fields is part of the format.
#[derive(Serialize)]
struct Service<'a> {
    service: String,
    header: &'a str,
    value: Option<&'a str>,
    #[serde(flatten)]
    why: Option<Why<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    remarks: Vec<Why<'a>>,
}

/// A reason, and what to do.
#[derive(Serialize)]
struct Why<'a> {
    reason: &'a str,
    detail: String,
    advice: &'a str,
    trouble: bool,
}

/// What is about no Service: `hpa`, `object` or `resource`, and why it is told.
#[derive(Serialize)]
struct Other<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    hpa: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<&'a str>,
    #[serde(flatten)]
    why: Why<'a>,
}

pub(super) fn write(preview: &Preview, page: &mut Page<'_>) -> io::Result<()> {
    for told in &preview.services {
        page.json(&service(&preview.header, told))?;
    }
    let astray = preview.astray.iter().map(|astray| Other {
        hpa: Some(astray.hpa.to_string()),
        object: None,
        resource: None,
        why: why_astray(astray),
    });
    let bad = preview.bad.iter().map(|(kind, bad)| Other {
        hpa: None,
        object: Some(format!("{kind} {}", bad.name)),
        resource: None,
        why: Why {
            reason: BAD,
            detail: bad.reason.clone(),
            advice: BAD_ADVICE,
            trouble: true,
        },
    });
    let absent = preview.absent.iter().map(|resource| Other {
        hpa: None,
        object: None,
        resource: Some(resource),
        why: Why {
            reason: ABSENT,
            detail: "the cluster does not know this kind".to_owned(),
            advice: ABSENT_ADVICE,
            trouble: false,
        },
    });
    for other in astray.chain(bad).chain(absent) {
        page.json(&other)?;
    }
    Ok(())
}

fn service<'a>(header: &'a str, told: &'a Told) -> Service<'a> {
    Service {
        service: told.of.to_string(),
        header,
        value: told.value.as_deref().ok(),
        why: told.value.as_ref().err().map(|why| Why {
            reason: why.word(),
            detail: why.to_string(),
            advice: why.advice(),
            trouble: why.is_trouble(),
        }),
        remarks: told.remarks.iter().map(why_remark).collect(),
    }
}

fn why_remark(remark: &LoadFinding) -> Why<'_> {
    Why {
        reason: remark.as_str(),
        detail: remark.to_string(),
        advice: remark.advice(),
        trouble: remark.is_problem(),
    }
}

fn why_astray(astray: &UnmatchedHpa) -> Why<'_> {
    Why {
        reason: astray.as_str(),
        detail: astray.to_string(),
        advice: astray.advice(),
        trouble: true,
    }
}
