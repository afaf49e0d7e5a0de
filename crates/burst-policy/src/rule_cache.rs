//! Which rule was the first for a name, for the names that were asked for last: trying a thousand patterns takes
//! thousands of times as long as looking one name up, and clients ask for the same few names again and again.

use std::cell::RefCell;
use std::collections::VecDeque;

/// More than the metrics of this project, of which a proxy serves some ten. Few enough that a client with ever new
/// names costs no memory that counts.
const MAX_ENTRIES: usize = 32;
/// Bytes of a name that is remembered. Others are worked out each time, which the [cost](crate::cost) allows.
const MAX_LENGTH: usize = 96;
/// What all of it occupies at most.
pub(crate) const MAX_BYTES: usize = MAX_ENTRIES * (MAX_LENGTH + 32);

#[derive(Debug, Default)]
pub(crate) struct RuleCache(RefCell<VecDeque<(Box<str>, Option<usize>)>>);

impl RuleCache {
    /// The rule for a name; `first` tells it where it is not known.
    pub(crate) fn rule(&self, name: &str, first: impl FnOnce() -> Option<usize>) -> Option<usize> {
        if name.len() > MAX_LENGTH {
            return first();
        }
        let mut known = self.0.borrow_mut();
        if let Some((_, rule)) = known.iter().find(|(known, _)| **known == *name) {
            return *rule;
        }
        let rule = first();
        if known.len() >= MAX_ENTRIES {
            known.pop_front();
        }
        known.push_back((name.into(), rule));
        rule
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_worked_out_once_while_others_are_few() {
        let (decided, asked) = (RuleCache::default(), RefCell::new(Vec::new()));
        let rule = |name: usize| {
            decided.rule(&name.to_string(), || {
                asked.borrow_mut().push(name);
                name.checked_sub(1)
            })
        };
        assert_eq!([rule(3), rule(0), rule(3), rule(0)], [Some(2), None, Some(2), None]);
        assert_eq!(*asked.borrow(), [3, 0]);
        let _newer: Vec<_> = (100..100 + MAX_ENTRIES).map(rule).collect();
        assert_eq!(rule(3), Some(2));
        assert_eq!(asked.borrow().last(), Some(&3), "forgotten, as others were newer");
        assert_eq!(decided.0.borrow().len(), MAX_ENTRIES);
    }

    #[test]
    fn long_names_are_not_kept() {
        let decided = RuleCache::default();
        assert_eq!(decided.rule(&"a".repeat(MAX_LENGTH + 1), || Some(4)), Some(4));
        assert_eq!(decided.0.borrow().len(), 0);
    }
}
