//! Throwing dice.

use fastrand::Rng;

/// Whether something of that probability happens.
pub(crate) fn chance(rng: &mut Rng, probability: f64) -> bool {
    rng.f64() < probability
}

/// One of several.
pub(crate) fn pick<T: Clone>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.usize(..of.len())].clone()
}

/// Up to so many milliseconds, in whole seconds: Kubernetes' times have no fractions, and so often fall together.
pub(crate) fn seconds(rng: &mut Rng, most: i64) -> i64 {
    rng.i64(0..=most / 1000) * 1000
}
