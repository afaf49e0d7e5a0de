//! A limit on the resources that requests in flight use together.

use std::cell::Cell;
use std::rc::Rc;

/// A limited amount of something. Each holder of a [`Permit`] uses a part of it.
#[derive(Debug, Default)]
pub struct Budget<const LIMIT: usize> {
    taken: Cell<usize>,
}

/// A part of a budget. It is returned when the permit is dropped.
#[derive(Debug)]
pub struct Permit<const LIMIT: usize> {
    budget: Rc<Budget<LIMIT>>,
    size: usize,
}

impl<const LIMIT: usize> Budget<LIMIT> {
    /// Takes a part; `None` if not enough is left. A part larger than the whole budget is granted if nothing else is taken.
    #[must_use]
    pub fn take(self: &Rc<Self>, size: usize) -> Option<Permit<LIMIT>> {
        let before = self.taken.get();
        let after = before.saturating_add(size);
        (before == 0 || after <= LIMIT).then(|| {
            self.taken.set(after);
            Permit {
                budget: self.clone(),
                size,
            }
        })
    }
}

impl<const LIMIT: usize> Drop for Permit<LIMIT> {
    fn drop(&mut self) {
        let taken = &self.budget.taken;
        taken.set(taken.get().saturating_sub(self.size));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_do_not_exceed_the_budget() {
        let budget = Rc::new(Budget::<10>::default());
        let permits: Vec<_> = (0..100).map_while(|_| budget.take(1)).collect();
        assert_eq!(permits.len(), 10);
        assert!(budget.take(1).is_none());
        drop(permits);
        let (first, second) = (budget.take(6), budget.take(6));
        assert!(first.is_some() && second.is_none());
        assert!(budget.take(4).is_some(), "exactly what is left");
    }

    #[test]
    fn a_dropped_permit_returns_its_part() {
        let budget = Rc::new(Budget::<10>::default());
        for _ in 0..100 {
            assert!(budget.take(10).is_some());
        }
        assert_eq!(budget.taken.get(), 0);
    }

    #[test]
    fn a_part_larger_than_the_budget_is_taken_alone() {
        let budget = Rc::new(Budget::<10>::default());
        let large = budget.take(usize::MAX);
        assert!(large.is_some() && budget.take(1).is_none() && budget.take(usize::MAX).is_none());
        drop(large);
        let small = budget.take(1);
        assert!(small.is_some() && budget.take(11).is_none());
    }
}
