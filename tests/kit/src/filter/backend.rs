//! What the proxy talks to: the stand-in Kubernetes API and the upstream.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::{http::RUNTIME, port, wait};
use burst_lab::api::{KubeApi, Reply};
use burst_lab::cluster::{Cluster, HPAS};
use burst_lab::server::{Handler, Server};
use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};

use super::PATIENCE;
use super::upstream::Upstream;

/// Enough polls to tell one leader from two, at an interval of a second; and the shortest interval when a tick is early.
const POLLS: u32 = 10;
const SHORTEST: Duration = Duration::from_millis(750);

/// A cluster, its API and an upstream.
pub struct Backend {
    /// The stand-in API.
    pub api: KubeApi,
    /// The objects that it serves.
    pub cluster: Cluster,
    forgetful: Arc<AtomicBool>,
    arrivals: Arrivals,
    kube_addr: SocketAddr,
    kube: Option<Server>,
    upstream: Server,
}

impl Backend {
    /// The sample cluster of burst-lab.
    pub fn sample() -> Self {
        Self::of(burst_lab::sample::cluster().expect("the sample cluster"))
    }

    /// An API for that cluster, and an upstream.
    pub fn of(cluster: Cluster) -> Self {
        let api = KubeApi::new(cluster.clone());
        let forgetful = Arc::new(AtomicBool::new(false));
        let mut backend = Self {
            api,
            cluster,
            forgetful,
            arrivals: Arrivals::default(),
            // A port that the system gives to no other process while the API is down.
            kube_addr: SocketAddr::from((Ipv4Addr::LOCALHOST, port::free())),
            kube: None,
            upstream: serve(Upstream),
        };
        backend.accept_connections();
        backend
    }

    /// That many applications in the namespace `shop`, each with a Service, a Deployment and an HPA of the same name: `app-00`
    /// and so on.
    pub fn of_apps(count: usize) -> Self {
        let cluster = Cluster::new();
        for number in 0..count {
            for object in app(&format!("app-{number:02}")) {
                cluster.apply(object).expect("an object");
            }
        }
        Self::of(cluster)
    }

    /// The port of the API.
    pub fn kube_port(&self) -> u16 {
        self.kube_addr.port()
    }

    /// The port of the upstream.
    pub fn upstream_port(&self) -> u16 {
        self.upstream.addr().port()
    }

    /// Closes the API's listener and its connections.
    ///
    /// # Panics
    /// When that is not done in time.
    #[track_caller]
    pub fn refuse_connections(&mut self) {
        self.kube = None;
        // The runtime closes it a little later, and it answers until then.
        wait::until(PATIENCE, "the API refuses connections", || {
            TcpStream::connect(self.kube_addr).is_err()
        });
    }

    /// Listens on the same port again.
    pub fn accept_connections(&mut self) {
        let front = Front {
            api: self.api.clone(),
            forgetful: self.forgetful.clone(),
            arrivals: self.arrivals.clone(),
        };
        self.kube = Some(serve_at(self.kube_addr, front));
    }

    /// The arrival times of the requests whose path ends with `end`, taken by the API itself.
    #[must_use]
    pub fn arrivals(&self, end: &str) -> Vec<Instant> {
        let arrivals = locked(&self.arrivals);
        let of_path = arrivals.iter().filter(|(path, _)| path.ends_with(end));
        of_path.map(|(_, at)| *at).collect()
    }

    /// Makes the API compact its history between two pages of a list, so that it answers `continue` tokens with 410.
    pub fn forget_between_pages(&self, forgetful: bool) {
        self.forgetful.store(forgetful, Ordering::Relaxed);
    }

    /// Waits until HPAs were listed several times more, at an interval of a second, and checks that one leader listed them and
    /// not two. The lease must not move meanwhile, because a new leader starts its own intervals.
    ///
    /// # Panics
    /// When they came too fast, or not in time.
    #[track_caller]
    pub fn wait_for_polls_of_one(&self) {
        let asked = || self.api.requests.count(|seen| seen.resource == HPAS);
        let (before, started) = (asked(), Instant::now());
        wait::until(PATIENCE, "more polls", || asked() >= before + POLLS as usize);
        // The first may have been on its way before, and the second waits for its answer alone. Each of the others came an
        // interval after the one before it, less what a tick may come early; two pollers are done before that.
        let (polls, least) = (asked() - before, SHORTEST * (POLLS - 2));
        let took = started.elapsed();
        assert!(took >= least, "{polls} polls in {took:?}");
    }

    /// Sets the current replicas of the seed's first HPA.
    pub fn scale_ngsa_1(&self, replicas: u32) {
        self.cluster
            .set_current_replicas("default/ngsa-hpa-1", replicas)
            .expect("the HPA");
    }
}

/// The objects of an application, at 1 of 10 replicas.
fn app(name: &str) -> [Value; 3] {
    let object = |api_version: &str, kind: &str, spec: Value, status: Value| {
        let metadata = json!({"name": name, "namespace": "shop"});
        json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec, "status": status})
    };
    let labels = json!({"app": name});
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name});
    let template = json!({"template": {"metadata": {"labels": labels}}});
    let scaled = json!({"scaleTargetRef": target, "maxReplicas": 10});
    let replicas = json!({"currentReplicas": 1, "desiredReplicas": 1});
    [
        object("v1", "Service", json!({"selector": labels}), json!({})),
        object("apps/v1", "Deployment", template, json!({})),
        object("autoscaling/v2", "HorizontalPodAutoscaler", scaled, replicas),
    ]
}

fn locked(arrivals: &Arrivals) -> MutexGuard<'_, Vec<(String, Instant)>> {
    arrivals.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves on a free port of 127.0.0.1 until the server is dropped.
///
/// # Panics
/// When there is none.
pub fn serve(what: impl Handler) -> Server {
    serve_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), what)
}

fn serve_at(address: SocketAddr, what: impl Handler) -> Server {
    RUNTIME.block_on(Server::start(address, what)).expect("a listener")
}

/// The paths that were asked for, and when.
type Arrivals = Arc<Mutex<Vec<(String, Instant)>>>;

/// The API, which records the time of each request and can compact its history between two pages.
struct Front {
    api: KubeApi,
    forgetful: Arc<AtomicBool>,
    arrivals: Arrivals,
}

impl Handler for Front {
    fn handle(&self, request: &Request<Bytes>) -> Reply {
        let arrival = (request.uri().path().to_owned(), Instant::now());
        locked(&self.arrivals).push(arrival);
        let goes_on = request.uri().query().is_some_and(|query| query.contains("continue="));
        if goes_on && self.forgetful.load(Ordering::Relaxed) {
            self.api.cluster.compact();
        }
        self.api.handle(request)
    }
}
