//! The names that proxies give to their clusters, and the Service of each.

use super::*;
use proptest::prelude::*;

/// The hints of a proxy.
#[derive(Default)]
struct Hints {
    services: Vec<IstioService>,
    owner: Option<&'static str>,
}

impl Hints {
    fn service(mut self, host: &str, name: &str, namespace: &str) -> Self {
        let [host, name, namespace] = [host, name, namespace].map(str::to_owned);
        self.services.push(IstioService { host, name, namespace });
        self
    }
}

impl UpstreamHints for Hints {
    fn service(&self, index: usize) -> Option<IstioService> {
        self.services.get(index).cloned()
    }

    fn owner(&self) -> Option<String> {
        self.owner.map(str::to_owned)
    }

    fn backend(&self) -> Option<ObjectName> {
        None
    }
}

fn plain() -> Upstreams {
    Upstreams::new(vec![], "cluster.local")
}

/// `namespace/name` of each candidate, a workload with its kind before it; or the reason.
fn of(upstreams: &Upstreams, cluster: &str, known: &Hints) -> Result<String, &'static str> {
    let shown = |upstream: &UpstreamTarget| match upstream {
        UpstreamTarget::Service(name) => name.to_string(),
        UpstreamTarget::Workload { plural, name } => format!("{plural} {name}"),
    };
    let found = upstreams.resolve(cluster.as_bytes(), known).map_err(Unmapped::as_str)?;
    Ok(found.iter().map(shown).collect::<Vec<_>>().join(", "))
}

#[track_caller]
fn by_name(cluster: &str, expected: Result<&str, &'static str>) {
    let found = of(&plain(), cluster, &Hints::default());
    assert_eq!(found, expected.map(str::to_owned), "{cluster}");
}

#[test]
fn an_outbound_cluster_names_its_service_whatever_the_port() {
    by_name("outbound|80||web.shop.svc.cluster.local", Ok("shop/web"));
    by_name("outbound|9000||web.shop.svc.cluster.local", Ok("shop/web"));
}

#[test]
fn a_subset_is_of_its_service() {
    by_name("outbound|80|v1|web.shop.svc.cluster.local", Ok("shop/web"));
}

#[test]
fn an_sni_cluster_of_auto_passthrough_names_its_service() {
    by_name("outbound_.80_._.web.shop.svc.cluster.local", Ok("shop/web"));
    by_name("outbound_.80_.v1_.web.shop.svc.cluster.local", Ok("shop/web"));
}

#[test]
fn a_waypoint_names_the_service_behind_it() {
    by_name("inbound-vip|80|http|web.shop.svc.cluster.local", Ok("shop/web"));
    by_name("inbound-vip|80|http/v1|web.shop.svc.cluster.local", Ok("shop/web"));
}

#[test]
fn a_service_of_the_clusterset_is_the_one_of_this_cluster() {
    by_name("outbound|80||web.shop.svc.clusterset.local", Ok("shop/web"));
}

#[test]
fn the_cluster_domain_is_configuration() {
    let example = Upstreams::new(vec![], "example.org");
    let of = |cluster| of(&example, cluster, &Hints::default());
    assert_eq!(of("outbound|80||web.shop.svc.example.org"), Ok("shop/web".into()));
    assert_eq!(of("outbound|80||web.shop.svc.cluster.local"), Err("other_domain"));
    by_name("outbound|80||web.shop.svc.example.org", Err("other_domain"));
}

#[test]
fn with_metadata_the_domain_does_not_matter() {
    let known = Hints::default().service("web.shop.svc.example.org", "web", "shop");
    let found = of(&plain(), "outbound|80||web.shop.svc.example.org", &known);
    assert_eq!(found, Ok("shop/web".into()));
}

#[test]
fn a_host_outside_the_cluster_is_external() {
    by_name("outbound|443||api.example.org", Err("external"));
    by_name("outbound|443||mysql", Err("external"));
    by_name("outbound|80||web.svc.cluster.local", Err("external"));
    by_name("outbound|80||a.web.shop.svc.cluster.local", Err("external"));
    let entry = Hints::default().service("api.example.org", "api.example.org", "shop");
    assert_eq!(of(&plain(), "outbound|443||api.example.org", &entry), Err("external"));
}

#[test]
fn a_service_entry_for_a_services_host_is_that_service() {
    let host = "web.shop.svc.cluster.local";
    let entry = Hints::default().service(host, host, "mesh-config");
    assert_eq!(
        of(&plain(), &format!("outbound|80||{host}"), &entry),
        Ok("shop/web".into())
    );
}

