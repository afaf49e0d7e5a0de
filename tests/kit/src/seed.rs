//! Where the chance of a test comes from.

/// Another seed each time, unless `BURST_SEED` names one. It is printed, so a failure tells what to name.
///
/// # Panics
/// When `BURST_SEED` is no number.
#[must_use]
pub fn seed() -> u64 {
    let seed = match std::env::var("BURST_SEED") {
        Ok(text) => text.parse().unwrap_or_else(|e| panic!("BURST_SEED={text}: {e}")),
        Err(_) => fastrand::u64(..1_000_000_000),
    };
    println!("BURST_SEED={seed}");
    seed
}
