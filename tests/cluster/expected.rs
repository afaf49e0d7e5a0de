//! What a proxy has to serve for the objects of a cluster: `burstctl preview` lists them, and kubectl sends its requests.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::SystemTime;

use burst_model::time::Time;
use burst_testkit::ControlPlane;
use burstctl::plugin_config;
use burstctl::preview::{self, ApiAnswer, Preview};
use serde_json::{Value, json};

/// The Services with a header, and their headers. `more` are the keys in the proxy's configuration.
pub(crate) fn services(cluster: &ControlPlane, more: &str) -> BTreeMap<String, String> {
    headers(&preview(cluster, more))
}

/// The Services of a preview with a header, and their headers.
pub(crate) fn headers(preview: &Preview) -> BTreeMap<String, String> {
    let services = preview.services.iter();
    services
        .filter_map(|service| Some((service.service.to_string(), service.value.clone().ok()?)))
        .collect()
}

/// The preview of a cluster with these keys in the configuration.
pub(crate) fn preview(cluster: &ControlPlane, more: &str) -> Preview {
    let mut raw: Value = serde_json::from_str(&format!("{{{more}}}")).expect("JSON");
    raw["cluster"] = json!("kube");
    let config = Rc::new(plugin_config::parse(&raw).expect("a configuration"));
    let since = SystemTime::UNIX_EPOCH.elapsed().expect("a clock after 1970");
    let now = Time::from_unix_millis(u64::try_from(since.as_millis()).expect("a time"));
    let read = preview::read(config.clone(), now, |path| {
        let said = cluster.try_kubectl(&["get", "--raw", path], "");
        Ok(ApiAnswer {
            // kubectl does not return the status. The only failure here is the unknown kind.
            status: if said.is_ok() { 200 } else { 404 },
            content_type: Some(b"application/json".to_vec()),
            body: said.unwrap_or_else(|said| said).into_bytes(),
        })
    });
    preview::preview(&config, read.expect("every list"), now).expect("a snapshot")
}
