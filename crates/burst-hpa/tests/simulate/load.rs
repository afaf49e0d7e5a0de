//! Random load over time, as the number of replicas that it needs.

use std::f64::consts::TAU;

use fastrand::Rng;

use crate::random::{chance, pick};

/// A load and its course.
pub(crate) struct Load {
    shape: Shape,
    /// The replicas at its peak.
    height: f64,
    /// The ticks of a cycle, a step or a ramp.
    pace: usize,
    /// The amplitude of its noise, as a fraction.
    noise: f64,
}

#[derive(Clone)]
enum Shape {
    Flat,
    Wave,
    Steps(Vec<f64>),
    Ramp,
    Spike,
}

impl Load {
    pub(crate) fn new(rng: &mut Rng, height: f64) -> Self {
        let steps = (0..8)
            .map(|_| if chance(rng, 0.25) { 0.0 } else { rng.f64() })
            .collect();
        Self {
            shape: pick(
                rng,
                &[Shape::Flat, Shape::Wave, Shape::Steps(steps), Shape::Ramp, Shape::Spike],
            ),
            height: height * (0.3 + 1.2 * rng.f64()),
            pace: rng.usize(4..30),
            noise: pick(rng, &[0.0, 0.0, 0.02, 0.1, 0.4]),
        }
    }

    /// The replicas needed at a tick.
    pub(crate) fn at(&self, tick: usize, rng: &mut Rng) -> f64 {
        let passed = tick as f64 / self.pace as f64;
        let share = match &self.shape {
            Shape::Flat => 0.6,
            Shape::Wave => 0.5 + 0.5 * (passed * TAU).sin(),
            Shape::Steps(steps) => steps[tick * 2 / self.pace % steps.len()],
            Shape::Ramp => passed.fract(),
            Shape::Spike => {
                if passed.fract() < 0.15 {
                    1.0
                } else {
                    0.2
                }
            }
        };
        self.height * share * (1.0 + self.noise * (2.0 * rng.f64() - 1.0))
    }
}
