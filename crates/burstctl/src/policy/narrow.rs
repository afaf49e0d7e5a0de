//! In CEL: whether the selector of an HPA's metric is at least as narrow as a policy's. The same as
//! [`burst_policy::LabelConstraints::is_subset_of`], written for each selector of a policy.
//!
//! A query's requirements are a list `wants` of `{key, operator, values}`, `matchLabels` among them as `In`.

use burst_policy::LabelConstraints;

/// Whether a requirement `w` lets the value `v` pass.
fn lets(v: &str) -> String {
    format!(
        "(w.operator == 'In' ? {v} in w.values : w.operator == 'NotIn' ? !({v} in w.values) : w.operator == 'Exists')"
    )
}

/// Whether some requirement about a key contradicts the others of it: then nothing is selected.
pub(super) fn selects_nothing() -> String {
    let lets = lets("v");
    format!(
        "q.wants.exists(a, (a.operator == 'In' && !a.values.exists(v, q.wants.all(w, w.key != a.key || {lets}))) || \
         (a.operator == 'Exists' && q.wants.exists(w, w.key == a.key && w.operator == 'DoesNotExist')))"
    )
}

/// Whether a query `d.query` that selects something selects no more than these.
pub(super) fn within(labels: &LabelConstraints) -> String {
    let each = labels.iter().map(|(key, values)| {
        let key = literal(key);
        match values.listed() {
            Ok([]) => has(&key, "w.operator == 'DoesNotExist'"),
            Ok(listed) => {
                let others = format!("d.query.wants.exists(w, w.key == {key} && !{})", lets("v"));
                let only = format!("w.values.all(v, v in {} || {others})", list(listed));
                // The inner requirement is called as the outer one, and hides it.
                let only = only.replacen("w.values", "a.values", 1);
                format!("d.query.wants.exists(a, a.key == {key} && a.operator == 'In' && {only})")
            }
            Err(excluded) => {
                let present = has(&key, "w.operator in ['In', 'Exists']");
                let mut all: Vec<_> = excluded
                    .iter()
                    .map(|value| has(&key, &format!("!{}", lets(&literal(value)))))
                    .collect();
                if !values.may_be_absent() {
                    all.insert(0, present);
                }
                all.join(" && ")
            }
        }
    });
    let each: Vec<_> = each.filter(|one| !one.is_empty()).collect();
    if each.is_empty() {
        "true".to_owned()
    } else {
        each.join(" && ")
    }
}

/// Whether there is a requirement about a key of which that holds.
fn has(key: &str, what: &str) -> String {
    format!("d.query.wants.exists(w, w.key == {key} && {what})")
}

fn list(values: &[Box<str>]) -> String {
    let values: Vec<_> = values.iter().map(|value| literal(value)).collect();
    format!("[{}]", values.join(", "))
}

/// A text in CEL.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
