//! The series of the external metrics API: one for each HPA that counts, so that a sum counts no replica twice.

use super::{LabelIndex, Row, TargetHpas, TargetKey};
use crate::kube::{ScaleTarget, Service};
use crate::label_text;
use crate::name::{Name, ObjectName};
use crate::signals::Signals;
use std::collections::{BTreeMap, BTreeSet};

/// The rows, with labels such as `deployment=web,service=a,service=b`: the target of the HPA and each Service that
/// selects its pods. They have no signals, because the metrics APIs show none.
pub(super) fn rows<'a>(
    by_target: &BTreeMap<TargetKey<'_>, TargetHpas<'_>>,
    services: impl Iterator<Item = &'a Service>,
    by_label: &LabelIndex<'_>,
) -> Vec<Row> {
    let mut selecting = BTreeMap::<&ObjectName, BTreeSet<&Name>>::new();
    for service in services {
        for hpas in by_label.selected(service).into_iter().filter_map(|scaled| scaled.hpas) {
            selecting
                .entry(&hpas.first.name)
                .or_default()
                .insert(&service.name.name);
        }
    }
    let row = |hpas: &TargetHpas<'_>| {
        let services = selecting.get(&hpas.first.name).into_iter().flatten();
        let row = hpas.row.clone()?;
        Some(Row {
            labels: labels(&hpas.first.target, services.copied()),
            signals: Signals::default(),
            ..row
        })
    };
    by_target.values().filter_map(row).collect()
}

pub(super) fn labels<'a>(target: &ScaleTarget, services: impl Iterator<Item = &'a Name>) -> Box<str> {
    let mut text = String::new();
    // The author of an HPA can write any text as the kind.
    if target.kind.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        label_text::push(&mut text, &target.kind.to_ascii_lowercase(), target.name.as_str());
    }
    for service in services {
        label_text::push(&mut text, "service", service.as_str());
    }
    text.into()
}
