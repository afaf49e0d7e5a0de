//! One object, as JSON or YAML: one for each Service, then one for each finding that is not about a Service.

use std::io;

use burst_model::index::{LoadFinding, UnmatchedHpa};
use serde::Serialize;

use super::{ABSENT, ABSENT_ADVICE, BAD, BAD_ADVICE, Preview, ServicePreview};
use crate::printer::{ObjectFormat, Printer};

/// The order of the fields is part of the format.
#[derive(Serialize)]
struct Service<'a> {
    service: String,
    header: &'a str,
    value: Option<&'a str>,
    #[serde(flatten)]
    why: Option<Reason<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    remarks: Vec<Reason<'a>>,
}

/// A reason, with advice.
#[derive(Serialize)]
struct Reason<'a> {
    reason: &'a str,
    detail: String,
    advice: &'a str,
    trouble: bool,
}

/// A finding that is not about a Service. Exactly one of `hpa`, `object` and `resource` is set.
#[derive(Serialize)]
struct OtherFinding<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    hpa: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<&'a str>,
    #[serde(flatten)]
    why: Reason<'a>,
}

pub(super) fn write(preview: &Preview, format: ObjectFormat, printer: &mut Printer<'_>) -> io::Result<()> {
    for service_preview in &preview.services {
        printer.object(&service(&preview.header, service_preview), format)?;
    }
    let unmatched_hpas = preview.unmatched_hpas.iter().map(|unmatched_hpa| OtherFinding {
        hpa: Some(unmatched_hpa.hpa.to_string()),
        object: None,
        resource: None,
        why: reason_of_unmatched_hpa(unmatched_hpa),
    });
    let bad = preview.bad.iter().map(|(kind, bad)| OtherFinding {
        hpa: None,
        object: Some(format!("{kind} {}", bad.name)),
        resource: None,
        why: Reason {
            reason: BAD,
            detail: bad.reason.clone(),
            advice: BAD_ADVICE,
            trouble: true,
        },
    });
    let absent = preview.absent.iter().map(|resource| OtherFinding {
        hpa: None,
        object: None,
        resource: Some(resource),
        why: Reason {
            reason: ABSENT,
            detail: "the cluster does not serve this kind".to_owned(),
            advice: ABSENT_ADVICE,
            trouble: false,
        },
    });
    for other in unmatched_hpas.chain(bad).chain(absent) {
        printer.object(&other, format)?;
    }
    Ok(())
}

fn service<'a>(header: &'a str, service_preview: &'a ServicePreview) -> Service<'a> {
    Service {
        service: service_preview.service.to_string(),
        header,
        value: service_preview.value.as_deref().ok(),
        why: service_preview.value.as_ref().err().map(|why| Reason {
            reason: why.as_str(),
            detail: why.to_string(),
            advice: why.advice(),
            trouble: why.is_problem(),
        }),
        remarks: service_preview.remarks.iter().map(reason_of_remark).collect(),
    }
}

fn reason_of_remark(remark: &LoadFinding) -> Reason<'_> {
    Reason {
        reason: remark.as_str(),
        detail: remark.to_string(),
        advice: remark.advice(),
        trouble: remark.is_problem(),
    }
}

fn reason_of_unmatched_hpa(unmatched_hpa: &UnmatchedHpa) -> Reason<'_> {
    Reason {
        reason: unmatched_hpa.as_str(),
        detail: unmatched_hpa.to_string(),
        advice: unmatched_hpa.advice(),
        trouble: true,
    }
}
