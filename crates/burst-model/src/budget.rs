//! A bound on what requests that are under way take together.

use std::cell::Cell;
use std::rc::Rc;

/// So much of something, of which each taker holds a part for a while.
#[derive(Debug, Default)]
pub struct Budget<const LIMIT: usize> {
    taken: Cell<usize>,
}

/// A part of a budget. Dropping it gives the part back.
#[derive(Debug)]
pub struct Permit<const LIMIT: usize> {
    budget: Rc<Budget<LIMIT>>,
    size: usize,
}

impl<const LIMIT: usize> Budget<LIMIT> {
    /// Takes a part; `None` where less is left. A part that is larger than the whole budget is given while no other one
    /// is taken.
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
    fn no_more_is_taken_than_there_is() {
        let budget = Rc::new(Budget::<10>::default());
        let permits: Vec<_> = (0..100).map_while(|_| budget.take(1)).collect();
        assert_eq!(permits.len(), 10);
        assert!(budget.take(1).is_none());
        drop(permits);
        let (first, second) = (budget.take(6), budget.take(6));
        assert!(first.is_some() && second.is_none());
        assert!(budget.take(4).is_some(), "just what is left");
    }

    #[test]
    fn what_is_given_back_can_be_taken_again() {
        let budget = Rc::new(Budget::<10>::default());
        for _ in 0..100 {
            assert!(budget.take(10).is_some());
        }
        assert_eq!(budget.taken.get(), 0);
    }

    #[test]
    fn a_part_larger_than_the_whole_is_taken_alone() {
        let budget = Rc::new(Budget::<10>::default());
        let large = budget.take(usize::MAX);
        assert!(large.is_some() && budget.take(1).is_none() && budget.take(usize::MAX).is_none());
        drop(large);
        let small = budget.take(1);
        assert!(small.is_some() && budget.take(11).is_none());
    }
}
