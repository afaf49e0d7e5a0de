use super::long_poll::MIN_INTERVAL;
use super::*;
use crate::config::Artifact;
use crate::index::Row;
use crate::load::Load;
use crate::name::ObjectName;
use crate::signals::{ScalingState, Signals};
use std::time::Duration;

const T0: Time = Time::from_unix_millis(1_700_000_000_000);
const PATH: &str = "/burstmetrics/services";
const LONG_POLL: &str = "/burstmetrics/services?wait=10s";

fn config(more: &str) -> Rc<Config> {
    let json = format!(r#"{{"cluster":"hub","source":"hub"{more}}}"#);
    Rc::new(Config::parse(json.as_bytes(), Artifact::Full).unwrap())
}

fn of_hub() -> HubSource {
    HubSource::hub(&config(""), PATH)
}

fn client(handover: Handover) -> HubClient {
    HubClient::new(config(""), of_hub(), handover, T0)
}

fn later(seconds: u64) -> Time {
    T0.after(Duration::from_secs(seconds))
}

fn row(name: &str, current: u32) -> Row {
    Row {
        name: ObjectName::parse(name).unwrap(),
        label: ObjectName::parse(name).unwrap(),
        load: Load {
            current,
            target: 4,
            max: 5,
        },
        signals: Signals::default(),
        labels: Box::default(),
    }
}

/// The response at `now` of a hub that read the cluster at `read`, with this many replicas of `shop/web`.
fn services(current: u32, read: Time, now: Time) -> Result<HubPayload, Failure> {
    let rows = vec![row("shop/web", current)];
    Ok(HubPayload::Services {
        services: HubServices {
            rows,
            ..HubServices::default()
        },
        tag: EntityTag::parse(format!("\"{current}\"").as_bytes()),
        confirmation: Confirmation::new(read, now),
    })
}

fn unchanged(read: Time, now: Time) -> Result<HubPayload, Failure> {
    Ok(HubPayload::Unchanged(Confirmation::new(read, now)))
}

/// The response of a hub that has held the request back for so long.
fn after_wait(response: Result<HubPayload, Failure>, waited: Duration) -> Result<HubPayload, Failure> {
    let mut response = response?;
    let (HubPayload::Unchanged(confirmation) | HubPayload::Services { confirmation, .. }) = &mut response;
    *confirmation = confirmation.with_wait(waited);
    Ok(response)
}

/// The effects of a request.
#[derive(Debug, Default)]
struct Round {
    requests: Vec<HubRequest>,
    published: Vec<Snapshot>,
    confirmed: Vec<Confirmed>,
    totals: Option<Totals>,
    counted: Vec<PollOutcome>,
    lines: Vec<String>,
    recorded_failures: Option<Failures>,
}

impl Round {
    fn add(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::RequestHub(request) => self.requests.push(request),
                Effect::PublishSnapshot(bytes) => self.published.push(Snapshot::open(bytes).unwrap()),
                Effect::Confirm(confirmed) => self.confirmed.push(confirmed),
                Effect::SetGauges(totals) => self.totals = Some(totals),
                Effect::CountPoll(outcome) => self.counted.push(outcome),
                Effect::LogError(line) | Effect::LogWarning(line) | Effect::LogInfo(line) => self.lines.push(line),
                Effect::RecordFailures(failures) => self.recorded_failures = Some(failures),
                other => panic!("{other:?}"),
            }
        }
    }

    fn read(&self) -> Option<Time> {
        self.confirmed.last()?.oldest()
    }
}

/// One tick, with the request answered at once.
fn round(client: &mut HubClient, now: Time, answer: Result<HubPayload, Failure>) -> Round {
    let mut round = Round::default();
    round.add(client.tick(now));
    if !round.requests.is_empty() {
        round.add(client.handle_response(answer, now, 0));
    }
    round
}

fn tag(round: &Round) -> Option<&str> {
    let [request] = &round.requests[..] else {
        panic!("{:?}", round.requests)
    };
    assert!([PATH, LONG_POLL].contains(&&*request.path), "{}", request.path);
    request.if_none_match.as_deref()
}

/// The path of the request that was sent, if any.
fn path(effects: Vec<Effect>) -> Option<String> {
    let mut round = Round::default();
    round.add(effects);
    round.requests.pop().map(|request| request.path)
}

