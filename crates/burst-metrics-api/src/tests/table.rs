//! Tests of the `Table` format, which kubectl prints.

use super::*;

#[test]
fn a_table_has_a_row_for_each_value_and_a_cell_for_each_column() {
    let server = TestServer::synced();
    let accept = b"application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
    let table = |path: &str| {
        let (status, body) = server.status_and_body(TestRequest { accept, ..get(path) });
        assert_eq!(status, 200, "{body}");
        let table: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(
            (&table["kind"], &table["apiVersion"]),
            (&"Table".into(), &"meta.k8s.io/v1".into())
        );
        let columns = table["columnDefinitions"].as_array().unwrap();
        let columns: Vec<_> = columns
            .iter()
            .map(|column| column["name"].as_str().unwrap().to_owned())
            .collect();
        let rows = table["rows"].as_array().unwrap().clone();
        let has_all_cells = |row: &Value| row["cells"].as_array().unwrap().len() == columns.len();
        assert!(rows.iter().all(has_all_cells), "{body}");
        (columns, rows)
    };
    let (columns, rows) = table(&format!("{EXTERNAL}/burst_headroom?labelSelector=hpa%3Dapi&limit=500"));
    assert_eq!(columns, ["Name", "Value", "Labels", "Age"]);
    assert_eq!(
        rows,
        [serde_json::json!({
            "cells": ["api", "2", "cluster=east,deployment=api,hpa=api,namespace=shop", "5s"],
            "object": {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
                "metadata": {"name": "api", "namespace": "shop", "creationTimestamp": null}},
        })]
    );
    let (columns, rows) = table(&format!("{CUSTOM}/services/*/burst_headroom"));
    assert_eq!(columns, ["Name", "Value", "Age"]);
    assert_eq!(rows[1]["cells"], serde_json::json!(["web", "4", "5s"]));
    let (_, rows) = table(&format!("{CUSTOM}/metrics/burst_headroom"));
    assert_eq!(rows[0]["object"]["metadata"]["namespace"], Value::Null);
}
