//! Prevents the VMs of a proxy from trapping on the same bytes again.
//!
//! A VM cannot catch a trap. With FAIL_RELOAD, Envoy creates the VM again and configures it. If the same bytes trap
//! every VM in `on_configure` or in a tick, every request gets a 503 for as long as the bytes exist. **The invariant:
//! after its reload, a VM never traps again on data from the cluster, neither in `on_configure` nor in a tick.**
//!
//! Before a VM reads a record or parses an object, it writes a [`Mark`] into shared data. Afterwards it removes the
//! mark, in the same callback. So if another VM finds a mark, the first VM is reading the item now, is slow, or has
//! crashed. These cases look the same and are handled in the same way: while the mark exists, no other VM reads the
//! item. A slow VM removes its mark when it continues. The mark of a crashed VM stays until it [expires](MARK_TTL).
//! Then one VM tries the item again.
//!
//! The lease, the confirmation and the failures need no marks: they contain only numbers that the filter wrote, and no
//! text from the cluster.

use crate::hash;
use crate::sync::election::VmId;
use crate::time::Time;
use std::time::Duration;

/// The age of a mark from which its object is excluded from the snapshot. Until then the object stays as it was last
/// read: a thread may be slow for seconds, and a valid object must not lose its header because of that.
pub const SUSPICION_PERIOD: Duration = Duration::from_secs(60);

/// The age at which a mark expires. Then one VM tries the item again: the last VM may have crashed because memory was
/// short for a moment.
pub const MARK_TTL: Duration = Duration::from_secs(3600);

/// The delay before a record's next bytes are read after two VMs crashed on it. Each further crash doubles the delay.
const INITIAL_PAUSE: Duration = Duration::from_secs(10);

/// The longest such delay. If every new version of a record traps, at most one VM a minute crashes. The proxy recovers
/// within a minute after the cause is gone.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// The number of marks that are stored; the oldest are dropped. A VM has one mark at a time.
const MAX_MARKS: usize = 64;

/// The kind of data that a VM reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ItemKind {
    /// The snapshot.
    Snapshot,
    /// The policies in force.
    Policies,
    /// The resources of other adapters.
    AdapterResources,
    /// A request to the metrics APIs. The first such request compiles the patterns of policies and parses the
    /// aggregated request counts.
    MetricsQuery,
    /// The checkpoint from which a successor continues.
    Checkpoint,
    /// Data that the leader parses: an API object, an entry of a hub's response, or the request counts of a VM or a
    /// proxy.
    Object,
    /// Any other work of the leader.
    LeaderWork,
    /// The sum of the request counts, for the rates in load reports.
    RequestSum,
    /// The snapshot of a peer.
    PeerSnapshot,
}

impl ItemKind {
    /// All kinds, each at the index of its discriminant.
    const ALL: [Self; 9] = [
        Self::Snapshot,
        Self::Policies,
        Self::AdapterResources,
        Self::MetricsQuery,
        Self::Checkpoint,
        Self::Object,
        Self::LeaderWork,
        Self::RequestSum,
        Self::PeerSnapshot,
    ];
}

/// Identifies the bytes that a mark is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Item {
    /// The kind of data.
    pub kind: ItemKind,
    /// A number that changes with the bytes: a hash or a generation.
    pub hash: u64,
}

impl Item {
    /// Creates the item of an object, given as JSON. A list and a watch give the same item for the same object.
    #[must_use]
    pub fn object(json: &str) -> Self {
        // A built-in kind has `kind` and `apiVersion` in a watch event but not in a list. From the metadata on the
        // bytes are the same.
        const METADATA: &str = r#""metadata":"#;
        let from_metadata = json.find(METADATA).and_then(|at| json.get(at..)).unwrap_or(json);
        Self::of_bytes(ItemKind::Object, from_metadata.as_bytes())
    }

    /// Creates the item of some bytes.
    #[must_use]
    pub fn of_bytes(kind: ItemKind, bytes: &[u8]) -> Self {
        let hash = hash::of_words(bytes);
        Self { kind, hash }
    }
}

/// Records that a VM is reading an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The VM.
    pub vm: VmId,
    /// The item that the VM is reading.
    pub item: Item,
    /// When the VM began to read, or when a successor noticed that the VM was lost.
    pub since: Time,
}

/// Whether a VM may read an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuarantineVerdict {
    /// The VM may read the item.
    Clear,
    /// Another VM may have crashed on the item, or on similar bytes. Do not read it now.
    Suspected,
    /// Another VM began to read the item at least [`SUSPICION_PERIOD`] ago and has not finished. Exclude it.
    Excluded,
}

