//! Corrupt shared data under every key of the filter: no VM traps, no header is wrong, and the data is repaired.

use super::kube::Kube;
use super::{FULL, SECOND};
use crate::host::{Answer, Callout, FakeEnvoy, Request, Response, Route, Vm};
use burst_model::garbage_collection::OWNED_KEYS_KEY;
use burst_model::records::{Confirmed, ID_KEY, PROXY_KEY, Record};
use burst_model::request_rates::report::{HEADER, PATH};
use burst_model::snapshot::Snapshot;
use burst_testkit::seed;
use fastrand::Rng;
use proxy_wasm::hostcalls;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Enables every feature that has keys of its own.
const ALL_FEATURES: &str = r#"{"cluster":"kube_api","poll_interval":"1s","sync":{"mode":"list"},
    "requests":{"report_interval":"1s","accept":{"filter_chain":"reports"}},
    "metrics_apis":{"filter_chain":"metrics","policies":{"root_namespace":"istio-system"},
        "fallback":{"external":{"cluster":"keda"}}}}"#;

const WRITES: usize = 12_000;

const WEB: &str = "service=shop/web, current-load=1, target-load=4, max-load=5";

/// Larger than any value that the filter writes here.
const HUGE: usize = 1 << 20;

fn answer(kube: &Kube, callout: &Callout) -> Answer {
    let list = |kind: &str, version: &str| {
        let list =
            format!(r#"{{"kind":"{kind}","apiVersion":"{version}","metadata":{{"resourceVersion":"1"}},"items":[]}}"#);
        Response::json(list).into()
    };
    match callout.path() {
        _ if callout.cluster == "keda" => Response::json(r#"{"kind":"APIResourceList","resources":[]}"#).into(),
        path if path.contains("polic") => list("ExternalMetricPolicyList", "burst-metrics.io/v1alpha1"),
        _ => kube.answer(callout),
    }
}

/// A proxy with three threads, with every feature in use.
struct Proxy {
    envoy: FakeEnvoy,
    vms: Vec<Vm>,
}

impl Proxy {
    fn new() -> Self {
        let kube = Kube::new();
        let envoy = FakeEnvoy::new(FULL)
            .config(ALL_FEATURES)
            .cluster("kube_api")
            .cluster("keda")
            .kube(move |callout| answer(&kube, callout));
        let vms = vec![envoy.worker(), envoy.worker(), envoy.worker()];
        let proxy = Self { envoy, vms };
        proxy.pass(60);
        proxy
    }

    /// Lets time pass, with a report from another proxy each second.
    fn pass(&self, seconds: u64) {
        for _ in 0..seconds {
            self.report();
            self.envoy.advance(SECOND).answer();
        }
    }

    fn report(&self) {
        let route = Route::to("somewhere")
            .property(&["xds", "filter_chain_name"], "reports")
            .property(&["connection", "mtls"], [1]);
        let report = "1;0000000000000007;500;30000;shop/web=5,0";
        let request = Request::new("POST", PATH).header(HEADER, report);
        let status = self.vms[1].request(request, route).status();
        assert!([204, 507].contains(&status), "{status}");
    }

    fn shared(&self) -> BTreeMap<String, Vec<u8>> {
        self.envoy.shared_data("burst-metrics/")
    }

    /// The key and the bytes of the record with that name.
    fn record(&self, name: &str) -> (String, Vec<u8>) {
        let mut records = self.shared().into_iter();
        records.find(|(key, _)| key.ends_with(&format!("/{name}"))).unwrap()
    }

    fn overwrite(&self, key: String, bytes: Vec<u8>) {
        self.vms[0].inside(move || hostcalls::set_shared_data(&key, Some(&bytes), None).unwrap());
    }

    fn headers(&self) -> Vec<Option<String>> {
        let header = |vm: &Vm| vm.response("web.shop").header("x-burst").map(str::to_owned);
        self.vms.iter().map(header).collect()
    }
}

/// Returns garbage for a key: random bytes, or bytes derived from its value or from another key's value.
fn garbage(rng: &mut Rng, shared: &BTreeMap<String, Vec<u8>>, key: &str, flips: bool) -> Vec<u8> {
    let mut value = shared[key].clone();
    match rng.u32(..if flips { 7 } else { 6 }) {
        0 => Vec::new(),
        1 => (0..rng.usize(..200)).map(|_| rng.u8(..)).collect(),
        2 => vec![rng.u8(..); rng.usize(..HUGE)],
        3 => value[..rng.usize(..=value.len())].to_vec(),
        4 => {
            let others: Vec<_> = shared.iter().filter(|(other, _)| *other != key).collect();
            others[rng.usize(..others.len())].1.clone()
        }
        5 => {
            value.extend((0..rng.usize(1..20)).map(|_| rng.u8(..)));
            value
        }
        _ => {
            for _ in 0..rng.usize(1..4) {
                if !value.is_empty() {
                    let at = rng.usize(..value.len());
                    value[at] ^= 1 << rng.u32(..8);
                }
            }
            value
        }
    }
}

/// Makes this many writes of garbage, with some time and some requests between them. `is_valid` checks each header.
fn write_garbage(
    proxy: &Proxy,
    rng: &mut Rng,
    writes: usize,
    flips: bool,
    is_valid: impl Fn(&str) -> bool,
) -> BTreeSet<String> {
    let mut written = BTreeSet::new();
    let keys: Vec<_> = proxy.shared().into_keys().collect();
    for n in 0..writes {
        let shared = proxy.shared();
        let key = keys[rng.usize(..keys.len())].clone();
        let bytes = garbage(rng, &shared, &key, flips);
        written.insert(key.clone());
        let vm = &proxy.vms[rng.usize(..3)];
        vm.inside(move || hostcalls::set_shared_data(&key, Some(&bytes), None).unwrap());
        match rng.u32(..8) {
            0 => proxy.pass(1),
            1..4 => {
                proxy.envoy.advance(Duration::from_millis(rng.u64(1..400))).answer();
            }
            _ => {
                proxy.vms[rng.usize(..3)].tick();
            }
        }
        assert!(proxy.vms.iter().all(Vm::alive), "write {n}");
        for header in proxy.headers().into_iter().flatten() {
            assert!(is_valid(&header), "write {n}: {header}");
        }
    }
    written
}

/// Waits, and checks that every thread serves the right header and that the hub has its sum.
fn assert_repaired(proxy: &Proxy, after: &str) {
    // The longest of three waits: for an expired lease, for reports, and for a backoff.
    proxy.pass(90);
    assert_eq!(
        proxy.headers(),
        vec![Some(WEB.to_owned()); 3],
        "after garbage in {after}"
    );
    let new = proxy.envoy.worker();
    proxy.pass(3);
    let header = new.response("web.shop").header("x-burst").map(str::to_owned);
    assert_eq!(header.as_deref(), Some(WEB), "a new thread after garbage in {after}");
    new.kill();
    assert_eq!(
        proxy.envoy.stat("burst_hub_proxies"),
        Some(2),
        "after garbage in {after}"
    );
    let sum = proxy
        .shared()
        .into_iter()
        .find(|(key, _)| key.ends_with("/requests/sum"));
    let sum = String::from_utf8(sum.unwrap().1).unwrap();
    assert!(sum.contains(";shop/web="), "{sum:?} after garbage in {after}");
}

#[test]
fn corrupt_shared_data_makes_no_header_wrong_and_is_repaired() {
    let mut rng = Rng::with_seed(seed());
    let proxy = Proxy::new();
    let written = write_garbage(&proxy, &mut rng, WRITES, false, |header| header == WEB);
    for name in [
        "lease",
        "snapshot",
        "confirmed",
        "resume",
        "troubles",
        "policies",
        "parsing",
        "offers",
        "requests/vm/0",
        "requests/report/0",
        "requests/reports",
        "requests/since",
        "requests/sum",
    ] {
        assert!(
            written.iter().any(|key| key.ends_with(&format!("/{name}"))),
            "{name}: {written:?}"
        );
    }
    for name in [OWNED_KEYS_KEY, ID_KEY, PROXY_KEY] {
        assert!(written.contains(name), "{name}: {written:?}");
    }
    assert_repaired(&proxy, "all of it");
}

#[test]
fn each_corrupt_key_is_repaired_on_its_own() {
    let proxy = Proxy::new();
    for (key, _) in proxy.shared() {
        for bytes in [&b"garbage"[..], b""] {
            let written = key.clone();
            proxy.vms[0].inside(move || hostcalls::set_shared_data(&written, Some(bytes), None).unwrap());
            assert_repaired(&proxy, &key);
        }
    }
}

#[test]
fn flipped_bits_in_shared_data_trap_no_vm_and_are_repaired() {
    let mut rng = Rng::with_seed(seed());
    let proxy = Proxy::new();
    // Records have no checksum, so a changed number in a record is a changed number in the header.
    let is_one = |header: &str| header.starts_with("service=") && header.is_ascii() && !header.contains(['\r', '\n']);
    write_garbage(&proxy, &mut rng, WRITES / 10, true, is_one);
    assert_repaired(&proxy, "all of it");
}

/// A thread that starts later reads the damaged snapshot. It does not lead, because the leader has served no request.
#[test]
fn a_flipped_bit_in_the_snapshot_is_repaired_while_the_leader_stays() {
    let proxy = Proxy::new();
    // The low byte of each number, and a quarter of the text.
    for at in (0..proxy.record("snapshot").1.len()).step_by(4) {
        let (key, mut snapshot) = proxy.record("snapshot");
        // The lowest bit that is set: a smaller generation is harder to repair than a larger one.
        snapshot[at] ^= 1 << (snapshot[at].trailing_zeros() % 8);
        proxy.overwrite(key, snapshot);
        let lines_before = proxy.envoy.log().len();
        let new = proxy.envoy.worker();
        // The leader checks its keys every 10 s.
        proxy.pass(15);
        assert_eq!(new.response("web.shop").header("x-burst"), Some(WEB), "byte {at}");
        let written = Snapshot::open_verified(proxy.record("snapshot").1).expect("a repaired snapshot");
        let confirmed = Confirmed::from_bytes(&proxy.record("confirmed").1).unwrap();
        assert_eq!(written.generation(), confirmed.generation, "byte {at}");
        let log = proxy.envoy.log().split_off(lines_before);
        let count = |text: &str| log.iter().filter(|line| line.text.contains(text)).count();
        let damages = count("this thread has no snapshot: the snapshot is damaged: ");
        assert!(damages <= 1, "byte {at}: {log:#?}");
        assert_eq!(count("this thread has a snapshot again"), damages, "byte {at}");
        new.kill();
    }
}
