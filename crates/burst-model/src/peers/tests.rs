use super::*;
use crate::config::Artifact;
use crate::index::{Row, Table};
use crate::load::{Load, Percent};
use crate::name::ObjectName;
use crate::signals::Signals;
use crate::snapshot;

/// When everything was read.
pub(crate) const READ: Time = Time::from_unix_millis(1_700_000_000_000);

/// What is known of a peer: its Services with their current and maximum replicas.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Known<'a> {
    Unread,
    Fresh(&'a [(&'a str, u32, u32)]),
    Stale(&'a [(&'a str, u32, u32)]),
}

/// A configuration of the cluster `east` with the peers of these names, and more keys.
pub(crate) fn config(names: &[&str], more: &str) -> Config {
    config_of("east", names, more)
}

fn config_of(own_name: &str, names: &[&str], more: &str) -> Config {
    let peers: Vec<_> = names
        .iter()
        .map(|name| format!(r#"{{"name":"{name}","cluster":"burst_{name}"}}"#))
        .collect();
    let json = format!(
        r#"{{"cluster":"kube_api","peers":{{"self":"{own_name}","read":[{}]}}{more}}}"#,
        peers.join(",")
    );
    Config::parse(json.as_bytes(), Artifact::Full).unwrap()
}

/// The snapshot of these Services.
pub(crate) fn services(services: &[(&str, u32, u32)]) -> Vec<u8> {
    let row = |(name, current, max): &(&str, u32, u32)| Row {
        name: ObjectName::parse(name).unwrap(),
        label: ObjectName::parse(name).unwrap(),
        load: Load::new(*current, *max, Percent::new(80).unwrap()),
        signals: Signals::default(),
        labels: Box::default(),
    };
    let mut rows: Vec<_> = services.iter().map(row).collect();
    rows.sort_by(|a, b| a.name.cmp_as_text(&b.name));
    let table = Table::from([(SERVICES.into(), rows)]);
    snapshot::write(&table, 1)
}

/// Peers in these states, two seconds after [`READ`]; stale ones were read 75 s before.
pub(crate) fn peers(known: &[(&str, Known<'_>)]) -> Peers {
    let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
    let config = config_of("own", &names, "");
    let mut peers = Peers::new(config.peers.as_ref().unwrap());
    for (peer, (_, known)) in peers.iter_mut().zip(known) {
        let (rows, age) = match known {
            Known::Unread => continue,
            Known::Fresh(rows) => (rows, 2),
            Known::Stale(rows) => (rows, 75),
        };
        peer.take(services(rows)).unwrap();
        let confirmed = confirmed(READ);
        peer.refresh(&config, Some(&confirmed), READ.after(Duration::from_secs(age)));
    }
    peers
}

pub(crate) fn confirmed(at: Time) -> Confirmed {
    Confirmed {
        generation: 1,
        lists: vec![Some(at)],
    }
}

#[test]
fn a_peer_counts_from_its_first_read_until_it_is_stale() {
    let config = config(&["west"], "");
    let mut peers = Peers::new(config.peers.as_ref().unwrap());
    let west = peers.iter_mut().next().unwrap();
    let confirmed = confirmed(READ);
    let seconds = |seconds| READ.after(Duration::from_secs(seconds));
    assert_eq!((west.name(), west.state()), ("west", PeerState::Unread));
    west.refresh(&config, Some(&confirmed), seconds(1));
    assert_eq!(
        west.state(),
        PeerState::Unread,
        "confirmed, but its snapshot was not taken"
    );
    assert!(west.is_behind(&confirmed));
    west.take(services(&[("shop/web", 1, 5)])).unwrap();
    assert!(!west.is_behind(&confirmed));
    for (now, state, counts) in [(60, "fresh", true), (61, "stale", false), (30, "fresh", true)] {
        west.refresh(&config, Some(&confirmed), seconds(now));
        assert_eq!(
            (west.state().name(), west.services().is_some()),
            (state, counts),
            "{now} s"
        );
        assert_eq!(
            west.state().read().map(|read| (read.at, read.age.as_secs())),
            Some((READ, now))
        );
    }
}

#[test]
fn damaged_bytes_are_refused_and_leave_the_peer_unread() {
    let config = config(&["west"], "");
    let mut peers = Peers::new(config.peers.as_ref().unwrap());
    let west = peers.iter_mut().next().unwrap();
    west.drop_snapshot();
    assert!(west.take(b"damaged".to_vec()).is_err());
    west.refresh(&config, Some(&confirmed(READ)), READ);
    assert_eq!(west.state(), PeerState::Unread);
}
