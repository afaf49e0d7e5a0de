use crate::config::Config;
use crate::peers::CLUSTER_HEADER;
use crate::peers::tests::{READ, config, confirmed, services};
use crate::records::Confirmed;
use crate::serve::LocalReply;
use crate::serve::burst::{BurstReply, BurstRequest, answer};
use crate::serve::cache::ServingCache;
use crate::time::Time;
use serde_json::{Value, json};
use std::time::Duration;

const BULK: &str = "/burstmetrics/services?scope=all&format=json";
const WEB: &str = "/burstmetrics/services/shop/web?scope=all&format=json";

fn after(seconds: u64) -> Time {
    READ.after(Duration::from_secs(seconds))
}

/// The own cluster `east` and its peer `west`; the other peer, `north`, was never read.
fn cache(config: &Config) -> ServingCache {
    let mut cache = ServingCache::default();
    cache.take(services(&[("shop/web", 1, 5)])).unwrap();
    cache.refresh(config, Some(&own_read(config, READ)), after(1));
    read_west(config, &mut cache, &[("shop/api", 1, 2), ("shop/web", 3, 10)], 1);
    cache
}

/// All lists were read then.
fn own_read(config: &Config, at: Time) -> Confirmed {
    Confirmed {
        generation: 1,
        lists: config.content.sources.iter().map(|_| Some(at)).collect(),
    }
}

/// `west` was read at [`READ`], so many seconds ago.
fn read_west(config: &Config, cache: &mut ServingCache, rows: &[(&str, u32, u32)], age: u64) {
    let west = cache.peers_mut().iter_mut().next().unwrap();
    west.take(services(rows)).unwrap();
    west.refresh(config, Some(&confirmed(READ)), after(age));
}

fn two_peers() -> Config {
    config(&["west", "north"], "")
}

fn get(config: &Config, cache: &mut ServingCache, path: &str, etag: Option<&str>) -> LocalReply {
    let request = BurstRequest {
        method: b"GET",
        path: path.as_bytes(),
        host: b"localhost",
        accept: None,
        if_none_match: etag.map(str::as_bytes),
        now: after(2),
    };
    match answer(config, config.endpoints.as_ref().unwrap(), cache, request) {
        Some(BurstReply::Now(reply)) => reply,
        other => panic!("{other:?}"),
    }
}

fn header<'a>(reply: &'a LocalReply, name: &str) -> Option<&'a str> {
    let found = reply.headers.iter().find(|(key, _)| *key == name);
    found.map(|(_, value)| value.as_str())
}

fn text(reply: &LocalReply) -> &str {
    std::str::from_utf8(&reply.body).unwrap()
}

fn parsed(reply: &LocalReply) -> Value {
    assert_eq!(reply.status, 200, "{}", text(reply));
    serde_json::from_slice(&reply.body).unwrap()
}

#[test]
fn all_clusters_are_answered_with_their_sum() {
    let config = two_peers();
    let mut cache = cache(&config);
    let reply = get(&config, &mut cache, BULK, None);
    assert_eq!(header(&reply, "content-type"), Some("application/json; charset=utf-8"));
    let all = parsed(&reply);
    assert_eq!(
        all["clusters"],
        json!({
            "east": {"state": "fresh", "asOf": 1_700_000_000, "age": 1},
            "west": {"state": "fresh", "asOf": 1_700_000_000, "age": 1},
            "north": {"state": "unread"},
        })
    );
    let web = &all["services"]["shop/web"];
    assert_eq!(web["clusters"]["east"]["current"], 1);
    assert_eq!(web["clusters"]["west"]["current"], 3);
    let sum = json!({"current": 4, "target": 12, "max": 15, "headroom": 11, "utilization": 0.266});
    assert_eq!(web["sum"], sum);
    let one = parsed(&get(&config, &mut cache, WEB, None));
    assert_eq!(
        (&one["clusters"], &one["services"]["shop/web"]),
        (&all["clusters"], web)
    );
    assert_eq!(one["services"].as_object().unwrap().len(), 1);
}

#[test]
fn a_stale_peer_is_named_and_leaves_the_sum() {
    let config = two_peers();
    let mut cache = cache(&config);
    read_west(&config, &mut cache, &[("shop/web", 3, 10)], 61);
    let all = parsed(&get(&config, &mut cache, BULK, None));
    assert_eq!(
        all["clusters"]["west"],
        json!({"state": "stale", "asOf": 1_700_000_000, "age": 61})
    );
    let web = &all["services"]["shop/web"];
    assert_eq!((&web["sum"]["max"], web["clusters"].get("west")), (&json!(5), None));
    assert_eq!(all["services"].get("shop/api"), None);
}

