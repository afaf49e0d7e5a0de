use super::*;
use crate::index::{Row, Table};
use crate::name::ObjectName;
use crate::signals::{ScalingState, Signal, Signals};
use crate::snapshot::{Snapshot, write};

/// The configuration names no signal.
const NONE: SignalSet = SignalSet::NONE;
const AS_OF: Time = Time::from_unix_millis(1_700_000_000_999);

fn load([current, target, max]: [u32; 3]) -> Load {
    Load { current, target, max }
}

/// The signals of `shop/web` are known; of those of `data/db` only the state is.
fn snapshot() -> Snapshot {
    let row = |name, label, numbers| Row {
        name: ObjectName::parse(name).unwrap(),
        label: ObjectName::parse(label).unwrap(),
        load: load(numbers),
        signals: Signals::default(),
        labels: Box::default(),
    };
    let mut services = vec![
        row("data/db", "data/db", [9, 4, 6]),
        row("shop/web", "shop/web-1", [1, 4, 5]),
    ];
    services[0].signals.state = Some(ScalingState::Blocked);
    services[1].signals = Signals {
        ready: Some(3),
        demand: Some(7),
        state: Some(ScalingState::Limited),
    };
    let deployments = vec![row("shop/web-1", "shop/web-1", [1, 4, 5])];
    let table = Table::from([("deployments".into(), deployments), ("services".into(), services)]);
    Snapshot::open(write(&table, 1)).unwrap()
}

fn all(format: &Format, kind: &str) -> String {
    format.render(kind, &Rows::All(snapshot().section(kind)), AS_OF).body
}

fn web(format: &Format) -> String {
    let snapshot = snapshot();
    let entry = snapshot.section("services").unwrap().find("shop/web").unwrap();
    format.render("services", &Rows::One(entry), AS_OF).body
}

fn gtm(datacenter: DatacenterKey, resource: Option<&str>) -> Format {
    Format::Gtm(LoadObject {
        domain: "example.akadns.net".into(),
        datacenter,
        resource: resource.map(Into::into),
    })
}

#[test]
fn json_has_the_numbers_of_each_row() {
    assert_eq!(
        all(&Format::Json(NONE), "services"),
        r#"{
    "data/db": {"service": "data/db", "current": 9, "target": 4, "max": 6, "headroom": 0, "utilization": 1.5, "asOf": 1700000000},
    "shop/web": {"service": "shop/web-1", "current": 1, "target": 4, "max": 5, "headroom": 4, "utilization": 0.2, "asOf": 1700000000}
}
"#
    );
    assert_eq!(
        web(&Format::Json(NONE)),
        "{\"service\": \"shop/web-1\", \"current\": 1, \"target\": 4, \"max\": 5, \"headroom\": 4, \"utilization\": 0.2, \
         \"asOf\": 1700000000}\n"
    );
}

#[test]
fn json_has_the_signals_that_are_configured_and_known() {
    let start = r#"{"service": "shop/web-1", "current": 1, "target": 4, "max": 5, "headroom": 4, "utilization": 0.2, "#;
    let of = |shown| web(&Format::Json(shown));
    assert_eq!(
        of(SignalSet::ALL),
        format!("{start}\"ready\": 3, \"demand\": 7, \"state\": \"limited\", \"asOf\": 1700000000}}\n")
    );
    assert_eq!(
        of([Signal::Demand].into_iter().collect()),
        format!("{start}\"demand\": 7, \"asOf\": 1700000000}}\n")
    );
    let all = all(&Format::Json(SignalSet::ALL), "services");
    let db = r#""utilization": 1.5, "state": "blocked", "asOf": 1700000000},"#;
    assert!(all.contains(db), "{all}");
}

