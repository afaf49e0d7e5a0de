//! Random decisions.

use fastrand::Rng;

/// Returns true with this probability.
pub(crate) fn chance(rng: &mut Rng, probability: f64) -> bool {
    rng.f64() < probability
}

/// One of several values.
pub(crate) fn pick<T: Clone>(rng: &mut Rng, choices: &[T]) -> T {
    choices[rng.usize(..choices.len())].clone()
}

/// A duration of up to `most` milliseconds, in whole seconds: Kubernetes' times have no fractions, so they often coincide.
pub(crate) fn seconds(rng: &mut Rng, most: i64) -> i64 {
    rng.i64(0..=most / 1000) * 1000
}
