use super::*;
use crate::kube::{KeptFields, ListPage, ObjectKind, Resource, Source};
use crate::name::Name;
use crate::sync::reflector::{FailurePause, Schedule};
use std::time::Duration;

const T0: Time = Time::from_unix_millis(1_000_000);

const SCHEDULE: Schedule = Schedule {
    interval: Duration::from_secs(15),
    window: None,
};

fn source(n: usize) -> Source {
    Source {
        kind: ObjectKind::Services,
        resource: Resource::services(),
        namespace: Some(Name::parse(&format!("ns-{n}")).unwrap()),
        label_selector: None,
        field_selector: None,
        kept: KeptFields::default(),
    }
}

fn later(seconds: u64) -> Time {
    T0.after(Duration::from_secs(seconds))
}

impl AsRef<Reflector> for Reflector {
    fn as_ref(&self) -> &Reflector {
        self
    }
}

impl AsMut<Reflector> for Reflector {
    fn as_mut(&mut self) -> &mut Reflector {
        self
    }
}

/// Lists with their scheduler.
struct Lists {
    scheduler: Scheduler,
    reflectors: Vec<Reflector>,
}

impl Lists {
    fn new(reflectors: Vec<Reflector>) -> Self {
        Self {
            scheduler: Scheduler::new(4),
            reflectors,
        }
    }

    fn due_requests(&mut self, now: Time) -> Vec<ScheduledRequest> {
        self.scheduler.due_requests(&mut self.reflectors, now)
    }

    /// The lists that send a request, by their index.
    fn due_sources(&mut self, now: Time) -> Vec<usize> {
        let requests = self.due_requests(now);
        requests.iter().map(|request| request.source.0).collect()
    }

    fn respond(
        &mut self,
        id: SourceId,
        answer: Result<Payload, Failure>,
        now: Time,
        chance: u32,
    ) -> Option<ReflectorEvent> {
        self.scheduler
            .handle_response(&mut self.reflectors, id, answer, now, chance)
    }
}

fn empty_page() -> Result<Payload, Failure> {
    Ok(Payload::Page(ListPage::default()))
}

fn throttled(seconds: u64) -> Failure {
    Failure::Throttled {
        retry_after: Some(Duration::from_secs(seconds)),
    }
}

#[test]
fn a_limited_number_of_lists_is_read_at_once() {
    let reflectors = (0..20).map(|n| Reflector::new(source(n), SCHEDULE, 500, T0));
    let mut lists = Lists::new(reflectors.collect());
    assert!(
        is_between_rounds(&lists.reflectors) && !is_idle(&lists.reflectors, T0),
        "a round is about to begin"
    );
    let mut in_flight = lists.due_requests(T0);
    assert_eq!(in_flight.len(), MAX_CONCURRENT_LISTS);
    assert!(lists.due_requests(T0).is_empty());
    let mut sent = in_flight.len();
    while let Some(request) = in_flight.pop() {
        assert!(matches!(
            lists.respond(request.source, empty_page(), T0, 0),
            Some(ReflectorEvent::Relisted(_))
        ));
        let next = lists.due_requests(T0);
        sent += next.len();
        in_flight.extend(next);
    }
    assert_eq!(sent, 20);
    assert!(is_between_rounds(&lists.reflectors) && is_idle(&lists.reflectors, T0));
}

#[test]
fn a_response_for_an_unknown_list_is_ignored() {
    let mut lists = Lists::new(Vec::new());
    assert!(lists.respond(SourceId(0), empty_page(), T0, 0).is_none());
}

/// Lists that have failed for so long that each pauses for half a minute.
fn outage(count: usize) -> Lists {
    let pause = FailurePause {
        failures: 10,
        since: T0,
        due: later(30),
        not_before: T0,
    };
    let reflectors = (0..count).map(|n| Reflector::new(source(n), SCHEDULE, 500, T0).with_pause(pause));
    Lists::new(reflectors.collect())
}

