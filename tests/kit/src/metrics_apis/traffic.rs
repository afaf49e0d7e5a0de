//! Clients of the public listener that never stop asking, at a pace that a busy machine keeps.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use crate::http;

/// 40 requests a second for each path: twice what any autoscaler wants, as a busy machine has less.
const PACE: Duration = Duration::from_millis(50);
const CLIENTS: usize = 2;

/// Clients at work, until dropped.
#[derive(Debug)]
pub struct Traffic {
    stopped: Arc<AtomicBool>,
    clients: Vec<JoinHandle<()>>,
}

impl Traffic {
    /// Begins to GET these paths.
    pub fn begin(address: SocketAddr, paths: &[&'static str]) -> Self {
        let stopped = Arc::<AtomicBool>::default();
        let client = |path: &&'static str| {
            let (stopped, url) = (stopped.clone(), format!("http://{address}{path}"));
            thread::spawn(move || {
                while !stopped.load(Ordering::Relaxed) {
                    assert_eq!(http::get(&url).status, 200, "{url}");
                    thread::sleep(PACE);
                }
            })
        };
        let paths = paths.iter().flat_map(|path| [path; CLIENTS]);
        let clients = paths.map(client).collect();
        Self { stopped, clients }
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        for client in self.clients.drain(..) {
            let ended = client.join();
            assert!(ended.is_ok() || thread::panicking(), "a client failed");
        }
    }
}
