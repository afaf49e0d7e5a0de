//! Shared queues, as `shared_queue.cc` of proxy-wasm-cpp-host implements them: a name belongs to the VM that
//! registered it last, and nothing is ever unregistered.

use super::log::ThreadName;
use proxy_wasm::types::Status;
use std::collections::{BTreeMap, VecDeque};

/// The receiver of "queue ready": a context number on a thread. A canary and the main thread's live VM have the same
/// one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) thread: ThreadName,
    pub(super) vm_id: String,
    pub(super) context: u32,
}

struct Queue {
    owner: Owner,
    values: VecDeque<Vec<u8>>,
}

#[derive(Default)]
pub(super) struct Queues {
    tokens: BTreeMap<(String, String), u32>,
    queues: BTreeMap<u32, Queue>,
    ready: VecDeque<(Owner, u32)>,
}

impl Queues {
    pub(super) fn register(&mut self, name: &str, owner: Owner) -> u32 {
        let next = u32::try_from(self.tokens.len()).expect("a few queues") + 1;
        let token = *self
            .tokens
            .entry((owner.vm_id.clone(), name.to_owned()))
            .or_insert(next);
        match self.queues.get_mut(&token) {
            Some(queue) => queue.owner = owner,
            None => drop(self.queues.insert(
                token,
                Queue {
                    owner,
                    values: VecDeque::new(),
                },
            )),
        }
        token
    }

    pub(super) fn resolve(&self, vm_id: &str, name: &str) -> Result<u32, Status> {
        self.tokens
            .get(&(vm_id.to_owned(), name.to_owned()))
            .copied()
            .ok_or(Status::NotFound)
    }

    pub(super) fn enqueue(&mut self, token: u32, value: Vec<u8>) -> Result<(), Status> {
        let queue = self.queues.get_mut(&token).ok_or(Status::NotFound)?;
        queue.values.push_back(value);
        self.ready.push_back((queue.owner.clone(), token));
        Ok(())
    }

    pub(super) fn dequeue(&mut self, token: u32) -> Result<Vec<u8>, Status> {
        self.queues
            .get_mut(&token)
            .ok_or(Status::NotFound)?
            .values
            .pop_front()
            .ok_or(Status::Empty)
    }

    /// The next "queue ready" that has not been delivered.
    pub(super) fn next_ready(&mut self) -> Option<(Owner, u32)> {
        self.ready.pop_front()
    }

    pub(super) fn put_back(&mut self, owner: Owner, token: u32) {
        self.ready.push_front((owner, token));
    }
}
