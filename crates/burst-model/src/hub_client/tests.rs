use super::*;
use crate::config::Artifact;
use crate::index::Row;
use crate::load::Load;
use crate::name::ObjectName;
use std::time::Duration;

const T0: Time = Time::from_unix_millis(1_700_000_000_000);
const PATH: &str = "/burstmetrics/services";

fn config(more: &str) -> Rc<Config> {
    let json = format!(r#"{{"cluster":"hub","source":"hub"{more}}}"#);
    Rc::new(Config::parse(json.as_bytes(), Artifact::Full).unwrap())
}

fn client(handover: Handover) -> HubClient {
    HubClient::new(config(""), PATH, handover, T0)
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
                Effect::LogWarning(line) | Effect::LogInfo(line) => self.lines.push(line),
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
    assert_eq!(request.path, PATH);
    request.if_none_match.as_deref()
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
fn the_client_requests_once_per_interval_and_is_not_idle_meanwhile() {
    let mut client = client(Handover::default());
    assert!(!client.is_idle(T0), "about to begin");
    assert_eq!(client.tick(T0).len(), 1);
    assert!(!client.is_idle(T0) && client.tick(later(1)).is_empty());
    client.handle_response(services(1, T0, later(1)), later(1), 0);
    assert!(client.is_idle(later(1)) && client.tick(later(14)).is_empty());
    assert!(!client.is_idle(later(15)));
    assert_eq!(client.tick(later(15)).len(), 1, "counted from the request");
}

#[test]
fn after_a_failure_the_client_backs_off_and_the_snapshot_keeps_its_age() {
    let mut client = client(Handover::default());
    round(&mut client, T0, services(1, T0, T0));
    let failed = round(&mut client, later(15), Err(Failure::Timeout));
    assert!(failed.confirmed.is_empty() && failed.published.is_empty());
    assert_eq!(failed.counted, [PollOutcome::Timeout]);
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
    round(&mut client, later(5), services(1, T0, T0));
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
    let mut next = HubClient::new(config(""), PATH, handover, later(5));
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
    let mut next = HubClient::new(config(""), PATH, handover, later(1));
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
