//! What is done with arbitrary bytes, a target for each parser of foreign bytes. `fuzz/` hands them to libFuzzer, and
//! `tests/corpus.rs` what stands in `fuzz/corpus` to the very same functions.
//!
//! A target panics where something is wrong, and says whether the bytes were taken for what they should be.

mod hpa;
mod kubernetes;
mod leader;
mod policy;
mod proxy;
mod records;
mod text;
mod views;

/// Does what is to be done with some bytes; whether they were taken.
pub type Run = fn(&[u8]) -> bool;

/// Every target, by its name in `fuzz/`.
pub const TARGETS: [(&str, Run); 17] = [
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
/// Where there is none of that name, or something is wrong with what it does.
#[must_use]
pub fn run(name: &str, bytes: &[u8]) -> bool {
    let (_, run) = TARGETS.iter().find(|(target, _)| *target == name).expect("a target");
    run(bytes)
}
