//! This VM's marks in shared data: what it takes from there it takes under a mark, so that what ends it does not end it
//! again after its reload, nor another VM. See [`burst_model::quarantine`].

use crate::host::{self, SharedValue};
use crate::log;
use crate::vm;
use burst_model::kube::{ParseDecision, ParseGuard};
use burst_model::quarantine::{Item, ItemKind, Mark, Marks, QuarantineVerdict};
use burst_model::records::SharedKeys;
use burst_model::time::Time;
use std::cell::RefCell;

/// Others who may be faster, one after the other, before a write is given up; the next tick tries again.
const TRIES: usize = 8;

/// The marks of the VMs with the same settings.
#[derive(Debug)]
pub(crate) struct Quarantine {
    key: String,
    parsing: String,
    /// What this VM keeps away from, and whether that was told.
    refused: RefCell<Vec<(ItemKind, bool)>>,
}

/// Whether an item is marked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MarkOutcome {
    Yes,
    /// It is not to be taken now.
    Refused,
    /// Others are faster all the time.
    Outrun,
}

impl Quarantine {
    pub(crate) fn new(keys: &SharedKeys) -> Self {
        Self {
            key: keys.quarantine.clone(),
            parsing: keys.parsing.clone(),
            refused: RefCell::default(),
        }
    }

    /// Takes an item under a mark; `None` where it is not to be taken now.
    pub(crate) fn take<T>(&self, item: Item, take: impl FnOnce() -> T) -> Option<T> {
        self.begin(item).then(|| {
            let taken = take();
            self.end();
            taken
        })
    }

    /// Answers a request under a mark; `None` where the same request ended another VM. One that cannot be marked, because
    /// others are faster all the time, is answered all the same.
    pub(crate) fn answer<T>(&self, request: Item, answer: impl FnOnce() -> T) -> Option<T> {
        let marked = self.mark(request);
        (marked != MarkOutcome::Refused).then(|| {
            let answer = answer();
            if marked == MarkOutcome::Yes {
                self.end();
            }
            answer
        })
    }

    /// Marks an item, if it may be taken; then [`Self::end`] must come in the same callback.
    pub(crate) fn begin(&self, item: Item) -> bool {
        let marked = self.mark(item);
        match marked {
            MarkOutcome::Yes => self.refused.borrow_mut().retain(|(known, _)| *known != item.kind),
            MarkOutcome::Refused => self.refuse(item.kind),
            MarkOutcome::Outrun => {}
        }
        marked == MarkOutcome::Yes
    }

    fn mark(&self, item: Item) -> MarkOutcome {
        let (Some(vm), now) = (vm::id(), host::now()) else {
            return MarkOutcome::Outrun;
        };
        for _ in 0..TRIES {
            let (found, mut marks) = self.read();
            if marks.verdict(Some(vm), item, now) != QuarantineVerdict::Clear {
                return MarkOutcome::Refused;
            }
            marks.begin(Mark { vm, item, since: now });
            if self.write(&found, &marks) {
                return MarkOutcome::Yes;
            }
        }
        MarkOutcome::Outrun
    }

    /// Takes this VM's mark away. Where others are faster all the time the next tick does.
    pub(crate) fn end(&self) {
        for _ in 0..TRIES {
            let (found, mut marks) = self.read();
            if !vm::id().is_some_and(|vm| marks.end(vm)) || self.write(&found, &marks) {
                return;
            }
        }
    }

    /// Once a tick, between two callbacks of this VM: none of its marks means anything. The marks of the others.
    pub(crate) fn tick(&self) -> Marks {
        let (found, mut marks) = self.read();
        if !marks.is_empty() && vm::id().is_some_and(|vm| marks.end(vm)) {
            // Somebody else was faster: the next tick tries again.
            self.write(&found, &marks);
        }
        marks
    }

    /// Notes what the last leader was about when it was lost.
    pub(crate) fn suspect(&self, now: Time) {
        let Some(mark) = Mark::from_bytes(&SharedValue::read(&self.parsing).bytes) else {
            return;
        };
        for _ in 0..TRIES {
            let (found, mut marks) = self.read();
            if !marks.succeed(Mark { since: now, ..mark }) || self.write(&found, &marks) {
                return;
            }
        }
    }

