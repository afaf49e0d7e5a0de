use super::*;
use crate::signals::ScalingState;
use proptest::prelude::*;

fn name(text: &str) -> ObjectName {
    ObjectName::parse(text).unwrap()
}

fn labels(text: &str) -> LabelMap {
    text.split(',')
        .filter_map(|pair| pair.split_once('='))
        .map(|(k, v)| (k.into(), v.into()))
        .collect()
}

pub(super) fn hpa_of(kind: &str, full_name: &str, target: &str, current: Option<u32>, max: u32) -> Object {
    let target = ScaleTarget {
        group: "apps".into(),
        kind: kind.into(),
        name: Name::parse(target).unwrap(),
    };
    Object::Hpa(Hpa {
        name: name(full_name),
        own_labels: Box::default(),
        target,
        max_replicas: max,
        current_replicas: current,
        demand: None,
        state: None,
    })
}

pub(super) fn hpa(full_name: &str, target: &str, current: u32, max: u32) -> Object {
    hpa_of("Deployment", full_name, target, Some(current), max)
}

pub(super) fn service(full_name: &str, selector: &str) -> Object {
    Object::Service(Service {
        name: name(full_name),
        own_labels: Box::default(),
        selector: labels(selector),
    })
}

pub(super) fn workload(full_name: &str, template: &str) -> Object {
    Object::Workload(Workload {
        name: name(full_name),
        own_labels: Box::default(),
        labels: labels(template),
        ready: None,
    })
}

/// The same object with a number as its demand or its ready replicas.
pub(super) fn with_signal(object: Object, signal: Option<u32>) -> Object {
    match object {
        Object::Hpa(hpa) => Object::Hpa(Hpa { demand: signal, ..hpa }),
        Object::Workload(workload) => Object::Workload(Workload {
            ready: signal,
            ..workload
        }),
        Object::Service(_) | Object::Policy(_) | Object::EndpointSlice(_) | Object::Pod(_) => object,
    }
}

/// The three lists of a small cluster.
pub(super) fn lists(
    hpas: Vec<Object>,
    services: Vec<Object>,
    deployments: Vec<Object>,
) -> [(Source, Vec<Rc<Object>>); 3] {
    let shared = |objects: Vec<Object>| objects.into_iter().map(Rc::new).collect();
    let source = |reads, resource| Source::all_namespaces(reads, resource);
    [
        (source(ObjectKind::Hpas, Resource::hpas()), shared(hpas)),
        (source(ObjectKind::Services, Resource::services()), shared(services)),
        (
            source(ObjectKind::Workloads, Resource::deployments()),
            shared(deployments),
        ),
    ]
}

/// A small cluster, joined, as `section: of -> label current/target/max` lines.
fn joined(hpas: Vec<Object>, services: Vec<Object>, deployments: Vec<Object>) -> (Vec<String>, JoinFindings) {
    let lists = lists(hpas, services, deployments);
    let lists = lists.iter().map(|(source, objects)| (source, objects.as_slice()));
    let (table, findings) = join(lists, Percent::new(80).unwrap());
    let line = |kind: &str,
                Row {
                    name,
                    label,
                    load: Load { current, target, max },
                    ..
                }: &Row| { format!("{kind}: {name} -> {label} {current}/{target}/{max}") };
    let lines = table
        .iter()
        .flat_map(|(kind, rows)| rows.iter().map(move |row| line(kind, row)))
        .collect();
    (lines, findings)
}

#[test]
fn a_service_has_the_load_of_the_workload_that_its_selector_finds() {
    let (lines, _) = joined(
        vec![hpa("shop/web-hpa", "web", 1, 5)],
        vec![
            service("shop/web-svc", "app=web"),
            service("shop/other", "app=other"),
            service("other/web", "app=web"),
        ],
        vec![workload("shop/web", "app=web,track=stable")],
    );
    assert_eq!(
        lines,
        [
            "deployments: shop/web -> shop/web 1/4/5",
            "hpas: shop/web-hpa -> shop/web 1/4/5",
            "services: shop/web-svc -> shop/web 1/4/5",
        ]
    );
}

#[test]
fn an_empty_selector_maps_nothing() {
    let (lines, _) = joined(
        vec![hpa("shop/web", "web", 1, 5)],
        vec![service("shop/headless", "")],
        vec![workload("shop/web", "app=web")],
    );
    assert!(!lines.iter().any(|line| line.starts_with("services")), "{lines:?}");
}

