//! A real API server compacts its history: the `continue` token of a paged list expires, and so does the version from which a
//! watch is to continue.

use burst_testkit::{ControlPlane, Relay, Version, wait};
use serde_json::Value;

use crate::{
    account::apply_shipped_role,
    gateway::{Gateway, SOON},
    sample,
    shipped::{SHORT_WATCHES, Shipped, Token},
};

const HPAS: &str = "/apis/autoscaling/v2/horizontalpodautoscalers";

/// Replaces the `continue` token of one request for HPAs with the token in a file.
const EXPIRED_TOKEN_FILTER: &str = r#"            - name: envoy.filters.http.lua
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua
                default_source_code:
                  inline_string: |
                    function envoy_on_request(handle)
                      local path = handle:headers():get(":path")
                      local file = path:find("horizontalpodautoscalers.*&continue=") and io.open("$FOLDER/cursor", "r")
                      if file then
                        handle:headers():replace(":path", path:gsub("continue=.*", "") .. "continue=" .. file:read("*a"))
                        file:close()
                        os.remove("$FOLDER/cursor")
                      end
                    end
"#;

#[test]
fn after_a_compaction_a_list_in_pages_begins_again_and_a_stream_that_was_cut_does_with_a_list() {
    let cluster = ControlPlane::start_forgetful_of_hpas();
    let mount = apply_shipped_role(&cluster).mount(&cluster);
    sample::create_with_status(&cluster);

    let relay = Relay::to(cluster.port());
    let bootstrap = Shipped::bootstrap(Token::Injected, &cluster, &mount).configured("");
    let streaming = Gateway::start(Version::Tested, &bootstrap.through(&relay, &cluster), &mount);
    streaming.wait_for_replicas(1);
    streaming.wait_for_main_thread();
    streaming.wait_for_streams();
    let headers = streaming.collect_headers();
    relay.cut_and_silence();
    sample::scale(&cluster, 2);
    let cursor = expired_continue_token(&cluster);
    // The token is newer than the last event of the stream.
    sample::scale(&cluster, 3);
    relay.cut();
    streaming.wait_for_replicas(3);
    streaming.wait_for_gauge("burst_poll_expired_total", 1);
    streaming.wait_for_streams();
    sample::scale(&cluster, 1);
    streaming.wait_for_replicas(1);
    streaming.wait_until_current(&cluster, "");
    headers.assert_replicas([1, 3, 1]);

    let codec = "            - name: envoy.filters.http.upstream_codec";
    let bootstrap = Shipped::bootstrap(Token::Injected, &cluster, &mount)
        .configured(r#""page_size": 2"#)
        .with(SHORT_WATCHES, r#""sync": {"mode": "list"}"#)
        .with_before(codec, EXPIRED_TOKEN_FILTER);
    let gateway = Gateway::start(Version::Tested, &bootstrap, &mount);
    gateway.wait_for_burst("hpas", 200);
    let rows = |path: &str| gateway.burst(path).body.matches("\": \"").count();
    assert_eq!(
        (
            rows("hpas"),
            rows("deployments"),
            rows("services"),
            rows("statefulsets")
        ),
        (5, 4, 4, 1)
    );
    assert_eq!(gateway.stat("burst_poll_expired_total"), 0);

    gateway.envoy.replace("cursor", &cursor);
    gateway.wait_for_stat("burst_poll_expired_total", 1);
    gateway.envoy.wait_for_log(
        SOON,
        "cannot list horizontalpodautoscalers.autoscaling: 410 Gone: The provided continue",
    );
    gateway
        .envoy
        .wait_for_log(SOON, "listing horizontalpodautoscalers.autoscaling works again");
    sample::set_current_replicas(&cluster, "shop", "checkout-canary", 3);
    let sum = "service=shop/checkout, current-load=7, target-load=10, max-load=13";
    gateway.wait_for_header("checkout.shop", Some(sum));
    assert_eq!(rows("hpas"), 5);
    assert_eq!(gateway.stat("burst_poll_expired_total"), 1, "once, and no more");
}

/// A `continue` token that the API server issued and no longer accepts.
pub(crate) fn expired_continue_token(cluster: &ControlPlane) -> String {
    let page: Value =
        serde_json::from_str(&cluster.kubectl(&["get", "--raw", &format!("{HPAS}?limit=2")])).expect("JSON");
    let cursor = page["metadata"]["continue"].as_str().expect("a cursor").to_owned();
    let next = format!("{HPAS}?limit=2&continue={cursor}");
    wait::for_ok(SOON, "a cursor too old", || {
        match cluster.try_kubectl(&["get", "--raw", &next], "") {
            Err(said) if said.contains("continue parameter is too old") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
    cursor
}
