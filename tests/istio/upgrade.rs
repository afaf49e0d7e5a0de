//! An upgrade to a new version of the module, and the rollback.

use std::{
    fs,
    io::Write as _,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
};

use burst_testkit::{
    Version,
    http::{Answer, Connection, Request},
    wait, wasm,
};
use tempfile::TempDir;

use crate::{
    gateway::PUBLIC,
    mesh::{Ingress, Mesh, SOME, SOON},
    routes,
    shipped::{self, Applied, Pod},
    shop::{self, API, WEB},
};

/// The number of live VMs: one per worker, one on the main thread, and the one that they are cloned from.
const ACTIVE: &str = "wasm.envoy.wasm.runtime.v8.active";

/// The cluster of the program that answers on demand.
const SLOW: &str = "outbound|80|slow|api.shop.svc.cluster.local";

/// Filter chains that have been removed from a listener and still have connections.
const DRAINING: &str = "listener_manager.total_filter_chains_draining";

#[test]
fn a_new_module_replaces_the_old_one_without_a_gap_and_is_rolled_back() {
    let upgrade = Upgrade::new();
    let Upgrade { ingress, program, .. } = &upgrade;
    let _ = upgrade.apply(&upgrade.old);
    ingress.wait_for_header(PUBLIC, "/", Some(WEB));
    let alone = ingress.envoy.stat(ACTIVE).unwrap();

    // Both modules have the same settings, so no answer ever lacks the header.
    let traffic = ingress
        .traffic(PUBLIC)
        .expecting(|answer| answer.header("x-burst") == Some(WEB))
        .start();
    for module in [&upgrade.new, &upgrade.old] {
        let held = PendingRequest::begin(ingress, program);
        let _ = upgrade.apply(module);
        wait::until(SOON, "the other module beside the one before", || {
            ingress.envoy.stat(ACTIVE) > Some(alone) && runs(ingress, module)
        });
        traffic.wait_for_more(SOME);
        let answer = held.end();
        assert_eq!(answer.header("x-burst"), Some(API), "{answer:?}");
        wait::until(SOON, "the module before is gone", || {
            ingress.envoy.stat(ACTIVE) == Some(alone)
        });
    }
    traffic.stop();
}

#[test]
fn a_new_module_arrives_with_a_new_listener_while_the_old_one_drains_and_is_rolled_back() {
    let upgrade = Upgrade::new();
    let Upgrade { ingress, program, .. } = &upgrade;
    let mut applied = upgrade.apply(&upgrade.old);
    ingress.wait_for_header(PUBLIC, "/", Some(WEB));
    let alone = ingress.envoy.stat(ACTIVE).unwrap();

    let traffic = ingress.traffic(PUBLIC).start();
    for module in [&upgrade.new, &upgrade.old] {
        let held = PendingRequest::begin(ingress, program);
        // A deleted plugin is also removed from the listener.
        applied.delete(&upgrade.mesh.cluster);
        ingress.wait_for_header(PUBLIC, "/", None);
        traffic.wait_for_more(SOME);
        applied = upgrade.apply(module);
        ingress.wait_for_header(PUBLIC, "/", Some(WEB));
        assert!(runs(ingress, module), "{}", module.display());
        assert!(ingress.envoy.stat(ACTIVE) > Some(alone), "the module before has gone");
        assert!(ingress.envoy.stat(DRAINING) > Some(0), "nothing drains");
        traffic.wait_for_more(SOME);
        // The old listener answers, with the old module.
        let answer = held.end();
        assert_eq!(answer.header("x-burst"), Some(API), "{answer:?}");
    }
    traffic.stop();
}

/// A gateway, and two versions of the module.
struct Upgrade {
    mesh: Mesh,
    ingress: Ingress,
    pod: Pod,
    /// A program that answers on demand.
    program: TcpListener,
    old: PathBuf,
    new: PathBuf,
    _folder: TempDir,
}

impl Upgrade {
    fn new() -> Self {
        let mesh = Mesh::start();
        let ingress = mesh.ingress(Version::Tested);
        mesh.cluster.apply(routes::VIRTUAL_SERVICE);
        let program = TcpListener::bind("127.0.0.1:0").unwrap();
        program.set_nonblocking(true).unwrap();
        shop::join(&mesh.cluster, "api-slow", program.local_addr().unwrap().port());
        ingress.wait_for_every(PUBLIC, "/", "the mesh serves", |answer| answer.status == 200);
        let endpoint = format!("{SLOW}::{}::", program.local_addr().unwrap());
        wait::until(SOON, &endpoint, || {
            ingress.envoy.admin("/clusters").body.contains(&endpoint)
        });
        let pod = mesh.ingress_pod();
        let old = wasm("burst-metrics.wasm");
        let folder = tempfile::tempdir().unwrap();
        let new = folder.path().join("burst-metrics-next.wasm");
        fs::write(&new, another_version(&fs::read(&old).unwrap())).unwrap();
        Self {
            mesh,
            ingress,
            pod,
            program,
            old,
            new,
            _folder: folder,
        }
    }

    fn apply(&self, module: &Path) -> Applied {
        shipped::apply(&self.mesh.cluster, "gateway", module, &self.pod)
    }
}

fn runs(ingress: &Ingress, module: &Path) -> bool {
    let dump = ingress.envoy.admin("/config_dump?resource=ecds_filters").body;
    dump.contains(&module.display().to_string())
}

/// A request in flight. The filters that processed the request also process its response.
struct PendingRequest {
    client: Connection,
    program: TcpStream,
}

impl PendingRequest {
    fn begin(ingress: &Ingress, program: &TcpListener) -> Self {
        let mut client = Connection::open(ingress.address()).unwrap();
        client.send(&Request::get("/slow").host(PUBLIC)).unwrap();
        let (program, _) = wait::for_ok(SOON, "the request at its program", || program.accept());
        Self { client, program }
    }

    fn end(mut self) -> Answer {
        write!(
            self.program,
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        )
        .unwrap();
        self.client.answer().unwrap()
    }
}

/// The module with an additional custom section: different bytes, so different VMs, with the same code.
/// <https://webassembly.github.io/spec/core/binary/modules.html#custom-section>
fn another_version(module: &[u8]) -> Vec<u8> {
    const SECTION: &[u8] = b"\x00\x08\x07version";
    [module, SECTION].concat()
}
