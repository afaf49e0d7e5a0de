//! Keeps the VMs of a proxy away from bytes that ended one of them.
//!
//! A trap cannot be caught inside a VM. Envoy's FAIL_RELOAD makes the VM again and configures it, so bytes that trap each
//! reader in `on_configure` or in a tick would make every request a 503, for as long as they are there. **The invariant:
//! nothing that comes from the cluster traps a VM again after its reload, neither in `on_configure` nor in a tick.**
//!
//! A VM writes a [`Mark`] into shared data before it takes a record or parses an object, and removes it afterwards. All of
//! that is one callback, so a mark that another VM finds is of a VM that is taking the item now, is slow, or is gone.
//! Nobody can tell these apart, and nobody needs to: while the mark stands, no other VM takes the item. A VM that is
//! merely slow removes its mark when it goes on. A VM that is gone does not, and its mark counts until it
//! [expires](MARK_TTL); then one VM tries the item again.
//!
//! The lease, the confirmation and the failures are not marked: they hold numbers of the filter's own, and no text of the
//! cluster's.

use crate::hash;
use crate::sync::election::VmId;
use crate::time::Time;
use std::time::Duration;

/// An object whose mark has stood so long is left out. Until then it stays as it was read before: a thread may be held up
/// for seconds, and an object that is innocent must not lose its header for that.
pub const SUSPICION_PERIOD: Duration = Duration::from_secs(60);

/// A mark that is older counts no more. Then one VM tries the item again: what ended the last one may have been a passing
/// lack of memory.
pub const MARK_TTL: Duration = Duration::from_secs(3600);

/// Deaths by a record beyond the first delay its next bytes by this, and each further one by twice as much as before.
const INITIAL_PAUSE: Duration = Duration::from_secs(10);

/// The longest such delay. So a cause that is in every new version of a record ends a VM a minute at most, and the proxy
/// is well again a minute after the cause is gone.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// Marks that are kept, the newest; a VM has one at a time.
const MAX_MARKS: usize = 64;

/// What a mark is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ItemKind {
    /// The snapshot.
    Snapshot,
    /// The policies in force.
    Policies,
    /// What other adapters offer.
    AdapterResources,
    /// A request of the metrics APIs. The first one that needs them compiles the patterns of policies, and parses the sum of
    /// counted requests.
    MetricsQuery,
    /// What a successor continues from.
    Checkpoint,
    /// An object of the API, an entry of a hub's answer, or what one VM or proxy counted; the leader parses these.
    Object,
    /// Any other work of the leader.
    Leading,
}

impl ItemKind {
    /// Each at the place of its number.
    const ALL: [Self; 7] = [
        Self::Snapshot,
        Self::Policies,
        Self::AdapterResources,
        Self::MetricsQuery,
        Self::Checkpoint,
        Self::Object,
        Self::Leading,
    ];
}

/// Bytes, as far as a mark tells them from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Item {
    /// What they are.
    pub kind: ItemKind,
    /// A number that changes with them: a hash, or a generation.
    pub hash: u64,
}

impl Item {
    /// An object, as JSON. In a list an object of the API's own kinds comes without the kind and the version that it has in
    /// a watch; from its metadata on the bytes are the same.
    #[must_use]
    pub fn object(json: &str) -> Self {
        const METADATA: &str = r#""metadata":"#;
        let lasting = json.find(METADATA).and_then(|at| json.get(at..)).unwrap_or(json);
        Self::of_bytes(ItemKind::Object, lasting.as_bytes())
    }

    /// Bytes of that kind.
    #[must_use]
    pub fn of_bytes(kind: ItemKind, bytes: &[u8]) -> Self {
        let hash = hash::of_words(bytes);
        Self { kind, hash }
    }
}

/// "This VM is taking this item."
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Which VM.
    pub vm: VmId,
    /// What it takes.
    pub item: Item,
    /// Since when, or since when a successor of that VM knows.
    pub since: Time,
}

/// What may be done with an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuarantineVerdict {
    /// It may be taken.
    Clear,
    /// Another VM may have died of it, or of bytes like it.
    Suspected,
    /// Another VM has not come back from it for [`SUSPICION_PERIOD`].
    Guilty,
}

/// The marks of all VMs, in one key of shared data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks(Vec<Mark>);

/// Bytes of a mark: kind, VM, hash, since when; little-endian. By hand, because a reader of these that is made from their
/// types is some kilobytes of the header-only module.
const MARK_BYTES: usize = 1 + 4 + 8 + 8;

