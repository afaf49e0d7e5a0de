//! The series of the external metrics API: one for each HPA that counts, so that a sum counts nothing twice.

use super::{LabelIndex, Row, TargetHpas, TargetKey};
use crate::kube::{ScaleTarget, Service};
use crate::label_text;
use crate::name::{Name, ObjectName};
use std::collections::{BTreeMap, BTreeSet};

/// The rows, with labels such as `deployment=web,service=a,service=b`: what the HPA scales, and each Service that
/// selects it.
pub(super) fn rows<'a>(
    claims: &BTreeMap<TargetKey<'_>, TargetHpas<'_>>,
    services: impl Iterator<Item = &'a Service>,
    by_label: &LabelIndex<'_>,
) -> Vec<Row> {
    let mut selecting = BTreeMap::<&ObjectName, BTreeSet<&Name>>::new();
    for service in services {
        for claim in by_label
            .selected(service)
            .into_iter()
            .filter_map(|scalable| scalable.claim)
        {
            selecting
                .entry(&claim.first.name)
                .or_default()
                .insert(&service.name.name);
        }
    }
    let row = |claim: &TargetHpas<'_>| {
        let services = selecting.get(&claim.first.name).into_iter().flatten();
        let row = claim.row.clone()?;
        Some(Row {
            labels: labels(&claim.first.target, services.copied()),
            ..row
        })
    };
    claims.values().filter_map(row).collect()
}

pub(super) fn labels<'a>(target: &ScaleTarget, services: impl Iterator<Item = &'a Name>) -> Box<str> {
    let mut text = String::new();
    // The kind is any text that an HPA's author wrote.
    if target.kind.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        label_text::push(&mut text, &target.kind.to_ascii_lowercase(), target.name.as_str());
    }
    for service in services {
        label_text::push(&mut text, "service", service.as_str());
    }
    text.into()
}
