//! The filter's configuration, cluster names, and reports of other proxies.

use burst_model::config::{Artifact, Config};
use burst_model::hub_client;
use burst_model::name::ObjectName;
use burst_model::request_rates::report_index::ReportIndex;
use burst_model::request_rates::{Tally, TallySum, report};
use burst_model::time::Time;
use burst_model::upstream::{IstioService, UpstreamHints};
use std::time::Duration;

/// Parses a configuration. The same bytes give the same result, and an error is one line.
pub(crate) fn config(bytes: &[u8]) -> bool {
    let taken = [Artifact::Full, Artifact::HeaderOnly].map(|artifact| match Config::parse(bytes, artifact) {
        Ok(config) => {
            let again = Config::parse(bytes, artifact).expect("the same bytes");
            assert_eq!(config.settings_hash(), again.settings_hash());
            true
        }
        Err(refusal) => {
            assert!(!refusal.to_string().contains('\n'), "{refusal}");
            false
        }
    });
    taken[0]
}

/// Parses a hub's response, once as a body and once as headers. An error is one line.
pub(crate) fn hub(bytes: &[u8]) -> bool {
    let response = hub_client::HubResponse {
        status: Some(200),
        confirmed: Some(b"at=1700000000000, age=0"),
        body: bytes,
        ..hub_client::HubResponse::default()
    };
    let headers = hub_client::HubResponse {
        confirmed: Some(bytes),
        etag: Some(bytes),
        retry_after: Some(bytes),
        ..response
    };
    let [taken, _] = [response, headers].map(|response| match hub_client::parse(response, &mut ()) {
        Ok(_) => true,
        Err(failure) => {
            assert!(!failure.to_string().contains('\n'), "{failure}");
            false
        }
    });
    taken
}

/// Parses a report of requests. What can be parsed is written as the same report.
pub(crate) fn report(bytes: &[u8]) -> bool {
    let now = Time::from_unix_millis(1_700_000_000_000);
    let _ = report::parse(bytes, Duration::from_secs(60), Duration::from_secs(30), now);
    let _ = report::parse_response(Some(200), bytes);
    let Ok(share) = Tally::parse(bytes) else { return false };
    let text = share.to_text();
    assert_eq!(Tally::parse(text.as_bytes()).expect("a share"), share);
    let mut total = TallySum::default();
    total.add(&share);
    assert!(total.tally(1).is_some());
    let _ = (ReportIndex::read(bytes), share.is_fresh(now, Duration::from_secs(30)));
    true
}

/// Parses the name of an Envoy cluster and lines with what else the proxy knows about it: Istio's host, name and
/// namespace, and the owner of the proxy's pod.
pub(crate) fn upstream(bytes: &[u8]) -> bool {
    let json = br#"{"cluster":"k","clusters":[{"name":"{service}.{namespace}"},{"name":"x-{service}-{namespace}"}]}"#;
    let config = Config::parse(json, Artifact::Full).expect("a configuration");
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let name = lines.next().unwrap_or_default();
    let told = Told(lines.map(|line| String::from_utf8_lossy(line).into_owned()).collect());
    config.upstreams.resolve(name, &told).is_ok()
}

struct Told(Vec<String>);

impl UpstreamHints for Told {
    fn service(&self, index: usize) -> Option<IstioService> {
        let [host, name, namespace] = self.0.get(index * 3..index * 3 + 3)? else {
            return None;
        };
        Some(IstioService {
            host: host.clone(),
            name: name.clone(),
            namespace: namespace.clone(),
        })
    }

    fn owner(&self) -> Option<String> {
        self.0.last().cloned()
    }

    fn backend(&self) -> Option<ObjectName> {
        None
    }
}
