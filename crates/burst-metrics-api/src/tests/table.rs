//! Tables, for kubectl.

use super::*;

#[test]
fn tables_have_a_row_for_each_value() {
    let world = World::known();
    let accept = b"application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
    let table = |path: &str| {
        let (status, body) = world.ask(MetricsRequest { accept, ..get(path) });
        assert_eq!(status, 200, "{body}");
        let table: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(
            (&table["kind"], &table["apiVersion"]),
            (&"Table".into(), &"meta.k8s.io/v1".into())
        );
        let columns = table["columnDefinitions"].as_array().unwrap().len();
        let rows = table["rows"].as_array().unwrap().clone();
        assert!(
            rows.iter().all(|row| row["cells"].as_array().unwrap().len() == columns),
            "{body}"
        );
        rows
    };
    let rows = table(&format!("{EXTERNAL}/burst_headroom?labelSelector=hpa%3Dapi&limit=500"));
    assert_eq!(
        rows,
        [serde_json::json!({
            "cells": ["api", "2", "cluster=east,deployment=api,hpa=api,namespace=shop", "5s"],
            "object": {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
                "metadata": {"name": "api", "namespace": "shop", "creationTimestamp": null}},
        })]
    );
    let rows = table(&format!("{CUSTOM}/services/*/burst_headroom"));
    assert_eq!(rows[1]["cells"], serde_json::json!(["web", "4", "5s"]));
    let rows = table(&format!("{CUSTOM}/metrics/burst_headroom"));
    assert_eq!(rows[0]["object"]["metadata"]["namespace"], Value::Null);
}
