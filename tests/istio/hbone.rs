//! The neighbours of a waypoint on its node, played by one Envoy: the agent that gives it its certificate, and the
//! ztunnel that brings it requests through Istio's tunnel, HTTP/2 CONNECT over mutual TLS.
//! <https://istio.io/latest/docs/ambient/architecture/hbone/>

use std::{
    fs,
    path::{Path, PathBuf},
};

use burst_testkit::{Envoy, Version};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, SanType,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::sds::{self, Secret};

const HTTP_OPTIONS: &str = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
const FILTERS: &str = "type.googleapis.com/envoy.extensions.filters";

/// The file with the authority's own certificate, beside those that it signed.
const ROOT: &str = "root.crt";

/// The agent and the ztunnel.
#[derive(Debug)]
pub(crate) struct Neighbours {
    envoy: Envoy,
    _folder: TempDir,
}

impl Neighbours {
    /// Starts them for a waypoint of that namespace and name that will listen on that port. All that the ztunnel gets
    /// was on its way to `destination`, the address of a Service.
    pub(crate) fn start(namespace: &str, waypoint: &str, port: u16, destination: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let authority = Authority::new(folder.path());
        let (certificate, key) = authority.certify(namespace, waypoint);
        let secrets = [
            Secret::certificate("default", &certificate, &key),
            Secret::root("ROOTCA", &authority.root()),
        ];
        let answers = sds::serve(&secrets);

        let listeners = [agent(), tunnel(destination)];
        let clusters = [
            cluster("answers", answers.port()),
            encrypted(cluster("waypoint", port), &authority.certify("shop", "client")),
        ];
        let bootstrap = json!({"static_resources": {"listeners": listeners, "clusters": clusters}});
        let envoy = Envoy::of(Version::Tested).workers(1).start(&bootstrap.to_string());
        Self { envoy, _folder: folder }
    }

    /// Where the agent answers.
    pub(crate) fn agent(&self) -> u16 {
        self.envoy.listener("agent").port()
    }

    /// Where the ztunnel takes requests.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.envoy.listener("tunnel"))
    }
}

/// Who signs the certificates of a mesh.
struct Authority<'a> {
    folder: &'a Path,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl<'a> Authority<'a> {
    fn new(folder: &'a Path) -> Self {
        let mut params = named("the mesh");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().expect("a key pair");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("a self-signed certificate");
        let authority = Self { folder, issuer };
        fs::write(authority.root(), authority.issuer.pem()).expect("a file");
        authority
    }

    fn root(&self) -> PathBuf {
        self.folder.join(ROOT)
    }

    /// The certificate of a workload with that ServiceAccount, and its key.
    fn certify(&self, namespace: &str, account: &str) -> (PathBuf, PathBuf) {
        let identity = format!("spiffe://cluster.local/ns/{namespace}/sa/{account}");
        let mut params = named(account);
        params.subject_alt_names = vec![SanType::URI(identity.try_into().expect("a URI"))];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().expect("a key pair");
        let certificate = params.signed_by(&key, &self.issuer).expect("a signed certificate");
        let path = |end| self.folder.join(format!("{account}.{end}"));
        fs::write(path("crt"), certificate.pem()).expect("a file");
        fs::write(path("key"), key.serialize_pem()).expect("a file");
        (path("crt"), path("key"))
    }
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// The agent speaks HTTP/1.1.
fn agent() -> Value {
    let route = json!({"match": {"prefix": "/"}, "route": {"cluster": "answers", "timeout": "0s"}});
    let manager = json!({
        "@type": format!("{FILTERS}.network.http_connection_manager.v3.HttpConnectionManager"),
        "stat_prefix": "agent",
        "http_filters": [{"name": "router", "typed_config": {"@type": format!("{FILTERS}.http.router.v3.Router")}}],
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [route]}]},
    });
    listener("agent", &manager)
}

fn tunnel(destination: &str) -> Value {
    let proxy = json!({
        "@type": format!("{FILTERS}.network.tcp_proxy.v3.TcpProxy"),
        "stat_prefix": "tunnel",
        "cluster": "waypoint",
        "tunneling_config": {"hostname": destination},
    });
    listener("tunnel", &proxy)
}

fn listener(name: &str, filter: &Value) -> Value {
    json!({
        "name": name,
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}},
        "filter_chains": [{"filters": [{"name": "filter", "typed_config": filter}]}],
    })
}

fn cluster(name: &str, port: u16) -> Value {
    let address = json!({"socket_address": {"address": "127.0.0.1", "port_value": port}});
    json!({
        "name": name,
        "type": "STATIC",
        "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address}}]}]},
    })
}

/// HTTP/2 over mutual TLS.
fn encrypted(mut cluster: Value, (certificate, key): &(PathBuf, PathBuf)) -> Value {
    let http2 = json!({
        "@type": format!("type.googleapis.com/{HTTP_OPTIONS}"),
        "explicit_http_config": {"http2_protocol_options": {}},
    });
    let tls = json!({
        "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
        "common_tls_context": {
            "alpn_protocols": ["h2"],
            // A waypoint takes nothing less.
            "tls_params": {"tls_maximum_protocol_version": "TLSv1_3"},
            "tls_certificates": [{"certificate_chain": {"filename": certificate}, "private_key": {"filename": key}}],
            "validation_context": {"trusted_ca": {"filename": certificate.with_file_name(ROOT)}},
        },
    });
    cluster["typed_extension_protocol_options"] = json!({HTTP_OPTIONS: http2});
    cluster["transport_socket"] = json!({"name": "envoy.transport_sockets.tls", "typed_config": tls});
    cluster
}
