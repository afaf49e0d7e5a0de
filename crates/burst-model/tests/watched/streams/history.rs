//! After any history the snapshot equals that of a fresh list. [`Proxy`] checks at each publication that nothing older
//! overwrites something newer.

use super::proxy::{Proxy, at, fresh};
use super::server::Fate;
use crate::api::{Api, KINDS};
use proptest::prelude::*;
use std::time::Duration;

/// An event of one second.
#[derive(Clone, Debug)]
enum Event {
    Put {
        kind: usize,
        name: u8,
    },
    Delete {
        kind: usize,
        name: u8,
    },
    /// What happens to the open streams.
    Streams(Fate),
    /// New requests get this status for a second.
    Refuse(u16),
    /// The API forgets all changes until now.
    Forget,
    HandOver,
    Reconfigure,
    SetBack(u16),
    /// The upstream filter comes or goes.
    Owns(bool),
    /// The server sends lists as events, or does not any more.
    WatchList(bool),
    Nothing,
}

fn event() -> impl Strategy<Value = Event> {
    let fates = vec![
        Fate::Silent,
        Fate::Drip,
        Fate::Break,
        Fate::HalfAnEvent,
        Fate::End,
        Fate::Expire,
    ];
    prop_oneof![
        8 => (0..KINDS.len(), 0u8..5).prop_map(|(kind, name)| Event::Put { kind, name }),
        2 => (0..KINDS.len(), 0u8..5).prop_map(|(kind, name)| Event::Delete { kind, name }),
        4 => prop::sample::select(fates).prop_map(Event::Streams),
        1 => prop::sample::select(vec![400, 403, 404, 405, 422, 429, 500, 503]).prop_map(Event::Refuse),
        1 => Just(Event::Forget),
        1 => Just(Event::HandOver),
        1 => Just(Event::Reconfigure),
        1 => (1..5_000u16).prop_map(Event::SetBack),
        1 => any::<bool>().prop_map(Event::Owns),
        1 => any::<bool>().prop_map(Event::WatchList),
        4 => Just(Event::Nothing),
    ]
}

proptest! {
    #[test]
    fn after_any_history_the_snapshot_equals_a_fresh_list(
        events in proptest::collection::vec(event(), 0..120),
    ) {
        let (mut api, mut proxy) = (Api::default(), Proxy::new("auto"));
        let mut second = 0;
        for event in events {
            proxy.fate = Fate::Fine;
            match event {
                // Each value is larger than all before it.
                Event::Put { kind, name } => api.put(kind, name, u8::try_from(second).unwrap()),
                Event::Delete { kind, name } => {
                    let name = format!("n{name}");
                    if api.objects(kind, api.log.len()).contains_key(name.as_str()) {
                        api.log.push((kind, name, None));
                    }
                }
                Event::Streams(fate) => proxy.set_fate(fate),
                Event::Refuse(status) => proxy.fate = Fate::Status(status),
                Event::Forget => api.forgotten = api.log.len(),
                Event::HandOver => proxy.hand_over(at(second)),
                Event::Reconfigure => proxy.reconfigure(at(second)),
                Event::SetBack(seconds) => proxy.set_back += Duration::from_secs(seconds.into()),
                Event::Owns(owns) => proxy.owns = owns,
                Event::WatchList(has) => proxy.has_watch_list = has,
                Event::Nothing => {}
            }
            proxy.second(&api, at(second));
            second += 1;
        }
        proxy.fate = Fate::Fine;
        // A silent stream is found after 80 s, and a stream may be opened just before that.
        for _ in 0..240 {
            proxy.second(&api, at(second));
            second += 1;
        }
        prop_assert_eq!(proxy.content(), fresh(&api));
        let age = proxy.age(at(second));
        prop_assert!(age <= Duration::from_secs(31), "a quiet cluster is confirmed continually: {age:?}");
    }
}
