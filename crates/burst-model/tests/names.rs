//! Checks the table of cluster names in istio/README.md.

use burst_model::upstream::{Unmapped, UpstreamTarget, Upstreams};

const README: &str = include_str!("../../../istio/README.md");

/// A row: the name of a cluster, and its last cell: a Service, or the reason from the name of a counter.
fn row(line: &'static str) -> Option<(String, Result<&'static str, &'static str>)> {
    let cells: Vec<_> = line.strip_prefix('|')?.split(" | ").collect();
    let &[clusters, _, stands_for] = cells.as_slice() else {
        return None;
    };
    let cluster = quoted(clusters).next()?.replace("\\|", "|");
    let reason = |said: &'static str| said.strip_prefix("burst_header_absent_")?.strip_suffix("_total");
    let service = quoted(stands_for).find(|said| said.contains('/')).map(Ok);
    Some((cluster, quoted(stands_for).find_map(reason).map(Err).or(service)?))
}

/// The text between each pair of backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn every_row_of_the_table_is_true() {
    let (_, section) = README.split_once("\n## Which service\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows: Vec<_> = section.lines().filter_map(row).collect();
    assert_eq!(rows.len(), 11, "{rows:?}");
    let upstreams = Upstreams::new(vec![], "cluster.local");
    for (cluster, expected) in rows {
        let found = upstreams.resolve(cluster.as_bytes(), &()).map_err(Unmapped::as_str);
        let found = found.map(|services| match services.as_slice() {
            [UpstreamTarget::Service(service)] => service.to_string(),
            other => panic!("{cluster}: {other:?}"),
        });
        assert_eq!(found, expected.map(str::to_owned), "{cluster}");
    }
}
