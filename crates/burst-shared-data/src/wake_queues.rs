//! The shared queues by which the leader wakes the other VMs, so that they serve a new snapshot at once and not at their next
//! tick. A queue cannot be removed, and no callback says that its VM is gone. So each VM announces its queue again and again,
//! and the leader wakes only those that were announced lately.

use crate::shared_data::SharedData;
use burst_model::records::{Record, WakeQueue, WakeQueueList};
use burst_model::time::Time;
use std::cell::Cell;
use std::marker::PhantomData;
use std::time::Duration;

/// The time between two announcements of a queue.
const ANNOUNCE_INTERVAL: Duration = Duration::from_secs(10);

/// A queue that was not announced for so long belongs to a VM that is gone. Each wake-up leaves an item of one byte in it.
const MAX_AGE: Duration = Duration::from_secs(30);

/// The wake queue of this VM, and those of the others with the same settings.
#[derive(Debug)]
pub struct WakeQueues<H> {
    key: String,
    own: Cell<Option<u32>>,
    announced_at: Cell<Option<Time>>,
    host: PhantomData<H>,
}

impl<H: SharedData> WakeQueues<H> {
    /// No queue is announced yet.
    #[must_use]
    pub fn new(key: &str) -> Self {
        Self {
            key: key.into(),
            own: Cell::new(None),
            announced_at: Cell::new(None),
            host: PhantomData,
        }
    }

    /// Called once a tick: announces the queue of this VM when that is due. `register` creates the queue. Envoy tries a
    /// configuration in a canary VM, which never ticks, so it has no queue.
    pub fn tick(&self, register: impl FnOnce() -> Option<u32>, now: Time) {
        let is_due = |last: Time| now >= last.after(ANNOUNCE_INTERVAL) || now < last;
        if !self.announced_at.get().is_none_or(is_due) {
            return;
        }
        self.own.set(self.own.get().or_else(register));
        let Some(queue) = self.own.get() else { return };
        let announced = H::update(&self.key, |bytes| {
            let mut list = WakeQueueList::from_bytes(bytes).unwrap_or_default();
            list.queues.retain(|other| other.queue != queue && is_fresh(other, now));
            list.queues.push(WakeQueue {
                queue,
                announced_at: now,
            });
            Ok::<_, ()>((list.to_bytes(), ()))
        });
        if announced.is_ok() {
            self.announced_at.set(Some(now));
        }
    }

    /// The queues of the other VMs.
    #[must_use]
    pub fn others(&self, now: Time) -> Vec<u32> {
        let list: WakeQueueList = H::read(&self.key).record().unwrap_or_default();
        let others = list.queues.iter().filter(|queue| is_fresh(queue, now));
        others
            .map(|queue| queue.queue)
            .filter(|queue| Some(*queue) != self.own.get())
            .collect()
    }
}

/// An announcement from the future comes from a clock that was set back. Its VM announces its queue again within seconds.
fn is_fresh(queue: &WakeQueue, now: Time) -> bool {
    queue.announced_at <= now && now.since(queue.announced_at) <= MAX_AGE
}
