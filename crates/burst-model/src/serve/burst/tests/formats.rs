//! Answers in a format other than the default one.

use super::super::super::cache::tests::table;
use super::*;
use crate::index::Table;
use crate::snapshot;

const GTM: &str = "format=gtm&domain=example.akadns.net&datacenter=east";

fn take(cache: &mut ServingCache, config: &Config, table: &Table, generation: u64, read: Time) {
    cache.take(snapshot::write(table, generation)).unwrap();
    let lists = vec![Some(read)];
    cache.refresh(config, Some(&Confirmed { generation, lists }), read);
}

fn ask(config: &Config, cache: &mut ServingCache, path: &str, tag: Option<&str>) -> LocalReply {
    let request = BurstRequest {
        if_none_match: tag.map(str::as_bytes),
        ..get(path)
    };
    reply(config, cache, request).unwrap()
}

fn body(answer: &LocalReply) -> &str {
    std::str::from_utf8(&answer.body).unwrap()
}

#[test]
fn each_format_has_its_type_and_its_numbers() {
    let config = config("");
    let mut cache = serving_cache(&config);
    for (path, content_type, part) in [
        (
            "services?format=json",
            "application/json; charset=utf-8",
            "\"shop/web\": {\"service\": \"shop/web-1\", \"current\": 1, ",
        ),
        (
            "services/shop/web?format=json",
            "application/json; charset=utf-8",
            "{\"service\": \"shop/web-1\", \"current\": 1, ",
        ),
        (
            "services?format=prometheus",
            "text/plain; version=0.0.4; charset=utf-8",
            "\nburst_headroom{namespace=\"shop\",service=\"web\"} 4\n",
        ),
        (
            "services/shop/web?format=prometheus",
            "text/plain; version=0.0.4; charset=utf-8",
            "\nburst_headroom{namespace=\"shop\",service=\"web\"} 4\n",
        ),
        (
            "services?format=gtm&domain=a.b&datacenter=east",
            "application/xml; charset=utf-8",
            "<capacity>5</capacity>",
        ),
        (
            "services/shop/web?format=gtm&domain=a.b&datacenterId=1&resource=web",
            "application/xml; charset=utf-8",
            "<resource name=\"web\">",
        ),
        ("services/shop/web?format=weight", "text/plain; charset=utf-8", "80"),
    ] {
        let answer = ask(&config, &mut cache, &format!("/burstmetrics/{path}"), None);
        assert_eq!(
            (answer.status, header(&answer, "content-type")),
            (200, Some(content_type)),
            "{path}"
        );
        assert!(body(&answer).contains(part), "{path}: {}", body(&answer));
        let confirmed = header(&answer, confirmation::CONFIRMED_HEADER);
        assert!(confirmed.is_some(), "{path}");
    }
}

#[test]
fn the_default_has_the_same_bytes_and_tag_beside_other_formats() {
    let config = config("");
    let mut cache = serving_cache(&config);
    let before = ask(&config, &mut cache, "/burstmetrics/services", None);
    ask(&config, &mut cache, "/burstmetrics/services?format=json", None);
    assert_eq!(ask(&config, &mut cache, "/burstmetrics/services", None), before);
    assert_eq!(
        *before.body,
        *format!("{{\n    \"shop/web\": \"{VALUE}\"\n}}\n").as_bytes()
    );
}

#[test]
fn an_unknown_format_is_a_400_with_the_list_of_formats() {
    let (status, body) = plain(get("/burstmetrics/services?format=yaml"));
    assert_eq!(status, 400);
    assert!(
        body.contains("\"yaml\", and must be one of gtm, json, prometheus, weight"),
        "{body}"
    );
    assert!(body.ends_with('\n'));
}

#[test]
fn a_tag_belongs_to_one_format_and_lasts_as_long_as_the_rows() {
    let config = config("");
    let mut cache = serving_cache(&config);
    let later = T0.after(Duration::from_secs(1));
    for (format, survives_a_read) in [("format=json", true), ("format=prometheus", true), (GTM, false)] {
        take(&mut cache, &config, &table(1), 1, T0);
        let path = format!("/burstmetrics/services?{format}");
        let first = ask(&config, &mut cache, &path, None);
        let tag = header(&first, "etag").unwrap();
        let unchanged = ask(&config, &mut cache, &path, Some(tag));
        assert_eq!(
            (unchanged.status, header(&unchanged, "etag")),
            (304, Some(tag)),
            "{path}"
        );
        assert_eq!(
            ask(&config, &mut cache, "/burstmetrics/services", Some(tag)).status,
            200
        );
        assert_eq!(
            ask(&config, &mut cache, "/burstmetrics/hpas?format=json", Some(tag)).status,
            200
        );
        take(&mut cache, &config, &table(1), 2, later);
        let status = if survives_a_read { 304 } else { 200 };
        assert_eq!(ask(&config, &mut cache, &path, Some(tag)).status, status, "{path}");
        take(&mut cache, &config, &table(2), 3, later);
        assert_eq!(ask(&config, &mut cache, &path, Some(tag)).status, 200, "{path}");
    }
}

