//! What the proxy talks to: the stand-in Kubernetes API and the upstream.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use burst_lab::api::{KubeApi, Reply};
use burst_lab::cluster::{Cluster, HPAS};
use burst_lab::server::{Handler, Server};
use burst_testkit::{port, wait};
use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::PATIENCE;
use super::upstream::Upstream;

/// The servers of all stories, and their clients of HTTP/2.
pub(super) static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime"));

/// Any free port.
pub(super) const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Enough to tell one poller from two, at an interval of a second; and what is left of one where a tick comes early.
const POLLS: u32 = 10;
const SHORTEST: Duration = Duration::from_millis(750);

/// A cluster, its API and an upstream.
pub(crate) struct World {
    pub(crate) api: KubeApi,
    pub(crate) cluster: Cluster,
    forgetful: Arc<AtomicBool>,
    arrivals: Arrivals,
    kube_addr: SocketAddr,
    kube: Option<Server>,
    upstream: Server,
}

impl World {
    /// The cluster of the seed, with two cases more.
    pub(crate) fn sample() -> Self {
        Self::of(burst_lab::sample::cluster().expect("the sample cluster"))
    }

    pub(crate) fn of(cluster: Cluster) -> Self {
        let api = KubeApi::new(cluster.clone());
        let forgetful = Arc::new(AtomicBool::new(false));
        let mut world = Self {
            api,
            cluster,
            forgetful,
            arrivals: Arrivals::default(),
            // Where the system puts nobody else while the API is away.
            kube_addr: SocketAddr::from((Ipv4Addr::LOCALHOST, port::free())),
            kube: None,
            upstream: serve(ANY, Upstream),
        };
        world.accept_connections();
        world
    }

    /// So many applications in the namespace `shop`, each a Service, a Deployment and an HPA of the same name: `app-00` and
    /// so on.
    pub(crate) fn of_apps(count: usize) -> Self {
        let cluster = Cluster::new();
        for number in 0..count {
            for object in app(&format!("app-{number:02}")) {
                cluster.apply(object).expect("an object");
            }
        }
        Self::of(cluster)
    }

    pub(crate) fn kube_port(&self) -> u16 {
        self.kube_addr.port()
    }

    pub(crate) fn upstream_port(&self) -> u16 {
        self.upstream.addr().port()
    }

    /// Closes the API's listener and its connections.
    ///
    /// # Panics
    /// When that is not done in time.
    #[track_caller]
    pub(crate) fn refuse_connections(&mut self) {
        self.kube = None;
        // The servers' own threads close it, when they come to it; and it answers until then.
        wait::until(PATIENCE, "the API refuses connections", || {
            TcpStream::connect(self.kube_addr).is_err()
        });
    }

    /// Listens again where it did.
    pub(crate) fn accept_connections(&mut self) {
        let front = Front {
            api: self.api.clone(),
            forgetful: self.forgetful.clone(),
            arrivals: self.arrivals.clone(),
        };
        self.kube = Some(serve(self.kube_addr, front));
    }

    /// When each request came whose path ends so, by the API's own clock: nobody looks at it too late.
    #[must_use]
    pub(crate) fn arrivals(&self, end: &str) -> Vec<Instant> {
        let arrivals = locked(&self.arrivals);
        let of_path = arrivals.iter().filter(|(path, _)| path.ends_with(end));
        of_path.map(|(_, at)| *at).collect()
    }

    /// Whether the API forgets, between two pages of a list, the version that the list is of: its `continue` tokens
    /// are answered by 410 then.
    pub(crate) fn forget_between_pages(&self, forgetful: bool) {
        self.forgetful.store(forgetful, Ordering::Relaxed);
    }

    /// Waits until HPAs were listed some times more, at an interval of a second, and sees that one poller asked and not
    /// two. The lease has to be where it stays: who takes it over begins intervals of its own.
    ///
    /// # Panics
    /// When they came too fast, or not in time.
    #[track_caller]
    pub(crate) fn wait_for_polls_of_one(&self) {
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
    pub(crate) fn scale_ngsa_1(&self, replicas: u32) {
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

pub(super) fn serve(address: SocketAddr, what: impl Handler) -> Server {
    RUNTIME.block_on(Server::start(address, what)).expect("a listener")
}

/// The paths that were asked for, and when.
type Arrivals = Arc<Mutex<Vec<(String, Instant)>>>;

/// The API, which can be told to forget, with a clock at its door.
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