#[test]
fn a_service_that_no_cluster_has_is_absent_only_if_all_peers_count() {
    let config = two_peers();
    let mut cache = cache(&config);
    let other = "/burstmetrics/services/shop/other?scope=all&format=json";
    let unknown = get(&config, &mut cache, other, None);
    assert_eq!((unknown.status, header(&unknown, "retry-after")), (503, Some("5")));
    assert_eq!(
        text(&unknown),
        "not known: no cluster has it, and these peers do not count: north (unread)\n"
    );
    let only_at_a_peer = "/burstmetrics/services/shop/api?scope=all&format=json";
    let api = parsed(&get(&config, &mut cache, only_at_a_peer, None));
    assert_eq!(api["services"]["shop/api"]["sum"]["headroom"], 1);

    let config = self::config(&["west"], "");
    let mut cache = self::cache(&config);
    assert_eq!(get(&config, &mut cache, other, None).status, 204);
}

#[test]
fn a_list_of_the_own_cluster_that_was_not_read_is_a_503() {
    let config = two_peers();
    let mut cache = cache(&config);
    let mut read = own_read(&config, READ);
    read.lists[2] = None;
    cache.refresh(&config, Some(&read), after(1));
    assert_eq!(get(&config, &mut cache, WEB, None).status, 200);
    let api = get(
        &config,
        &mut cache,
        "/burstmetrics/services/shop/api?scope=all&format=json",
        None,
    );
    assert_eq!(api.status, 503);
    assert!(text(&api).starts_with("not readable: "), "{}", text(&api));
}

#[test]
fn without_the_own_cluster_there_is_no_sum() {
    let config = two_peers();
    let unsynced = get(&config, &mut ServingCache::default(), BULK, None);
    assert_eq!(unsynced.status, 503);
    let mut cache = cache(&config);
    cache.refresh(&config, Some(&own_read(&config, READ)), after(75));
    let stale = get(&config, &mut cache, BULK, None);
    assert_eq!(stale.status, 503);
    assert!(text(&stale).starts_with("too stale: "), "{}", text(&stale));
}

#[test]
fn the_entity_tag_changes_with_the_rows_and_the_states_and_not_with_the_age() {
    let config = two_peers();
    let mut cache = cache(&config);
    let tag = |cache: &mut ServingCache, path: &str| {
        let reply = get(&config, cache, path, None);
        header(&reply, "etag").unwrap().to_owned()
    };
    let first = tag(&mut cache, BULK);
    assert_ne!(first, tag(&mut cache, &BULK.replace("json", "prometheus")));
    assert_ne!(first, tag(&mut cache, "/burstmetrics/services?format=json"));
    read_west(&config, &mut cache, &[("shop/api", 1, 2), ("shop/web", 3, 10)], 9);
    let older = get(&config, &mut cache, BULK, None);
    assert_eq!(header(&older, "etag"), Some(&*first));
    assert_eq!(parsed(&older)["clusters"]["west"]["age"], 9, "it is rendered again");
    assert_eq!(get(&config, &mut cache, BULK, Some(&first)).status, 304);
    for (rows, age) in [
        (&[("shop/api", 1, 2), ("shop/web", 4, 10)][..], 9),
        (&[("shop/api", 1, 2), ("shop/web", 3, 10)], 61),
    ] {
        read_west(&config, &mut cache, rows, age);
        assert_eq!(
            get(&config, &mut cache, BULK, Some(&first)).status,
            200,
            "{rows:?} {age}"
        );
    }
}

#[test]
fn a_poll_for_all_clusters_waits_until_a_peer_changes() {
    let config = two_peers();
    let mut cache = cache(&config);
    let tag = header(&get(&config, &mut cache, BULK, None), "etag")
        .unwrap()
        .to_owned();
    let request = BurstRequest {
        method: b"GET",
        path: b"/burstmetrics/services?scope=all&format=json&wait=10s",
        host: b"localhost",
        accept: None,
        if_none_match: Some(tag.as_bytes()),
        now: after(2),
    };
    let Some(BurstReply::Waiting(waiting)) = answer(&config, config.endpoints.as_ref().unwrap(), &mut cache, request)
    else {
        panic!("it does not wait")
    };
    assert_eq!(waiting.answer(&config, &mut cache, after(3)), None);
    read_west(&config, &mut cache, &[("shop/web", 4, 10)], 3);
    let reply = waiting.answer(&config, &mut cache, after(4)).unwrap();
    assert_eq!(parsed(&reply)["services"]["shop/web"]["sum"]["current"], 5);
}

#[test]
fn a_peer_that_asks_gets_the_own_numbers_and_the_name_of_the_cluster() {
    let config = two_peers();
    let mut cache = cache(&config);
    let own = get(&config, &mut cache, "/burstmetrics/services", None);
    let line = "service=shop/web, current-load=1, target-load=4, max-load=5";
    assert_eq!(text(&own), format!("{{\n    \"shop/web\": \"{line}\"\n}}\n"));
    assert_eq!(header(&own, CLUSTER_HEADER), Some("east"));
    let without = Config::parse(br#"{"cluster":"kube_api"}"#, crate::config::Artifact::Full).unwrap();
    let unnamed = get(&without, &mut cache, "/burstmetrics/services", None);
    assert_eq!((text(&unnamed), header(&unnamed, CLUSTER_HEADER)), (text(&own), None));
}
