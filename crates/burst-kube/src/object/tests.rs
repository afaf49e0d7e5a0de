use super::*;

fn hpa(spec: &str, status: &str) -> Result<Hpa, InvalidObject> {
    let json = format!(r#"{{"metadata":{{"name":"h","namespace":"shop"}},"spec":{spec},"status":{status}}}"#);
    match Object::parse(ObjectKind::Hpas, &json, KeptFields::default())? {
        Object::Hpa(hpa) => Ok(hpa),
        other => panic!("{other:?}"),
    }
}

const SPEC: &str =
    r#"{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"minReplicas":1,"maxReplicas":5}"#;

#[test]
fn an_hpa_that_no_controller_has_processed_has_no_current_replicas() {
    for status in [
        "{}",
        "null",
        r#"{"desiredReplicas":0,"currentMetrics":null,"conditions":null}"#,
    ] {
        assert_eq!(hpa(SPEC, status).unwrap().current_replicas, None, "{status}");
    }
}

#[test]
fn a_processed_hpa_without_current_replicas_has_zero() {
    for (status, current) in [
        (r#"{"observedGeneration":1}"#, 0),
        (r#"{"conditions":[{"type":"AbleToScale"}]}"#, 0),
        (r#"{"currentReplicas":3,"desiredReplicas":3}"#, 3),
    ] {
        assert_eq!(hpa(SPEC, status).unwrap().current_replicas, Some(current), "{status}");
    }
}

#[test]
fn an_invalid_value_excludes_the_object_with_a_reason() {
    let spec = |name: &str, max: i64| {
        format!(r#"{{"scaleTargetRef":{{"kind":"Deployment","name":"{name}"}},"maxReplicas":{max}}}"#)
    };
    for (spec, status, reason) in [
        (
            spec("web", 0),
            "{}",
            "spec.maxReplicas: 0 is not a number of replicas (at least 1)",
        ),
        (spec("web", -1), "{}", "spec.maxReplicas: -1 is"),
        (spec("web", 1 << 40), "{}", "spec.maxReplicas: 1099511627776 is"),
        (
            spec("web\\r\\nx: y", 1),
            "{}",
            "spec.scaleTargetRef.name: \"web\\r\\nx: y\" is not a DNS-1123 subdomain",
        ),
        (
            spec("web", 1),
            r#"{"currentReplicas":-2}"#,
            "status.currentReplicas: -2 is",
        ),
        (spec("web", 1), r#"{"currentReplicas":"2"}"#, "invalid type"),
        ("{}".into(), "{}", "missing field `scaleTargetRef`"),
    ] {
        let error = hpa(&spec, status).unwrap_err().to_string();
        assert!(error.starts_with(reason), "{spec} {status}: {error}");
    }
}

#[test]
fn a_target_has_the_group_without_the_version() {
    let group = |api_version: &str| {
        let target = format!(r#"{{"apiVersion":"{api_version}","kind":"Rollout","name":"web"}}"#);
        hpa(&format!(r#"{{"scaleTargetRef":{target},"maxReplicas":1}}"#), "{}")
            .unwrap()
            .target
            .group
    };
    assert_eq!(&*group("argoproj.io/v1alpha1"), "argoproj.io");
    assert_eq!(&*group("v1"), "");
}

#[test]
fn a_service_without_a_selector_has_an_empty_one() {
    for spec in ["{}", r#"{"selector":null}"#, r#"{"selector":{}}"#] {
        let json = format!(r#"{{"metadata":{{"name":"s","namespace":"shop"}},"spec":{spec}}}"#);
        let Object::Service(service) = Object::parse(ObjectKind::Services, &json, KeptFields::default()).unwrap()
        else {
            panic!()
        };
        assert!(service.selector.is_empty(), "{spec}");
    }
}

#[test]
fn a_workload_is_anything_with_a_pod_template() {
    let json = r#"{"metadata":{"name":"w","namespace":"shop"},"spec":{"template":{"metadata":{"labels":{"app":"web"}}}},
        "status":{"replicas":1,"conditions":[{}]}}"#;
    let Object::Workload(workload) = Object::parse(ObjectKind::Workloads, json, KeptFields::default()).unwrap() else {
        panic!()
    };
    assert_eq!(workload.labels.get("app").map(|value| &**value), Some("web"));
}

#[test]
fn the_status_of_a_custom_kind_may_have_any_form() {
    // `observedGeneration` of an Argo Rollout is a string.
    for status in [
        r#"{"observedGeneration":"7","conditions":[]}"#,
        r#"{"currentReplicas":"1 of 3","conditions":{"ready":true}}"#,
        r#""fine""#,
    ] {
        let json =
            format!(r#"{{"metadata":{{"name":"w","namespace":"shop"}},"spec":{{"template":{{}}}},"status":{status}}}"#);
        assert!(
            Object::parse(ObjectKind::Workloads, &json, KeptFields::default()).is_ok(),
            "{status}"
        );
    }
}

#[test]
fn valid_labels_of_an_object_are_read_if_they_are_kept() {
    let json =
        |labels: &str| format!(r#"{{"metadata":{{"name":"s","namespace":"shop","labels":{labels}}},"spec":{{}}}}"#);
    let read = |json_of_labels: &str, labels| {
        let kept = KeptFields {
            labels,
            ..KeptFields::default()
        };
        match Object::parse(ObjectKind::Services, &json(json_of_labels), kept) {
            Ok(Object::Service(service)) => Some(service.own_labels.into_string()),
            _ => None,
        }
    };
    let labels = r#"{"tier":"web","app.kubernetes.io/name":"shop","bad key":"x","bad":"a,b"}"#;
    assert_eq!(
        read(labels, true).as_deref(),
        Some("app.kubernetes.io/name=shop,tier=web")
    );
    assert_eq!(read(labels, false).as_deref(), Some(""));
    assert_eq!(read("null", true).as_deref(), Some(""));
    assert_eq!(read("3", true), None);
    assert_eq!(read("3", false).as_deref(), Some(""));
}

#[test]
fn only_signals_that_are_kept_are_read() {
    let item = r#"{"metadata":{"name":"web","namespace":"shop"},
        "spec":{"scaleTargetRef":{"kind":"Deployment","name":"web"},"maxReplicas":5,"template":{},"metrics":[
            {"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}}]},
        "status":{"currentReplicas":3,"readyReplicas":2,"currentMetrics":[
            {"type":"Resource","resource":{"name":"cpu","current":{"averageUtilization":100,"averageValue":"1"}}}],
            "conditions":[{"type":"AbleToScale","status":"True"}]}}"#;
    let read = |signals: &[Signal]| {
        let kept = KeptFields {
            signals: signals.iter().copied().collect(),
            ..KeptFields::default()
        };
        let parse = |kind| Object::parse(kind, item, kept).unwrap();
        match (parse(ObjectKind::Hpas), parse(ObjectKind::Workloads)) {
            (Object::Hpa(hpa), Object::Workload(workload)) => (workload.ready, hpa.demand, hpa.state),
            other => panic!("{other:?}"),
        }
    };
    let limited = Some(ScalingState::Limited);
    assert_eq!(read(&[]), (None, None, None));
    assert_eq!(read(&[Signal::Ready]), (Some(2), None, None));
    assert_eq!(read(&[Signal::Demand]), (None, Some(6), None));
    assert_eq!(read(&[Signal::State]), (None, None, limited));
    assert_eq!(
        read(&[Signal::State, Signal::Ready, Signal::Demand]),
        (Some(2), Some(6), limited)
    );
}
