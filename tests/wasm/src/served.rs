//! Records the headers and the answers that a thread serves from a snapshot.

use std::fmt::Write as _;

use burst_model::config::Config;
use burst_model::records::Confirmed;
use burst_model::serve::{ServingCache, burst};
use burst_model::time::Time;

use crate::later;

const SERVICES: [&str; 5] = [
    "ngsa-svc-1.default",
    "ngsa-svc-2.ngsa",
    "queue.data",
    "checkout.shop",
    "kubernetes.default",
];

const PATHS: [&str; 8] = [
    "/burstmetrics/services",
    "/burstmetrics/deployments/",
    "/burstmetrics/statefulsets?pretty",
    "/burstmetrics/hpas",
    "/burstmetrics/rollouts",
    "/burstmetrics/services/default/ngsa-svc-1",
    "/burstmetrics/hpas/shop/ch%65ckout-canary/",
    "/burstmetrics/pods",
];

/// Appends the headers and the answers to the transcript, while the snapshot is fresh and once it is stale.
pub(crate) fn record(config: &Config, snapshot: Vec<u8>, confirmed: &Confirmed, transcript: &mut String) {
    let mut cache = ServingCache::default();
    cache.take(snapshot).expect("a whole snapshot");
    for (seconds, paths) in [(31, &PATHS[..]), (3600, &PATHS[..1])] {
        cache.refresh(config, Some(confirmed), later(seconds));
        writeln!(transcript, "\nafter {seconds} s: {:?}", cache.freshness()).expect("text grows");
        for service in SERVICES {
            let header = cache.header(config, service.as_bytes(), &());
            writeln!(transcript, "{service}: {header:?}").expect("text grows");
        }
        for path in paths {
            transcript.push_str(&answer(config, &mut cache, path, later(seconds)));
        }
    }
}

fn answer(config: &Config, cache: &mut ServingCache, path: &str, now: Time) -> String {
    let endpoints = config.endpoints.as_ref().expect("endpoints are on");
    let request = burst::BurstRequest {
        method: b"GET",
        path: path.as_bytes(),
        host: b"localhost",
        accept: None,
        if_none_match: None,
        now,
    };
    let Some(burst::BurstReply::Now(answer)) = burst::answer(config, endpoints, cache, request) else {
        panic!("{path} is not a path of ours, or waits");
    };
    let body = String::from_utf8_lossy(&answer.body);
    format!("\n{} {path}\n{:?}\n{body}", answer.status, answer.headers)
}
