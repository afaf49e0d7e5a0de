//! Draws docs/dashboard.svg from what the queries of the Grafana dashboard returned, which
//! `BURST_RECORD=1 cargo test --test monitoring dashboard` saves.

use std::collections::BTreeMap;

use anyhow::{Context as _, anyhow};
use cargo_metadata::camino::Utf8Path;
use plotters::coord::Shift;
use plotters::prelude::*;
use serde::Deserialize;

const COLUMNS: usize = 2;
/// The size of the picture, and of a row of panels.
const WIDTH: u32 = 960;
const HEIGHT: u32 = 210;

/// The service that the picture shows, as if it were chosen in the dashboard.
const SERVICE: &str = "ngsa-svc-1";

/// What a query of a panel returned.
#[derive(Deserialize)]
struct Recorded {
    panel: String,
    /// The type of the panel in Grafana. Only time series are drawn.
    kind: String,
    legend: String,
    series: Vec<Series>,
}

/// A series, as Prometheus writes it: each value is a Unix time and a number as text.
#[derive(Deserialize)]
struct Series {
    metric: BTreeMap<String, String>,
    values: Vec<(f64, String)>,
}

/// A line of a panel.
struct Line {
    name: String,
    points: Vec<(f64, f64)>,
}

/// Draws the picture.
pub(crate) fn draw(recorded: &Utf8Path, file: &Utf8Path) -> anyhow::Result<()> {
    let json = std::fs::read(recorded)
        .with_context(|| format!("{recorded}: run `BURST_RECORD=1 cargo test --test monitoring dashboard`"))?;
    let recorded: Vec<Recorded> = serde_json::from_slice(&json).with_context(|| recorded.to_string())?;
    let panels = panels(&recorded);
    let rows = panels.len().div_ceil(COLUMNS);
    let size = (WIDTH, HEIGHT * u32::try_from(rows)?);
    let area = SVGBackend::new(file, size).into_drawing_area();
    let failed = |error: String| anyhow!("{file}: {error}");
    area.fill(&WHITE).map_err(|error| failed(error.to_string()))?;
    for ((title, lines), part) in panels.iter().zip(area.split_evenly((rows, COLUMNS))) {
        draw_panel(title, lines, &part).map_err(|error| failed(format!("{title}: {error}")))?;
    }
    area.present().map_err(|error| failed(error.to_string()))
}

/// The panels that have lines with another value than 0, in the order of the dashboard. The time begins at 0.
fn panels(recorded: &[Recorded]) -> Vec<(&str, Vec<Line>)> {
    let times = recorded
        .iter()
        .flat_map(|query| &query.series)
        .flat_map(|series| &series.values);
    let begin = times.map(|(time, _)| *time).fold(f64::INFINITY, f64::min);
    let mut panels: Vec<(&str, Vec<Line>)> = Vec::new();
    for query in recorded.iter().filter(|query| query.kind == "timeseries") {
        let shown = query.series.iter().filter(|series| is_shown(&series.metric));
        let lines = shown.map(|series| Line {
            name: name(&query.legend, &series.metric),
            points: series
                .values
                .iter()
                .filter_map(|(time, value)| Some((time - begin, value.parse().ok()?)))
                .collect(),
        });
        match panels.iter_mut().find(|(title, _)| *title == query.panel) {
            Some((_, known)) => known.extend(lines),
            None => panels.push((&query.panel, lines.collect())),
        }
    }
    // A healthy proxy has many counters of failures that stay at 0.
    for (_, lines) in &mut panels {
        lines.retain(|line| line.points.iter().any(|(_, value)| *value != 0.0));
    }
    panels.retain(|(_, lines)| !lines.is_empty());
    panels
}

fn is_shown(labels: &BTreeMap<String, String>) -> bool {
    labels.get("service").is_none_or(|service| service == SERVICE)
}

/// The legend of a series: the values of its labels in place of their names. The proxy has an address that means nothing here.
fn name(legend: &str, labels: &BTreeMap<String, String>) -> String {
    let labels = labels.iter().filter(|(label, _)| *label != "instance");
    let name = labels.fold(legend.replace("{{instance}}", "proxy"), |name, (label, value)| {
        name.replace(&format!("{{{{{label}}}}}"), value)
    });
    name.replace("{{plugin}}", "")
}

fn draw_panel(
    title: &str,
    lines: &[Line],
    area: &DrawingArea<SVGBackend<'_>, Shift>,
) -> Result<(), Box<dyn std::error::Error>> {
    let points = || lines.iter().flat_map(|line| &line.points);
    let end = points().map(|(time, _)| *time).fold(1.0, f64::max);
    let top = points().map(|(_, value)| *value).fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 14))
        .margin(8)
        .margin_right(24)
        .x_label_area_size(22)
        .y_label_area_size(38)
        .build_cartesian_2d(0.0..end, 0.0..top * 1.6)?;
    chart
        .configure_mesh()
        .x_label_formatter(&|time| format!("{time} s"))
        .y_labels(5)
        .max_light_lines(0)
        .draw()?;
    for (index, line) in lines.iter().enumerate() {
        let style = Palette99::pick(index).stroke_width(2);
        chart
            .draw_series(LineSeries::new(line.points.iter().copied(), style))?
            .label(&line.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 12, y)], style));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .label_font(("sans-serif", 10))
        .background_style(WHITE.mix(0.8))
        .draw()?;
    Ok(())
}
