use super::super::tests::{hpa, hpa_of, lists, service, workload};
use super::*;

const EIGHTY: Percent = Percent::new(80).unwrap();

/// The explanation of a small cluster, with a line for each finding.
fn explained(hpas: Vec<Object>, services: Vec<Object>, deployments: Vec<Object>) -> Vec<String> {
    let lists = lists(hpas, services, deployments);
    let lists = lists.iter().map(|(source, objects)| (source, objects.as_slice()));
    let Explanation {
        services,
        unmatched_hpas: unmatched,
    } = explain(lists, EIGHTY);
    let of_service = services.iter().flat_map(
        |ServiceExplanation {
             name,
             no_load,
             findings: remarks,
         }| {
            let no_load = no_load
                .iter()
                .map(move |why| format!("{name}: {}: {why}", why.as_str()));
            no_load.chain(
                remarks
                    .iter()
                    .map(move |finding| format!("{name}: {}: {finding}", finding.as_str())),
            )
        },
    );
    let unmatched = unmatched
        .iter()
        .map(|unmatched| format!("{}: {unmatched}", unmatched.as_str()));
    of_service.chain(unmatched).collect()
}

#[test]
fn a_service_whose_workload_is_scaled_by_one_hpa_has_no_findings() {
    let explained = explained(
        vec![hpa("shop/web", "web", 1, 5)],
        vec![service("shop/web", "app=web")],
        vec![workload("shop/web", "app=web")],
    );
    assert!(explained.is_empty(), "{explained:?}");
}

#[test]
fn each_reason_for_no_load_has_its_text() {
    let explained = explained(
        vec![
            hpa_of("Deployment", "shop/new", "new", None, 5),
            hpa("shop/other", "other", 1, 1),
        ],
        vec![
            service("shop/api", "app=api"),
            service("shop/bare", ""),
            service("shop/lost", "app=lost"),
            service("shop/new", "app=new"),
        ],
        vec![
            workload("shop/api", "app=api"),
            workload("shop/api-canary", "app=api"),
            workload("shop/new", "app=new"),
            workload("shop/other", "app=other"),
        ],
    );
    assert_eq!(
        explained,
        [
            "shop/api: no-hpa: no HPA scales Deployment shop/api and Deployment shop/api-canary",
            "shop/bare: no-selector: the Service has no selector",
            "shop/lost: nothing-selected: its selector matches the pods of no workload that is read",
            "shop/new: unobserved-hpa: no controller has looked at HPA shop/new yet",
        ]
    );
}

#[test]
fn a_shadowed_hpa_is_reported_with_the_one_that_counts() {
    let explained = explained(
        vec![hpa("shop/z", "web", 9, 9), hpa("shop/a", "web", 1, 5)],
        vec![service("shop/web", "app=web")],
        vec![workload("shop/web", "app=web")],
    );
    assert_eq!(
        explained,
        ["shop/web: two-hpas: HPA shop/z scales Deployment shop/web too, and only shop/a counts"]
    );
}

#[test]
fn workloads_missing_from_the_sums_are_reported() {
    let explained = explained(
        vec![hpa("shop/a", "a", 1, 3), hpa_of("Deployment", "shop/b", "b", None, 3)],
        vec![service("shop/all", "app=web")],
        vec![
            workload("shop/a", "app=web"),
            workload("shop/b", "app=web"),
            workload("shop/fixed", "app=web"),
        ],
    );
    assert_eq!(
        explained,
        [
            "shop/all: unobserved-hpa: Deployment shop/b is not in the sums: no controller has looked at HPA shop/b yet",
            "shop/all: not-autoscaled: Deployment shop/fixed does not count: no HPA scales it",
        ]
    );
}

#[test]
fn an_hpa_whose_target_was_not_read_is_unmatched() {
    let explained = explained(
        vec![
            hpa("shop/gone", "gone", 1, 1),
            hpa_of("Rollout", "shop/roll", "web", Some(1), 5),
        ],
        vec![service("shop/web", "app=web")],
        vec![workload("shop/web", "app=web")],
    );
    assert_eq!(
        explained,
        [
            "shop/web: no-hpa: no HPA scales Deployment shop/web",
            "no-target: HPA shop/gone scales Deployment.apps gone, which is not there",
            "kind-not-read: HPA shop/roll scales Rollout.apps web, a kind that is not read",
        ]
    );
}
