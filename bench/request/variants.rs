//! The filter chain of each listener.

use std::{fmt::Write as _, path::Path};

use burst_bench_kit::proxy::{compiled_filter, extension};
use burst_testkit::wasm;
use serde_json::{Value, json};

use crate::{SERVICES, modules, services};

/// A listener.
#[derive(Clone, Copy)]
pub(crate) struct Variant {
    pub(crate) label: &'static str,
    /// The key in `added_cpu_us`.
    pub(crate) key: &'static str,
    pub(crate) path: &'static str,
    pub(crate) expected: ExpectedHeader,
    chain: FilterChain,
}

/// The header on the responses.
#[derive(Clone, Copy)]
pub(crate) enum ExpectedHeader {
    Absent,
    /// The same for every cluster.
    Constant,
    /// The header of the cluster's Service.
    Live,
}

#[derive(Clone, Copy)]
enum FilterChain {
    Alone,
    ResponseHeadersToAdd,
    Lua(Lua),
    /// A filter of `bench/filters`.
    Other(&'static str),
    /// A filter of `bench/filters` that exports only these callbacks of a stream.
    Trimmed(&'static str, &'static [&'static str]),
    /// Our header-only module.
    HeaderOnly,
    /// Our full module, with more configuration.
    Full(&'static str),
    /// Our full module without these exports.
    FullWithout(&'static [&'static str]),
}

#[derive(Clone, Copy)]
enum Lua {
    Constant,
    /// On every Envoy that we support: dynamic metadata carries the host from the request to the response.
    Lookup,
    /// Since Envoy 1.40, a script can read the request's headers in the response.
    LookupInResponse,
}

const PATH: &str = "/v1/orders/4711?fields=id,state";

/// The others are compared with the first.
pub(crate) const VARIANTS: [Variant; 21] = [
    Variant::new("bare", "Envoy alone", FilterChain::Alone, ExpectedHeader::Absent),
    Variant::new(
        "native",
        "response_headers_to_add",
        FilterChain::ResponseHeadersToAdd,
        ExpectedHeader::Constant,
    ),
    Variant::new(
        "lua_const",
        "Lua: constant",
        FilterChain::Lua(Lua::Constant),
        ExpectedHeader::Constant,
    ),
    Variant::new(
        "lua_lookup",
        "Lua: table of 10,000",
        FilterChain::Lua(Lua::Lookup),
        ExpectedHeader::Live,
    ),
    Variant::new(
        "lua_lookup_later",
        "Lua: the same, since Envoy 1.40",
        FilterChain::Lua(Lua::LookupInResponse),
        ExpectedHeader::Live,
    ),
    Variant::new(
        "empty",
        "empty filter",
        FilterChain::Other("empty"),
        ExpectedHeader::Absent,
    ),
    Variant::new(
        "empty_trimmed",
        "empty, without unused exports",
        FilterChain::Trimmed("empty", &[]),
        ExpectedHeader::Absent,
    ),
    Variant::new(
        "constant",
        "constant filter",
        FilterChain::Other("constant"),
        ExpectedHeader::Constant,
    ),
    Variant::new(
        "constant_trimmed",
        "constant, without unused exports",
        FilterChain::Trimmed("constant", &["proxy_on_response_headers"]),
        ExpectedHeader::Constant,
    ),
    Variant::new(
        "absent",
        "no SDK: no callbacks",
        FilterChain::Other("no_callbacks"),
        ExpectedHeader::Absent,
    ),
    Variant::new(
        "floor",
        "no SDK: a property and a header",
        FilterChain::Other("minimal"),
        ExpectedHeader::Constant,
    ),
    Variant::new(
        "floor_path",
        "no SDK: the same, and it reads the path",
        FilterChain::Other("minimal_path"),
        ExpectedHeader::Constant,
    ),
    Variant::new(
        "floor_stream",
        "no SDK: a property and a header, and callbacks for streams",
        FilterChain::Other("minimal_stream"),
        ExpectedHeader::Constant,
    ),
    Variant::new(
        "header_only",
        "header-only",
        FilterChain::HeaderOnly,
        ExpectedHeader::Live,
    ),
    Variant::new(
        "full",
        "full, as shipped",
        FilterChain::Full("{}"),
        ExpectedHeader::Live,
    ),
    Variant::new(
        "without_body",
        "full: without the callback for bodies",
        FilterChain::FullWithout(&["proxy_on_response_body"]),
        ExpectedHeader::Live,
    ),
    Variant::new(
        "without_endpoints",
        "full: without endpoints",
        FilterChain::Full(r#"{"endpoints": {"enabled": false}}"#),
        ExpectedHeader::Live,
    ),
    Variant::new(
        "gate",
        "full: behind the gate",
        FilterChain::Full(r#"{"header": {"when": {"request_header": "user-agent", "prefix": "bench"}}}"#),
        ExpectedHeader::Live,
    ),
    Variant::new(
        "host_check",
        "full: one of its paths on another host",
        FilterChain::Full(r#"{"endpoints": {"hosts": ["burst.internal"]}}"#),
        ExpectedHeader::Live,
    )
    .path("/burstmetrics/services/shop/web"),
    Variant::new(
        "counting",
        "full: requests counted",
        FilterChain::Full(r#"{"requests": {"in_flight": false}}"#),
        ExpectedHeader::Live,
    ),
    Variant::new(
        "counting_in_flight",
        "full: the same, and requests in flight",
        FilterChain::Full(r#"{"requests": {}}"#),
        ExpectedHeader::Live,
    ),
];

impl Variant {
    const fn new(key: &'static str, label: &'static str, chain: FilterChain, expected: ExpectedHeader) -> Self {
        Self {
            label,
            key,
            path: PATH,
            expected,
            chain,
        }
    }

    const fn path(mut self, path: &'static str) -> Self {
        self.path = path;
        self
    }

    /// Returns the HTTP filter before the router.
    pub(crate) fn filter(self) -> Option<Value> {
        match self.chain {
            FilterChain::Alone | FilterChain::ResponseHeadersToAdd => None,
            FilterChain::Lua(lua) => Some(lua_filter(lua)),
            FilterChain::Other(name) => Some(wasm_filter(self.key, &compiled_filter(name), &json!({}))),
            FilterChain::Trimmed(name, used) => Some(wasm_filter(self.key, &modules::trimmed(name, used), &json!({}))),
            FilterChain::HeaderOnly => Some(self.burst_metrics(&wasm("burst-metrics-header.wasm"), "{}")),
            FilterChain::Full(keys) => Some(self.burst_metrics(&wasm("burst-metrics.wasm"), keys)),
            FilterChain::FullWithout(exports) => Some(self.burst_metrics(&modules::full_without(exports), "{}")),
        }
    }

    /// Returns the headers that the routes add.
    pub(crate) fn response_headers_to_add(self) -> Option<Value> {
        let add = || json!([{"header": {"key": "x-burst", "value": services::header(0)}}]);
        matches!(self.chain, FilterChain::ResponseHeadersToAdd).then(add)
    }

    fn burst_metrics(self, module: &Path, keys: &str) -> Value {
        let mut configuration: Value = serde_json::from_str(keys).expect("JSON");
        configuration["cluster"] = json!("kube_api");
        // The filter reads the cluster once, before the measurement.
        configuration["poll_interval"] = json!("3600s");
        configuration["max_staleness"] = json!("7200s");
        wasm_filter(self.key, module, &configuration)
    }
}

/// Each variant has its own VM, so that none slows down another.
fn wasm_filter(vm: &str, module: &Path, configuration: &Value) -> Value {
    json!({
        "name": vm,
        "typed_config": {
            "@type": extension("filters.http.wasm.v3.Wasm"),
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
            services::header(0)
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
        Lua::LookupInResponse => table(
            "function envoy_on_response(response)\n\
             local of = loads[response:requestHeaders():get(':authority')]\n\
             if of then response:headers():replace('x-burst', of) end\n\
             end",
        ),
    };
    json!({
        "name": "lua",
        "typed_config": {
            "@type": extension("filters.http.lua.v3.Lua"),
            "default_source_code": {"inline_string": code},
        },
    })
}

fn table(code: &str) -> String {
    let mut text = String::from("local loads = {\n");
    for service in 0..SERVICES {
        let _ = writeln!(
            text,
            "['{}'] = '{}',",
            services::host(service),
            services::header(service)
        );
    }
    format!("{text}}}\n{code}")
}
