//! A proxy in front of the sample's Services.

use std::{net::SocketAddr, time::Duration};

use burst_testkit::{ControlPlane, Envoy, Version, http, http::Answer, wait};

use crate::{
    account::Mount,
    shipped::{SHORT_WATCHES, SHORT_WINDOWS, Shipped, Token},
};

/// Long enough for a poll a second on a machine that also builds.
pub(crate) const SOON: Duration = Duration::from_secs(120);

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
        // One worker, so that two consecutive responses come from one snapshot. tests/envoy covers several workers.
        let envoy = Envoy::of(version)
            .workers(1)
            .file("kube-token.sds.yaml", Shipped::secret(mount).text());
        let envoy = envoy.start(&bootstrap);
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
