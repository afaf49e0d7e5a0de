use super::*;
use crate::sync::reflector::StreamPolicy;
use proptest::prelude::*;
use std::time::Duration;

fn parse(json: &str) -> Result<Config, ConfigError> {
    Config::parse(json.as_bytes(), Artifact::Full)
}

#[test]
fn only_the_cluster_is_required() {
    let config = parse(r#"{"cluster":"kube_api"}"#).unwrap();
    assert_eq!(config.poll_interval, Duration::from_secs(15));
    assert_eq!(config.header.name, "x-burst");
    assert_eq!(config.endpoints.unwrap().prefix, "/burstmetrics");
    let sources: Vec<_> = config.content.sources.iter().map(ToString::to_string).collect();
    assert_eq!(
        sources,
        [
            "horizontalpodautoscalers.autoscaling",
            "services",
            "deployments.apps",
            "statefulsets.apps"
        ]
    );
}

#[test]
fn lists_are_watched_by_default() {
    let modes = |json: &str| parse(json).map(|config| (config.sync.mode, config.sync.streams));
    assert_eq!(
        modes(r#"{"cluster":"k"}"#).unwrap(),
        (SyncMode::Auto, StreamPolicy::Preferred)
    );
    assert_eq!(
        modes(r#"{"cluster":"k","sync":{"mode":"watch"}}"#).unwrap(),
        (SyncMode::Watch, StreamPolicy::Never)
    );
    let listed = parse(r#"{"cluster":"k","sync":{"mode":"list"}}"#).unwrap();
    assert!(
        listed
            .content
            .sources
            .iter()
            .all(|source| listed.schedule(source).window.is_none())
    );
}

#[test]
fn streams_need_a_snapshot_that_may_be_half_a_minute_old() {
    let with = |mode: &str, staleness: u32| {
        let json = format!(
            r#"{{"cluster":"k","poll_interval":"10s","max_staleness":"{staleness}s","sync":{{"mode":"{mode}"}}}}"#
        );
        parse(&json)
            .map(|config| config.sync.streams)
            .map_err(|error| error.to_string())
    };
    assert_eq!(with("auto", 30), Ok(StreamPolicy::Preferred));
    assert_eq!(with("auto", 29), Ok(StreamPolicy::Never));
    assert_eq!(with("stream", 30), Ok(StreamPolicy::Required));
    assert_eq!(
        with("stream", 29).unwrap_err(),
        "sync.mode: `stream` needs a max_staleness of at least 30s: a stream without changes shows no more than that its \
         list was current 25s ago"
    );
}

#[test]
fn default_durations_depend_on_the_configured_ones() {
    let seconds = |json: &str| {
        let config = parse(json).unwrap();
        let times = [config.sync.window, config.sync.workload_window, config.max_staleness];
        times.map(|time| time.as_secs())
    };
    for (json, times) in [
        (r#"{"cluster":"k"}"#, [5, 30, 60]),
        (r#"{"cluster":"k","max_staleness":"20s"}"#, [5, 10, 20]),
        (
            r#"{"cluster":"k","poll_interval":"1s","max_staleness":"4s"}"#,
            [3, 3, 4],
        ),
        (r#"{"cluster":"k","sync":{"workload_window":"50s"}}"#, [5, 50, 100]),
        (r#"{"cluster":"k","poll_interval":"60s"}"#, [5, 30, 120]),
        // With twelve lists, the defaults depend on the number of watches that are open at once.
        (
            r#"{"cluster":"k","namespaces":["a","b","c"],"sync":{"max_windows":4}}"#,
            [3, 10, 60],
        ),
        (
            r#"{"cluster":"k","namespaces":["a","b","c"],"sync":{"max_windows":1}}"#,
            [3, 3, 72],
        ),
    ] {
        assert_eq!(seconds(json), times, "{json}");
    }
    let refused = parse(r#"{"cluster":"k","poll_interval":"1s","max_staleness":"2s"}"#).unwrap_err();
    assert_eq!(refused.to_string(), "max_staleness: 2s is below the least allowed, 3s");
}

/// Each row is a configuration and a part of the error that refuses it.
#[track_caller]
fn assert_refused(table: &[(&str, &str)]) {
    for (json, message) in table {
        let error = parse(json).unwrap_err().to_string();
        assert!(error.contains(message), "{json}: {error}");
    }
}

#[test]
fn an_error_names_the_key_its_value_and_what_is_allowed() {
    assert_refused(&[
        ("", "cluster: is missing; name the Envoy cluster of the Kubernetes API"),
        (
            r#"{"cluster":""}"#,
            r#"cluster: "" must be a text of at least one character, on one line"#,
        ),
        (
            r#"{"cluster":"k","page_size":0}"#,
            "page_size: 0 is not between 1 and 10000",
        ),
        (
            r#"{"cluster":"k","poll_interval":"0s"}"#,
            "poll_interval: 0s is below the least allowed, 1s",
        ),
        (
            r#"{"cluster":"k","poll_interval":"200ms"}"#,
            "poll_interval: 200ms is below the least allowed, 1s",
        ),
        (
            r#"{"cluster":"k","poll_interval":"fast"}"#,
            r#"poll_interval: "fast" is not a duration such as 500ms"#,
        ),
        (
            r#"{"cluster":"k","max_staleness":"5s"}"#,
            "max_staleness: 5s is below the least allowed, 15s",
        ),
        (
            r#"{"cluster":"k","target_percent":0}"#,
            "target_percent: 0 is not between 1 and 100",
        ),
        (
            r#"{"cluster":"k","target_percent":400}"#,
            "target_percent: 400 is not between 1 and 100",
        ),
        (
            r#"{"cluster":"k","namespaces":["Shop"]}"#,
            r#"namespaces[0]: "Shop" is not a DNS-1123"#,
        ),
        (
            r#"{"cluster":"k","clusters":[{"name":"a"}]}"#,
            r#"clusters[0].name: "a" has no {namespace}"#,
        ),
        (
            r#"{"cluster":"k","clusters":[{"name":"a","service":"b"}]}"#,
            r#"clusters[0].service: "b" is not namespace/name"#,
        ),
        (
            r#"{"cluster":"k","header":{"name":"x burst"}}"#,
            r#"header.name: "x burst" is not a valid header name"#,
        ),
        (
            r#"{"cluster":"k","header":{"value":"a\nb"}}"#,
            r#"header.value: "a\nb" must be a text"#,
        ),
        (
            r#"{"cluster":"k","endpoints":{"enabled":false,"page":true}}"#,
            "endpoints.page: true needs the endpoints, and endpoints.enabled is false",
        ),
        (
            r#"{"cluster":"k","endpoints":{"prefix":"/"}}"#,
            r#"endpoints.prefix: "/" is not a path"#,
        ),
        (
            r#"{"cluster":"k","workloads":[{"version":"v1","resource":"services","kind":"Service"}]}"#,
            "workloads[0].resource: services is always read",
        ),
    ]);
}

#[test]
fn an_error_about_the_metrics_apis_names_the_path_of_the_key() {
    assert_refused(&[
        (r#"{"cluster":"k","metrics_apis":{}}"#, "missing field `filter_chain`"),
        (
            r#"{"cluster":"k","metrics_apis":{"filter_chain":""}}"#,
            r#"metrics_apis.filter_chain: "" must be a text"#,
        ),
        (
            r#"{"cluster":"k","metrics_apis":{"filter_chain":"m","labels":{"service":"a"}}}"#,
            "metrics_apis.labels.service: the metrics already have a label of that name",
        ),
        (
            r#"{"cluster":"k","metrics_apis":{"filter_chain":"m","labels":{"deployment":"a"}}}"#,
            "metrics_apis.labels.deployment: the metrics already have a label",
        ),
        (
            r#"{"cluster":"k","metrics_apis":{"filter_chain":"m","labels":{"a b":"c"}}}"#,
            r#"metrics_apis.labels.a b: "c" is not a valid label: name part must consist of"#,
        ),
        (
            r#"{"cluster":"k","metrics_apis":{"filter_chain":"m"},
                "workloads":[{"version":"v1","resource":"pods","kind":"Pod"}]}"#,
            "workloads: pods has a special meaning in the metrics APIs",
        ),
        (
            r#"{"cluster":"k","metrics_apis":{"filter_chain":"m"},"workloads":[
                {"group":"a.b","version":"v1","resource":"sets","kind":"Set"},
                {"group":"c.d","version":"v1","resource":"sets","kind":"Set"}]}"#,
            "workloads: sets.a.b has the same plural name as another resource",
        ),
        (
            r#"{"cluster":"k","metrics_apis":{"filter_chain":"m","policies":{"root_namespace":"A"}}}"#,
            r#"metrics_apis.policies.root_namespace: "A" is not"#,
        ),
        (
            r#"{"cluster":"k","metrics_apis":{"filter_chain":"m","policies":{"given":[{"name":"p","rules":[
                {"metric":"a","deny":true},{"metric":"a"}]}]}}}"#,
            "metrics_apis.policies.given[0].rules[1]: has neither a selector nor deny",
        ),
        (
            r#"{"cluster":"k","metrics_apis":{"filter_chain":"m","policies":{"given":[
                {"name":"p","rules":[{"metric":"a","deny":true}]},{"name":"p","rules":[{"metric":"a","deny":true}]}]}}}"#,
            "metrics_apis.policies.given[1].name: p is the name of an earlier policy",
        ),
        (
            r#"{"cluster":"k","metrics_apis":{"filter_chain":"m","policies":{"given":[{"name":"p","rule":[]}]}}}"#,
            "metrics_apis.policies.given[0].rule: unknown field `rule`",
        ),
    ]);
}

