//! What stands in the filter chain of each listener.

use std::{fmt::Write as _, path::Path};

use burst_testkit::wasm;
use serde_json::{Value, json};

use crate::{SERVICES, cluster, modules, proxy};

/// A listener.
#[derive(Clone, Copy)]
pub(crate) struct Variant {
    pub(crate) what: &'static str,
    /// In `added_cpu_us`.
    pub(crate) key: &'static str,
    pub(crate) path: &'static str,
    pub(crate) shows: Shows,
    chain: Chain,
}

/// The header on its responses.
#[derive(Clone, Copy)]
pub(crate) enum Shows {
    Nothing,
    /// The same for every cluster.
    Constant,
    /// That of the cluster's Service.
    Live,
}

#[derive(Clone, Copy)]
enum Chain {
    Alone,
    ResponseHeadersToAdd,
    Lua(Lua),
    /// A filter of `bench/filters`.
    Other(&'static str),
    /// One of them with these callbacks of the SDK and no others that count.
    Trimmed(&'static str, &'static [&'static str]),
    /// Ours, with keys beside those that every configuration has.
    HeaderOnly,
    Full(&'static str),
}

#[derive(Clone, Copy)]
enum Lua {
    Constant,
    /// As every Envoy that we support can: what the request was for is kept for the response.
    Lookup,
    /// As Envoy 1.40 can: a response knows its request.
    LookupLater,
}

const PATH: &str = "/v1/orders/4711?fields=id,state";

/// The first is what the others are compared with.
pub(crate) const VARIANTS: [Variant; 19] = [
    Variant::new("bare", "Envoy alone", Chain::Alone, Shows::Nothing),
    Variant::new(
        "native",
        "response_headers_to_add",
        Chain::ResponseHeadersToAdd,
        Shows::Constant,
    ),
    Variant::new("lua_const", "Lua: constant", Chain::Lua(Lua::Constant), Shows::Constant),
    Variant::new(
        "lua_lookup",
        "Lua: table of 10,000",
        Chain::Lua(Lua::Lookup),
        Shows::Live,
    ),
    Variant::new(
        "lua_lookup_later",
        "Lua: the same, only since Envoy 1.40",
        Chain::Lua(Lua::LookupLater),
        Shows::Live,
    ),
    Variant::new("empty", "empty filter", Chain::Other("empty"), Shows::Nothing),
    Variant::new(
        "empty_trimmed",
        "empty, without unused exports",
        Chain::Trimmed("empty", &[]),
        Shows::Nothing,
    ),
    Variant::new("constant", "constant filter", Chain::Other("constant"), Shows::Constant),
    Variant::new(
        "constant_trimmed",
        "constant, without unused exports",
        Chain::Trimmed("constant", &["proxy_on_response_headers"]),
        Shows::Constant,
    ),
    Variant::new("absent", "no SDK: no callbacks", Chain::Other("no_callbacks"), Shows::Nothing),
    Variant::new(
        "floor",
        "no SDK: a property and a header",
        Chain::Other("minimal"),
        Shows::Constant,
    ),
    Variant::new(
        "floor_path",
        "no SDK: and a look at the path",
        Chain::Other("minimal_path"),
        Shows::Constant,
    ),
    Variant::new("header_only", "header-only", Chain::HeaderOnly, Shows::Live),
    Variant::new("full", "full, as shipped", Chain::Full("{}"), Shows::Live),
    Variant::new(
        "without_endpoints",
        "full: without endpoints",
        Chain::Full(r#"{"endpoints": {"enabled": false}}"#),
        Shows::Live,
    ),
    Variant::new(
        "gate",
        "full: behind the gate",
        Chain::Full(r#"{"header": {"when": {"request_header": "user-agent", "prefix": "bench"}}}"#),
        Shows::Live,
    ),
    Variant::new(
        "host_check",
        "full: an own path of another host",
        Chain::Full(r#"{"endpoints": {"hosts": ["burst.internal"]}}"#),
        Shows::Live,
    )
    .path("/burstmetrics/services/shop/web"),
    Variant::new(
        "counting",
        "full: requests counted",
        Chain::Full(r#"{"requests": {"in_flight": false}}"#),
        Shows::Live,
    ),
    Variant::new(
        "counting_in_flight",
        "full: and those under way",
        Chain::Full(r#"{"requests": {}}"#),
        Shows::Live,
    ),
];

impl Variant {
    const fn new(key: &'static str, what: &'static str, chain: Chain, shows: Shows) -> Self {
        Self {
            what,
            key,
            path: PATH,
            shows,
            chain,
        }
    }

    const fn path(mut self, path: &'static str) -> Self {
        self.path = path;
        self
    }

    /// The HTTP filter before the router.
    pub(crate) fn filter(self) -> Option<Value> {
        match self.chain {
            Chain::Alone | Chain::ResponseHeadersToAdd => None,
            Chain::Lua(lua) => Some(lua_filter(lua)),
            Chain::Other(name) => Some(wasm_filter(self.key, &modules::compiled(name), &json!({}))),
            Chain::Trimmed(name, used) => Some(wasm_filter(self.key, &modules::trimmed(name, used), &json!({}))),
            Chain::HeaderOnly => Some(self.own("burst-metrics-header.wasm", "{}")),
            Chain::Full(keys) => Some(self.own("burst-metrics.wasm", keys)),
        }
    }

    /// What the routes add.
    pub(crate) fn added(self) -> Option<Value> {
        let add = || json!([{"header": {"key": "x-burst", "value": cluster::header(0)}}]);
        matches!(self.chain, Chain::ResponseHeadersToAdd).then(add)
    }

    fn own(self, module: &str, keys: &str) -> Value {
        let mut configuration: Value = serde_json::from_str(keys).expect("JSON");
        configuration["cluster"] = json!("kube_api");
        // The cluster is read once: what reading it costs is another question.
        configuration["poll_interval"] = json!("3600s");
        configuration["max_staleness"] = json!("7200s");
        wasm_filter(self.key, &wasm(module), &configuration)
    }
}

/// A VM of its own for each, so that none is slower for its neighbours.
fn wasm_filter(vm: &str, module: &Path, configuration: &Value) -> Value {
    json!({
        "name": vm,
        "typed_config": {
            "@type": proxy::of("filters.http.wasm.v3.Wasm"),
            "config": {
                "name": vm,
                "vm_config": {
                    "vm_id": vm,
                    "runtime": "envoy.wasm.runtime.v8",
                    "code": {"local": {"filename": module}},
                },
                "configuration": {
                    "@type": "type.googleapis.com/google.protobuf.StringValue",
                    "value": configuration.to_string(),
                },
            },
        },
    })
}

fn lua_filter(lua: Lua) -> Value {
    let code = match lua {
        Lua::Constant => format!(
            "function envoy_on_response(response)\n\
             response:headers():replace('x-burst', '{}')\n\
             end",
            cluster::header(0)
        ),
        Lua::Lookup => table(
            "function envoy_on_request(request)\n\
             request:streamInfo():dynamicMetadata():set('burst', 'host', request:headers():get(':authority'))\n\
             end\n\
             function envoy_on_response(response)\n\
             local of = loads[response:streamInfo():dynamicMetadata():get('burst')['host']]\n\
             if of then response:headers():replace('x-burst', of) end\n\
             end",
        ),
        Lua::LookupLater => table(
            "function envoy_on_response(response)\n\
             local of = loads[response:requestHeaders():get(':authority')]\n\
             if of then response:headers():replace('x-burst', of) end\n\
             end",
        ),
    };
    json!({
        "name": "lua",
        "typed_config": {
            "@type": proxy::of("filters.http.lua.v3.Lua"),
            "default_source_code": {"inline_string": code},
        },
    })
}

fn table(code: &str) -> String {
    let mut text = String::from("local loads = {\n");
    for service in 0..SERVICES {
        let _ = writeln!(text, "['{}'] = '{}',", cluster::host(service), cluster::header(service));
    }
    format!("{text}}}\n{code}")
}
