//! Clusters with more objects than the leader stores. Each exceeds a limit ten times.

use super::*;
use crate::kube::size::MAX_OBJECT_BYTES;
use crate::kube::{Change, KeptFields};
use crate::sync::limits::{MAX_LIST_BYTES, MAX_NAMESPACE_BYTES};
use std::collections::BTreeMap;

/// The number of objects in a page. Each is almost as large as allowed.
const PAGE: usize = 100;

/// A Service whose selector makes it almost as large as allowed.
fn large(namespace: &str, n: usize) -> Object {
    let labels = (0..).map(|n| (format!("key-{n:04}").into(), "v".repeat(1_900).into()));
    let Object::Service(mut service) = service(namespace, &format!("n{n:05}")) else {
        panic!("a Service")
    };
    service.selector = labels.take(MAX_OBJECT_BYTES / 2_048).collect();
    let object = Object::Service(service);
    assert!(
        (MAX_OBJECT_BYTES / 10 * 9..=MAX_OBJECT_BYTES).contains(&object.size()),
        "{}",
        object.size()
    );
    object
}

fn service(namespace: &str, name: &str) -> Object {
    let meta = format!(r#""metadata":{{"name":"{name}","namespace":"{namespace}"}}"#);
    let json = format!(r#"{{{meta},"spec":{{"selector":{{"app":"web"}}}}}}"#);
    Object::parse(ObjectKind::Services, &json, KeptFields::default()).unwrap()
}

/// The number of large Services that fit into a namespace.
fn max_large() -> usize {
    MAX_NAMESPACE_BYTES / large("a", 0).size()
}

/// A cluster with one HPA and many large Services in each namespace, served page by page.
struct LargeCluster {
    namespaces: Vec<&'static str>,
    services_per_namespace: usize,
    pages: BTreeMap<String, usize>,
}

impl LargeCluster {
    fn new(namespaces: &[&'static str], services_per_namespace: usize) -> Self {
        Self {
            namespaces: namespaces.to_vec(),
            services_per_namespace,
            pages: BTreeMap::new(),
        }
    }

    fn page(&mut self, source: &Source) -> Result<ListPage, Failure> {
        let mut page = cluster(source, 1)?;
        if source.kind != ObjectKind::Services {
            return Ok(page);
        }
        let count = self.namespaces.len() * self.services_per_namespace;
        let begun = self.pages.entry(source.to_string()).or_default();
        let numbers = *begun * PAGE..count.min((*begun + 1) * PAGE);
        page.continue_token = (numbers.end < count).then(|| numbers.end.to_string());
        *begun = if page.continue_token.is_some() { *begun + 1 } else { 0 };
        let object = |n: usize| {
            large(
                self.namespaces[n / self.services_per_namespace],
                n % self.services_per_namespace,
            )
        };
        // The Service that the tests look up comes last.
        let web = page.objects.pop().filter(|_| page.continue_token.is_none());
        page.objects = numbers.map(object).chain(web).collect();
        Ok(page)
    }

    fn answer(&mut self, source: &Source, verb: Verb) -> Result<Payload, Failure> {
        match verb {
            Verb::List => self.page(source).map(Payload::Page),
            Verb::Watch => Ok(Payload::WatchBatch(WatchBatch::default())),
        }
    }
}

fn is_served(round: &Round) -> bool {
    let services = round.published.last().and_then(|snapshot| snapshot.section(SERVICES));
    services.is_some_and(|services| services.find("shop/web").is_some())
}

fn bytes(leader: &Leader) -> usize {
    let objects = leader.lists.iter().flat_map(|list| &list.store.objects);
    objects.map(|object| object.size()).sum()
}

fn over(round: &Round) -> Option<u64> {
    round.totals.map(|totals| totals.over_limits)
}

#[test]
fn a_namespace_ten_times_over_its_limit_excludes_no_object_of_another_one() {
    let mut large_cluster = LargeCluster::new(&["evil"], 10 * max_large());
    let mut leader = Leader::new(config(""), Handover::default(), T0);
    let first = round(&mut leader, T0, |source| large_cluster.page(source));
    assert!(is_served(&first));
    assert!(
        bytes(&leader) <= MAX_NAMESPACE_BYTES + 2_000,
        "{} bytes",
        bytes(&leader)
    );
    assert_eq!(over(&first), Some(9 * max_large() as u64));
    assert_eq!(first.messages.len(), MAX_MESSAGES, "{:?}", first.messages);
    assert_eq!(
        first.messages[0],
        format!(
            "excluded Service evil/n{:05}: its namespace has more than 16384 KiB in this list",
            max_large()
        )
    );
    let second = round(&mut leader, later(15), |source| large_cluster.page(source));
    assert!(second.messages.is_empty(), "it is reported once: {:?}", second.messages);

    large_cluster.services_per_namespace = max_large();
    let recovered = round(&mut leader, later(30), |source| large_cluster.page(source));
    assert_eq!(
        (over(&recovered), recovered.messages.len()),
        (Some(0), 0),
        "at its limit it keeps every object"
    );
    assert_eq!(
        recovered.totals.map(|totals| totals.objects),
        Some(max_large() as u64 + 3)
    );
}

#[test]
fn namespaces_ten_times_over_the_limit_of_a_list_exclude_no_object_of_a_small_one() {
    let names: Vec<String> = (0..40).map(|n| format!("evil-{n:02}")).collect();
    let names: Vec<&'static str> = names.into_iter().map(|name| &*name.leak()).collect();
    assert!(names.len() * MAX_NAMESPACE_BYTES >= 10 * MAX_LIST_BYTES);
    let mut large_cluster = LargeCluster::new(&names, max_large());
    let mut leader = Leader::new(config(""), Handover::default(), T0);
    let first = round(&mut leader, T0, |source| large_cluster.page(source));
    assert!(is_served(&first));
    assert!(bytes(&leader) <= MAX_LIST_BYTES + 2_000, "{} bytes", bytes(&leader));
    let mut kept: BTreeMap<String, usize> = BTreeMap::new();
    for object in leader.lists.iter().flat_map(|list| &list.store.objects) {
        *kept.entry(object.name().namespace.to_string()).or_default() += 1;
    }
    assert_eq!(kept.len(), names.len() + 1, "each namespace keeps some");
    assert!(kept["evil-00"] == kept["evil-39"], "{kept:?}");
}

#[test]
fn a_watch_obeys_the_same_limits_and_excluded_objects_return_when_they_fit() {
    let mut large_cluster = LargeCluster::new(&[], 0);
    let mut leader = Leader::new(parse(r#"{"cluster":"k"}"#), Handover::default(), T0);
    assert!(is_served(
        &round_of(&mut leader, T0, |source, verb| large_cluster.answer(source, verb))
    ));

    let mut sent = 0;
    let mut last = None;
    for second in 1..=30 {
        let round = round_of(&mut leader, later(second), |source, verb| {
            if source.kind != ObjectKind::Services || verb == Verb::List {
                return large_cluster.answer(source, verb);
            }
            let objects = (sent..(sent + PAGE).min(10 * max_large())).map(|n| Change::Apply(large("evil", n)));
            sent += PAGE;
            Ok(Payload::WatchBatch(WatchBatch {
                changes: objects.collect(),
                resource_version: Some("10".into()),
            }))
        });
        assert!(
            bytes(&leader) <= MAX_NAMESPACE_BYTES * 9 / 8,
            "{} bytes",
            bytes(&leader)
        );
        last = over(&round).or(last);
    }
    assert!(
        sent >= 10 * max_large() && last.unwrap() >= 9 * max_large() as u64 - 20,
        "{last:?}"
    );

    // All but a few are deleted. The watch has no events for the others, because they do not change.
    let deletions = (0..10 * max_large()).filter(|n| n % 1_000 != 999);
    let deletions: Vec<_> = deletions.map(|n| large("evil", n).name().clone()).collect();
    let mut deleted = false;
    let mut listed = Vec::new();
    for second in 31..700 {
        let round = round_of(&mut leader, later(second), |source, verb| {
            if source.kind != ObjectKind::Services {
                return large_cluster.answer(source, verb);
            }
            if verb == Verb::Watch {
                let deletions = if deleted { Vec::new() } else { deletions.clone() };
                deleted = true;
                return Ok(Payload::WatchBatch(WatchBatch {
                    changes: deletions.into_iter().map(Change::Delete).collect(),
                    resource_version: Some("11".into()),
                }));
            }
            let mut page = cluster(source, 1)?;
            page.objects.insert(0, large("evil", 999));
            Ok(Payload::Page(page))
        });
        let lists = round.requests.iter().filter(|path| path.contains("services?limit"));
        listed.extend(lists.map(|_| second));
        last = over(&round).or(last);
    }
    assert_eq!(listed.len(), 1, "it is listed again once, {listed:?}");
    assert_eq!(
        (last, leader.lists.iter().map(|list| list.store.objects.len()).sum()),
        (Some(0), 4)
    );
}

#[test]
fn a_successor_lists_again_if_objects_were_excluded_over_a_limit() {
    let mut large_cluster = LargeCluster::new(&["evil"], 2 * max_large());
    let mut first = Leader::new(parse(r#"{"cluster":"k"}"#), Handover::default(), T0);
    let mut left = round_of(&mut first, T0, |source, verb| large_cluster.answer(source, verb));
    while first.is_busy() {
        let more = round_of(&mut first, T0, |source, verb| large_cluster.answer(source, verb));
        left.published.extend(more.published);
        left.confirmed.extend(more.confirmed);
        left.checkpoint = more.checkpoint.or(left.checkpoint);
    }
    let checkpoint = left.checkpoint.expect("a checkpoint");
    let versions: Vec<_> = checkpoint
        .lists
        .iter()
        .map(|list| !list.resource_version.is_empty())
        .collect();
    assert_eq!(versions, [true, false, true, true], "Services");
    let handover = Handover {
        snapshot: left.published.pop(),
        confirmed: left.confirmed.pop(),
        checkpoint: Some(checkpoint),
        ..Handover::default()
    };
    let mut next = Leader::new(parse(r#"{"cluster":"k"}"#), handover, later(20));
    let mut large_cluster = LargeCluster::new(&["evil"], max_large());
    let taken_over = round_of(&mut next, later(20), |source, verb| large_cluster.answer(source, verb));
    assert_eq!(over(&taken_over), Some(0));
    assert_eq!(
        taken_over.totals.map(|totals| totals.objects),
        Some(max_large() as u64 + 3)
    );
}

#[test]
fn an_endless_list_backs_off_and_keeps_no_objects() {
    let same = |_: usize| "again".to_owned();
    let other = |n: usize| format!("page-{n}");
    let long = |n: usize| format!("{n}{}", "x".repeat(100_000));
    for (continue_token, objects, max_pages) in [
        (&same as &dyn Fn(usize) -> String, 0, 2),
        (&other, 0, 1_000),
        (&other, 3, 1_000),
        (&long, 0, 1),
    ] {
        let mut leader = Leader::new(config(""), Handover::default(), T0);
        let (mut pages, mut messages, mut attempts) = (0, Vec::new(), 0);
        for second in 0..60 {
            let round = round(&mut leader, later(second), |source| {
                if source.kind != ObjectKind::Services {
                    return cluster(source, 1);
                }
                pages += 1;
                Ok(ListPage {
                    objects: (0..objects).map(|n| large("shop", n + objects * pages)).collect(),
                    continue_token: Some(continue_token(pages)),
                    ..ListPage::default()
                })
            });
            assert!(round.published.is_empty(), "a list is served in full or not at all");
            attempts += round
                .outcomes
                .iter()
                .filter(|outcome| **outcome == PollOutcome::Malformed)
                .count();
            messages.extend(round.messages);
        }
        assert!((4..=8).contains(&attempts), "with pauses in between: {attempts}");
        assert_eq!(pages, max_pages * attempts, "in a minute");
        let expected = format!(
            "cannot list services: the list does not end: its page {max_pages} leads to another one; check that"
        );
        assert!(
            messages.len() == 1 && messages[0].starts_with(&expected),
            "{messages:?}"
        );
        let recovered = round(&mut leader, later(120), |source| cluster(source, 1));
        assert!(is_served(&recovered));
    }
}