#[test]
fn json_is_what_the_schema_says() {
    let schema = serde_json::from_str(include_str!("../../../../../docs/burstmetrics.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for body in [
        all(&Format::Json(NONE), "services"),
        all(&Format::Json(SignalSet::ALL), "services"),
        all(&Format::Json(NONE), "statefulsets"),
        web(&Format::Json(NONE)),
    ] {
        let json: serde_json::Value = serde_json::from_str(&body).unwrap();
        let errors: Vec<_> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
        assert_eq!(errors, [""; 0], "{body}");
    }
    for wrong in [
        r#"{"shop/web": {"service": "shop/web"}}"#,
        r#"{"shop/web": "service=shop/web"}"#,
        r#"{"service": "shop/web", "current": 1, "target": 4, "max": 5, "headroom": 4, "asOf": 1, "state": "full"}"#,
        r#"{"service": "shop/web", "current": 1, "target": 4, "max": 5, "headroom": 4, "asOf": 1, "demand": -1}"#,
        r#"{"web": {"service": "shop/web", "current": 1, "target": 4, "max": 5, "headroom": 4, "asOf": 1}}"#,
    ] {
        assert!(!validator.is_valid(&serde_json::from_str(wrong).unwrap()), "{wrong}");
    }
}

#[test]
fn prometheus_gets_a_gauge_of_each_number_with_the_labels_of_the_service() {
    assert_eq!(
        all(&Format::Prometheus(NONE), "services"),
        r#"# HELP burst_read_timestamp_seconds Unix time of the last read of the cluster.
# TYPE burst_read_timestamp_seconds gauge
burst_read_timestamp_seconds 1700000000
# HELP burst_current_load Current replicas.
# TYPE burst_current_load gauge
burst_current_load{namespace="data",service="db"} 9
burst_current_load{namespace="shop",service="web"} 1
# HELP burst_target_load Replicas that callers should aim for.
# TYPE burst_target_load gauge
burst_target_load{namespace="data",service="db"} 4
burst_target_load{namespace="shop",service="web"} 4
# HELP burst_max_load Maximum replicas.
# TYPE burst_max_load gauge
burst_max_load{namespace="data",service="db"} 6
burst_max_load{namespace="shop",service="web"} 5
# HELP burst_headroom Replicas that can still be added: maximum minus current, at least 0.
# TYPE burst_headroom gauge
burst_headroom{namespace="data",service="db"} 0
burst_headroom{namespace="shop",service="web"} 4
# HELP burst_utilization Current replicas divided by maximum replicas.
# TYPE burst_utilization gauge
burst_utilization{namespace="data",service="db"} 1.5
burst_utilization{namespace="shop",service="web"} 0.2
"#
    );
}

#[test]
fn prometheus_gets_the_signals_that_are_configured_and_known() {
    let of = |shown: &[Signal]| {
        let body = all(&Format::Prometheus(shown.iter().copied().collect()), "services");
        let without = all(&Format::Prometheus(NONE), "services");
        body.strip_prefix(&without).map(str::to_owned).unwrap()
    };
    assert_eq!(of(&[]), "");
    assert_eq!(
        of(&[Signal::Ready, Signal::Demand, Signal::State]),
        r#"# HELP burst_ready_load Ready replicas.
# TYPE burst_ready_load gauge
burst_ready_load{namespace="shop",service="web"} 3
# HELP burst_demand_load Replicas that the metrics of the HPA ask for; it may exceed the maximum.
# TYPE burst_demand_load gauge
burst_demand_load{namespace="shop",service="web"} 7
# HELP burst_state 1 for the present state of the HPA, which is the label state.
# TYPE burst_state gauge
burst_state{namespace="data",service="db",state="blocked"} 1
burst_state{namespace="shop",service="web",state="limited"} 1
"#
    );
    let demand = of(&[Signal::Demand]);
    assert!(
        demand.starts_with("# HELP burst_demand_load ") && demand.lines().count() == 3,
        "{demand}"
    );
}

#[test]
fn a_workload_in_prometheus_is_no_service() {
    let body = all(&Format::Prometheus(NONE), "deployments");
    let sample = "burst_headroom{namespace=\"shop\",kind=\"deployments\",name=\"web-1\"} 4\n";
    assert!(body.contains(sample), "{body}");
}

#[test]
fn gtm_gets_the_load_object_that_it_fetches() {
    assert_eq!(
        all(&gtm(DatacenterKey::Name("east & co".into()), None), "services"),
        r#"<?xml version="1.0" encoding="UTF-8"?>
<load-object domain="example.akadns.net" timestamp="2023-11-14T22:13:20Z" version="1" xmlns="http://www.akamai.com/FirstPoint/load-balancing">
  <datacenter name="east &amp; co">
    <resource name="data/db">
      <current-load>9</current-load>
      <target-load>4</target-load>
      <capacity>6</capacity>
    </resource>
    <resource name="shop/web">
      <current-load>1</current-load>
      <target-load>4</target-load>
      <capacity>5</capacity>
    </resource>
  </datacenter>
</load-object>
"#
    );
}

#[test]
fn gtm_gets_the_body_of_its_load_feedback_api() {
    assert_eq!(
        web(&gtm(DatacenterKey::Id(100), Some("replicas"))),
        r#"<?xml version="1.0" encoding="UTF-8"?>
<load-object domain="example.akadns.net" timestamp="2023-11-14T22:13:20Z" version="1" xmlns="http://www.akamai.com/FirstPoint/load-balancing">
  <datacenter datacenterId="100">
    <resource name="replicas">
      <current-load>1</current-load>
      <target-load>4</target-load>
      <max-load>5</max-load>
    </resource>
  </datacenter>
</load-object>
"#
    );
}

#[test]
fn the_weight_is_the_free_share_and_never_0() {
    for (current, max, weight) in [
        (0, 5, "100"),
        (1, 5, "80"),
        (1, 3, "66"),
        (4, 5, "20"),
        (999, 1000, "1"),
        (5, 5, "1"),
        (9, 5, "1"),
        (0, 0, "1"),
        (1, u32::MAX, "99"),
    ] {
        let entry = Entry {
            name: "shop/web",
            label: "shop/web",
            load: load([current, max, max]),
            signals: Signals::default(),
            labels: crate::label_text::LabelText(""),
        };
        let rendered = Format::Weight.render("services", &Rows::One(entry), AS_OF);
        assert_eq!(rendered.body, weight, "{current} of {max}");
    }
}

#[test]
fn no_rows_are_a_document_without_rows() {
    assert_eq!(all(&Format::Json(NONE), "statefulsets"), "{\n}\n");
    let body = all(&Format::Prometheus(NONE), "statefulsets");
    assert!(body.contains("\nburst_read_timestamp_seconds 1700000000\n"), "{body}");
    let body = all(&gtm(DatacenterKey::Id(1), None), "statefulsets");
    assert!(
        body.contains("<datacenter datacenterId=\"1\">\n  </datacenter>"),
        "{body}"
    );
}

#[test]
fn thousandths_have_no_trailing_zeros() {
    for (milli, text) in [
        (0, "0"),
        (200, "0.2"),
        (250, "0.25"),
        (5, "0.005"),
        (50, "0.05"),
        (1000, "1"),
        (1234, "1.234"),
    ] {
        let mut body = String::new();
        push_milli(&mut body, milli);
        assert_eq!(body, text);
    }
}

#[test]
fn only_a_load_object_has_another_tag_after_another_read() {
    let later = AS_OF.after(std::time::Duration::from_secs(1));
    for (format, same) in [
        (Format::Json(NONE), true),
        (Format::Prometheus(NONE), true),
        (gtm(DatacenterKey::Id(1), None), false),
    ] {
        assert_eq!(format.etag(7, AS_OF) == format.etag(7, later), same, "{format:?}");
        assert_ne!(format.etag(7, AS_OF), format.etag(8, AS_OF), "{format:?}");
    }
    assert_ne!(
        Format::Json(NONE).etag(7, AS_OF),
        Format::Prometheus(NONE).etag(7, AS_OF)
    );
}
