//! The mark of the leader in shared data: what it parses at the moment. It has a key of its own that no other VM writes
//! while this one leads, because a write takes a microsecond and there is one for each object.

use crate::ids::LazyId;
use crate::shared_data::SharedData;
use burst_model::kube::{ParseDecision, ParseGuard};
use burst_model::quarantine::{Item, ItemKind, Mark, Marks, QuarantineVerdict};
use burst_model::records::SharedKeys;
use burst_model::time::Time;
use std::rc::Rc;

/// The mark of the leader.
#[derive(Debug)]
pub struct LeaderGuard<H> {
    key: String,
    vm: Rc<LazyId<H>>,
    /// The hashes of the objects that it does not parse.
    quarantined: Vec<(u64, QuarantineVerdict)>,
}

impl<H: SharedData> LeaderGuard<H> {
    /// The mark of that VM.
    #[must_use]
    pub fn new(keys: &SharedKeys, vm: Rc<LazyId<H>>) -> Self {
        Self {
            key: keys.parsing.clone(),
            vm,
            quarantined: Vec::new(),
        }
    }

    /// Takes over the marks of all VMs. Returns whether other objects are in quarantine than before.
    pub fn observe_marks(&mut self, marks: &Marks, now: Time) -> bool {
        let quarantined: Vec<_> = marks.objects(now).collect();
        let has_changed = quarantined != self.quarantined;
        self.quarantined = quarantined;
        has_changed
    }

    /// Marks that the leader works, on no object in particular.
    pub fn begin_work(&self) {
        self.mark(Item {
            kind: ItemKind::LeaderWork,
            hash: 0,
        });
    }

    /// Removes the mark: the leader's work is done.
    pub fn end_work(&self) {
        H::overwrite(&self.key, &[]);
    }

    /// Marks bytes that are about to be parsed. Returns whether they may be.
    #[must_use]
    pub fn admits(&self, bytes: &[u8]) -> bool {
        self.verdict(Item::of_bytes(ItemKind::Object, bytes)) == QuarantineVerdict::Clear
    }

    fn verdict(&self, item: Item) -> QuarantineVerdict {
        let known = self.quarantined.iter().find(|(hash, _)| *hash == item.hash);
        let verdict = known.map_or(QuarantineVerdict::Clear, |(_, verdict)| *verdict);
        if verdict == QuarantineVerdict::Clear {
            self.mark(item);
        }
        verdict
    }

    fn mark(&self, item: Item) {
        if let Some(vm) = self.vm.get() {
            let since = Time::default();
            H::overwrite(&self.key, &Mark { vm, item, since }.to_bytes());
        }
    }
}

impl<H: SharedData> ParseGuard for LeaderGuard<H> {
    fn begin(&mut self, item: &str) -> ParseDecision {
        let decision = match self.verdict(Item::object(item)) {
            QuarantineVerdict::Clear => ParseDecision::Parse,
            QuarantineVerdict::Suspected => ParseDecision::Retain,
            QuarantineVerdict::Excluded => ParseDecision::Exclude,
        };
        if decision == ParseDecision::Parse {
            H::before_parse(ItemKind::Object, item.as_bytes());
        }
        decision
    }
}
