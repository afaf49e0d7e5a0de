//! A proxy in front of the sample's Services.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use burst_testkit::{
    ControlPlane, Envoy, EnvoyBuilder, Traffic, Version,
    http::{self, Answer, Request},
    wait,
};

use crate::{
    account::Mount,
    expected, sample,
    shipped::{LISTENERS, SHORT_WATCHES, SHORT_WINDOWS, Shipped, Token},
};

/// Long enough for a poll a second on a machine that also builds.
pub(crate) const SOON: Duration = Duration::from_secs(120);

/// The kinds that a proxy reads by default, a stream of each.
const STREAMS: u64 = 4;

/// The time between two requests, which leaves the machine time for the control plane.
const PACE: Duration = Duration::from_millis(10);

/// A running proxy.
#[derive(Debug)]
pub(crate) struct Gateway {
    pub(crate) envoy: Envoy,
    address: SocketAddr,
}

impl Gateway {
    /// The default proxy of these tests: the newest Envoy, with `more` keys in the filter's configuration.
    #[track_caller]
    pub(crate) fn new(cluster: &ControlPlane, mount: &Mount, more: &str) -> Self {
        let bootstrap = Shipped::bootstrap(Token::Injected, cluster, mount).configured(more);
        Self::start(Version::Tested, &bootstrap, mount)
    }

    /// The same, but it reads in windows.
    #[track_caller]
    pub(crate) fn in_windows(cluster: &ControlPlane, mount: &Mount, more: &str) -> Self {
        let bootstrap = Shipped::bootstrap(Token::Injected, cluster, mount).configured(more);
        Self::start(Version::Tested, &bootstrap.with(SHORT_WATCHES, SHORT_WINDOWS), mount)
    }

    /// Starts a proxy from a bootstrap.
    #[track_caller]
    pub(crate) fn start(version: Version, bootstrap: &Shipped, mount: &Mount) -> Self {
        let bootstrap = bootstrap
            .text()
            .replace("filter-config/kube-token", "$FOLDER/kube-token");
        Self::of(Self::setup(version, mount).start(&bootstrap))
    }

    /// Starts a proxy whose listeners [`replace_listeners`](Self::replace_listeners) replaces.
    #[track_caller]
    pub(crate) fn start_with_listener_file(version: Version, bootstrap: Shipped, mount: &Mount) -> Self {
        let (bootstrap, listeners) = bootstrap.with_listener_file();
        let bootstrap = bootstrap
            .text()
            .replace("filter-config/kube-token", "$FOLDER/kube-token");
        let setup = Self::setup(version, mount).file(LISTENERS, listeners.text());
        Self::of(setup.argument("--drain-time-s").argument("2").start(&bootstrap))
    }

    /// Replaces the listeners by those of another bootstrap, which has them at the same ports.
    pub(crate) fn replace_listeners(&self, bootstrap: Shipped) {
        let (_, listeners) = bootstrap.with_listener_file();
        self.envoy.replace(LISTENERS, listeners.text());
    }

    fn setup(version: Version, mount: &Mount) -> EnvoyBuilder {
        // One worker, so that two consecutive responses come from one snapshot. tests/envoy covers several workers.
        Envoy::of(version)
            .workers(1)
            .file("kube-token.sds.yaml", Shipped::secret(mount).text())
    }

    #[track_caller]
    fn of(envoy: Envoy) -> Self {
        let address = envoy.listener("http");
        Self { envoy, address }
    }

    /// The threads that started to poll, in order. Each of them logs a failure once.
    pub(crate) fn pollers(&self) -> Vec<u32> {
        let log = self.envoy.log();
        let lines = log.lines().filter(|line| line.contains("this thread polls "));
        // [2026-01-01 00:00:00.000][THREAD][info]…
        let thread = |line: &str| line.split(['[', ']']).nth(3)?.parse().ok();
        lines.filter_map(thread).collect()
    }

    /// Waits until the main thread polls, which it does once the worker has served a request. From then on the lease
    /// stays there, so no failure is logged twice.
    #[track_caller]
    pub(crate) fn wait_for_main_thread(&self) {
        wait::until(SOON, "the main thread polls", || {
            self.pollers().last() == Some(&self.envoy.id())
        });
    }

    /// The header on a regular response of a Service.
    #[track_caller]
    pub(crate) fn header(&self, service: &str) -> Option<String> {
        let answer = http::send("GET", &format!("http://{}/", self.address), &[("host", service)]);
        assert_eq!(answer.status, 200, "{service}: {}", answer.body);
        answer.header("x-burst").map(ToOwned::to_owned)
    }

    /// Sends requests to the sample's scaled Service until [`Headers::stop`].
    pub(crate) fn collect_headers(&self) -> Headers {
        let traffic = Traffic::to(self.address, Request::get("/").host(sample::SCALED)).pace(PACE);
        Headers(traffic.expecting(|answer| answer.status == 200).start())
    }

