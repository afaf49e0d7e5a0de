//! Requests that wait for a change.

use super::super::super::cache::tests::table;
use super::*;
use crate::snapshot;

const SERVICES_PATH: &str = "/burstmetrics/services?wait=10s";

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// When `get` asks.
fn asked() -> Time {
    get("").now
}

fn etag(config: &Config, cache: &mut ServingCache) -> String {
    let bulk = reply(config, cache, get("/burstmetrics/services")).unwrap();
    header(&bulk, "etag").unwrap().to_owned()
}

/// The waiting request, or the status of the answer that comes at once.
fn ask(config: &Config, cache: &mut ServingCache, path: &str, tags: Option<&str>) -> Result<WaitingRequest, u16> {
    let request = BurstRequest {
        if_none_match: tags.map(str::as_bytes),
        ..get(path)
    };
    match answer(config, config.endpoints.as_ref().unwrap(), cache, request).unwrap() {
        BurstReply::Now(reply) => Err(reply.status),
        BurstReply::Waiting(waiting) => Ok(waiting),
    }
}

/// A request that waits for a change, and the configuration and cache of its worker.
fn waiting() -> (Config, ServingCache, WaitingRequest) {
    let config = config("");
    let mut cache = serving_cache(&config);
    let tag = etag(&config, &mut cache);
    let waiting = ask(&config, &mut cache, SERVICES_PATH, Some(&tag)).unwrap();
    (config, cache, waiting)
}

fn confirmed_text(reply: &LocalReply) -> &str {
    header(reply, confirmation::CONFIRMED_HEADER).unwrap()
}

#[test]
fn a_request_waits_only_for_a_change_of_what_the_client_has() {
    let config = config("");
    let mut cache = serving_cache(&config);
    let tag = etag(&config, &mut cache);
    let weak = format!("W/{tag}");
    for tags in [&tag, &weak] {
        assert!(ask(&config, &mut cache, SERVICES_PATH, Some(tags)).is_ok());
    }
    let list = format!("{tag}, \"x\"");
    for (path, tags, status) in [
        (SERVICES_PATH, None, 200),
        (SERVICES_PATH, Some("\"x\""), 200),
        (SERVICES_PATH, Some("*"), 304),
        (SERVICES_PATH, Some(&*list), 304),
        ("/burstmetrics/services", Some(&*tag), 304),
        ("/burstmetrics/services?wait=0s", Some(&*tag), 304),
        ("/burstmetrics/services?wait=soon", Some(&*tag), 400),
        ("/burstmetrics/services?wait=soon", None, 400),
        ("/burstmetrics/services/shop/web?wait=10s", Some(&*tag), 200),
        ("/burstmetrics/hpas?wait=10s", Some(&*tag), 204),
        ("/burstmetrics/pods?wait=10s", Some(&*tag), 404),
    ] {
        let answered = ask(&config, &mut cache, path, tags).unwrap_err();
        assert_eq!(answered, status, "{path} {tags:?}");
    }
    let mut empty = ServingCache::default();
    assert_eq!(ask(&config, &mut empty, SERVICES_PATH, Some(&tag)).unwrap_err(), 503);
}

#[test]
fn a_wait_that_is_no_duration_is_refused_in_words() {
    let (status, body) = plain(get("/burstmetrics/services?wait=10"));
    assert_eq!(
        (status, body.as_str()),
        (
            400,
            "the parameter wait is not a duration such as 500ms, 15s, 2m or 1h30m\n"
        )
    );
}

#[test]
fn a_change_ends_the_wait_with_the_new_rows() {
    let (config, mut cache, waiting) = waiting();
    let now = asked().after(seconds(3));
    assert_eq!(waiting.answer(&config, &mut cache, now), None);
    cache.take(snapshot::write(&table(1), 2)).unwrap();
    cache.refresh(&config, Some(&confirmed(now)), now);
    assert_eq!(waiting.answer(&config, &mut cache, now), None, "the rows are the same");
    cache.take(snapshot::write(&table(2), 3)).unwrap();
    let changed = waiting.answer(&config, &mut cache, now).unwrap();
    assert_eq!(changed.status, 200);
    let now_with = get("/burstmetrics/services");
    assert_eq!(changed.body, reply(&config, &mut cache, now_with).unwrap().body);
    let read = now.unix_millis();
    assert_eq!(confirmed_text(&changed), format!("at={read}, age=0, waited=3000"));
}

#[test]
fn a_quiet_wait_ends_with_304_and_the_newest_confirmation() {
    let (config, mut cache, waiting) = waiting();
    let read = asked().after(seconds(9));
    cache.refresh(&config, Some(&confirmed(read)), read);
    let end = asked().after(seconds(10));
    let before = end.before(Duration::from_millis(1));
    assert_eq!(waiting.answer(&config, &mut cache, before), None);
    assert_eq!(waiting.end(), end);
    let unchanged = waiting.answer(&config, &mut cache, end).unwrap();
    assert_eq!((unchanged.status, &*unchanged.body), (304, &[][..]));
    assert_eq!(
        confirmed_text(&unchanged),
        format!("at={}, age=1000, waited=10000", read.unix_millis())
    );
}

#[test]
fn a_wait_ends_when_the_snapshot_is_too_old() {
    let (config, mut cache, waiting) = waiting();
    let stale = T0.after(seconds(61));
    cache.refresh(&config, Some(&confirmed(T0)), stale);
    let answer = waiting.answer(&config, &mut cache, asked().after(seconds(1))).unwrap();
    assert_eq!(answer.status, 503);
    assert!(answer.body.starts_with(b"too stale"));
}

#[test]
fn a_wait_ends_when_no_row_is_left() {
    let (config, mut cache, waiting) = waiting();
    cache.take(snapshot::write(&crate::index::Table::default(), 2)).unwrap();
    assert_eq!(waiting.answer(&config, &mut cache, asked()).unwrap().status, 204);
}

#[test]
fn a_long_wait_is_cut_and_one_ends_when_the_clock_is_set_back() {
    let config = config("");
    let mut cache = serving_cache(&config);
    let tag = etag(&config, &mut cache);
    let long = ask(&config, &mut cache, "/burstmetrics/services?wait=10h", Some(&tag)).unwrap();
    assert_eq!(long.end(), asked().after(seconds(30)));
    let set_back = asked().before(seconds(3_600));
    assert_eq!(long.answer(&config, &mut cache, set_back).unwrap().status, 304);
}

#[test]
fn an_answer_that_comes_at_once_says_that_the_hub_understands_the_wait() {
    let config = config("");
    let mut cache = serving_cache(&config);
    let confirmed =
        |cache: &mut ServingCache, path: &str| confirmed_text(&reply(&config, cache, get(path)).unwrap()).to_owned();
    assert_eq!(
        confirmed(&mut cache, SERVICES_PATH),
        "at=1700000000000, age=2000, waited=0"
    );
    assert_eq!(
        confirmed(&mut cache, "/burstmetrics/services"),
        "at=1700000000000, age=2000",
        "an older spoke refuses the header otherwise"
    );
}

#[test]
fn a_refused_wait_says_when_to_ask_again() {
    let config = config("");
    let refused = too_many_waiting(&config, &serving_cache(&config), T0);
    assert_eq!((refused.status, header(&refused, "retry-after")), (429, Some("1")));
    assert_eq!(confirmed_text(&refused), "at=1700000000000, age=0");
}
