//! How often a snapshot is published while changes stream in.

use super::proxy::{Proxy, T0, at};
use crate::api::{Api, KINDS};
use burst_model::time::Time;
use std::time::Duration;

fn streaming() -> (Api, Proxy) {
    let mut api = Api::default();
    (0..5).for_each(|name| (0..KINDS.len()).for_each(|kind| api.put(kind, name, 1)));
    let mut proxy = Proxy::new("auto");
    (0..10).for_each(|second| proxy.second(&api, at(second)));
    proxy.published.clear();
    (api, proxy)
}

fn millis(millis: u64) -> Time {
    T0.after(Duration::from_millis(millis))
}

/// Puts a hundred changes, one every 10 ms, and calls the leader when it wants to be called. Each call takes `cost`.
fn burst(api: &mut Api, proxy: &mut Proxy, cost: Duration) {
    for n in 0..100 {
        let now = millis(10_000 + 10 * n);
        api.put(0, u8::try_from(n % 5).unwrap(), u8::try_from(2 + n).unwrap());
        proxy.arrive(api, now);
        if proxy.next_due().is_some_and(|due| due <= now) {
            proxy.advance(now);
        }
        proxy.note_cost(cost);
    }
    let due = proxy.next_due().unwrap();
    assert!(due <= millis(12_000), "the last changes are not forgotten");
    proxy.advance(due);
}

#[test]
fn a_hundred_changes_in_a_second_are_ten_publications_and_the_last_state_shows() {
    let (mut api, mut proxy) = streaming();
    burst(&mut api, &mut proxy, Duration::ZERO);
    assert!((9..=12).contains(&proxy.published.len()), "{:?}", proxy.published);
    assert!(
        proxy.published.windows(2).all(|pair| pair[1] - pair[0] >= 100),
        "{:?}",
        proxy.published
    );
    for (name, value) in [(0, 97), (4, 101)] {
        assert_eq!(proxy.value(name), Some(value));
    }
}

#[test]
fn publications_that_take_long_come_less_often() {
    let (mut api, mut proxy) = streaming();
    burst(&mut api, &mut proxy, Duration::from_millis(40));
    assert!((2..=5).contains(&proxy.published.len()), "{:?}", proxy.published);
    assert_eq!(proxy.value(4), Some(101));
}

#[test]
fn a_change_after_a_quiet_time_is_published_at_once() {
    let (mut api, mut proxy) = streaming();
    api.put(0, 1, 5);
    proxy.arrive(&api, millis(10_123));
    assert_eq!((proxy.published.as_slice(), proxy.value(1)), (&[10_123][..], Some(5)));
    assert_eq!(proxy.next_due(), None);
}

#[test]
fn a_change_that_shows_nowhere_is_neither_published_nor_confirmed() {
    let (mut api, mut proxy) = streaming();
    let confirmed = proxy.confirmed.clone();
    // The same labels as before, in a new version.
    api.put(2, 1, 1);
    proxy.arrive(&api, millis(10_050));
    assert!(proxy.published.is_empty());
    assert_eq!(proxy.confirmed, confirmed);
}
