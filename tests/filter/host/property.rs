//! `get_property`: the properties that Envoy 1.33 and later have in each phase.
//!
//! It has only the properties that a filter of this kind reads. All others are absent, as `cluster_name` is since 1.33.

use super::message::Headers;
use super::route::{IstioService, Route};
use super::state::VmState;
use super::stream::Stream;
use proxy_wasm::types::Status;

const ISTIO_SERVICES: [&str; 5] = ["xds", "cluster_metadata", "filter_metadata", "istio", "services"];

impl VmState {
    pub(super) fn property(&mut self, path: &[&str]) -> Result<Vec<u8>, Status> {
        let vm_id = self.vm_id.clone();
        let plugin = &self.root().ok_or(Status::NotFound)?.plugin;
        match path {
            ["plugin_name"] => Ok(plugin.name.clone().into_bytes()),
            ["plugin_root_id"] => Ok(plugin.root_id.clone().into_bytes()),
            ["plugin_vm_id"] => Ok(vm_id.into_bytes()),
            _ => self.stream().ok_or(Status::NotFound)?.property(path),
        }
    }

    /// Filter state of the stream, under a name with a prefix: it never replaces a property of Envoy itself.
    pub(super) fn set_property(&mut self, path: &[u8], value: Vec<u8>) -> Result<(), Status> {
        self.stream()
            .ok_or(Status::NotFound)?
            .filter_state
            .insert(path.to_vec(), value);
        Ok(())
    }
}

impl Stream {
    fn property(&self, path: &[&str]) -> Result<Vec<u8>, Status> {
        let upstream = self.met_upstream();
        match path {
            ["request", rest @ ..] => self.request_headers().and_then(|headers| request(headers, rest)),
            ["response", "code_details"] => self.code_details().map(Into::into),
            ["upstream", "address"] if upstream => {
                Some(self.route.known(path).unwrap_or_else(|| b"127.0.0.1:8080".to_vec()))
            }
            ["upstream", "address"] => None,
            // No serialised form: the one status besides absence that a filter meets in practice.
            ["xds", "upstream_host_locality_metadata"] if upstream => return Err(Status::SerializationFailure),
            [name] if self.filter_state.contains_key(name.as_bytes()) => {
                self.filter_state.get(name.as_bytes()).cloned()
            }
            _ => self.route.known(path),
        }
        .ok_or(Status::NotFound)
    }
}

fn request(headers: &Headers, path: &[&str]) -> Option<Vec<u8>> {
    let value = |name| headers.first(name).map(<[u8]>::to_vec);
    match path {
        ["path"] => value(":path"),
        ["url_path"] => value(":path").map(|path| path.split(|&byte| byte == b'?').next().unwrap_or_default().to_vec()),
        ["host"] => value(":authority"),
        ["scheme"] => value(":scheme"),
        ["method"] => value(":method"),
        ["useragent"] => value("user-agent"),
        ["headers", name] => value(name),
        _ => None,
    }
}

impl Route {
    fn known(&self, path: &[&str]) -> Option<Vec<u8>> {
        if let Some((_, value)) = self.properties.iter().find(|(known, _)| known == path) {
            return Some(value.clone());
        }
        if path == ["xds", "cluster_name"] {
            return self.cluster.clone().map(String::into_bytes);
        }
        let [index, field] = path.strip_prefix(&ISTIO_SERVICES)? else {
            return None;
        };
        self.services.get(index.parse::<usize>().ok()?)?.field(field)
    }
}

impl IstioService {
    fn field(&self, name: &str) -> Option<Vec<u8>> {
        let value = match name {
            "host" => &self.host,
            "name" => &self.name,
            "namespace" => &self.namespace,
            _ => return None,
        };
        Some(value.clone().into_bytes())
    }
}
