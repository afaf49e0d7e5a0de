//! The test adapter of custom-metrics-apiserver, the library of every adapter; it serves the values that a test writes.
//! <https://github.com/kubernetes-sigs/custom-metrics-apiserver/tree/master/test-adapter>

use std::{fs, net::SocketAddr, path::Path, process::Command};

use crate::{
    Process,
    http::{self, Request},
    oracle, port, wait,
};
use tempfile::TempDir;

use super::{SERVER, SOON, Stage};

/// Its port for values is open on every address, so it runs in a network namespace of its own.
const WRITE_ADDRESS: &str = "127.0.0.1:8080";

/// A running adapter.
#[derive(Debug)]
pub struct Adapter {
    process: Process,
    /// The address of its APIs.
    pub address: SocketAddr,
    _folder: TempDir,
}

impl Adapter {
    /// Starts it on the cluster of a stage, with a certificate of the same authority as the proxy.
    #[track_caller]
    pub fn start(stage: &Stage) -> Self {
        Self::start_at(port::free(), stage, &stage.cluster.kubeconfig())
    }

    /// The same at that port; who may is asked where that kubeconfig leads.
    #[track_caller]
    pub fn start_at(port: u16, stage: &Stage, authorization: &Path) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let server = stage.proxy.authority.server(SERVER, &[SERVER, "127.0.0.1"]);
        let program = oracle::program("test-adapter");
        assert!(
            program.exists(),
            "{} is not there: run `make setup`, or setup/oracle",
            program.display()
        );
        let mut command = Command::new(program);
        for (flag, name, pem) in [
            ("tls-cert-file", "tls.crt", &server.certificate),
            ("tls-private-key-file", "tls.key", &server.key),
        ] {
            let path = folder.path().join(name);
            fs::write(&path, pem).expect("a file");
            command.arg(format!("--{flag}={}", path.display()));
        }
        let cluster = stage.cluster.kubeconfig();
        for (user, kubeconfig) in [
            ("lister", cluster.as_path()),
            ("authentication", &cluster),
            ("authorization", authorization),
        ] {
            command.arg(format!("--{user}-kubeconfig={}", kubeconfig.display()));
        }
        command.args(["--bind-address=127.0.0.1", &format!("--secure-port={port}")]);
        let mut process = Process::start("test-adapter", folder.path(), &mut command);
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        process.wait_for(SOON, "it listens", || std::net::TcpStream::connect(address).map(drop));
        Self {
            process,
            address,
            _folder: folder,
        }
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Writes the value of a metric of an object, as `shop/services/web`.
    #[track_caller]
    pub fn set_value(&self, object: &str, metric: &str, value: u32) {
        Self::write(&format!("namespaces/{object}/{metric}"), value);
    }

    /// Writes the value of a metric of a namespace. The path has `namespace` in the singular, because the adapter never reads
    /// what is written under `namespaces`.
    #[track_caller]
    pub fn set_namespace_value(&self, namespace: &str, metric: &str, value: u32) {
        Self::write(&format!("namespace/{namespace}/{metric}"), value);
    }

    #[track_caller]
    fn write(path: &str, value: u32) {
        let request = Request::of("POST", format!("http://{WRITE_ADDRESS}/write-metrics/{path}"))
            .header("content-type", "application/json")
            .body(format!("\"{value}\""));
        wait::for_ok(SOON, "a value that is accepted", || {
            let answer = http::ask(&request).map_err(|error| error.to_string())?;
            if answer.status == 200 {
                Ok(())
            } else {
                Err(format!("{answer:?}"))
            }
        });
    }
}