#[test]
fn unknown_keys_wrong_types_and_malformed_json_are_refused() {
    assert_refused(&[
        (
            r#"{"cluster":"k","pol_interval":"1s"}"#,
            "unknown field `pol_interval`, expected one of `cluster`",
        ),
        (
            r#"{"cluster":"k","header":{"nam":"x"}}"#,
            "header.nam: unknown field `nam`, expected one of `name`",
        ),
        (
            r#"{"cluster":"k","page_size":"x"}"#,
            "page_size: invalid type: string \"x\", expected u32",
        ),
        (
            r#"{"cluster":"k","on_stale":"explode"}"#,
            "on_stale: unknown variant `explode`, expected one of `drop`",
        ),
        (r#"{"cluster":"k"} {"#, "trailing characters at line 1"),
        ("{", "EOF while parsing"),
        (
            r#"{"cluster":"k","endpoints":{"extra_fields":["age"]}}"#,
            "endpoints.extra_fields[0]: unknown variant `age`, expected one of `ready`, `demand`, `state`",
        ),
        ("[]", "invalid type: sequence, expected an object"),
        (
            r#"{"cluster":"k","header":[]}"#,
            "header: invalid type: sequence, expected an object",
        ),
        (
            r#"{"cluster":"k","on_stale":{"drop":null}}"#,
            "on_stale: invalid type: map, expected a string",
        ),
        (
            r#"{"cluster":"k","page_size":1,"page_size":2}"#,
            "duplicate field `page_size`",
        ),
    ]);
}

#[test]
fn the_header_only_module_refuses_keys_that_need_requests() {
    let parse = |json: &str| Config::parse(json.as_bytes(), Artifact::HeaderOnly);
    assert!(parse(r#"{"cluster":"k"}"#).unwrap().endpoints.is_none());
    for (json, key) in [
        (r#"{"cluster":"k","endpoints":{"enabled":true}}"#, "endpoints.enabled: "),
        (r#"{"cluster":"k","endpoints":{"page":true}}"#, "endpoints.page: "),
        (
            r#"{"cluster":"k","header":{"when":{"request_header":"user-agent"}}}"#,
            "header.when: ",
        ),
        (
            r#"{"cluster":"k","metrics_apis":{"filter_chain":"m"}}"#,
            "metrics_apis: ",
        ),
        (
            r#"{"cluster":"k","sync":{"mode":"stream"}}"#,
            "sync.mode: `stream` is not supported ",
        ),
    ] {
        assert!(parse(json).unwrap_err().to_string().starts_with(key), "{json}");
    }
}

#[test]
fn there_is_a_list_for_each_resource_and_namespace() {
    let config = parse(
        r#"{"cluster":"k","namespaces":["b","a","b"],"workloads":[
            {"group":"argoproj.io","version":"v1alpha1","resource":"rollouts","kind":"Rollout","label_selector":"team=x"}]}"#,
    )
    .unwrap();
    let paths: Vec<_> = config
        .content
        .sources
        .iter()
        .map(|source| source.list_path(1, None))
        .collect();
    assert_eq!(paths.len(), 6);
    assert_eq!(
        paths[4],
        "/apis/argoproj.io/v1alpha1/namespaces/a/rollouts?limit=1&labelSelector=team%3Dx"
    );
}

#[test]
fn settings_that_do_not_change_shared_data_do_not_change_the_hash() {
    let hash = |json: &str| parse(json).unwrap().settings_hash();
    let plain = hash(r#"{"cluster":"k"}"#);
    for same in [
        r#"{"cluster":"k","header":{"name":"x-load"},"endpoints":{"enabled":false}}"#,
        r#"{"cluster":"k","poll_interval":"1s","max_staleness":"5m","role":"reader","page_size":10}"#,
    ] {
        assert_eq!(hash(same), plain, "{same}");
    }
    for other in [
        r#"{"cluster":"l"}"#,
        r#"{"cluster":"k","target_percent":70}"#,
        r#"{"cluster":"k","namespaces":["a"]}"#,
        r#"{"cluster":"k","hpas":{"label_selector":"a=b"}}"#,
    ] {
        assert_ne!(hash(other), plain, "{other}");
    }
}

#[test]
fn the_lists_hash_depends_only_on_the_cluster_and_the_lists() {
    let hash = |json: &str| parse(json).unwrap().lists_hash();
    let plain = hash(r#"{"cluster":"k"}"#);
    assert_eq!(
        hash(r#"{"cluster":"k","target_percent":70,"max_staleness":"5m"}"#),
        plain
    );
    for other in [r#"{"cluster":"l"}"#, r#"{"cluster":"k","namespaces":["a"]}"#] {
        assert_ne!(hash(other), plain, "{other}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_refused_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
        prop_assert!(Config::parse(&bytes, Artifact::Full).is_err());
    }

    #[test]
    fn any_value_is_accepted_or_refused(value in "\\PC{0,20}", number: i64) {
        let value = serde_json::to_string(&value).unwrap();
        for key in ["cluster", "poll_interval", "cluster_domain", "authority"] {
            let _ = parse(&format!(r#"{{"cluster":"k","{key}":{value},"page_size":{number}}}"#));
            let _ = parse(&format!(r#"{{"{key}":{value},"header":{{"name":{value}}},"endpoints":{{"prefix":{value}}}}}"#));
        }
    }
}

#[test]
fn policies_are_read_in_the_configured_namespaces_and_the_root_namespace() {
    let policies = |more: &str| {
        let json = format!(
            r#"{{"cluster":"k"{more},"metrics_apis":{{"filter_chain":"m","policies":{{"root_namespace":"istio-system"}}}}}}"#
        );
        let sources = parse(&json).unwrap().policy_sources.into_iter();
        sources.map(|source| source.to_string()).collect::<Vec<_>>()
    };
    let kind = "externalmetricpolicies.burstmetrics.dev";
    assert_eq!(policies(""), [kind]);
    assert_eq!(
        policies(r#","namespaces":["shop"]"#),
        [
            format!("{kind} in namespace shop"),
            format!("{kind} in namespace istio-system")
        ]
    );
}

#[test]
fn a_signal_is_kept_if_the_header_or_the_endpoints_name_it() {
    use crate::signals::Signal::{Demand, Ready, State};
    let signals = |json: &str, artifact| {
        let config = Config::parse(json.as_bytes(), artifact).unwrap();
        let sets = config.content.sources.iter().map(|source| source.kept.signals);
        assert!(sets.into_iter().all(|set| set == config.content.signals), "{json}");
        [Ready, Demand, State].map(|signal| config.content.signals.contains(signal))
    };
    for (keys, kept) in [
        ("", [false; 3]),
        (r#","header":{"extra_keys":["age","headroom"]}"#, [false; 3]),
        (r#","header":{"extra_keys":["state"]}"#, [false, false, true]),
        (r#","endpoints":{"extra_fields":["ready"]}"#, [true, false, false]),
        (
            r#","header":{"extra_keys":["demand","ready"]},"endpoints":{"extra_fields":["ready","state"]}"#,
            [true; 3],
        ),
        // A spoke keeps what it shows of its hub.
        (
            r#","source":"hub","header":{"extra_keys":["demand"]}"#,
            [false, true, false],
        ),
    ] {
        let json = format!(r#"{{"cluster":"k"{keys}}}"#);
        for artifact in [Artifact::Full, Artifact::HeaderOnly] {
            assert_eq!(signals(&json, artifact), kept, "{json} {artifact:?}");
        }
    }
}

#[test]
fn both_modules_share_a_snapshot_with_the_same_fields() {
    let hash = |json: &str, artifact| Config::parse(json.as_bytes(), artifact).unwrap().settings_hash();
    let with = r#"{"cluster":"k","endpoints":{"extra_fields":["demand"]}}"#;
    let without = r#"{"cluster":"k"}"#;
    assert_eq!(hash(with, Artifact::Full), hash(with, Artifact::HeaderOnly));
    assert_ne!(hash(with, Artifact::Full), hash(without, Artifact::Full));
}
