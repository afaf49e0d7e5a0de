//! A fixture that tests of one binary share while they run at the same time.

use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A fixture that is expensive to start, such as a control plane that no test changes. Keep it in a `static`: the first
/// test starts it, tests that run meanwhile use the same one, and it is gone when the last of them is over.
#[derive(Debug)]
pub struct Shared<T>(Mutex<Weak<T>>);

impl<T> Shared<T> {
    /// A fixture that is not started.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(Weak::new()))
    }

    /// The fixture, which `start` starts if no other test uses it. Tests that ask meanwhile wait for it.
    pub fn get(&self, start: impl FnOnce() -> T) -> Arc<T> {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        running.upgrade().unwrap_or_else(|| {
            let started = Arc::new(start());
            *running = Arc::downgrade(&started);
            started
        })
    }
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_at_the_same_time_share_one_fixture() {
        static SHARED: Shared<u32> = Shared::new();
        let first = SHARED.get(|| 1);
        assert_eq!(*SHARED.get(|| 2), 1);
        drop(first);
        assert_eq!(*SHARED.get(|| 3), 3, "the first one is gone");
    }
}