#[test]
fn every_pair_of_the_selector_must_be_met() {
    let (lines, _) = joined(
        vec![hpa("shop/web", "web", 1, 5)],
        vec![
            service("shop/a", "app=web,track=canary"),
            service("shop/b", "app=web,track=stable"),
        ],
        vec![workload("shop/web", "app=web,track=stable")],
    );
    assert_eq!(lines.last().unwrap(), "services: shop/b -> shop/web 1/4/5");
    assert_eq!(lines.len(), 3);
}

#[test]
fn a_service_with_several_autoscaled_workloads_has_the_sum_of_their_loads() {
    let (lines, _) = joined(
        vec![hpa("shop/a", "a", 1, 3), hpa("shop/b", "b", 2, 3)],
        vec![service("shop/all", "app=web")],
        vec![
            workload("shop/a", "app=web"),
            workload("shop/b", "app=web"),
            workload("shop/fixed", "app=web"),
        ],
    );
    assert_eq!(lines.last().unwrap(), "services: shop/all -> shop/all 3/4/6");
}

#[test]
fn of_two_hpas_on_one_workload_the_alphabetically_first_counts() {
    let (lines, findings) = joined(
        vec![hpa("shop/z", "web", 9, 9), hpa("shop/a", "web", 1, 5)],
        vec![service("shop/web", "app=web")],
        vec![workload("shop/web", "app=web")],
    );
    assert!(
        lines.contains(&"services: shop/web -> shop/web 1/4/5".into()),
        "{lines:?}"
    );
    assert_eq!(findings.shadowed, 1);
}

#[test]
fn an_hpa_without_a_status_has_no_row_and_is_counted() {
    let (lines, findings) = joined(
        vec![hpa_of("Deployment", "shop/web", "web", None, 5)],
        vec![service("shop/web", "app=web")],
        vec![workload("shop/web", "app=web")],
    );
    assert!(lines.is_empty(), "{lines:?}");
    assert_eq!(findings.unobserved, 1);
}

#[test]
fn an_hpa_of_another_kind_does_not_count_for_a_deployment_of_that_name() {
    let (lines, _) = joined(
        vec![hpa_of("StatefulSet", "shop/web", "web", Some(1), 5)],
        vec![service("shop/web", "app=web")],
        vec![workload("shop/web", "app=web")],
    );
    assert_eq!(lines, ["hpas: shop/web -> shop/web 1/4/5"]);
}

/// The lines of the series: `of: labels current/max`.
fn series(hpas: Vec<Object>, services: Vec<Object>, deployments: Vec<Object>) -> Vec<String> {
    let mut lists = lists(hpas, services, deployments);
    lists[0].0.kept.labels = true;
    let lists = lists.iter().map(|(source, objects)| (source, objects.as_slice()));
    let (table, _) = join(lists, Percent::new(80).unwrap());
    let line = |row: &Row| format!("{}: {} {}/{}", row.name, row.labels, row.load.current, row.load.max);
    table[SERIES].iter().map(line).collect()
}

#[test]
fn a_series_is_an_hpa_that_counts_with_all_its_services() {
    let lines = series(
        vec![
            hpa("shop/web", "web", 1, 5),
            hpa("shop/web-2", "web", 1, 9),
            hpa("shop/lonely", "nothing", 2, 4),
            hpa_of("Deployment", "shop/new", "new", None, 4),
            hpa_of("Odd kind,a=b", "shop/odd", "odd", Some(1), 4),
        ],
        vec![
            service("shop/b", "app=web"),
            service("shop/a", "app=web"),
            service("data/web", "app=web"),
        ],
        vec![workload("shop/web", "app=web"), workload("shop/new", "app=new")],
    );
    assert_eq!(
        lines,
        [
            "shop/lonely: deployment=nothing 2/4",
            "shop/odd:  1/4",
            "shop/web: deployment=web,service=a,service=b 1/5"
        ]
    );
}

#[test]
fn without_labels_there_are_no_series() {
    let (lines, _) = joined(vec![hpa("shop/web", "web", 1, 5)], vec![], vec![]);
    assert_eq!(lines, ["hpas: shop/web -> shop/web 1/4/5"]);
}

