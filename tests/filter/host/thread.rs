//! One VM is one operating system thread, because the SDK's dispatcher is a thread-local.

use super::state::VmState;
use super::trap;
use std::cell::RefCell;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

type Job = Box<dyn FnOnce() + Send>;

/// The VM is gone because its guest panicked. The log has the reason.
#[derive(Debug)]
pub(super) struct Trap;

struct Current {
    state: Arc<Mutex<VmState>>,
    outcomes: Sender<Result<(), Trap>>,
}

thread_local! {
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
}

/// The state of the VM whose thread this is.
pub(super) fn current() -> Option<Arc<Mutex<VmState>>> {
    CURRENT
        .try_with(|current| Some(current.borrow().as_ref()?.state.clone()))
        .ok()
        .flatten()
}

pub(super) fn lock(state: &Mutex<VmState>) -> MutexGuard<'_, VmState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running VM. Dropping it ends it.
pub(super) struct VmThread {
    pub(super) state: Arc<Mutex<VmState>>,
    jobs: Sender<Job>,
    outcomes: Receiver<Result<(), Trap>>,
}

impl VmThread {
    pub(super) fn start(state: VmState) -> Result<Self, Trap> {
        trap::on_panic();
        let initialize = state.module.initialize;
        let state = Arc::new(Mutex::new(state));
        let (jobs, inbox) = channel::<Job>();
        let (outcomes, outbox) = channel();
        let current = Current {
            state: state.clone(),
            outcomes: outcomes.clone(),
        };
        thread::spawn(move || {
            CURRENT.with(|slot| slot.replace(Some(current)));
            for job in inbox {
                job();
                let _ = outcomes.send(Ok(()));
            }
            // A thread that ends drops its thread-locals; a Wasm VM that ends drops nothing. So the thread is parked.
            park_forever();
        });
        let vm = Self {
            state,
            jobs,
            outcomes: outbox,
        };
        lock(&vm.state).initializing = true;
        vm.run(move || initialize())?;
        lock(&vm.state).initializing = false;
        Ok(vm)
    }

    /// Runs the job on the VM's thread and waits until it is done.
    pub(super) fn run<R: Send + 'static>(&self, job: impl FnOnce() -> R + Send + 'static) -> Result<R, Trap> {
        let (results, result) = channel();
        let send = move || results.send(job()).expect("run() waits for the result");
        self.jobs
            .send(Box::new(send))
            .expect("a VM's thread ends after its handle");
        self.outcomes.recv().expect("a VM's thread tells how each job ended")?;
        Ok(result.recv().expect("the job has ended and sent its result"))
    }
}

/// Ends the VM of this thread in the middle of its work, and notifies the threads that wait for it. The thread is
/// parked until the process ends.
pub(super) fn stop() -> ! {
    let outcomes = CURRENT.with(|slot| slot.borrow().as_ref().map(|current| current.outcomes.clone()));
    if let Some(outcomes) = outcomes {
        let _ = outcomes.send(Err(Trap));
    }
    park_forever()
}

fn park_forever() -> ! {
    loop {
        thread::park();
    }
}
