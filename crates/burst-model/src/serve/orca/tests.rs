use super::*;
use crate::load::Load;
use crate::request_rates::ServiceRate;
use proptest::prelude::*;

const TEXT: &str = "TEXT application_utilization=0.2,named_metrics.burst.current=1,named_metrics.burst.target=4,\
                    named_metrics.burst.max=5,named_metrics.burst.utilization=0.2";
const JSON: &str = r#"JSON {"application_utilization":0.2,"named_metrics":{"burst.current":1,"burst.target":4,"burst.max":5,"burst.utilization":0.2}}"#;

const ALWAYS: OrcaConfig = OrcaConfig {
    when: OrcaWhen::Always,
    upstream: OrcaUpstream::Replace,
    format: OrcaFormat::Text,
    dry_run: false,
};

const ON_REQUEST: OrcaConfig = OrcaConfig {
    when: OrcaWhen::Request,
    ..ALWAYS
};

const MERGE: OrcaConfig = OrcaConfig {
    upstream: OrcaUpstream::Merge,
    ..ALWAYS
};

fn load(current: u32, max: u32) -> Load {
    Load {
        current,
        target: 4,
        max,
    }
}

fn report() -> OrcaReport {
    OrcaReport::new(load(1, 5), None).unwrap()
}

fn written(text: &str) -> OrcaChange<'_> {
    OrcaChange::Write(text.into())
}

fn header(value: &str) -> SentReport {
    SentReport::Header(value.into())
}

/// What happens to a response with that report of the upstream.
fn decided(config: OrcaConfig, request: OrcaRequest, sent: SentReport) -> (OrcaChange<'static>, OrcaOutcome) {
    let report = report();
    let (change, outcome) = decide(config, request, Some(&report), || sent);
    let change = match change {
        OrcaChange::Leave => OrcaChange::Leave,
        OrcaChange::Remove => OrcaChange::Remove,
        OrcaChange::Write(value) => OrcaChange::Write(value.into_owned().into()),
    };
    (change, outcome)
}

#[test]
fn the_utilization_is_never_0_and_never_1() {
    for (current, max, reported, named) in [
        (1, 5, "0.2", "0.2"),
        (1, 3, "0.333", "0.333"),
        (99, 100, "0.99", "0.99"),
        (5, 5, "0.99", "1"),
        (7, 5, "0.99", "1.4"),
        (u32::MAX, 1, "0.99", "4294967295"),
        (1, 1_000_000, "0.01", "0"),
    ] {
        let report = OrcaReport::new(load(current, max), None).unwrap();
        let text = report.render(OrcaFormat::Text);
        let begin = format!("TEXT application_utilization={reported},named_metrics.burst.current={current},");
        assert!(text.starts_with(&begin), "{text}");
        assert!(
            text.ends_with(&format!(",named_metrics.burst.utilization={named}")),
            "{text}"
        );
    }
}

#[test]
fn a_service_without_replicas_has_no_report() {
    assert!(OrcaReport::new(load(0, 5), None).is_none());
    assert!(OrcaReport::new(load(1, 0), None).is_none());
    assert_eq!(
        decide(ALWAYS, OrcaRequest::NotAsked, None, || SentReport::Nothing),
        (OrcaChange::Remove, OrcaOutcome::Absent)
    );
}

