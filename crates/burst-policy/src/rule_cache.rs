//! Caches the first rule that matches a name. Matching a thousand patterns takes thousands of times as long as one
//! lookup, and clients request the same few names again and again.

use std::cell::RefCell;
use std::collections::VecDeque;

/// The number of names in a cache. A proxy serves about ten metrics. The limit is low so that a client that keeps
/// requesting new names costs little memory.
const MAX_ENTRIES: usize = 32;
/// The longest name that is cached, in bytes. Longer names are matched each time, which the [cost](crate::cost) allows.
const MAX_LENGTH: usize = 96;
/// The largest size of a cache, in bytes.
pub(crate) const MAX_BYTES: usize = MAX_ENTRIES * (MAX_LENGTH + 32);

#[derive(Clone, Debug, Default)]
pub(crate) struct RuleCache(RefCell<VecDeque<(Box<str>, Option<usize>)>>);

impl RuleCache {
    /// Returns the rule for a name, and calls `first_match` if the name is not cached.
    pub(crate) fn rule(&self, name: &str, first_match: impl FnOnce() -> Option<usize>) -> Option<usize> {
        if name.len() > MAX_LENGTH {
            return first_match();
        }
        let mut known = self.0.borrow_mut();
        if let Some((_, rule)) = known.iter().find(|(known, _)| **known == *name) {
            return *rule;
        }
        let rule = first_match();
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
    fn a_name_is_matched_once_while_it_is_cached() {
        let (cache, matched) = (RuleCache::default(), RefCell::new(Vec::new()));
        let rule = |name: usize| {
            cache.rule(&name.to_string(), || {
                matched.borrow_mut().push(name);
                name.checked_sub(1)
            })
        };
        assert_eq!([rule(3), rule(0), rule(3), rule(0)], [Some(2), None, Some(2), None]);
        assert_eq!(*matched.borrow(), [3, 0]);
        let _newer: Vec<_> = (100..100 + MAX_ENTRIES).map(rule).collect();
        assert_eq!(rule(3), Some(2));
        assert_eq!(matched.borrow().last(), Some(&3), "evicted by newer names");
        assert_eq!(cache.0.borrow().len(), MAX_ENTRIES);
    }

    #[test]
    fn long_names_are_not_cached() {
        let cache = RuleCache::default();
        assert_eq!(cache.rule(&"a".repeat(MAX_LENGTH + 1), || Some(4)), Some(4));
        assert_eq!(cache.0.borrow().len(), 0);
    }
}
