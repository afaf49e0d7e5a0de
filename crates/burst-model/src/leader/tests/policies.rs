//! The leader publishes the policy objects of the cluster.

use super::*;
use crate::kube::InvalidItem;
use crate::policies::PolicySet;

const POLICIES: &str = r#","metrics_apis":{"filter_chain":"m","policies":{"root_namespace":"istio-system"}}"#;

/// The part of a configuration that reads policies.
fn config(more: &str) -> Rc<Config> {
    metrics_part(&format!(r#"{{"cluster":"k","sync":{{"mode":"list"}}{more}}}"#))
}

fn metrics_part(json: &str) -> Rc<Config> {
    Rc::new(parse(json).metrics_part().unwrap().into_inner())
}

/// Returns the page of a cluster with one policy.
fn with_policy(source: &Source, spec: &str) -> Result<ListPage, Failure> {
    if source.kind != ObjectKind::Policies {
        return cluster(source, 1);
    }
    let body = format!(
        r#"{{"kind":"ExternalMetricPolicyList","metadata":{{"resourceVersion":"9"}},"items":[
            {{"metadata":{{"name":"p","namespace":"shop"}},"spec":{spec},"status":{{"conditions":[{{}}]}}}}]}}"#
    );
    page::parse(source, body.as_bytes(), &mut ())
}

#[test]
fn policies_are_published_when_they_change_and_an_error_causes_one_message() {
    let deny = r#"{"rules":[{"metric":".*","deny":true}]}"#;
    let mut leader = Leader::new(config(POLICIES), Handover::default(), T0);
    let first = round(&mut leader, T0, |source| with_policy(source, deny));
    assert_eq!(first.requests.len(), 1, "the other leader reads the rest");
    assert!(
        first
            .requests
            .contains(&"/apis/burstmetrics.dev/v1alpha1/externalmetricpolicies?limit=500".to_owned())
    );
    let sets = first.policies.unwrap();
    assert_eq!(sets[0].in_force.as_ref().unwrap()[0].1.as_ref(), deny);
    let quiet = round(&mut leader, later(15), |source| with_policy(source, deny));
    assert!(quiet.policies.is_none() && quiet.messages.is_empty());

    let corrupted = round(&mut leader, later(30), |source| with_policy(source, r#"{"rules":[]}"#));
    let still = corrupted.policies.unwrap();
    assert_eq!(still[0].in_force, sets[0].in_force);
    assert!(
        corrupted.messages[0].contains("shop/p: spec.rules: is empty"),
        "{:?}",
        corrupted.messages
    );

    let handover = Handover {
        policies: Some(still),
        ..Handover::default()
    };
    let mut successor = Leader::new(config(POLICIES), handover, later(45));
    let taken_over = round(&mut successor, later(45), |source| {
        with_policy(source, r#"{"rules":[]}"#)
    });
    assert!(taken_over.policies.is_none(), "the last valid ones are still in force");
}

#[test]
fn the_message_about_an_invalid_policy_has_a_limited_length() {
    // A longer policy is excluded before it is parsed.
    let long = "x".repeat(200 << 10);
    for spec in [
        format!(r#"{{"{long}":1}}"#),
        format!(r#"{{"rules":"{long}"}}"#),
        format!(r#"{{"rules":[{{"metric":"{long}","deny":true}}]}}"#),
        format!(r#"{{"rules":[{{"metric":"a","deny":"{long}"}}]}}"#),
        format!(r#"{{"rules":[{{"metric":"a","deny":true,"{long}":1}}]}}"#),
    ] {
        let mut leader = Leader::new(config(POLICIES), Handover::default(), T0);
        let first = round(&mut leader, T0, |source| with_policy(source, &spec));
        let reason = first.policies.unwrap()[0].refused.clone().unwrap();
        assert!(
            reason.starts_with("shop/p: spec."),
            "{}",
            reason.get(..100).unwrap_or(&reason)
        );
        assert!(reason.len() < 1_100, "{} bytes", reason.len());
    }
}

#[test]
fn policies_are_in_force_only_in_namespaces_where_they_may_be_read() {
    let deny = r#"{"rules":[{"metric":".*","deny":true}]}"#;
    let config = config(&format!(r#","namespaces":["data","shop"]{POLICIES}"#));
    let mut leader = Leader::new(config, Handover::default(), T0);
    let round = round(&mut leader, T0, |source| match &source.namespace {
        Some(namespace) if source.kind == ObjectKind::Policies && namespace.as_str() == "data" => {
            Err(Failure::Forbidden("no".into()))
        }
        Some(namespace) if source.kind == ObjectKind::Policies && namespace.as_str() == "shop" => {
            with_policy(source, deny)
        }
        _ if source.kind == ObjectKind::Policies => Ok(ListPage::default()),
        _ => cluster(source, 1),
    });
    let sets = round.policies.unwrap();
    let published = |set: &PolicySet| (set.namespace.to_string(), set.in_force.is_some(), set.refused.is_some());
    assert_eq!(
        sets.iter().map(published).collect::<Vec<_>>(),
        [("data".into(), false, true), ("shop".into(), true, false)]
    );
}

#[test]
fn a_successor_knows_which_objects_are_excluded() {
    let deny = r#"{"rules":[{"metric":".*","deny":true}]}"#;
    let api = |source: &Source, verb| match (verb, with_policy(source, deny)) {
        (Verb::Watch, _) => Ok(Payload::WatchBatch(WatchBatch::default())),
        (Verb::List, page) => page.map(|mut page| {
            let (name, reason) = ("shop/q".into(), "spec: no such thing".into());
            page.invalid
                .extend((source.kind == ObjectKind::Policies).then_some(InvalidItem { name, reason }));
            Payload::Page(page)
        }),
    };
    let watched = || metrics_part(&format!(r#"{{"cluster":"k","sync":{{"mode":"watch"}}{POLICIES}}}"#));
    let mut first = Leader::new(watched(), Handover::default(), T0);
    let mut first = round_of(&mut first, T0, api);
    let published = first.policies.unwrap();
    assert_eq!(published[0].in_force, None, "an object of the set cannot be read");

    let handover = Handover {
        snapshot: first.published.pop(),
        confirmed: first.confirmed.pop(),
        checkpoint: first.checkpoint,
        policies: Some(published),
        ..Handover::default()
    };
    let mut successor = Leader::new(watched(), handover, later(2));
    let taken_over = round_of(&mut successor, later(2), api);
    assert_eq!(taken_over.policies, None, "the incomplete set is not in force");
    assert_eq!(taken_over.totals.map(|totals| totals.bad_objects), Some(1));
    assert_eq!(taken_over.messages, [""; 0], "it was reported before");
}

#[test]
fn a_cluster_without_the_kind_has_no_policies() {
    let mut leader = Leader::new(config(POLICIES), Handover::default(), T0);
    let round = round(&mut leader, T0, |source| match source.kind {
        ObjectKind::Policies => Err(Failure::NotFound("404 page not found".into())),
        _ => cluster(source, 1),
    });
    assert_eq!(round.policies, Some(PolicySets::new()));
    assert!(
        round.messages[0].starts_with("cannot list externalmetricpolicies.burstmetrics.dev"),
        "{:?}",
        round.messages
    );
}