/// A client of a hub that holds requests back. It has Services, and its long poll is in flight since `T0`.
fn following() -> HubClient {
    let mut client = client(Handover::default());
    client.tick(T0.before(MIN_INTERVAL));
    let first = services(1, T0.before(MIN_INTERVAL), T0);
    assert_eq!(path(client.handle_response(first, T0, 0)).as_deref(), Some(LONG_POLL));
    client
}

fn millis(millis: u64) -> Time {
    T0.after(Duration::from_millis(millis))
}

#[test]
fn a_first_answer_is_published_with_the_time_of_the_hubs_read() {
    let first = round(
        &mut client(Handover::default()),
        T0,
        services(1, T0.before(Duration::from_secs(9)), T0),
    );
    assert_eq!(tag(&first), None);
    let [snapshot] = &first.published[..] else {
        panic!("{first:?}")
    };
    let services = snapshot.section(SERVICES).unwrap();
    assert_eq!(services.find("shop/web").unwrap().load.current, 1);
    let lists = vec![Some(T0.before(Duration::from_secs(9)))];
    assert_eq!(first.confirmed, [Confirmed { generation: 1, lists }]);
    assert_eq!(first.counted, [PollOutcome::Ok]);
    assert_eq!(
        first.totals.map(|totals| (totals.objects, totals.services)),
        Some((1, 1))
    );
}

#[test]
fn an_unchanged_response_confirms_the_snapshot() {
    let mut client = client(Handover::default());
    round(&mut client, T0, services(1, T0, T0));
    let unchanged_round = round(&mut client, later(15), unchanged(later(12), later(15)));
    assert_eq!(
        (tag(&unchanged_round), unchanged_round.published.len()),
        (Some("\"1\""), 0)
    );
    let lists = vec![Some(later(12))];
    assert_eq!(unchanged_round.confirmed, [Confirmed { generation: 1, lists }]);
    let changed = round(&mut client, later(30), services(2, later(27), later(30)));
    assert_eq!(changed.published.first().map(Snapshot::generation), Some(2));
    assert_eq!(
        tag(&round(&mut client, later(45), unchanged(later(42), later(45)))),
        Some("\"2\"")
    );
}

#[test]
fn equal_services_under_another_tag_are_not_published_again() {
    let mut client = client(Handover::default());
    round(&mut client, T0, services(1, T0, T0));
    let mut same = services(1, later(12), later(15));
    if let Ok(HubPayload::Services { tag, .. }) = &mut same {
        *tag = EntityTag::parse(b"\"other\"");
    }
    let same = round(&mut client, later(15), same);
    assert_eq!((same.published.len(), same.read()), (0, Some(later(12))));
}

#[test]
fn the_client_is_idle_while_its_request_waits_for_a_change() {
    let mut client = client(Handover::default());
    assert!(!client.is_idle(T0), "about to begin");
    assert_eq!(path(client.tick(T0)).as_deref(), Some(PATH));
    assert!(!client.is_idle(T0) && client.tick(later(1)).is_empty());
    let first = client.handle_response(services(1, T0, later(1)), later(1), 0);
    assert_eq!(path(first).as_deref(), Some(LONG_POLL), "at once");
    assert!(client.is_idle(later(1)) && client.tick(later(9)).is_empty());
}

