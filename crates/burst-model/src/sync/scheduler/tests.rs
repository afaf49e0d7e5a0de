use super::*;
use crate::kube::{ListPage, ObjectKind, Resource, Source};
use crate::name::Name;
use crate::sync::reflector::{FailurePause, Schedule};
use std::time::Duration;

const T0: Time = Time::from_unix_millis(1_000_000);

const PACE: Schedule = Schedule {
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
        keep_labels: false,
    }
}

fn later(seconds: u64) -> Time {
    T0.after(Duration::from_secs(seconds))
}

#[test]
fn many_lists_are_asked_a_few_at_a_time() {
    let lists = (0..20).map(|n| Reflector::new(source(n), PACE, 500, T0)).collect();
    let mut poller = Scheduler::new(lists, 4);
    assert!(
        poller.is_between_rounds() && !poller.is_idle(T0),
        "a round is about to begin"
    );
    let mut under_way = poller.due_requests(T0);
    assert_eq!(under_way.len(), MAX_CONCURRENT_LISTS);
    assert!(poller.due_requests(T0).is_empty());
    let mut asked = under_way.len();
    while let Some(ask) = under_way.pop() {
        assert!(matches!(
            poller.handle_response(ask.source, Ok(Payload::Page(ListPage::default())), T0, 0),
            Some(ReflectorEvent::Relisted(_))
        ));
        let next = poller.due_requests(T0);
        asked += next.len();
        under_way.extend(next);
    }
    assert_eq!(asked, 20);
    assert!(poller.is_between_rounds() && poller.is_idle(T0));
}

#[test]
fn an_answer_for_no_list_is_nothing() {
    let mut poller = Scheduler::new(Vec::new(), 4);
    assert!(
        poller
            .handle_response(SourceId(0), Ok(Payload::Page(ListPage::default())), T0, 0)
            .is_none()
    );
}

/// Lists that fail for so long that each is left alone for half a minute.
fn outage(lists: usize) -> Scheduler {
    let pausing = |n| {
        let pause = FailurePause {
            failures: 10,
            since: T0,
            due: later(30),
            not_before: T0,
        };
        Reflector::new(source(n), PACE, 500, T0).with_pause(pause)
    };
    Scheduler::new((0..lists).map(pausing).collect(), 4)
}

fn refused() -> Result<Payload, Failure> {
    Err(Failure::Unreachable("connection refused".into()))
}

#[test]
fn where_nothing_works_one_list_after_the_other_asks_whether_the_server_is_back() {
    for chance in [0, u32::MAX / 2, u32::MAX] {
        for lists in [1, 2, 4] {
            let mut poller = outage(lists);
            let (mut asked, mut last) = (vec![0; lists], 0);
            for second in 0..600 {
                for ask in poller.due_requests(later(second)) {
                    assert!(second - last <= 9, "{lists} lists: {last} s, {second} s");
                    (asked[ask.source.0], last) = (asked[ask.source.0] + 1, second);
                    poller.handle_response(ask.source, refused(), later(second), chance);
                }
            }
            assert!(600 - last <= 9);
            let all: u64 = asked.iter().sum();
            assert!((600 / 9..=600 / 3).contains(&all), "{lists} lists: {asked:?}");
            assert!(
                asked.iter().max().unwrap() - asked.iter().min().unwrap() < 5,
                "{asked:?}"
            );
        }
    }
}

#[test]
fn a_callout_that_waits_for_its_timeout_asks_as_well() {
    let mut poller = outage(4);
    let (mut under_way, mut asked) = (Vec::new(), Vec::new());
    for second in 0..120 {
        under_way.extend(
            poller
                .due_requests(later(second))
                .into_iter()
                .map(|ask| (second + 5, ask)),
        );
        asked.extend(under_way.iter().filter(|(ends, _)| *ends == second + 5).map(|_| second));
        while let Some(place) = under_way.iter().position(|(ends, _)| *ends <= second) {
            let (_, ask) = under_way.remove(place);
            poller.handle_response(ask.source, Err(Failure::Timeout), later(second), u32::MAX);
        }
    }
    assert!(asked.windows(2).all(|pair| pair[1] - pair[0] <= 9), "{asked:?}");
}

#[test]
fn the_first_good_answer_after_an_outage_ends_all_pauses_but_those_that_the_server_wishes_for() {
    let mut poller = outage(4);
    let mut ask = || poller.due_requests(later(30)).into_iter().map(|ask| ask.source);
    assert_eq!(ask().count(), 4);
    let throttled = |seconds| Failure::Throttled {
        retry_after: Some(Duration::from_secs(seconds)),
    };
    for (place, failure) in [(1, throttled(3)), (2, throttled(60)), (3, Failure::Timeout)] {
        poller.handle_response(SourceId(place), Err(failure), later(30), 0);
    }
    assert!(poller.due_requests(later(31)).is_empty());
    poller.handle_response(SourceId(0), Ok(Payload::Page(ListPage::default())), later(31), 0);
    let mut asked = |seconds| {
        let asks = poller.due_requests(later(seconds)).into_iter();
        asks.map(|ask| ask.source.0).collect::<Vec<_>>()
    };
    assert_eq!(asked(31), [3]);
    assert_eq!(asked(33), [1]);
    assert_eq!(asked(89), [0]);
    assert_eq!(asked(90), [2]);
}

#[test]
fn a_list_that_fails_among_others_that_work_is_left_alone_for_its_whole_pause() {
    let mut poller = outage(2);
    poller.due_requests(later(30));
    poller.handle_response(SourceId(1), refused(), later(30), u32::MAX);
    poller.handle_response(SourceId(0), Ok(Payload::Page(ListPage::default())), later(30), 0);
    let mut asked = Vec::new();
    for second in 30..120 {
        for ask in poller.due_requests(later(second)) {
            if ask.source == SourceId(1) {
                asked.push(second);
                poller.handle_response(ask.source, refused(), later(second), u32::MAX);
            } else {
                poller.handle_response(ask.source, Ok(Payload::Page(ListPage::default())), later(second), 0);
            }
        }
    }
    assert_eq!(asked, [32, 62, 92], "once when the others are back, and then as ever");
}

#[test]
fn two_lists_that_expire_page_after_page_do_not_wake_each_other_for_ever() {
    let mut poller = outage(2);
    let mut asked = 0;
    for second in 30..40 {
        loop {
            let asks = poller.due_requests(later(second));
            if asks.is_empty() {
                break;
            }
            for ask in asks {
                asked += 1;
                poller.handle_response(ask.source, Err(Failure::Expired("too old".into())), later(second), 0);
            }
        }
    }
    assert!(asked <= 8, "{asked}");
}
