//! The marks of the VMs in shared data. A VM takes bytes from there under a mark, so that bytes which end it neither end it
//! again after its reload nor end another VM. See [`burst_model::quarantine`].

use crate::log;
use crate::shared_data::{self, CasConflict, SharedValue};
use crate::{host, vm};
use burst_model::quarantine::{Item, ItemKind, Mark, Marks, QuarantineVerdict};
use burst_model::records::SharedKeys;
use burst_model::time::Time;
use std::cell::RefCell;

/// The marks of all VMs with the same settings.
#[derive(Debug)]
pub(crate) struct Quarantine {
    key: String,
    /// The mark of the leader.
    leader_key: String,
    /// The kinds that were refused since one of them was last taken, and whether the log says so.
    refused: RefCell<Vec<(ItemKind, bool)>>,
}

/// The item is in quarantine.
struct Quarantined;

impl Quarantine {
    pub(crate) fn new(keys: &SharedKeys) -> Self {
        Self {
            key: keys.quarantine.clone(),
            leader_key: keys.parsing.clone(),
            refused: RefCell::default(),
        }
    }

    /// Takes an item under a mark. `None` if it is in quarantine, or if it cannot be marked now.
    pub(crate) fn take<T>(&self, item: Item, take: impl FnOnce() -> T) -> Option<T> {
        self.begin(item).then(|| {
            let taken = take();
            self.end();
            taken
        })
    }

    /// Answers a request under a mark. `None` if the same request ended another VM. A request that cannot be marked,
    /// because other VMs write all the time, is answered too.
    pub(crate) fn answer<T>(&self, request: Item, answer: impl FnOnce() -> T) -> Option<T> {
        let marked = self.mark(request);
        if let Ok(Err(Quarantined)) = marked {
            return None;
        }
        let answer = answer();
        if marked.is_ok() {
            self.end();
        }
        Some(answer)
    }

    /// Marks an item. Returns whether it may be taken; then [`Self::end`] has to follow in the same callback.
    pub(crate) fn begin(&self, item: Item) -> bool {
        match self.mark(item) {
            Ok(Ok(())) => {
                self.refused.borrow_mut().retain(|(kind, _)| *kind != item.kind);
                true
            }
            Ok(Err(Quarantined)) => {
                self.report(item.kind);
                false
            }
            Err(CasConflict) => false,
        }
    }

    fn mark(&self, item: Item) -> Result<Result<(), Quarantined>, CasConflict> {
        let (vm, now) = (vm::id().ok_or(CasConflict)?, host::now());
        shared_data::update(&self.key, |bytes| {
            let mut marks = Marks::from_bytes(bytes);
            if marks.verdict(Some(vm), item, now) != QuarantineVerdict::Clear {
                return Err(Quarantined);
            }
            marks.begin(Mark { vm, item, since: now });
            Ok((marks.to_bytes(), ()))
        })
    }

    /// Removes the mark of this VM. If other VMs write all the time, the next tick removes it.
    pub(crate) fn end(&self) {
        let _ = shared_data::update(&self.key, |bytes| {
            let mut marks = Marks::from_bytes(bytes);
            let has_mark = vm::id().is_some_and(|vm| marks.end(vm));
            if has_mark { Ok((marks.to_bytes(), ())) } else { Err(()) }
        });
    }

    /// Called once a tick. This VM does nothing between two callbacks, so a mark of its own is an old one and is removed.
    /// Returns the marks of the others.
    pub(crate) fn tick(&self) -> Marks {
        let found = SharedValue::read(&self.key);
        let mut marks = Marks::from_bytes(&found.bytes);
        if !marks.is_empty() && vm::id().is_some_and(|vm| marks.end(vm)) {
            // If another VM wrote in between, the next tick tries again.
            let _ = shared_data::compare_and_set(&self.key, &marks.to_bytes(), found.cas);
        }
        marks
    }

    /// Notes what the last leader was doing when it stopped.
    pub(crate) fn suspect(&self, now: Time) {
        let Some(mark) = Mark::from_bytes(&SharedValue::read(&self.leader_key).bytes) else {
            return;
        };
        let _ = shared_data::update(&self.key, |bytes| {
            let mut marks = Marks::from_bytes(bytes);
            let is_new = marks.succeed(Mark { since: now, ..mark });
            if is_new { Ok((marks.to_bytes(), ())) } else { Err(()) }
        });
    }

    /// Logs that items of a kind are refused: at the second refusal, because another VM may be taking the item at the
    /// moment of the first one. A checkpoint is asked for only once, some time after the last leader stopped. There is
    /// one line until an item of that kind is taken again.
    fn report(&self, kind: ItemKind) {
        let mut refused = self.refused.borrow_mut();
        let is_due = match refused.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, is_logged)) => !std::mem::replace(is_logged, true),
            None => {
                let is_due = kind == ItemKind::Checkpoint;
                refused.push((kind, is_due));
                is_due
            }
        };
        if is_due {
            vm::stats().quarantined_records.count();
            log::warn(format_args!(
                "{} is in quarantine: a proxy thread stopped while it read these bytes; this thread reads the next version",
                name(kind)
            ));
        }
    }
}

fn name(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Snapshot => "the snapshot",
        ItemKind::Policies => "the set of ExternalMetricPolicies",
        ItemKind::Offers => "the list of what other adapters serve",
        ItemKind::Checkpoint => "the checkpoint of the last leader",
        ItemKind::Query | ItemKind::Object | ItemKind::Leading => "a request",
    }
}

/// Traps if the bytes of a record contain the name of a test. A Service of that name is in the snapshot and in the
/// checkpoint, a metric of that name in the policies.
#[cfg(feature = "test-trap")]
pub(crate) fn trap_on(kind: ItemKind, bytes: &[u8]) {
    let name: &[u8] = match kind {
        ItemKind::Snapshot => b"burst-test-trap-snapshot",
        ItemKind::Policies => b"burst-test-trap-policies",
        ItemKind::Checkpoint => b"burst-test-trap-checkpoint",
        _ => return,
    };
    if bytes.windows(name.len()).any(|part| part == name) {
        host::trap();
    }
}

#[cfg(not(feature = "test-trap"))]
pub(crate) fn trap_on(_: ItemKind, _: &[u8]) {}
