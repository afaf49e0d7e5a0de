//! How many objects are asked for in one page. Envoy says the same of an answer over its buffer limit and of one whose
//! connection broke: so a page that was cut off is halved, and the larger one is tried again after a while.

/// Whole reads before a larger page is tried again, the first time: five minutes at the default interval.
const INITIAL_PATIENCE: u32 = 20;

/// The most of them: some five hours. Objects that are that large stay so, and each try costs a log line.
const MAX_PATIENCE: u32 = 1280;

/// The objects that a list may have at least, before it is taken for one without an end; and the pages. With the pages of
/// 500 objects that are the default it is half a million objects.
const MAX_LIST_OBJECTS: u32 = 100_000;
const MIN_MAX_PAGES: u32 = 1_000;

/// The size of a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageSize {
    configured: u32,
    limit: u32,
    /// Whole reads since the size last changed, and how many it takes to try a larger one.
    complete_lists: u32,
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

    pub(super) fn limit(self) -> u32 {
        self.limit
    }

    /// The most pages that a list may have.
    pub(super) fn max_pages(self) -> u32 {
        (MAX_LIST_OBJECTS / self.limit.max(1)).max(MIN_MAX_PAGES)
    }

    /// A page was cut off.
    pub(super) fn halve(&mut self) {
        self.limit = (self.limit / 2).max(1);
        self.complete_lists = 0;
        self.patience = self.patience.saturating_mul(2).min(MAX_PATIENCE);
    }

    /// A list was read to its end.
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

    fn reads_until_larger(size: &mut PageSize) -> u32 {
        let limit = size.limit();
        let mut reads = 0;
        while size.limit() == limit {
            size.record_complete_list();
            reads += 1;
        }
        reads
    }

    #[test]
    fn a_page_is_halved_down_to_one_object() {
        let mut size = PageSize::new(5);
        let limits = [(); 4].map(|()| {
            size.halve();
            size.limit()
        });
        assert_eq!(limits, [2, 1, 1, 1]);
    }

    #[test]
    fn a_larger_page_is_tried_later_each_time_it_fails_and_never_one_over_the_configured() {
        let mut size = PageSize::new(500);
        size.halve();
        assert_eq!(reads_until_larger(&mut size), 40);
        assert_eq!(size.limit(), 500);
        size.halve();
        assert_eq!(reads_until_larger(&mut size), 80);
        for _ in 0..40 {
            size.halve();
        }
        assert_eq!(reads_until_larger(&mut size), MAX_PATIENCE);
        assert_eq!(size.limit(), 2);
        let mut steady = PageSize::new(7);
        (0..1000).for_each(|_| steady.record_complete_list());
        assert_eq!(steady.limit(), 7);
    }
}
