//! A VM that was elected and is about to lead. It reads the last leader's checkpoint in parts: parsing the objects of a
//! large cluster in one call would block the thread for too long.

use super::checkpoint_reader::CheckpointReader;
use super::{Handover, Leader};
use crate::config::Config;
use crate::time::Time;
use std::rc::Rc;

/// Objects that one call reads. They take two or three milliseconds of a thread that also serves requests.
const MAX_OBJECTS: usize = 2_000;

/// A VM that is about to lead.
#[derive(Debug)]
pub struct Successor {
    config: Rc<Config>,
    handover: Handover,
    reader: CheckpointReader,
}

impl Successor {
    /// Takes over. `checkpoint` are the bytes of the last leader's [`Checkpoint`](crate::records::Checkpoint); they may
    /// be empty.
    #[must_use]
    pub fn new(config: Rc<Config>, handover: Handover, checkpoint: Vec<u8>) -> Self {
        Self {
            config,
            handover,
            reader: CheckpointReader::new(checkpoint),
        }
    }

    /// Reads a part of the checkpoint. Returns the leader when the checkpoint is read and there is time left in this call
    /// to start it.
    pub fn advance(&mut self, now: Time) -> Option<Leader> {
        let mut max_objects = MAX_OBJECTS;
        if self.reader.advance(&mut max_objects) || max_objects < MAX_OBJECTS / 2 {
            return None;
        }
        let mut handover = std::mem::take(&mut self.handover);
        handover.checkpoint = self.reader.take_checkpoint();
        Some(Leader::new(self.config.clone(), handover, now))
    }
}