    fn read(&self) -> (SharedValue, Marks) {
        let found = SharedValue::read(&self.key);
        let marks = Marks::from_bytes(&found.bytes);
        (found, marks)
    }

    fn write(&self, found: &SharedValue, marks: &Marks) -> bool {
        host::compare_and_set(&self.key, &marks.to_bytes(), found.cas).is_ok()
    }

    /// Another thread may be taking it at this moment, so only a second refusal is told; a checkpoint is asked for once, some
    /// time after the last leader was lost. Nothing more is told until something of the kind is taken.
    fn refuse(&self, kind: ItemKind) {
        let mut refused = self.refused.borrow_mut();
        let known = refused.iter_mut().find(|(known, _)| *known == kind);
        let is_due = match known {
            Some((_, is_told)) => !std::mem::replace(is_told, true),
            None => {
                let is_due = kind == ItemKind::Checkpoint;
                refused.push((kind, is_due));
                is_due
            }
        };
        if is_due {
            vm::stats().quarantined_records.count();
            let what = name(kind);
            log::warn(format_args!(
                "{what} is left alone: a proxy thread stopped while it took it; another one is taken when it comes"
            ));
        }
    }
}

fn name(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Snapshot => "the snapshot",
        ItemKind::Policies => "the set of ExternalMetricPolicies",
        ItemKind::AdapterResources => "the list of what other adapters have",
        ItemKind::Checkpoint => "the checkpoint of the last leader",
        ItemKind::MetricsQuery | ItemKind::Object | ItemKind::Leading => "a request",
    }
}

/// What the leader is about. It has a key of its own, which no other VM writes while it leads: a write takes a microsecond,
/// and there is one for each object.
#[derive(Debug)]
pub(crate) struct LeaderGuard {
    key: String,
    /// What it does not parse.
    objects: Vec<(u64, QuarantineVerdict)>,
}

impl LeaderGuard {
    pub(crate) fn new(keys: &SharedKeys) -> Self {
        Self {
            key: keys.parsing.clone(),
            objects: Vec::new(),
        }
    }

    /// Goes by the marks of all VMs; whether what may be parsed is other than before.
    pub(crate) fn observe_marks(&mut self, marks: &Marks, now: Time) -> bool {
        let objects: Vec<_> = marks.objects(now).collect();
        let is_news = objects != self.objects;
        self.objects = objects;
        is_news
    }

    /// The leader begins some work.
    pub(crate) fn begin_work(&self) {
        self.mark(Item {
            kind: ItemKind::Leading,
            hash: 0,
        });
    }

    /// The leader has come back from it.
    pub(crate) fn end_work(&self) {
        host::overwrite(&self.key, &[]);
    }

    /// Marks bytes that are about to be parsed, if they may be.
    pub(crate) fn admits(&self, bytes: &[u8]) -> bool {
        self.verdict(Item::of_bytes(ItemKind::Object, bytes)) == QuarantineVerdict::Clear
    }

    fn verdict(&self, item: Item) -> QuarantineVerdict {
        let known = self.objects.iter().find(|(hash, _)| *hash == item.hash);
        let verdict = known.map_or(QuarantineVerdict::Clear, |(_, verdict)| *verdict);
        if verdict == QuarantineVerdict::Clear {
            self.mark(item);
        }
        verdict
    }

    fn mark(&self, item: Item) {
        if let Some(vm) = vm::id() {
            let since = Time::default();
            host::overwrite(&self.key, &Mark { vm, item, since }.to_bytes());
        }
    }
}

impl ParseGuard for LeaderGuard {
    fn begin(&mut self, item: &str) -> ParseDecision {
        let admission = match self.verdict(Item::object(item)) {
            QuarantineVerdict::Clear => ParseDecision::Parse,
            QuarantineVerdict::Suspected => ParseDecision::Retain,
            QuarantineVerdict::Guilty => ParseDecision::Exclude,
        };
        #[cfg(feature = "test-trap")]
        if admission == ParseDecision::Parse && item.contains("burst-metrics.test/trap") {
            host::trap();
        }
        admission
    }
}

/// Traps where the bytes of a record have the name of a test in them: a Service of that name is in the snapshot and in the
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