#[test]
fn a_body_shows_the_last_read_even_if_no_row_changed() {
    let config = config("");
    let mut cache = serving_cache(&config);
    let mut as_of = |seconds| {
        let read = T0.after(Duration::from_secs(seconds));
        cache.refresh(&config, Some(&confirmed(read)), read);
        let answer = ask(&config, &mut cache, "/burstmetrics/services?format=json", None);
        let json: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        json["shop/web"]["asOf"].as_u64()
    };
    assert_eq!([0, 7].map(&mut as_of), [Some(1_700_000_000), Some(1_700_000_007)]);
}

#[test]
fn no_rows_are_a_document_and_no_object_is_no_content() {
    for (path, status) in [
        ("hpas?format=json", 200),
        ("hpas?format=prometheus", 200),
        ("deployments?format=json", 200),
        ("hpas?format=gtm&domain=a.b&datacenter=east", 200),
        ("hpas", 204),
        ("services/shop/none?format=json", 204),
        ("services/shop/none?format=weight", 204),
        ("pods?format=json", 404),
    ] {
        assert_eq!(plain(get(&format!("/burstmetrics/{path}"))).0, status, "{path}");
    }
}

#[test]
fn a_stale_or_unreadable_snapshot_is_a_503_in_every_format() {
    let config = config("");
    let mut cache = serving_cache(&config);
    cache.refresh(&config, Some(&confirmed(T0)), T0.after(Duration::from_secs(61)));
    for format in ["format=json", "format=prometheus", GTM] {
        let stale = ask(&config, &mut cache, &format!("/burstmetrics/services?{format}"), None);
        assert_eq!(stale.status, 503, "{format}");
        assert!(body(&stale).starts_with("too stale"), "{}", body(&stale));
    }
    let weight = "/burstmetrics/services/shop/web?format=weight";
    assert_eq!(ask(&config, &mut cache, weight, None).status, 503);
    let lists = vec![Some(T0), Some(T0), Some(T0), None];
    cache.refresh(&config, Some(&Confirmed { generation: 1, lists }), T0);
    let statefulsets = "/burstmetrics/statefulsets?format=prometheus";
    assert_eq!(ask(&config, &mut cache, statefulsets, None).status, 503);
}

#[test]
fn a_request_for_a_format_waits_for_other_rows_and_not_for_another_read() {
    let config = config("");
    let mut cache = serving_cache(&config);
    let path = "/burstmetrics/services?format=json&wait=10s";
    let tag = header(&ask(&config, &mut cache, path, None), "etag")
        .unwrap()
        .to_owned();
    let request = BurstRequest {
        if_none_match: Some(tag.as_bytes()),
        ..get(path)
    };
    let endpoints = config.endpoints.as_ref().unwrap();
    let Some(BurstReply::Waiting(waiting)) = answer(&config, endpoints, &mut cache, request) else {
        panic!("it is answered at once");
    };
    let later = get("").now.after(Duration::from_secs(1));
    take(&mut cache, &config, &table(1), 2, later);
    assert_eq!(waiting.answer(&config, &mut cache, later), None);
    take(&mut cache, &config, &table(2), 3, later);
    let answer = waiting.answer(&config, &mut cache, later).unwrap();
    assert_eq!((answer.status, header(&answer, "content-type")), (200, Some(JSON)));
    assert!(body(&answer).contains("\"current\": 2"), "{}", body(&answer));
}

#[test]
fn a_tag_follows_only_the_signals_that_its_format_shows() {
    let config = config(r#","header":{"extra_keys":["demand"]},"endpoints":{"extra_fields":["ready"]}"#);
    let mut cache = serving_cache(&config);
    let with = |ready, demand| {
        let mut table = table(1);
        let row = &mut table.get_mut("services").unwrap()[0];
        (row.signals.ready, row.signals.demand) = (Some(ready), Some(demand));
        table
    };
    for (format, follows_ready) in [
        ("format=json", true),
        ("format=prometheus", true),
        (GTM, false),
        ("format=none", false),
    ] {
        let path = match format {
            "format=none" => "/burstmetrics/services".to_owned(),
            format => format!("/burstmetrics/services?{format}"),
        };
        take(&mut cache, &config, &with(1, 1), 1, T0);
        let first = ask(&config, &mut cache, &path, None);
        let tag = header(&first, "etag").unwrap();
        assert_eq!(body(&first).contains("ready"), follows_ready, "{}", body(&first));
        assert!(!body(&first).contains("demand"), "{}", body(&first));
        take(&mut cache, &config, &with(1, 2), 2, T0);
        assert_eq!(ask(&config, &mut cache, &path, Some(tag)).status, 304, "{path}");
        take(&mut cache, &config, &with(2, 2), 3, T0);
        let status = if follows_ready { 200 } else { 304 };
        assert_eq!(ask(&config, &mut cache, &path, Some(tag)).status, status, "{path}");
    }
}