proptest! {
    /// The index by label finds what comparing everything with everything finds.
    #[test]
    fn the_join_equals_a_comparison_of_all_pairs(
        services in proptest::collection::vec((0u8..2, "(a=[12])?(,b=[12])?"), 0..6),
        templates in proptest::collection::vec((0u8..2, "(a=[12])?(,b=[12])?"), 0..6),
    ) {
        let deployments: Vec<_> =
            templates.iter().enumerate().map(|(n, (ns, text))| workload(&format!("ns{ns}/w{n}"), text)).collect();
        let hpas = templates.iter().enumerate().map(|(n, (ns, _))| hpa(&format!("ns{ns}/h{n}"), &format!("w{n}"), 1, 1));
        let objects: Vec<_> =
            services.iter().enumerate().map(|(n, (ns, text))| service(&format!("ns{ns}/s{n}"), text)).collect();
        let (lines, _) = joined(hpas.collect(), objects, deployments);
        for (n, (ns, selector)) in services.iter().enumerate() {
            let selector = labels(selector);
            let met = |(at, text): &&(u8, String)| at == ns && matches_selector(&selector, &labels(text));
            let met = if selector.is_empty() { 0 } else { templates.iter().filter(met).count() };
            let line = lines.iter().find(|line| line.starts_with(&format!("services: ns{ns}/s{n} ")));
            prop_assert_eq!(line.map(|line| line.ends_with(&format!(" {met}/{}/{met}", (met * 4 / 5).max(1)))), (met > 0).then_some(true));
        }
    }
    /// A Service has a load or words why not, never both and never neither.
    #[test]
    fn every_service_has_a_load_or_an_explanation(
        services in proptest::collection::vec("(a=[12])?(,b=[12])?", 0..6),
        templates in proptest::collection::vec("(a=[12])?(,b=[12])?", 0..6),
        hpas in proptest::collection::vec((0usize..6, any::<bool>()), 0..6),
    ) {
        let hpa = |(n, (workload, seen)): (usize, &(usize, bool))| {
            hpa_of("Deployment", &format!("ns/h{n}"), &format!("w{workload}"), seen.then_some(1), 1)
        };
        let lists = lists(
            hpas.iter().enumerate().map(hpa).collect(),
            services.iter().enumerate().map(|(n, text)| service(&format!("ns/s{n}"), text)).collect(),
            templates.iter().enumerate().map(|(n, text)| workload(&format!("ns/w{n}"), text)).collect(),
        );
        let lists = lists.iter().map(|(source, objects)| (source, objects.as_slice()));
        let percent = Percent::new(80).unwrap();
        let (table, findings) = join(lists.clone(), percent);
        let Explanation { services: explained, unmatched_hpas } = explain(lists, percent);
        prop_assert_eq!(explained.len(), services.len());
        for ServiceExplanation { name, no_load, .. } in &explained {
            let has_load = table[SERVICES].iter().any(|row| row.name == *name);
            prop_assert_eq!(has_load, no_load.is_none(), "{}", name);
        }
        prop_assert!(unmatched_hpas.len() as u64 + findings.shadowed <= hpas.len() as u64);
    }
}

#[test]
fn a_row_has_the_signals_of_its_hpa_and_of_its_workload() {
    let hpas = |states: [ScalingState; 2]| {
        let hpa = |name, target, demand, state| match with_signal(hpa(name, target, 2, 5), Some(demand)) {
            Object::Hpa(hpa) => Object::Hpa(Hpa {
                state: Some(state),
                ..hpa
            }),
            other => other,
        };
        vec![
            hpa("shop/a-hpa", "a", 3, states[0]),
            hpa("shop/b-hpa", "b", 4, states[1]),
        ]
    };
    let lists = lists(
        hpas([ScalingState::Ok, ScalingState::Limited]),
        vec![service("shop/one", "app=a"), service("shop/both", "tier=web")],
        vec![
            with_signal(workload("shop/a", "app=a,tier=web"), Some(1)),
            with_signal(workload("shop/b", "app=b,tier=web"), Some(2)),
        ],
    );
    let lists = lists.iter().map(|(source, objects)| (source, objects.as_slice()));
    let (table, _) = join(lists, Percent::new(80).unwrap());
    let of = |ready, demand, state| Signals {
        ready: Some(ready),
        demand: Some(demand),
        state: Some(state),
    };
    let (a, b) = (of(1, 3, ScalingState::Ok), of(2, 4, ScalingState::Limited));
    let signals = |section: &str| table[section].iter().map(|row| row.signals).collect::<Vec<_>>();
    assert_eq!(signals(HPAS), [a, b]);
    assert_eq!(signals("deployments"), [a, b]);
    assert_eq!(signals(SERVICES), [of(3, 7, ScalingState::Limited), a], "both, one");
}