impl Mark {
    /// The mark as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let Self { vm, item, since } = self;
        let mut bytes = Vec::with_capacity(MARK_BYTES);
        bytes.push(item.kind as u8);
        bytes.extend(vm.0.to_le_bytes());
        bytes.extend(item.hash.to_le_bytes());
        bytes.extend(since.unix_millis().to_le_bytes());
        bytes
    }

    /// The mark that the first of some bytes are; `None` where they are none.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&kind, rest) = bytes.split_first()?;
        let (vm, rest) = rest.split_first_chunk()?;
        let (hash, rest) = rest.split_first_chunk()?;
        let kind = *ItemKind::ALL.get(usize::from(kind))?;
        let hash = u64::from_le_bytes(*hash);
        Some(Self {
            vm: VmId(u32::from_le_bytes(*vm)),
            item: Item { kind, hash },
            since: Time::from_unix_millis(u64::from_le_bytes(*rest.first_chunk()?)),
        })
    }

    fn age(&self, now: Time) -> Duration {
        now.since(self.since)
    }

    /// A mark that lies ahead was made before the clock was set back, and nobody knows when.
    fn is_in_force(&self, now: Time) -> bool {
        // A client that asks again each time is told "not now"; it may have the right to an answer.
        let most = if self.item.kind == ItemKind::MetricsQuery {
            SUSPICION_PERIOD
        } else {
            MARK_TTL
        };
        self.since <= now && self.age(now) < most
    }
}

impl Marks {
    /// The marks as bytes; none where there are none.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(Mark::to_bytes).collect()
    }

    /// The marks that some bytes are. What is none is passed over.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.chunks(MARK_BYTES).filter_map(Mark::from_bytes).collect())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Mark> {
        self.0.iter()
    }

    /// What a VM may do with an item. Its own marks do not count: it is alive.
    #[must_use]
    pub fn verdict(&self, vm: Option<VmId>, item: Item, now: Time) -> QuarantineVerdict {
        let alike = || {
            let others = self
                .0
                .iter()
                .filter(|mark| Some(mark.vm) != vm && mark.is_in_force(now));
            others.filter(|mark| mark.item.kind == item.kind)
        };
        let same = alike().filter(|mark| mark.item == item);
        if let Some(age) = same.map(|mark| mark.age(now)).max() {
            return if age < SUSPICION_PERIOD {
                QuarantineVerdict::Suspected
            } else {
                QuarantineVerdict::Guilty
            };
        }
        // One of many objects, or of many requests, says nothing of the others.
        let is_alone = !matches!(item.kind, ItemKind::Object | ItemKind::MetricsQuery);
        let newest = alike().map(|mark| mark.age(now)).min().filter(|_| is_alone);
        match newest.is_some_and(|age| age < pause(alike().count())) {
            true => QuarantineVerdict::Suspected,
            false => QuarantineVerdict::Clear,
        }
    }

    /// For how long nobody should lead after a leader was lost: where leaders die one after the other of something that
    /// no mark tells, that costs a VM a minute at most.
    #[must_use]
    pub fn leader_pause(&self, now: Time) -> Duration {
        let leads = |kind| matches!(kind, ItemKind::Object | ItemKind::Checkpoint | ItemKind::Leading);
        let lost = |mark: &&Mark| mark.is_in_force(now) && leads(mark.item.kind);
        pause(self.0.iter().filter(lost).count())
    }

    /// Adds a mark, in place of the one that its VM had before and of those that count no more.
    pub fn begin(&mut self, mark: Mark) {
        self.0
            .retain(|known| known.vm != mark.vm && known.is_in_force(mark.since));
        let surplus = (self.0.len() + 1).saturating_sub(MAX_MARKS);
        self.0.drain(..surplus);
        self.0.push(mark);
    }

    /// Adds what a leader was about when it was lost, unless that VM has marked something more definite by itself; whether
    /// it did.
    pub fn succeed(&mut self, mark: Mark) -> bool {
        let is_new = self.0.iter().all(|known| known.vm != mark.vm);
        if is_new {
            self.begin(mark);
        }
        is_new
    }

    /// Takes out what a VM has marked, which has come back from it; whether there was anything.
    pub fn end(&mut self, vm: VmId) -> bool {
        let before = self.0.len();
        self.0.retain(|mark| mark.vm != vm);
        self.0.len() != before
    }

    /// The objects that are not to be parsed, each with what may be done with it.
    pub fn objects(&self, now: Time) -> impl Iterator<Item = (u64, QuarantineVerdict)> {
        let objects = self
            .0
            .iter()
            .map(|mark| mark.item)
            .filter(|item| item.kind == ItemKind::Object);
        let judged = objects.map(move |item| (item.hash, self.verdict(None, item, now)));
        judged.filter(|(_, verdict)| *verdict != QuarantineVerdict::Clear)
    }
}

/// How long the next bytes of a record wait after so many deaths by it. After one they do not: the cause is in the bytes
/// that are marked, as far as anybody knows.
fn pause(deaths: usize) -> Duration {
    match deaths {
        0 | 1 => Duration::ZERO,
        2 => INITIAL_PAUSE,
        3 => INITIAL_PAUSE * 2,
        4 => INITIAL_PAUSE * 4,
        _ => MAX_PAUSE,
    }
}

#[cfg(test)]
mod tests;
