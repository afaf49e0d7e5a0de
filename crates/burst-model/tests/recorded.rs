//! Parses and joins the recorded responses of a real API server (`tests/golden/kubernetes`).

use burst_model::index::{Row, Table, join};
use burst_model::kube::{ApiResponse, Failure, ListPage, Object, ObjectKind, Resource, Source, Verb, response};
use burst_model::load::Percent;
use std::fs;
use std::path::Path;
use std::rc::Rc;

fn source(reads: ObjectKind, resource: Resource) -> Source {
    Source::all_namespaces(reads, resource)
}

fn hpas() -> Source {
    source(ObjectKind::Hpas, Resource::hpas())
}

fn services() -> Source {
    source(ObjectKind::Services, Resource::services())
}

fn workloads(resource: Resource) -> Source {
    source(ObjectKind::Workloads, resource)
}

fn read(source: &Source, status: u16, file: &str) -> Result<ListPage, Failure> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/kubernetes");
    let body = fs::read(golden.join(file)).unwrap();
    response::parse_list(
        source,
        ApiResponse {
            status: Some(status),
            content_type: None,
            retry_after: None,
            body: &body,
        },
        &mut (),
    )
}

fn objects(source: &Source, file: &str) -> Vec<Rc<Object>> {
    let page = read(source, 200, file).unwrap();
    assert!(
        page.invalid.is_empty() && !page.resource_version.is_empty(),
        "{file}: {page:?}"
    );
    page.objects.into_iter().map(Rc::new).collect()
}

/// The join of the recorded lists with those HPAs, and how many HPAs have no status.
fn joined(hpas_file: &str) -> (Table, u64) {
    let lists = [
        (hpas(), hpas_file),
        (services(), "services.json"),
        (workloads(Resource::deployments()), "deployments.json"),
        (workloads(Resource::statefulsets()), "statefulsets.json"),
    ];
    let lists = lists.map(|(source, file)| (objects(&source, file), source));
    let lists = lists.iter().map(|(objects, source)| (source, objects.as_slice()));
    let (table, findings) = join(lists, Percent::new(80).unwrap());
    assert_eq!(findings.shadowed, 0);
    (table, findings.unobserved)
}

fn lines(table: &Table, kind: &str) -> Vec<String> {
    let line = |Row { name, label, load, .. }: &Row| {
        format!(
            "{name}: {label} {} of {}, at best {}",
            load.current, load.max, load.target
        )
    };
    table[kind].iter().map(line).collect()
}

#[test]
fn hpas_with_a_status_are_joined_to_their_services() {
    let (table, unobserved) = joined("hpas.json");
    assert_eq!(unobserved, 0);
    assert_eq!(
        lines(&table, "services"),
        [
            "data/queue: data/queue 6 of 9, at best 7",
            "default/ngsa-svc-1: default/ngsa-1 1 of 5, at best 4",
            "ngsa/ngsa-svc-2: ngsa/ngsa-2 2 of 6, at best 4",
            "shop/checkout: shop/checkout 6 of 13, at best 10",
        ],
        "default/kubernetes has no selector and so no row"
    );
    assert_eq!(
        lines(&table, "hpas"),
        [
            "data/queue: data/queue 6 of 9, at best 7",
            "default/ngsa-hpa-1: default/ngsa-1 1 of 5, at best 4",
            "ngsa/ngsa-hpa-2: ngsa/ngsa-2 2 of 6, at best 4",
            "shop/checkout-canary: shop/checkout-canary 2 of 3, at best 2",
            "shop/checkout-stable: shop/checkout-stable 4 of 10, at best 8",
        ]
    );
    assert_eq!((table["deployments"].len(), table["statefulsets"].len()), (4, 1));
}

#[test]
fn hpas_without_a_status_have_no_rows() {
    let (table, unobserved) = joined("hpas-fresh.json");
    assert_eq!(unobserved, 5);
    assert!(table.values().all(Vec::is_empty), "{table:?}");
}

#[test]
fn two_pages_are_the_whole_list() {
    let first = read(&services(), 200, "services-page-1.json").unwrap();
    let second = read(&services(), 200, "services-page-2.json").unwrap();
    assert!(first.continue_token.is_some());
    assert_eq!(
        (second.continue_token, &second.resource_version),
        (None, &first.resource_version)
    );
    assert_eq!(
        first
            .objects
            .into_iter()
            .chain(second.objects)
            .map(Rc::new)
            .collect::<Vec<_>>(),
        objects(&services(), "services.json")
    );
}

#[test]
fn refusals_of_the_api_server_name_the_missing_permission() {
    let rollouts = workloads(Resource::new("argoproj.io", "v1alpha1", "rollouts", "Rollout"));
    for (source, status, file, words, advice) in [
        (
            hpas(),
            401,
            "401.json",
            "401 Unauthorized: Unauthorized",
            "check the token that Envoy puts on the callout",
        ),
        (
            hpas(),
            403,
            "403.json",
            "403 Forbidden: horizontalpodautoscalers.autoscaling is forbidden: User \"system:serviceaccount:",
            "give the proxy's ServiceAccount a ClusterRole with the verb list on horizontalpodautoscalers.autoscaling",
        ),
        (
            rollouts,
            404,
            "404.txt",
            "404 Not Found: 404 page not found",
            "check that the cluster serves rollouts.argoproj.io v1alpha1",
        ),
        (
            hpas(),
            410,
            "410.json",
            "410 Gone: The provided continue parameter is too old to display a consistent list result.",
            "the list is read again from its start",
        ),
    ] {
        let failure = read(&source, status, file).unwrap_err();
        assert!(failure.to_string().starts_with(words), "{file}: {failure}");
        assert_eq!(failure.advice(&source, Verb::List), advice, "{file}");
    }
}