fn refused() -> Result<Payload, Failure> {
    Err(Failure::Unreachable("connection refused".into()))
}

#[test]
fn in_an_outage_one_list_after_the_other_probes_the_server() {
    for chance in [0, u32::MAX / 2, u32::MAX] {
        for count in [1, 2, 4] {
            let mut lists = outage(count);
            let (mut requests, mut last) = (vec![0; count], 0);
            for second in 0..600 {
                for request in lists.due_requests(later(second)) {
                    assert!(second - last <= 9, "{count} lists: {last} s, {second} s");
                    requests[request.source.0] += 1;
                    last = second;
                    lists.respond(request.source, refused(), later(second), chance);
                }
            }
            assert!(600 - last <= 9);
            let total: u64 = requests.iter().sum();
            assert!((600 / 9..=600 / 3).contains(&total), "{count} lists: {requests:?}");
            assert!(
                requests.iter().max().unwrap() - requests.iter().min().unwrap() < 5,
                "{requests:?}"
            );
        }
    }
}

#[test]
fn a_callout_that_waits_for_its_timeout_counts_as_a_probe() {
    let mut lists = outage(4);
    let (mut in_flight, mut sent_at) = (Vec::new(), Vec::new());
    for second in 0..120 {
        for request in lists.due_requests(later(second)) {
            in_flight.push((second + 5, request.source));
            sent_at.push(second);
        }
        while let Some(index) = in_flight.iter().position(|(ends, _)| *ends <= second) {
            let (_, source) = in_flight.remove(index);
            lists.respond(source, Err(Failure::Timeout), later(second), u32::MAX);
        }
    }
    assert!(sent_at.windows(2).all(|pair| pair[1] - pair[0] <= 9), "{sent_at:?}");
}

#[test]
fn the_first_success_after_an_outage_ends_all_pauses_but_those_of_a_retry_after() {
    let mut lists = outage(4);
    assert_eq!(lists.due_sources(later(30)).len(), 4);
    for (index, failure) in [(1, throttled(3)), (2, throttled(60)), (3, Failure::Timeout)] {
        lists.respond(SourceId(index), Err(failure), later(30), 0);
    }
    assert!(lists.due_requests(later(31)).is_empty());
    lists.respond(SourceId(0), empty_page(), later(31), 0);
    assert_eq!(lists.due_sources(later(31)), [3]);
    assert_eq!(lists.due_sources(later(33)), [1]);
    assert_eq!(lists.due_sources(later(89)), [0]);
    assert_eq!(lists.due_sources(later(90)), [2]);
}

#[test]
fn a_list_that_fails_while_others_work_pauses_for_its_whole_backoff() {
    let mut lists = outage(2);
    lists.due_requests(later(30));
    lists.respond(SourceId(1), refused(), later(30), u32::MAX);
    lists.respond(SourceId(0), empty_page(), later(30), 0);
    let mut sent_at = Vec::new();
    for second in 30..120 {
        for request in lists.due_requests(later(second)) {
            if request.source == SourceId(1) {
                sent_at.push(second);
                lists.respond(request.source, refused(), later(second), u32::MAX);
            } else {
                lists.respond(request.source, empty_page(), later(second), 0);
            }
        }
    }
    assert_eq!(
        sent_at,
        [32, 62, 92],
        "once when the other list works, and then after each pause"
    );
}

#[test]
fn two_lists_that_expire_at_each_page_do_not_end_each_others_pauses_for_ever() {
    let mut lists = outage(2);
    let mut sent = 0;
    for second in 30..40 {
        loop {
            let requests = lists.due_requests(later(second));
            if requests.is_empty() {
                break;
            }
            for request in requests {
                sent += 1;
                lists.respond(
                    request.source,
                    Err(Failure::Expired("too old".into())),
                    later(second),
                    0,
                );
            }
        }
    }
    assert!(sent <= 8, "{sent}");
}