#[test]
fn a_report_has_the_rates_that_are_known_and_not_0() {
    let begin = |requests_milli, rejected_milli| {
        let rate = ServiceRate {
            requests_milli,
            rejected_milli,
            in_flight_milli: None,
        };
        let report = OrcaReport::new(load(1, 5), Some(rate)).unwrap();
        let metrics = |format| {
            let text = report.render(format).to_owned();
            let end = text.find(",named_metrics").or(text.find(r#","named_metrics"#)).unwrap();
            text[..end].to_owned()
        };
        [OrcaFormat::Text, OrcaFormat::Json].map(metrics)
    };
    for (rate, text, json) in [
        ((0, 0), "", ""),
        ((12_500, 0), ",rps_fractional=12.5", r#","rps_fractional":12.5"#),
        (
            (3, 1),
            ",rps_fractional=0.003,eps=0.001",
            r#","rps_fractional":0.003,"eps":0.001"#,
        ),
    ] {
        let expected = [
            format!("TEXT application_utilization=0.2{text}"),
            format!(r#"JSON {{"application_utilization":0.2{json}"#),
        ];
        assert_eq!(begin(rate.0, rate.1), expected, "{rate:?}");
    }
}

#[test]
fn a_request_chooses_the_format() {
    for (value, request) in [
        (None, OrcaRequest::NotAsked),
        (Some("text"), OrcaRequest::Asked(Some(OrcaFormat::Text))),
        (Some("JSON"), OrcaRequest::Asked(Some(OrcaFormat::Json))),
        (Some("bin"), OrcaRequest::Asked(None)),
        (Some(""), OrcaRequest::Asked(None)),
        (Some("\u{fffd}"), OrcaRequest::Asked(None)),
    ] {
        assert_eq!(OrcaRequest::of(value.map(str::as_bytes)), request, "{value:?}");
    }
    let json = OrcaConfig {
        format: OrcaFormat::Json,
        ..ALWAYS
    };
    for (config, request, value) in [
        (ALWAYS, OrcaRequest::NotAsked, TEXT),
        (json, OrcaRequest::NotAsked, JSON),
        (json, OrcaRequest::Asked(None), JSON),
        (json, OrcaRequest::Asked(Some(OrcaFormat::Text)), TEXT),
        (ON_REQUEST, OrcaRequest::Asked(None), TEXT),
        (ON_REQUEST, OrcaRequest::Asked(Some(OrcaFormat::Json)), JSON),
    ] {
        let added = (written(value), OrcaOutcome::Added);
        assert_eq!(
            decided(config, request, SentReport::Nothing),
            added,
            "{config:?} {request:?}"
        );
    }
}

#[test]
fn the_report_of_the_upstream_is_replaced_or_kept() {
    let keep = |when| OrcaConfig {
        upstream: OrcaUpstream::Keep,
        when,
        ..ALWAYS
    };
    let sent = || header("TEXT cpu_utilization=0.5");
    let unasked = OrcaRequest::NotAsked;
    for (config, sent, decision) in [
        (ALWAYS, sent(), (written(TEXT), OrcaOutcome::Added)),
        (ALWAYS, SentReport::Binary, (written(TEXT), OrcaOutcome::Added)),
        (ON_REQUEST, sent(), (OrcaChange::Remove, OrcaOutcome::NotAsked)),
        (
            keep(OrcaWhen::Always),
            sent(),
            (OrcaChange::Leave, OrcaOutcome::UpstreamKept),
        ),
        (
            keep(OrcaWhen::Always),
            SentReport::Binary,
            (OrcaChange::Leave, OrcaOutcome::UpstreamKept),
        ),
        (
            keep(OrcaWhen::Always),
            header("nonsense"),
            (OrcaChange::Leave, OrcaOutcome::UpstreamKept),
        ),
        (
            keep(OrcaWhen::Always),
            SentReport::Nothing,
            (written(TEXT), OrcaOutcome::Added),
        ),
        (
            keep(OrcaWhen::Request),
            sent(),
            (OrcaChange::Leave, OrcaOutcome::NotAsked),
        ),
        (
            MERGE,
            SentReport::Binary,
            (OrcaChange::Leave, OrcaOutcome::UpstreamKept),
        ),
    ] {
        assert_eq!(decided(config, unasked, sent.clone()), decision, "{config:?} {sent:?}");
    }
    for config in [keep(OrcaWhen::Always), MERGE] {
        let without = decide(config, unasked, None, sent);
        assert_eq!(without, (OrcaChange::Leave, OrcaOutcome::Absent), "{config:?}");
    }
}

#[test]
fn a_merged_report_has_what_the_upstream_says_and_what_it_lacks() {
    let named = "named_metrics.burst.current=1,named_metrics.burst.target=4,named_metrics.burst.max=5,\
                 named_metrics.burst.utilization=0.2";
    let json_named = r#""burst.current":1,"burst.max":5,"burst.target":4,"burst.utilization":0.2"#;
    for (sent, merged) in [
        (
            "TEXT cpu_utilization=5.e-1, rps_fractional:+.7E1".to_owned(),
            format!("TEXT cpu_utilization=5.e-1,rps_fractional:+.7E1,application_utilization=0.2,{named}"),
        ),
        (
            "TEXT application_utilization=0.7,named_metrics.queue=3".to_owned(),
            format!("TEXT application_utilization=0.7,named_metrics.queue=3,{named}"),
        ),
        ("TEXT ".to_owned(), TEXT.to_owned()),
        (TEXT.to_owned(), TEXT.to_owned()),
        (
            r#"JSON {"cpuUtilization": 0.5, "applicationUtilization": 0.7}"#.to_owned(),
            format!(r#"JSON {{"applicationUtilization":0.7,"cpuUtilization":0.5,"named_metrics":{{{json_named}}}}}"#),
        ),
        (
            r#"JSON {"namedMetrics":{"a\"b":1,"burst.max":9},"utilization":{"x":1}}"#.to_owned(),
            format!(
                r#"JSON {{"application_utilization":0.2,"namedMetrics":{{"a\"b":1,{}}},"utilization":{{"x":1}}}}"#,
                json_named.replace("max\":5", "max\":9")
            ),
        ),
        (
            r#"JSON {"named_metrics":null}"#.to_owned(),
            format!(r#"JSON {{"application_utilization":0.2,"named_metrics":{{{json_named}}}}}"#),
        ),
    ] {
        let decision = decided(MERGE, OrcaRequest::NotAsked, header(&sent));
        assert_eq!(decision, (written(&merged), OrcaOutcome::Added), "{sent}");
    }
}

#[test]
fn a_report_that_no_reader_can_use_is_replaced_and_a_long_one_is_left() {
    for sent in [
        "",
        "cpu_utilization=0.5",
        "TEXT cpu_utilization",
        "TEXT cpu_utilization=",
        "TEXT =1",
        "TEXT eps=.",
        "TEXT eps=1e",
        "TEXT eps=--1",
        "TEXT eps=1.2.3",
        "TEXT cpu_utilization=NaN",
        "TEXT cpu_utilization=inf",
        "TEXT eps=1,eps=1",
        "TEXT eps=1,TEXT rps_fractional=1",
        "JSON",
        "JSON {",
        "JSON [1]",
        r#"JSON {"named_metrics":[]}"#,
    ] {
        let replaced = (written(TEXT), OrcaOutcome::ReplacedInvalid);
        assert_eq!(decided(MERGE, OrcaRequest::NotAsked, header(sent)), replaced, "{sent}");
    }
    let long = format!("TEXT eps={}", "0".repeat(8 << 10));
    for sent in ["BIN CgA=", &long] {
        let kept = (OrcaChange::Leave, OrcaOutcome::UpstreamKept);
        assert_eq!(decided(MERGE, OrcaRequest::NotAsked, header(sent)), kept, "{sent}");
    }
}

proptest! {
    #[test]
    fn no_report_of_an_upstream_panics_and_a_merged_one_can_be_merged_again(
        prefix in "TEXT |JSON |BIN |",
        rest in r#"[a-z_.=:,0-9 {}"\[\]]{0,40}"#,
    ) {
        let (change, _) = decided(MERGE, OrcaRequest::NotAsked, header(&format!("{prefix}{rest}")));
        if let OrcaChange::Write(value) = change {
            let again = decided(MERGE, OrcaRequest::NotAsked, header(&value));
            prop_assert_eq!(again, (OrcaChange::Write(value), OrcaOutcome::Added));
        }
    }
}