/// The marks of all VMs, oldest first. They are stored in one key of shared data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks(Vec<Mark>);

/// The size of an encoded mark: kind, VM, hash and time, little-endian. The encoding is written by hand because a
/// derived one adds some kilobytes to the header-only module.
const MARK_BYTES: usize = 1 + 4 + 8 + 8;

impl Mark {
    /// Encodes the mark.
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

    /// Decodes a mark from the start of some bytes. Returns `None` if they are not a mark.
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

    /// Returns whether the mark counts. A mark from the future does not: it was written before the clock was set back,
    /// so its age is unknown.
    fn is_in_force(&self, now: Time) -> bool {
        // Every retry of the same query is refused while its mark counts, and the client may be entitled to a response.
        let ttl = if self.item.kind == ItemKind::MetricsQuery {
            SUSPICION_PERIOD
        } else {
            MARK_TTL
        };
        self.since <= now && self.age(now) < ttl
    }
}

impl Marks {
    /// Encodes the marks. No marks give no bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(Mark::to_bytes).collect()
    }

    /// Decodes marks. Bytes that are not a mark are ignored.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.chunks(MARK_BYTES).filter_map(Mark::from_bytes).collect())
    }

    /// Returns whether there are no marks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the marks, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Mark> {
        self.0.iter()
    }

    /// Returns whether a VM may read an item. Its own mark does not count: the VM is alive.
    #[must_use]
    pub fn verdict(&self, vm: Option<VmId>, item: Item, now: Time) -> QuarantineVerdict {
        let same_kind = || {
            let others = self
                .0
                .iter()
                .filter(|mark| Some(mark.vm) != vm && mark.is_in_force(now));
            others.filter(|mark| mark.item.kind == item.kind)
        };
        let same_item = same_kind().filter(|mark| mark.item == item);
        if let Some(age) = same_item.map(|mark| mark.age(now)).max() {
            return if age < SUSPICION_PERIOD {
                QuarantineVerdict::Suspected
            } else {
                QuarantineVerdict::Excluded
            };
        }
        // There are many objects and many queries. A crash on one of them does not make the others suspect.
        let is_single = !matches!(item.kind, ItemKind::Object | ItemKind::MetricsQuery);
        let newest = same_kind().map(|mark| mark.age(now)).min().filter(|_| is_single);
        match newest.is_some_and(|age| age < pause(same_kind().count())) {
            true => QuarantineVerdict::Suspected,
            false => QuarantineVerdict::Clear,
        }
    }

    /// Returns how long no VM should take the lease after a leader was lost. If leaders crash one after the other for a
    /// reason that no mark identifies, this limits the crashes to one VM a minute.
    #[must_use]
    pub fn leader_pause(&self, now: Time) -> Duration {
        let is_leaders = |kind| matches!(kind, ItemKind::Object | ItemKind::Checkpoint | ItemKind::LeaderWork);
        let lost = |mark: &&Mark| mark.is_in_force(now) && is_leaders(mark.item.kind);
        pause(self.0.iter().filter(lost).count())
    }

    /// Adds a mark. Removes the previous mark of the same VM, and marks that have expired.
    pub fn begin(&mut self, mark: Mark) {
        self.0
            .retain(|known| known.vm != mark.vm && known.is_in_force(mark.since));
        let surplus = (self.0.len() + 1).saturating_sub(MAX_MARKS);
        self.0.drain(..surplus);
        self.0.push(mark);
    }

    /// Adds a mark on behalf of a leader that was lost, unless that VM has written one itself, which is more specific.
    /// Returns whether the mark was added.
    pub fn add_for_lost_leader(&mut self, mark: Mark) -> bool {
        let is_new = self.0.iter().all(|known| known.vm != mark.vm);
        if is_new {
            self.begin(mark);
        }
        is_new
    }

    /// Removes the mark of a VM that has finished reading. Returns whether there was one.
    pub fn end(&mut self, vm: VmId) -> bool {
        let before = self.0.len();
        self.0.retain(|mark| mark.vm != vm);
        self.0.len() != before
    }

    /// Iterates over the hashes of the objects that must not be parsed, with the verdict on each.
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

/// Returns the delay before the next bytes of a record are read after a number of crashes on it. One crash causes no
/// delay, because its cause is probably in the marked bytes alone.
fn pause(crashes: usize) -> Duration {
    match crashes {
        0 | 1 => Duration::ZERO,
        2 => INITIAL_PAUSE,
        3 => INITIAL_PAUSE * 2,
        4 => INITIAL_PAUSE * 4,
        _ => MAX_PAUSE,
    }
}

#[cfg(test)]
mod tests;
