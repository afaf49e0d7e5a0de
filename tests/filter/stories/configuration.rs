//! An invalid configuration is refused with one helpful log line.

use super::kube::Kube;
use super::{EVERY_SECOND, SECOND, envoy};

#[test]
fn a_wrong_key_or_value_is_refused_with_one_line() {
    for (configuration, line) in [
        (
            "",
            "the configuration is refused: cluster: is missing; name the Envoy cluster of the Kubernetes API",
        ),
        (
            r#"{"cluster":""}"#,
            r#"the configuration is refused: cluster: "" must be a text"#,
        ),
        (
            r#"{"cluster":"k","poll_interval":"0s"}"#,
            "the configuration is refused: poll_interval: 0s is below",
        ),
        (
            r#"{"cluster":"k","polling":"1s"}"#,
            "the configuration is refused: polling: unknown field `polling`",
        ),
        ("cluster: k", "the configuration is refused: "),
    ] {
        let Err(refused) = envoy(configuration, &Kube::new()).try_worker() else {
            panic!("{configuration}")
        };
        let [only] = &refused.log[..] else {
            panic!("{configuration}: {:?}", refused.log)
        };
        assert!(only.text.starts_with(line), "{configuration}: {}", only.text);
    }
}

#[test]
fn a_refused_configuration_leaves_the_previous_one_serving() {
    let envoy = envoy(EVERY_SECOND, &Kube::new());
    let worker = envoy.worker();
    envoy.advance(SECOND).answer();
    assert!(
        worker
            .configure(r#"{"cluster":"kube_api","poll_interval":"never"}"#)
            .is_err()
    );
    envoy.advance(SECOND).answer();
    assert!(worker.response("web.shop").header("x-burst").is_some());
}