#[test]
fn inbound_maps_to_the_services_of_the_port_and_then_the_workload() {
    let two = Hints {
        owner: Some("kubernetes://apis/apps/v1/namespaces/shop/deployments/web-v1"),
        ..Hints::default()
            .service("web.shop.svc.cluster.local", "web", "shop")
            .service("web-all.shop.svc.cluster.local", "web-all", "shop")
    };
    let found = of(&plain(), "inbound|8080||", &two);
    assert_eq!(found, Ok("shop/web, shop/web-all, deployments shop/web-v1".into()));
}

#[test]
fn inbound_without_metadata_maps_to_the_workload_of_the_node() {
    for (owner, expected) in [
        (
            "kubernetes://apis/apps/v1/namespaces/shop/deployments/web",
            Ok("deployments shop/web"),
        ),
        (
            "kubernetes://apis/apps/v1/namespaces/shop/statefulsets/db",
            Ok("statefulsets shop/db"),
        ),
        (
            "kubernetes://apis/argoproj.io/v1alpha1/namespaces/shop/rollouts/r",
            Ok("rollouts shop/r"),
        ),
        ("kubernetes://apis/v1/namespaces/shop/pods/web-0", Ok("pods shop/web-0")),
        ("kubernetes://apis/apps/v1/namespaces/shop/deployments/", Err("inbound")),
        (
            "kubernetes://apis/apps/v1/namespaces/shop/deployments/web/more",
            Err("inbound"),
        ),
        ("gce://project/instance", Err("inbound")),
        ("", Err("inbound")),
    ] {
        let known = Hints {
            owner: Some(owner),
            ..Hints::default()
        };
        assert_eq!(
            of(&plain(), "inbound|8080||", &known),
            expected.map(str::to_owned),
            "{owner}"
        );
    }
    by_name("inbound|8080||", Err("inbound"));
}

#[test]
fn passthrough_clusters_have_no_service() {
    for cluster in [
        "PassthroughCluster",
        "BlackHoleCluster",
        "InboundPassthroughCluster",
        "InboundPassthroughClusterIpv4",
        "InboundPassthroughClusterIpv6",
    ] {
        by_name(cluster, Err("passthrough"));
    }
}

#[test]
fn a_cluster_of_envoy_gateway_is_a_route_until_a_rule_says_more() {
    let name = "httproute/shop/web/rule/0";
    by_name(name, Err("route"));
    by_name("grpcroute/shop/web/rule/2", Err("route"));
    let rule = MappingRule::new("httproute/{namespace}/{service}/rule/*", None).unwrap();
    let found = of(&Upstreams::new(vec![rule], "cluster.local"), name, &Hints::default());
    assert_eq!(found, Ok("shop/web".into()));
}

#[test]
fn any_other_name_is_unmapped() {
    for cluster in [
        "web",
        "",
        "outbound|",
        "outbound|80",
        "outbound|80|v1|",
        "inbound",
        "a/b",
        "some|80||thing",
    ] {
        by_name(cluster, Err("unmapped"));
    }
    assert_eq!(plain().resolve(b"\xff", &()), Err(Unmapped::Unknown));
}

#[test]
fn metadata_comes_before_the_name_and_rules_before_both() {
    let known = Hints::default().service("alias.example.org", "real", "shop");
    let cluster = "outbound|80||alias.other.svc.cluster.local";
    assert_eq!(of(&plain(), cluster, &known), Ok("shop/real".into()));
    let rule = MappingRule::new("outbound|80||alias*", ObjectName::parse("rules/first").ok()).unwrap();
    let ruled = Upstreams::new(vec![rule], "cluster.local");
    assert_eq!(of(&ruled, cluster, &known), Ok("rules/first".into()));
}

#[test]
fn metadata_that_is_not_a_valid_name_is_ignored() {
    let known = Hints::default().service("h", "line\nbreak", "shop");
    assert_eq!(of(&plain(), "outbound|80||h", &known), Err("external"));
}

proptest! {
    #[test]
    fn arbitrary_names_and_hints_do_not_panic(cluster in ".{0,60}", host in ".{0,40}", name in ".{0,10}") {
        let known = Hints::default().service(&host, &name, &name);
        for cluster in [cluster.as_str(), &format!("outbound|80||{host}"), &format!("inbound|{cluster}")] {
            let _ = plain().resolve(cluster.as_bytes(), &known);
        }
        let _ = owner::workload(&host);
        let _ = owner::workload(&format!("kubernetes://apis/{host}/namespaces/{name}"));
    }
}
