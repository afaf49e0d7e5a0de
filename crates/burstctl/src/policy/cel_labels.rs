//! CEL expressions that check whether the selector of an HPA's metric is at least as narrow as a policy's. They give
//! the same result as [`burst_policy::LabelConstraints::is_subset_of`].
//!
//! The requirements of a query are a list `wants` of `{key, operator, values}`. It has each of `matchLabels` as `In`.

use burst_policy::LabelConstraints;

/// CEL: whether the requirement `w` accepts the value `v`.
fn admits(v: &str) -> String {
    format!(
        "(w.operator == 'In' ? {v} in w.values : w.operator == 'NotIn' ? !({v} in w.values) : w.operator == 'Exists')"
    )
}

/// CEL: whether two requirements on the same key contradict each other, so that the query selects nothing.
pub(super) fn selects_nothing() -> String {
    let admits = admits("v");
    format!(
        "q.wants.exists(a, (a.operator == 'In' && !a.values.exists(v, q.wants.all(w, w.key != a.key || {admits}))) || \
         (a.operator == 'Exists' && q.wants.exists(w, w.key == a.key && w.operator == 'DoesNotExist')))"
    )
}

/// CEL: whether `d.query` selects no more than these labels do. It must select something.
pub(super) fn within(labels: &LabelConstraints) -> String {
    let each = labels.iter().map(|(key, values)| {
        let key = literal(key);
        match values.listed() {
            Ok([]) => has(&key, "w.operator == 'DoesNotExist'"),
            Ok(listed) => {
                let others = format!("d.query.wants.exists(w, w.key == {key} && !{})", admits("v"));
                // `others` binds `w`, so the outer requirement has another name.
                let only = format!("a.values.all(v, v in {} || {others})", list(listed));
                format!("d.query.wants.exists(a, a.key == {key} && a.operator == 'In' && {only})")
            }
            Err(excluded) => {
                let present = has(&key, "w.operator in ['In', 'Exists']");
                let mut all: Vec<_> = excluded
                    .iter()
                    .map(|value| has(&key, &format!("!{}", admits(&literal(value)))))
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

/// CEL: whether some requirement on a key satisfies `condition`.
fn has(key: &str, condition: &str) -> String {
    format!("d.query.wants.exists(w, w.key == {key} && {condition})")
}

fn list(values: &[Box<str>]) -> String {
    let values: Vec<_> = values.iter().map(|value| literal(value)).collect();
    format!("[{}]", values.join(", "))
}

/// Returns text as a CEL string literal.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