#[test]
fn a_long_poll_waits_for_ten_seconds_at_most_and_for_the_poll_interval() {
    for (interval, expected, wait) in [("15s", "10s", 10_000), ("4s", "4s", 4_000), ("1500ms", "1500ms", 1_500)] {
        let config = config(&format!(r#","poll_interval":"{interval}""#));
        let mut client = HubClient::new(config, of_hub(), Handover::default(), T0);
        round(&mut client, T0, services(1, T0, T0));
        let request = round(&mut client, later(1), Err(Failure::Timeout)).requests.remove(0);
        assert_eq!(request.path, format!("{PATH}?wait={expected}"));
        assert_eq!(request.wait, Duration::from_millis(wait));
    }
}

#[test]
fn each_answer_of_a_hub_that_waits_is_followed_by_the_next_long_poll_at_once() {
    let mut client = following();
    let quiet = after_wait(unchanged(later(8), later(10)), Duration::from_secs(10));
    assert_eq!(
        path(client.handle_response(quiet, later(10), 0)).as_deref(),
        Some(LONG_POLL)
    );
    let changed = after_wait(services(2, later(13), later(13)), Duration::from_secs(3));
    let mut round = Round::default();
    round.add(client.handle_response(changed, later(13), 0));
    assert_eq!((tag(&round), round.published.len()), (Some("\"2\""), 1));
}

#[test]
fn a_hub_that_changes_all_the_time_is_asked_every_half_second() {
    let mut client = following();
    let mut requests = Vec::new();
    for n in 1..=10_000 {
        let now = millis(n);
        let current = u32::try_from(n).unwrap();
        let changed = after_wait(services(current, now, now), Duration::ZERO);
        let effects = match client.next_due() {
            None => client.handle_response(changed, now, 0),
            Some(due) if due <= now => client.advance(now),
            Some(_) => Vec::new(),
        };
        requests.extend(path(effects).map(|_| n));
    }
    assert_eq!((requests.len(), requests[0]), (20, 500), "{requests:?}");
}

#[test]
fn an_older_hub_is_polled() {
    let mut client = following();
    let mut requests = Vec::new();
    for second in 0..60 {
        let now = later(second);
        let at_once = client.handle_response(unchanged(now, now), now, 0);
        assert_eq!(path(at_once), None, "no long poll follows an answer without a wait");
        requests.extend(path(client.tick(now)).map(|_| second));
    }
    assert_eq!(requests, [15, 30, 45]);
}

#[test]
fn a_hub_without_a_tag_is_polled() {
    let mut client = client(Handover::default());
    let untagged = |now| {
        let mut response = services(1, now, now);
        if let Ok(HubPayload::Services { tag, .. }) = &mut response {
            *tag = None;
        }
        response
    };
    let requests: Vec<_> = (0..60)
        .filter(|second| {
            let sent = round(&mut client, later(*second), untagged(later(*second))).requests;
            sent.iter().inspect(|sent| assert_eq!(sent.path, PATH)).count() > 0
        })
        .collect();
    assert_eq!(requests, [0, 15, 30, 45]);
}

#[test]
fn a_long_poll_that_fails_is_no_failure_of_the_hub_if_a_poll_succeeds() {
    for failure in [
        Failure::Throttled { retry_after: None },
        Failure::Disconnected,
        Failure::Timeout,
        Failure::Unexpected(504),
    ] {
        let mut client = following();
        let mut cut = Round::default();
        cut.add(client.handle_response(Err(failure.clone()), later(1), 0));
        assert_eq!(
            (cut.requests[0].path.as_str(), cut.lines.len()),
            (PATH, 0),
            "{failure:?}"
        );
        assert_eq!(cut.counted, [PollOutcome::from(&failure)]);
        assert_eq!(cut.recorded_failures, None);
        let mut polled = Round::default();
        polled.add(client.handle_response(unchanged(later(1), later(1)), later(1), 0));
        assert_eq!((polled.lines.len(), polled.read()), (0, Some(later(1))));
        assert_eq!(polled.requests, [], "a pause follows");
        assert!(client.next_due() > Some(later(1)));
    }
}

#[test]
fn a_hub_that_refuses_every_long_poll_is_polled_once_per_interval() {
    let mut client = following();
    let (mut long_polls, mut polls) = (Vec::new(), Vec::new());
    let mut sent = Some(LONG_POLL.to_owned());
    for second in 0..300 {
        let now = later(second);
        while let Some(path_sent) = sent.take() {
            let is_poll = path_sent == PATH;
            if is_poll { &mut polls } else { &mut long_polls }.push(second);
            let response = match is_poll {
                true => unchanged(now, now),
                false => Err(Failure::Throttled {
                    retry_after: Some(Duration::from_secs(1)),
                }),
            };
            sent = path(client.handle_response(response, now, u32::MAX));
        }
        sent = path(client.tick(now));
    }
    assert_eq!(polls, long_polls, "each refusal is followed by a poll");
    assert_eq!(
        polls[..5],
        [0, 2, 5, 10, 19],
        "the pauses are 1 s, 2 s, 4 s, 8 s, and then the interval"
    );
    assert!(polls.windows(2).all(|pair| pair[1] - pair[0] <= 16), "{polls:?}");
    assert!(polls.len() < 25, "{polls:?}");
}

#[test]
fn after_an_outage_the_first_good_answer_is_followed_by_a_long_poll() {
    let mut client = following();
    let away = || Err(Failure::Unreachable("connection refused".into()));
    assert_eq!(path(client.handle_response(away(), later(1), 0)).as_deref(), Some(PATH));
    let failed = client.handle_response(away(), later(1), 0);
    assert!(failed.iter().any(|effect| matches!(effect, Effect::LogWarning(_))));
    let back = round(&mut client, later(3), unchanged(later(3), later(3)));
    assert_eq!(back.requests[0].path, PATH);
    assert_eq!(path(client.tick(later(4))).as_deref(), Some(LONG_POLL));
}

#[test]
fn a_change_counts_though_the_clocks_differ_and_the_hub_has_not_read_again() {
    let mut client = client(Handover::default());
    let hub_clock = later(3_600);
    let read = hub_clock.before(Duration::from_secs(20));
    client.tick(T0);
    client.handle_response(services(1, read, hub_clock), millis(5), 0);
    client.advance(millis(500));
    // The request took 50 ms to the hub, so that the read seems to be earlier.
    let answered = hub_clock.after(Duration::from_millis(3_550));
    let changed = after_wait(services(2, read, answered), Duration::from_secs(3));
    let mut round = Round::default();
    round.add(client.handle_response(changed, millis(3_555), 0));
    assert_eq!(round.published.len(), 1);
    assert_eq!(round.read(), Some(T0.before(Duration::from_secs(20))), "it is no older");
}

#[test]
fn after_a_failure_the_client_backs_off_and_the_snapshot_keeps_its_age() {
    let mut client = client(Handover::default());
    round(&mut client, T0, services(1, T0, T0));
    client.tick(later(15));
    let mut failed = Round::default();
    for _ in 0..2 {
        failed.add(client.handle_response(Err(Failure::Timeout), later(15), 0));
    }
    assert!(failed.confirmed.is_empty() && failed.published.is_empty());
    assert_eq!(
        failed.counted,
        [PollOutcome::Timeout; 2],
        "a long poll, and a poll after it"
    );
    assert_eq!(
        failed.lines,
        ["cannot read the hub hub: it did not answer in time; check the hub's load, or raise `request_timeout`"]
    );
    let again = round(&mut client, later(16), Err(Failure::Timeout));
    assert_eq!((tag(&again), again.lines.len()), (Some("\"1\""), 0), "said once");
    let recovered = round(&mut client, later(18), unchanged(later(17), later(18)));
    assert_eq!(recovered.lines, ["reading the hub hub works again"]);
    assert_eq!(recovered.read(), Some(later(17)));
}

#[test]
fn the_client_notices_soon_that_the_hub_is_back_after_any_outage() {
    let mut client = client(Handover::default());
    let mut requests = vec![0];
    for second in 0..600 {
        if !client.tick(later(second)).is_empty() {
            requests.push(second);
            let away = Failure::Unreachable("connection refused".into());
            client.handle_response(Err(away), later(second), u32::MAX);
        }
    }
    requests.push(600);
    assert!(requests.windows(2).all(|pair| pair[1] - pair[0] <= 8), "{requests:?}");
    assert!(
        requests.len() < 100,
        "and not more often than every six seconds: {requests:?}"
    );
}

#[test]
fn retry_after_is_limited_by_the_allowed_staleness() {
    let mut client = client(Handover::default());
    let throttled = |seconds| {
        Err(Failure::Throttled {
            retry_after: Some(Duration::from_secs(seconds)),
        })
    };
    round(&mut client, T0, throttled(40));
    assert!(client.is_idle(later(39)) && !client.is_idle(later(40)));
    round(&mut client, later(40), throttled(u64::MAX));
    assert!(client.is_idle(later(99)) && !client.is_idle(later(100)));
}

#[test]
fn a_304_without_a_tag_in_the_request_is_a_failure() {
    let first = round(&mut client(Handover::default()), T0, unchanged(T0, T0));
    assert!(first.confirmed.is_empty());
    assert_eq!(first.counted, [PollOutcome::Malformed]);
    assert!(
        first.lines[0].starts_with("cannot read the hub hub: unexpected status 304"),
        "{first:?}"
    );
}

#[test]
fn an_older_read_of_another_hub_changes_nothing() {
    let mut client = client(Handover::default());
    round(&mut client, T0, services(1, T0, T0));
    let older = round(
        &mut client,
        later(15),
        services(2, T0.before(Duration::from_secs(1)), later(15)),
    );
    assert!(older.published.is_empty() && older.confirmed.is_empty());
    assert_eq!(older.counted, [PollOutcome::Ok], "it is no failure");
    let newer = round(&mut client, later(30), services(3, later(20), later(30)));
    assert_eq!((tag(&newer), newer.published.len()), (Some("\"1\""), 1));
}

#[test]
fn a_spoke_accepts_new_reads_after_the_clock_was_set_back() {
    let mut client = client(Handover::default());
    round(&mut client, T0, services(1, T0, T0));
    let back = T0.before(Duration::from_secs(3_600));
    let after = round(&mut client, back, services(2, back, back));
    assert_eq!((after.published.len(), after.read()), (1, Some(back)));
}

#[test]
fn a_read_keeps_its_age_when_the_clock_is_set_back() {
    let mut client = client(Handover::default());
    round(&mut client, T0, services(1, T0, T0));
    client.tick(later(5));
    let back = T0.before(Duration::from_secs(3_600));
    let after = round(&mut client, back, Err(Failure::Timeout));
    assert_eq!(after.read(), Some(back.before(Duration::from_secs(5))));
}

#[test]
fn a_read_is_as_old_as_the_hub_says_whatever_its_clock() {
    for clock in [T0.before(Duration::from_secs(3_600)), later(3_600)] {
        let read = clock.before(Duration::from_secs(40));
        let first = round(&mut client(Handover::default()), T0, services(1, read, clock));
        assert_eq!(first.read(), Some(T0.before(Duration::from_secs(40))));
    }
}

#[test]
fn an_invalid_entry_is_logged_once_and_counted_in_each_response() {
    let mut client = client(Handover::default());
    let with_invalid = |now: Time| {
        let bad = (0..20).map(|n| InvalidItem {
            name: format!("shop/{n}"),
            reason: "not a burst header".into(),
        });
        let services = HubServices {
            more_invalid: 0,
            rows: Vec::new(),
            invalid: bad.collect(),
        };
        let confirmation = Confirmation::new(now, now);
        Ok(HubPayload::Services {
            services,
            tag: None,
            confirmation,
        })
    };
    let first = round(&mut client, T0, with_invalid(T0));
    assert_eq!(
        (first.lines.len(), &*first.lines[0]),
        (MAX_LINES + 1, "excluded Service shop/0: not a burst header")
    );
    let second = round(&mut client, later(15), with_invalid(later(15)));
    assert!(second.lines.is_empty());
    assert_eq!(second.totals.map(|totals| totals.bad_objects), Some(20));
}

#[test]
fn a_hub_without_services_is_no_failure() {
    let nothing = |now: Time| {
        let confirmation = Confirmation::new(now, now);
        let services = HubServices::default();
        Ok(HubPayload::Services {
            services,
            tag: None,
            confirmation,
        })
    };
    let mut client = client(Handover::default());
    let first = round(&mut client, T0, nothing(T0));
    assert_eq!((first.published.len(), first.read()), (1, Some(T0)));
    assert_eq!(tag(&round(&mut client, later(15), nothing(later(15)))), None);
}

#[test]
fn a_successor_requests_at_once_with_the_tag_of_the_published_snapshot() {
    let mut first = client(Handover::default());
    let mut left = round(&mut first, T0, services(1, T0, T0));
    let snapshot = left.published.pop();
    let etag = BulkBody::render(snapshot.as_ref().unwrap().section(SERVICES).unwrap())
        .etag()
        .to_owned();
    let handover = Handover {
        snapshot,
        confirmed: left.confirmed.pop(),
        ..Handover::default()
    };
    let mut next = HubClient::new(config(""), of_hub(), handover, later(5));
    let first = round(&mut next, later(5), unchanged(later(3), later(5)));
    assert_eq!(tag(&first), Some(&*etag));
    let lists = vec![Some(later(3))];
    assert_eq!(first.confirmed, [Confirmed { generation: 1, lists }]);
}

#[test]
fn a_successor_continues_the_backoff_and_does_not_repeat_the_log_line() {
    let mut first = client(Handover::default());
    round(&mut first, T0, Err(Failure::Timeout));
    let left = round(&mut first, later(1), Err(Failure::Timeout));
    let handover = Handover {
        failures: left.recorded_failures,
        ..Handover::default()
    };
    // The second pause is of one to two seconds.
    let mut next = HubClient::new(config(""), of_hub(), handover, later(1));
    assert!(next.is_idle(later(1)) && !next.is_idle(later(2)));
    let again = round(&mut next, later(2), Err(Failure::Timeout));
    assert!(
        again.lines.is_empty() && next.is_idle(later(3)),
        "the third of two to four"
    );
    let recovered = round(&mut next, later(6), services(1, later(6), later(6)));
    assert_eq!(recovered.lines, ["reading the hub hub works again"]);
    assert_eq!(recovered.recorded_failures, Some(Failures::default()));
}

#[test]
fn a_response_without_a_request_is_ignored() {
    let mut client = client(Handover::default());
    assert!(client.handle_response(services(1, T0, T0), T0, 0).is_empty());
    assert_eq!(client.tick(T0).len(), 1, "it is still to be requests");
}

const SIGNALS: &str = r#","header":{"extra_keys":["demand"]},"endpoints":{"extra_fields":["state"]}"#;

/// The response at `now` of a hub that shows all signals.
fn services_with_signals(ready: u32, demand: u32, now: Time) -> Result<HubPayload, Failure> {
    let mut response = services(1, now, now)?;
    if let HubPayload::Services { services, .. } = &mut response {
        services.rows[0].signals = Signals {
            ready: Some(ready),
            demand: Some(demand),
            state: Some(ScalingState::Limited),
        };
    }
    Ok(response)
}

#[test]
fn a_spoke_that_shows_signals_asks_for_them_and_keeps_no_others() {
    let mut client = HubClient::new(config(SIGNALS), of_hub(), Handover::default(), T0);
    let mut ask = |seconds, ready, demand| {
        let now = later(seconds);
        let seen = round(&mut client, now, services_with_signals(ready, demand, now));
        let signals = seen.published.first().map(|snapshot| {
            let services = snapshot.section(SERVICES).unwrap();
            services.find("shop/web").unwrap().signals
        });
        (seen.requests[0].path.clone(), signals)
    };
    let kept = |demand| {
        Some(Signals {
            ready: None,
            demand: Some(demand),
            state: Some(ScalingState::Limited),
        })
    };
    let (poll, long_poll) = (format!("{PATH}?format=json"), format!("{PATH}?format=json&wait=10s"));
    assert_eq!(ask(0, 1, 7), (poll, kept(7)));
    assert_eq!(ask(10, 2, 7), (long_poll.clone(), None), "it does not show ready");
    assert_eq!(ask(30, 2, 8), (long_poll, kept(8)));
}

#[test]
fn a_successor_has_the_tag_that_a_hub_with_the_same_signals_gives() {
    let table = Table::from([(SERVICES.into(), vec![row("shop/web", 1)])]);
    let snapshot = || Snapshot::open(snapshot::write(&table, 1)).unwrap();
    let handover = Handover {
        snapshot: Some(snapshot()),
        ..Handover::default()
    };
    let config = config(SIGNALS);
    let signals = config.content.signals;
    let mut client = HubClient::new(config, of_hub(), handover, T0);
    let mut first = Round::default();
    first.add(client.tick(T0));
    let snapshot = snapshot();
    let services = snapshot.section(SERVICES).unwrap();
    assert_eq!(first.requests[0].if_none_match, Some(json_etag(services, signals)));
}

#[test]
fn hubs_that_read_each_other_do_not_make_their_snapshots_younger() {
    for skew in [0, 3_600] {
        let clock = |client: usize, millis: u64| {
            let apart = Duration::from_secs(skew).saturating_mul(u32::try_from(client).unwrap());
            T0.after(Duration::from_millis(millis)).after(apart)
        };
        let mut clients = [following(), following()];
        // The hub that both once read, before they were given each other as hubs.
        let first_read = |client| clock(client, 0).before(MIN_INTERVAL);
        let mut reads = [first_read(0), first_read(1)];
        for millis in (1_000..200_000).step_by(1_000) {
            for own in [0, 1] {
                let other = 1 - own;
                let answer = unchanged(reads[other], clock(other, millis));
                let now = clock(own, millis);
                clients[own].tick(now);
                let mut round = Round::default();
                round.add(clients[own].handle_response(after_wait(answer, Duration::ZERO), now, 0));
                reads[own] = round.read().unwrap_or(reads[own]);
            }
        }
        assert!(
            reads[0] <= first_read(0) && reads[1] <= first_read(1),
            "{skew} s: {reads:?}"
        );
    }
}
