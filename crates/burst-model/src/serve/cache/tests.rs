use super::*;
use crate::config::Artifact;
use crate::index::{Row, Table};
use crate::load::Load;
use crate::name::ObjectName;
use crate::signals::Signals;
use crate::snapshot;
use crate::upstream::IstioService;

pub(crate) const T0: Time = Time::from_unix_millis(1_700_000_000_000);

pub(crate) fn config(more: &str) -> Config {
    let json = format!(r#"{{"cluster":"k","clusters":[{{"name":"{{service}}.{{namespace}}"}}]{more}}}"#);
    Config::parse(json.as_bytes(), Artifact::Full).unwrap()
}

pub(crate) fn table(current: u32) -> Table {
    let name = |text| ObjectName::parse(text).unwrap();
    let load = Load {
        current,
        target: 4,
        max: 5,
    };
    let row = Row {
        name: name("shop/web"),
        label: name("shop/web-1"),
        load,
        signals: Signals::default(),
        labels: Box::default(),
    };
    Table::from([("hpas".into(), vec![]), ("services".into(), vec![row])])
}

/// A cache read at `T0`.
pub(crate) fn serving_cache(config: &Config) -> ServingCache {
    let mut cache = ServingCache::default();
    cache.take(snapshot::write(&table(1), 1)).unwrap();
    cache.refresh(config, Some(&confirmed(T0)), T0);
    cache
}

pub(crate) fn confirmed(at: Time) -> Confirmed {
    Confirmed {
        generation: 1,
        lists: vec![Some(at)],
    }
}

fn header(cache: &mut ServingCache, config: &Config, cluster: &str) -> Result<String, Absence> {
    cache
        .header(config, cluster.as_bytes(), &())
        .map(|value| value.to_string())
}

const VALUE: &str = "service=shop/web-1, current-load=1, target-load=4, max-load=5";

#[test]
fn a_mapped_service_has_its_header_and_the_others_a_reason() {
    let config = config("");
    let mut cache = serving_cache(&config);
    assert_eq!(header(&mut cache, &config, "web.shop").as_deref(), Ok(VALUE));
    assert_eq!(header(&mut cache, &config, "other.shop"), Err(Absence::NoEntry));
    assert_eq!(
        header(&mut cache, &config, "PassthroughCluster"),
        Err(Absence::Unmapped(Unmapped::Passthrough))
    );
    assert_eq!(
        header(&mut ServingCache::default(), &config, "web.shop"),
        Err(Absence::Unsynced)
    );
    assert_eq!(
        cache.header(&config, b"\xff\xfe", &()),
        Err(Absence::Unmapped(Unmapped::Unknown))
    );
}

struct Pod;

impl UpstreamHints for Pod {
    fn service(&self, index: usize) -> Option<IstioService> {
        let name = ["unscaled", "web"].get(index)?;
        Some(IstioService {
            host: format!("{name}.shop.svc.cluster.local"),
            name: (*name).into(),
            namespace: "shop".into(),
        })
    }

    fn owner(&self) -> Option<String> {
        None
    }

    fn backend(&self) -> Option<ObjectName> {
        None
    }
}

#[test]
fn a_service_that_may_be_in_an_unread_list_is_unsynced() {
    let config = config(r#","namespaces":["shop","data"]"#);
    let mut cache = serving_cache(&config);
    let mut lists = vec![Some(T0); config.content.sources.len()];
    let refused = config
        .content
        .sources
        .iter()
        .position(|source| source.to_string() == "deployments.apps in namespace data");
    lists[refused.unwrap()] = None;
    let confirmed = Confirmed { generation: 1, lists };
    assert_eq!(header(&mut cache, &config, "other.data"), Err(Absence::NoEntry));
    cache.refresh(&config, Some(&confirmed), T0);
    assert_eq!(header(&mut cache, &config, "other.data"), Err(Absence::Unsynced));
    assert_eq!(header(&mut cache, &config, "other.shop"), Err(Absence::NoEntry));
    assert_eq!(header(&mut cache, &config, "web.shop").as_deref(), Ok(VALUE));
    let refused = |section, namespace| cache.unread_list(&config, section, namespace).is_some();
    assert!(refused("services", None) && refused("deployments", Some("data")));
    assert!(!refused("hpas", Some("data")) && !refused("statefulsets", None) && !refused("deployments", Some("shop")));
}

#[test]
fn of_several_candidates_the_first_with_a_load_counts() {
    let config = config("");
    let header = serving_cache(&config).header(&config, b"inbound|8080||", &Pod);
    assert_eq!(header.as_deref(), Ok(VALUE));
    let workloads = Table::from([("deployments".into(), table(2).remove("services").unwrap())]);
    let mut cache = ServingCache::default();
    cache.take(snapshot::write(&workloads, 1)).unwrap();
    cache.refresh(&config, Some(&confirmed(T0)), T0);
    let header = cache.header(&config, b"inbound|8080||", &Owned);
    assert_eq!(
        header.as_deref(),
        Ok(VALUE.replace("current-load=1", "current-load=2").as_str())
    );
}

/// A pod that no Service selects.
struct Owned;

impl UpstreamHints for Owned {
    fn service(&self, _place: usize) -> Option<IstioService> {
        None
    }

    fn owner(&self) -> Option<String> {
        Some("kubernetes://apis/apps/v1/namespaces/shop/deployments/web".into())
    }

    fn backend(&self) -> Option<ObjectName> {
        None
    }
}

#[test]
fn a_new_snapshot_replaces_cached_headers() {
    let config = config("");
    let mut cache = serving_cache(&config);
    header(&mut cache, &config, "web.shop").unwrap();
    cache.take(snapshot::write(&table(3), 2)).unwrap();
    assert!(
        header(&mut cache, &config, "web.shop")
            .unwrap()
            .contains("current-load=3")
    );
}

#[test]
fn a_stale_snapshot_is_dropped_marked_or_kept_to_the_millisecond() {
    let limit = T0.after(Duration::from_secs(60));
    let late = limit.after(Duration::from_millis(1));
    let marked = format!("{VALUE}, stale=true");
    for (how, expected) in [
        ("drop", Err(Absence::Stale)),
        ("mark", Ok(marked.as_str())),
        ("keep", Ok(VALUE)),
    ] {
        let config = config(&format!(r#","on_stale":"{how}""#));
        let mut cache = serving_cache(&config);
        cache.refresh(&config, Some(&confirmed(T0)), limit);
        assert_eq!(
            header(&mut cache, &config, "web.shop").as_deref(),
            Ok(VALUE),
            "{how}: just in time"
        );
        cache.refresh(&config, Some(&confirmed(T0)), late);
        let found = header(&mut cache, &config, "web.shop");
        assert_eq!(found.as_deref(), expected.as_ref().copied(), "{how}: too late");
        cache.refresh(&config, Some(&confirmed(late)), late);
        assert_eq!(
            header(&mut cache, &config, "web.shop").as_deref(),
            Ok(VALUE),
            "{how}: read again"
        );
    }
}

#[test]
fn the_numbers_behind_a_header_disappear_when_the_snapshot_is_stale() {
    for on_stale in ["drop", "mark", "keep"] {
        let config = config(&format!(r#","max_staleness":"60s","on_stale":"{on_stale}""#));
        let mut cache = serving_cache(&config);
        let numbers = |cache: &mut ServingCache, cluster: &[u8]| cache.upstream(&config, cluster, &()).numbers;
        let load = Load {
            current: 1,
            target: 4,
            max: 5,
        };
        assert_eq!(numbers(&mut cache, b"web.shop").map(|numbers| numbers.load), Some(load));
        assert_eq!(numbers(&mut cache, b"other.shop"), None);
        assert_eq!(numbers(&mut cache, b"PassthroughCluster"), None);
        cache.refresh(&config, Some(&confirmed(T0)), T0.after(Duration::from_secs(61)));
        assert_eq!(numbers(&mut cache, b"web.shop"), None, "{on_stale}");
        cache.refresh(
            &config,
            Some(&confirmed(T0.after(Duration::from_secs(61)))),
            T0.after(Duration::from_secs(61)),
        );
        assert_eq!(numbers(&mut cache, b"web.shop").map(|numbers| numbers.load), Some(load));
    }
}

#[test]
fn the_time_of_the_read_follows_every_confirmation() {
    let config = config(r#","header":{"extra_keys":["as-of"]}"#);
    let mut cache = serving_cache(&config);
    assert_eq!(
        header(&mut cache, &config, "web.shop").unwrap(),
        format!("{VALUE}, as-of=1700000000")
    );
    let later = T0.after(Duration::from_secs(5));
    cache.refresh(&config, Some(&confirmed(later)), later);
    assert_eq!(
        header(&mut cache, &config, "web.shop").unwrap(),
        format!("{VALUE}, as-of=1700000005")
    );
}

#[test]
fn the_age_grows_by_whole_seconds_until_the_next_read() {
    let config = config(r#","on_stale":"keep","header":{"extra_keys":["headroom","age"]}"#);
    let mut cache = serving_cache(&config);
    let mut age = |read: Time, millis| {
        cache.refresh(&config, Some(&confirmed(read)), T0.after(Duration::from_millis(millis)));
        let header = header(&mut cache, &config, "web.shop").unwrap();
        header
            .strip_prefix(&format!("{VALUE}, headroom=4, age="))
            .map(str::to_owned)
    };
    for (millis, expected) in [(0, "0"), (999, "0"), (1_000, "1"), (61_500, "61")] {
        assert_eq!(age(T0, millis).as_deref(), Some(expected), "after {millis} ms");
    }
    let later = T0.after(Duration::from_secs(62));
    assert_eq!(age(later, 62_000).as_deref(), Some("0"), "read again");
    assert_eq!(age(later, 61_000).as_deref(), Some("0"), "the clock was set back");
}

#[test]
fn a_constant_needs_no_cluster_to_be_read() {
    let config = config(r#","header":{"value":"service=x, current-load=1, target-load=2, max-load=3"}"#);
    let found = header(&mut ServingCache::default(), &config, "web.shop").unwrap();
    assert_eq!(found, "service=x, current-load=1, target-load=2, max-load=3");
    assert_eq!(
        header(&mut ServingCache::default(), &config, "nothing"),
        Err(Absence::Unmapped(Unmapped::Unknown))
    );
}

#[test]
fn damaged_bytes_keep_the_older_snapshot() {
    let config = config("");
    let mut cache = serving_cache(&config);
    let mut bytes = snapshot::write(&table(3), 2);
    bytes.pop();
    assert!(cache.take(bytes).is_err());
    assert_eq!(header(&mut cache, &config, "web.shop").as_deref(), Ok(VALUE));
}

/// An endpoint of that Service, in a cluster of several.
struct Endpoint(Option<&'static str>);

impl UpstreamHints for Endpoint {
    fn service(&self, _place: usize) -> Option<IstioService> {
        None
    }

    fn owner(&self) -> Option<String> {
        None
    }

    fn backend(&self) -> Option<ObjectName> {
        ObjectName::parse(self.0?).ok()
    }
}

#[test]
fn in_a_cluster_of_several_services_the_endpoint_determines_the_service() {
    let config = config("");
    let mut cache = serving_cache(&config);
    let cluster = b"httproute/shop/web/rule/0";
    let route = Err(Absence::Unmapped(Unmapped::Route));
    for (service, expected) in [
        (Some("shop/web"), Ok(VALUE)),
        (Some("shop/unscaled"), Err(Absence::NoEntry)),
        (None, route),
        (Some("shop/web"), Ok(VALUE)),
    ] {
        let header = cache.header(&config, cluster, &Endpoint(service));
        assert_eq!(header.as_deref(), expected.as_ref().copied(), "{service:?}");
    }
    let header = cache.header(&config, b"somewhere", &Endpoint(Some("shop/web")));
    assert_eq!(
        header,
        Err(Absence::Unmapped(Unmapped::Unknown)),
        "only where the cluster has several"
    );
}

#[test]
fn a_load_report_has_the_rate_of_its_service_as_long_as_it_is_known() {
    use crate::config::OrcaFormat;
    use crate::request_rates::{RateSums, Rates, ServiceRate};
    let config = config(r#","orca":{},"requests":{}"#);
    let mut cache = serving_cache(&config);
    let rate = |requests_milli| {
        let rate = ServiceRate {
            requests_milli,
            ..ServiceRate::default()
        };
        Rates::Known(RateSums {
            as_of: T0,
            window: Duration::from_secs(30),
            services: [("shop/web".to_owned(), rate)].into(),
            addresses: None,
        })
    };
    for (rates, rate) in [
        (rate(2_500), ",rps_fractional=2.5,"),
        (rate(3_000), ",rps_fractional=3,"),
        (Rates::Unknown, ","),
    ] {
        cache.take_rates(&rates);
        let upstream = cache.upstream(&config, b"web.shop", &());
        let text = upstream.orca.as_ref().unwrap().render(OrcaFormat::Text);
        let begin = format!("TEXT application_utilization=0.2{rate}named_metrics.");
        assert!(text.starts_with(&begin), "{text}");
    }
    cache.refresh(&config, Some(&confirmed(T0)), T0.after(Duration::from_secs(61)));
    assert!(
        cache.upstream(&config, b"web.shop", &()).orca.is_none(),
        "the snapshot is stale"
    );
}

/// A cache whose Service wants twice its maximum. It is not refreshed yet.
fn full_service() -> ServingCache {
    let mut cache = ServingCache::default();
    let mut full = table(5);
    for row in full.values_mut().flatten() {
        row.signals.demand = Some(10);
    }
    cache.take(snapshot::write(&full, 1)).unwrap();
    cache
}

#[test]
fn requests_overflow_only_to_fresh_peers_with_headroom() {
    use crate::peers::tests::{self as peers, Known};
    let config = peers::config(
        &["west"],
        r#","clusters":[{"name":"{service}.{namespace}"}],"overflow":{"ramp":"10s"}"#,
    );
    for (west, overflows) in [
        (Known::Unread, false),
        (Known::Stale(&[("shop/web", 1, 5)]), false),
        (Known::Fresh(&[("shop/web", 5, 5)]), false),
        (Known::Fresh(&[("shop/other", 1, 5)]), false),
        (Known::Fresh(&[("shop/web", 1, 5)]), true),
    ] {
        let mut cache = full_service();
        let case = format!("{west:?}");
        *cache.peers_mut() = peers::peers(&[("west", west)]);
        let mut overflow = |seconds| {
            let now = T0.after(Duration::from_secs(seconds));
            cache.refresh(&config, Some(&confirmed(T0)), now);
            cache.upstream(&config, b"web.shop", &()).overflow
        };
        assert_eq!(overflow(0), Share::NONE, "the first look");
        assert_eq!(overflow(2) > Share::NONE, overflows, "{case}");
    }
}

#[test]
fn requests_overflow_by_fresh_numbers_only_and_the_share_grows_once_a_second() {
    let config = config(r#","overflow":{"ramp":"10s"}"#);
    let mut cache = full_service();
    let mut overflow = |read: Time, now: Time| {
        cache.refresh(&config, Some(&confirmed(read)), now);
        cache.upstream(&config, b"web.shop", &()).overflow
    };
    let at = |millis| T0.after(Duration::from_millis(millis));
    assert_eq!(overflow(T0, T0), Share::NONE, "the first look");
    let first = overflow(T0, at(1_000));
    assert!(first > Share::NONE);
    assert_eq!(overflow(T0, at(1_900)), first);
    assert!(overflow(T0, at(2_000)) > first);
    assert_eq!(overflow(T0, at(70_000)), Share::NONE, "stale");
    assert_eq!(overflow(at(71_000), at(71_000)), Share::NONE, "it starts anew");
    assert!(overflow(at(71_000), at(72_000)) > Share::NONE);
}
