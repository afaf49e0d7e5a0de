//! The mark of the leader in shared data: what it parses at the moment. It has a key of its own that no other VM writes
//! while this one leads, because a write takes a microsecond and there is one for each object.

use crate::shared_data::overwrite;
use crate::vm;
use burst_model::kube::{ParseDecision, ParseGuard};
use burst_model::quarantine::{Item, ItemKind, Mark, Marks, QuarantineVerdict};
use burst_model::records::SharedKeys;
use burst_model::time::Time;

#[derive(Debug)]
pub(crate) struct LeaderGuard {
    key: String,
    /// The hashes of the objects that it does not parse.
    quarantined: Vec<(u64, QuarantineVerdict)>,
}

impl LeaderGuard {
    pub(crate) fn new(keys: &SharedKeys) -> Self {
        Self {
            key: keys.parsing.clone(),
            quarantined: Vec::new(),
        }
    }

    /// Takes over the marks of all VMs. Returns whether other objects are in quarantine than before.
    pub(crate) fn observe_marks(&mut self, marks: &Marks, now: Time) -> bool {
        let quarantined: Vec<_> = marks.objects(now).collect();
        let has_changed = quarantined != self.quarantined;
        self.quarantined = quarantined;
        has_changed
    }

    /// Marks that the leader works, on no object in particular.
    pub(crate) fn begin_work(&self) {
        self.mark(Item {
            kind: ItemKind::Leading,
            hash: 0,
        });
    }

    /// Removes the mark: the leader's work is done.
    pub(crate) fn end_work(&self) {
        overwrite(&self.key, &[]);
    }

    /// Marks bytes that are about to be parsed. Returns whether they may be.
    pub(crate) fn admits(&self, bytes: &[u8]) -> bool {
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
        if let Some(vm) = vm::id() {
            let since = Time::default();
            overwrite(&self.key, &Mark { vm, item, since }.to_bytes());
        }
    }
}

impl ParseGuard for LeaderGuard {
    fn begin(&mut self, item: &str) -> ParseDecision {
        let decision = match self.verdict(Item::object(item)) {
            QuarantineVerdict::Clear => ParseDecision::Parse,
            QuarantineVerdict::Suspected => ParseDecision::Retain,
            QuarantineVerdict::Guilty => ParseDecision::Exclude,
        };
        #[cfg(feature = "test-trap")]
        if decision == ParseDecision::Parse && item.contains("burst-metrics.test/trap") {
            crate::host::trap();
        }
        decision
    }
}
