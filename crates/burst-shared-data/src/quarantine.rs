//! The marks of the VMs in shared data. A VM takes bytes from there under a mark, so that bytes which end it neither end it
//! again after its reload nor end another VM. See [`burst_model::quarantine`].

use crate::ids::LazyId;
use crate::shared_data::{CasConflict, SharedData};
use burst_model::quarantine::{Item, ItemKind, Mark, Marks, QuarantineVerdict};
use burst_model::records::SharedKeys;
use burst_model::time::Time;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

/// The marks of all VMs with the same settings.
#[derive(Debug)]
pub struct Quarantine<H> {
    key: String,
    /// The mark of the leader.
    leader_key: String,
    vm: Rc<LazyId<H>>,
    /// The kinds that were refused since one of them was last taken.
    refused: RefCell<Vec<Refusal>>,
    notices: RefCell<Vec<QuarantineNotice>>,
}

/// Items of a kind are refused; the text of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuarantineNotice(ItemKind);

/// Items of a kind are refused.
#[derive(Clone, Copy, Debug)]
struct Refusal {
    kind: ItemKind,
    since: Time,
    is_noted: bool,
}

/// A VM takes an item within milliseconds. One that is refused for longer is in quarantine.
const NOTICE_DELAY: Duration = Duration::from_millis(500);

/// The item is in quarantine.
struct Quarantined;

impl<H: SharedData> Quarantine<H> {
    /// The marks under these keys, as that VM sees them.
    #[must_use]
    pub fn new(keys: &SharedKeys, vm: Rc<LazyId<H>>) -> Self {
        Self {
            key: keys.quarantine.clone(),
            leader_key: keys.parsing.clone(),
            vm,
            refused: RefCell::default(),
            notices: RefCell::default(),
        }
    }

    pub(crate) fn vm(&self) -> Rc<LazyId<H>> {
        self.vm.clone()
    }

    /// Takes an item under a mark. `None` if it is in quarantine, or if it cannot be marked now.
    pub fn take<T>(&self, item: Item, now: Time, take: impl FnOnce() -> T) -> Option<T> {
        self.begin(item, now).then(|| {
            let taken = take();
            self.end();
            taken
        })
    }

    /// Answers a request under a mark. `None` if the same request ended another VM. A request that cannot be marked,
    /// because other VMs write all the time, is answered too.
    pub fn answer<T>(&self, request: Item, now: Time, answer: impl FnOnce() -> T) -> Option<T> {
        let marked = self.mark(request, now);
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
    #[must_use]
    pub fn begin(&self, item: Item, now: Time) -> bool {
        match self.mark(item, now) {
            Ok(Ok(())) => {
                self.refused.borrow_mut().retain(|refusal| refusal.kind != item.kind);
                true
            }
            Ok(Err(Quarantined)) => {
                self.note_refusal(item.kind, now);
                false
            }
            Err(CasConflict) => false,
        }
    }

    fn mark(&self, item: Item, now: Time) -> Result<Result<(), Quarantined>, CasConflict> {
        let vm = self.vm.get().ok_or(CasConflict)?;
        H::update(&self.key, |bytes| {
            let mut marks = Marks::from_bytes(bytes);
            if marks.verdict(Some(vm), item, now) != QuarantineVerdict::Clear {
                return Err(Quarantined);
            }
            marks.begin(Mark { vm, item, since: now });
            Ok((marks.to_bytes(), ()))
        })
    }

    /// Removes the mark of this VM. If other VMs write all the time, the next tick removes it.
    pub fn end(&self) {
        let _ = H::update(&self.key, |bytes| {
            let mut marks = Marks::from_bytes(bytes);
            let has_mark = self.vm.get().is_some_and(|vm| marks.end(vm));
            if has_mark { Ok((marks.to_bytes(), ())) } else { Err(()) }
        });
    }

    /// Called once a tick. This VM does nothing between two callbacks, so a mark of its own is an old one and is removed.
    /// Returns the marks of the others.
    pub fn tick(&self) -> Marks {
        let found = H::read(&self.key);
        let mut marks = Marks::from_bytes(&found.bytes);
        if !marks.is_empty() && self.vm.get().is_some_and(|vm| marks.end(vm)) {
            // If another VM wrote in between, the next tick tries again.
            let _ = H::compare_and_set(&self.key, &marks.to_bytes(), found.cas);
        }
        marks
    }

    /// Notes what the last leader was doing when it stopped.
    pub fn suspect_last_leader(&self, now: Time) {
        let Some(mark) = Mark::from_bytes(&H::read(&self.leader_key).bytes) else {
            return;
        };
        let _ = H::update(&self.key, |bytes| {
            let mut marks = Marks::from_bytes(bytes);
            let is_new = marks.add_for_lost_leader(Mark { since: now, ..mark });
            if is_new { Ok((marks.to_bytes(), ())) } else { Err(()) }
        });
    }

    /// Takes out what is to be logged since the last call.
    pub fn take_notices(&self) -> Vec<QuarantineNotice> {
        self.notices.take()
    }

    /// Notes that an item is refused. There is no notice at once, because another VM may be taking the item at this moment. A
    /// checkpoint is asked for only once, some time after the last leader stopped. There is one notice until an item of that
    /// kind is taken again.
    fn note_refusal(&self, kind: ItemKind, now: Time) {
        let mut refused = self.refused.borrow_mut();
        let known = refused.iter().position(|refusal| refusal.kind == kind);
        let index = known.unwrap_or_else(|| {
            refused.push(Refusal {
                kind,
                since: now,
                is_noted: false,
            });
            refused.len().saturating_sub(1)
        });
        let Some(refusal) = refused.get_mut(index) else { return };
        // A time in the future comes from a clock that was set back.
        let is_lasting = now < refusal.since || now.since(refusal.since) >= NOTICE_DELAY;
        if !refusal.is_noted && (is_lasting || kind == ItemKind::Checkpoint) {
            refusal.is_noted = true;
            self.notices.borrow_mut().push(QuarantineNotice(kind));
        }
    }

    /// Returns whether the last item of that kind was refused.
    pub(crate) fn is_refused(&self, kind: ItemKind) -> bool {
        self.refused.borrow().iter().any(|refusal| refusal.kind == kind)
    }
}

impl fmt::Display for QuarantineNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let item = match self.0 {
            ItemKind::Snapshot => "the snapshot",
            ItemKind::PeerSnapshot => "the snapshot of a peer",
            ItemKind::Policies => "the set of ExternalMetricPolicies",
            ItemKind::AdapterResources => "the list of what other adapters serve",
            ItemKind::Checkpoint => "the checkpoint of the last leader",
            ItemKind::RequestSum => "the sum of the request counts",
            ItemKind::MetricsQuery | ItemKind::Object | ItemKind::LeaderWork => "a request",
        };
        write!(
            f,
            "{item} is in quarantine: a proxy thread stopped while it read these bytes; this thread reads the next version"
        )
    }
}
