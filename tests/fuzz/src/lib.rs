//! Fuzz targets, one for each parser of untrusted bytes. `fuzz/` runs them with libFuzzer, and `tests/corpus.rs` runs
//! the same functions on the files in `fuzz/corpus`.
//!
//! A target panics if something is wrong, and returns whether the bytes were valid.

mod hpa;
mod kubernetes;
mod leader;
mod policy;
mod proxy;
mod records;
mod text;
mod views;

/// Runs a target on some bytes. Returns whether they were valid.
pub type Run = fn(&[u8]) -> bool;

/// Every target, by its name in `fuzz/`.
pub const TARGETS: [(&str, Run); 18] = [
    ("body", kubernetes::body),
    ("config", proxy::config),
    ("hpa", hpa::hpa),
    ("hub", proxy::hub),
    ("leader", leader::leader),
    ("list", kubernetes::list),
    ("metrics", views::metrics),
    ("path", views::path),
    ("policies", policy::policies),
    ("quantity", text::quantity),
    ("records", records::records),
    ("report", proxy::report),
    ("selector", text::selector),
    ("snapshot", records::snapshot),
    ("status", kubernetes::status),
    ("upstream", proxy::upstream),
    ("watch", kubernetes::watch),
    ("yaml", hpa::yaml),
];

/// Runs a target by its name.
///
/// # Panics
/// If there is no target of that name, or if the target finds a bug.
#[must_use]
pub fn run(name: &str, bytes: &[u8]) -> bool {
    let (_, run) = TARGETS.iter().find(|(target, _)| *target == name).expect("a target");
    run(bytes)
}
