//! How many objects a LIST request asks for. Envoy reports a response over its buffer limit like a connection that broke.
//! So the page size is halved after either, and doubled again after a while.

/// Complete lists before the page size is doubled for the first time: five minutes at the default interval.
const INITIAL_PATIENCE: u32 = 20;

/// The most complete lists before it is doubled: some five hours. Objects that large stay so, and each attempt costs a
/// message in the log.
const MAX_PATIENCE: u32 = 1280;

/// A list with more pages than the larger of these two limits allows counts as endless. With the default page size of 500
/// that is half a million objects.
const MAX_LIST_OBJECTS: u32 = 100_000;
const MIN_MAX_PAGES: u32 = 1_000;

/// The page size of one list.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageSize {
    configured: u32,
    limit: u32,
    /// Complete lists since the size last changed.
    complete_lists: u32,
    /// Complete lists before the size is doubled.
    patience: u32,
}

impl PageSize {
    pub(super) fn new(configured: u32) -> Self {
        Self {
            configured,
            limit: configured,
            complete_lists: 0,
            patience: INITIAL_PATIENCE,
        }
    }

    /// The `limit` of the next request.
    pub(super) fn limit(self) -> u32 {
        self.limit
    }

    /// The pages that a list may have.
    pub(super) fn max_pages(self) -> u32 {
        (MAX_LIST_OBJECTS / self.limit.max(1)).max(MIN_MAX_PAGES)
    }

    /// Halves the size: a response was cut off.
    pub(super) fn halve(&mut self) {
        self.limit = (self.limit / 2).max(1);
        self.complete_lists = 0;
        self.patience = self.patience.saturating_mul(2).min(MAX_PATIENCE);
    }

    /// Counts a complete list, and doubles the size after many of them.
    pub(super) fn record_complete_list(&mut self) {
        self.complete_lists = self.complete_lists.saturating_add(1);
        if self.complete_lists >= self.patience && self.limit < self.configured {
            self.limit = self.limit.saturating_mul(2).min(self.configured);
            self.complete_lists = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists_until_larger(size: &mut PageSize) -> u32 {
        let limit = size.limit();
        let mut lists = 0;
        while size.limit() == limit {
            size.record_complete_list();
            lists += 1;
        }
        lists
    }

    #[test]
    fn the_page_size_is_halved_down_to_one_object() {
        let mut size = PageSize::new(5);
        let limits = [(); 4].map(|()| {
            size.halve();
            size.limit()
        });
        assert_eq!(limits, [2, 1, 1, 1]);
    }

    #[test]
    fn each_failed_attempt_at_a_larger_page_delays_the_next_and_the_configured_size_is_never_exceeded() {
        let mut size = PageSize::new(500);
        size.halve();
        assert_eq!(lists_until_larger(&mut size), 40);
        assert_eq!(size.limit(), 500);
        size.halve();
        assert_eq!(lists_until_larger(&mut size), 80);
        for _ in 0..40 {
            size.halve();
        }
        assert_eq!(lists_until_larger(&mut size), MAX_PATIENCE);
        assert_eq!(size.limit(), 2);
        let mut steady = PageSize::new(7);
        (0..1000).for_each(|_| steady.record_complete_list());
        assert_eq!(steady.limit(), 7);
    }
}
