//! When a leader writes a checkpoint for its successor.

use super::Leader;
use super::checkpoint_writer::CheckpointWriter;
use super::effect::Effect;
use super::publish::{Publisher, spend, write_within};
use super::watched_list::WatchedList;
use crate::time::Time;
use std::time::Duration;

/// The time between two checkpoints. The API server keeps the changes of some minutes, so it still knows what happened
/// since the last one. A shorter interval would copy a large cluster's objects more often.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(30);

/// Writes one checkpoint after the other.
#[derive(Debug, Default)]
pub(super) struct Checkpointer {
    state: CheckpointState,
    /// The length of the last checkpoint.
    last_length: usize,
    /// When the last checkpoint was begun.
    begun_at: Option<Time>,
}

#[derive(Debug, Default)]
enum CheckpointState {
    #[default]
    Idle,
    Due,
    /// Being serialized. A checkpoint that was begun is completed before the next one begins: where objects change all
    /// the time there would otherwise never be one.
    Writing {
        writer: CheckpointWriter,
        is_next_due: bool,
    },
}

impl Checkpointer {
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.state, CheckpointState::Idle)
    }

    /// Drops the checkpoint that is being written, and the request for another one.
    pub(super) fn cancel(&mut self) {
        self.state = CheckpointState::Idle;
    }

    fn request(&mut self) {
        match &mut self.state {
            CheckpointState::Idle | CheckpointState::Due => self.state = CheckpointState::Due,
            CheckpointState::Writing { is_next_due, .. } => *is_next_due = true,
        }
    }

    fn is_interval_over(&self, now: Time) -> bool {
        self.begun_at
            .is_none_or(|begun_at| now < begun_at || now.since(begun_at) >= CHECKPOINT_INTERVAL)
    }

    /// The checkpoint that is being written, or a new one if one is due.
    fn writer(&mut self, publisher: &Publisher, list_count: usize, now: Time) -> Option<&mut CheckpointWriter> {
        if matches!(self.state, CheckpointState::Due) {
            self.begun_at = Some(now);
            self.state = CheckpointState::Writing {
                writer: CheckpointWriter::new(
                    publisher.content_hash(),
                    publisher.generation(),
                    list_count,
                    self.last_length,
                ),
                is_next_due: false,
            };
        }
        match &mut self.state {
            CheckpointState::Writing { writer, .. } => Some(writer),
            CheckpointState::Idle | CheckpointState::Due => None,
        }
    }

    /// The bytes of the checkpoint that was being written.
    fn finish(&mut self) -> Option<Vec<u8>> {
        let CheckpointState::Writing { writer, is_next_due } = std::mem::take(&mut self.state) else {
            return None;
        };
        if is_next_due {
            self.state = CheckpointState::Due;
        }
        let bytes = writer.into_bytes();
        self.last_length = bytes.len();
        Some(bytes)
    }
}

impl Leader {
    /// Requests a checkpoint if one is due. While every list is watched, the interval decides: a watch brings a successor
    /// what happened since. A list that is read in full each time must be as new as the snapshot, or a successor would
    /// publish older values again.
    pub(super) fn request_checkpoint_if_due(&mut self, has_published: bool, now: Time) {
        let is_due = match self.lists.iter().all(is_watched_or_unread) {
            true => self.checkpointer.is_interval_over(now),
            false => has_published,
        };
        if is_due && !self.retains_any() {
            self.checkpointer.request();
        }
    }

    /// Writes a part of a checkpoint, and returns it when it is complete.
    pub(super) fn write_checkpoint(&mut self, budget: &mut usize, now: Time) -> Option<Effect> {
        if self.retains_any() {
            self.checkpointer.cancel();
            return None;
        }
        let writer = self.checkpointer.writer(&self.publisher, self.lists.len(), now)?;
        let is_complete = write_within(budget, |max_objects| writer.advance(max_objects, &self.lists));
        if !is_complete || !spend(budget, self.object_count()) {
            return None;
        }
        self.checkpointer.finish().map(Effect::WriteCheckpoint)
    }

    fn object_count(&self) -> usize {
        self.lists.iter().map(|list| list.store.objects.len()).sum()
    }

    /// Returns whether a retained object is older than its list. A successor could not know.
    fn retains_any(&self) -> bool {
        self.lists.iter().any(|list| list.store.retains_any())
    }
}

fn is_watched_or_unread(list: &WatchedList) -> bool {
    list.reflector.is_watched() || list.store.read_at.is_none()
}