    /// Waits until the header of the sample's scaled Service shows that number of replicas.
    #[track_caller]
    pub(crate) fn wait_for_replicas(&self, replicas: u32) {
        self.wait_for_header(sample::SCALED, Some(&sample::header(replicas)));
    }

    /// Waits until the proxy reads each default kind by a stream, and by nothing else.
    #[track_caller]
    pub(crate) fn wait_for_streams(&self) {
        self.envoy.wait_for_log(SOON, "reading the Kubernetes API by streams: ");
        // A list, or the short watch before a stream, takes less time than that.
        const QUIET: Duration = Duration::from_secs(2);
        let (mut known, mut since) = (None, Instant::now());
        wait::for_ok(SOON, "a stream of each kind, and no new request", || {
            let stat = |name: &str| self.envoy.stat(&format!("cluster.kube_api.upstream_rq_{name}"));
            let (active, total) = (stat("active"), stat("total"));
            if active != Some(STREAMS) || total != known {
                (known, since) = (total, Instant::now());
            }
            match since.elapsed() >= QUIET {
                true => Ok(()),
                false => Err(format!("{active:?} requests are under way, of {total:?}")),
            }
        });
    }

    /// Waits until the proxy serves what a list of all objects leads to now. `more` are the keys in its configuration.
    #[track_caller]
    pub(crate) fn wait_until_current(&self, cluster: &ControlPlane, more: &str) {
        let expected = expected::services(cluster, more);
        wait::for_ok(SOON, "the same as from a list", || {
            let served = serde_json::from_str(&self.burst("services").body).unwrap_or_default();
            if expected == served {
                Ok(())
            } else {
                Err(format!("{served:#?}, and not {expected:#?}"))
            }
        });
    }

    /// The response to a path under `/burstmetrics`.
    #[track_caller]
    pub(crate) fn burst(&self, path: &str) -> Answer {
        self.get(&format!("/burstmetrics/{path}"))
    }

    /// The response to a request that names no Service.
    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Answer {
        http::get(&format!("http://{}{path}", self.address))
    }

    /// A stat of the filter, or 0 before the first count.
    pub(crate) fn stat(&self, name: &str) -> u64 {
        self.envoy.filter_stat(name)
    }

    /// Waits until regular responses of a Service have that header, or have none.
    #[track_caller]
    pub(crate) fn wait_for_header(&self, service: &str, expected: Option<&str>) {
        wait::for_ok(SOON, &format!("the header {expected:?} of {service}"), || {
            let found = self.header(service);
            if found.as_deref() == expected {
                Ok(())
            } else {
                Err(format!("it is {found:?}"))
            }
        });
    }

    /// Waits until a path under `/burstmetrics` returns that status, and returns the body.
    #[track_caller]
    pub(crate) fn wait_for_burst(&self, path: &str, status: u16) -> String {
        self.wait_for(&format!("/burstmetrics/{path}"), status).body
    }

    /// Waits until a path returns that status.
    #[track_caller]
    pub(crate) fn wait_for(&self, path: &str, status: u16) -> Answer {
        wait::for_ok(SOON, &format!("{status} for {path}"), || {
            let answer = self.get(path);
            if answer.status == status {
                Ok(answer)
            } else {
                Err(format!("{} {}", answer.status, answer.body))
            }
        })
    }

    /// Waits until a gauge has that value. The proxy's threads set theirs once a tick.
    #[track_caller]
    pub(crate) fn wait_for_gauge(&self, name: &str, value: u64) {
        wait::for_ok(SOON, &format!("{name} of {value}"), || match self.stat(name) {
            found if found == value => Ok(()),
            found => Err(found),
        });
    }

    /// Waits until a stat has at least that value.
    #[track_caller]
    pub(crate) fn wait_for_stat(&self, name: &str, least: u64) {
        wait::for_ok(SOON, &format!("{name} of {least} or more"), || {
            let found = self.stat(name);
            if found >= least { Ok(()) } else { Err(found.to_string()) }
        });
    }
}

/// Requests to the sample's scaled Service. Each must be answered with 200.
#[derive(Debug)]
pub(crate) struct Headers(Traffic);

impl Headers {
    /// Ends the requests. Returns the headers in order, equal ones that follow each other once. So an older value that shows
    /// again after a newer one, and a response without a header, are entries of their own.
    #[track_caller]
    pub(crate) fn stop(self) -> Vec<Option<String>> {
        let mut headers: Vec<_> = self
            .0
            .stop()
            .into_iter()
            .map(|answer| answer.header("x-burst").map(str::to_owned))
            .collect();
        headers.dedup();
        headers
    }

    /// Ends the requests. The headers must have shown these replicas one after the other.
    #[track_caller]
    pub(crate) fn assert_replicas<const COUNT: usize>(self, replicas: [u32; COUNT]) {
        assert_eq!(self.stop(), replicas.map(|replicas| Some(sample::header(replicas))));
    }
}
