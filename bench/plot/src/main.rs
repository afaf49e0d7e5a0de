//! Draws the chart of `docs/performance.md` from the results of the benchmark `sync`; with the argument `dashboard`, the picture
//! of `monitoring/README.md` instead.

mod dashboard;

use std::{env, fs};

use anyhow::{Context as _, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use serde::Deserialize;

const SIZE: (u32, u32) = (960, 420);

/// The numbers of Services on the horizontal axis, and its ends.
const SIZES: [u32; 3] = [100, 1_000, 10_000];
const ACROSS: std::ops::Range<f64> = 80.0..12_500.0;

/// A row of the benchmark: its name, and a time or a number.
#[derive(Deserialize)]
struct Row {
    label: String,
    median_ns: Option<f64>,
    median: Option<f64>,
}

/// Rows of one kind over the number of Services.
struct Chart {
    title: &'static str,
    range: std::ops::Range<f64>,
    /// From a row's unit to the chart's.
    unit: f64,
    /// The label of each line, and the name of its rows.
    lines: &'static [(&'static str, &'static str)],
}

const CHARTS: [Chart; 2] = [
    Chart {
        title: "milliseconds of CPU",
        range: 0.1..100_000.0,
        unit: 1e-6,
        lines: &[
            (
                "lists every 5 s: a minute at 1 %",
                "lists every 5 s: 1 % of the HPAs every 15 s: CPU a minute",
            ),
            ("streams: until the first header", "streams: CPU until then"),
            (
                "streams: a minute at 1 %",
                "streams: 1 % of the HPAs every 15 s: CPU a minute",
            ),
            (
                "windows: a minute at 1 %",
                "windows: 1 % of the HPAs every 15 s: CPU a minute",
            ),
            (
                "streams: longest, main thread",
                "streams: 1 % of the HPAs every 15 s: longest of main",
            ),
        ],
    },
    Chart {
        title: "kilobytes a minute from the API server",
        range: 1.0..10_000_000.0,
        unit: 1e-3,
        lines: &[
            (
                "lists every 5 s",
                "lists every 5 s: 1 % of the HPAs every 15 s: bytes a minute",
            ),
            (
                "streams: 10 % of the HPAs in 15 s",
                "streams: 10 % of the HPAs every 15 s: bytes a minute",
            ),
            (
                "streams: 1 % of the HPAs in 15 s",
                "streams: 1 % of the HPAs every 15 s: bytes a minute",
            ),
            ("windows: nothing changes", "windows: nothing changes: bytes a minute"),
            ("streams: nothing changes", "streams: nothing changes: bytes a minute"),
        ],
    },
];

fn main() -> anyhow::Result<()> {
    let metadata = cargo_metadata::MetadataCommand::new().no_deps().exec()?;
    if env::args().nth(1).as_deref() == Some("dashboard") {
        let file = metadata.workspace_root.join("docs/dashboard.svg");
        dashboard::draw(&metadata.target_directory.join("dashboard.json"), &file)?;
        println!("{file}");
        return Ok(());
    }
    let measurements = metadata.target_directory.join("bench/sync.json");
    let json = fs::read(&measurements).with_context(|| format!("{measurements}: run `make bench`"))?;
    let rows: Vec<Row> = serde_json::from_slice(&json).with_context(|| measurements.to_string())?;
    let file = metadata.workspace_root.join("docs/performance.svg");
    let area = SVGBackend::new(&file, SIZE).into_drawing_area();
    let failed = |error| anyhow!("{file}: {error}");
    area.fill(&WHITE).map_err(|error| failed(error.to_string()))?;
    for (chart, half) in CHARTS.iter().zip(area.split_evenly((1, 2))) {
        chart.draw(&rows, &half).map_err(|error| failed(error.to_string()))?;
    }
    area.present().map_err(|error| failed(error.to_string()))?;
    println!("{file}");
    Ok(())
}

impl Chart {
    fn draw(&self, rows: &[Row], area: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), Box<dyn std::error::Error>> {
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, ("sans-serif", 15))
            .margin(10)
            .x_label_area_size(40)
            .y_label_area_size(60)
            .build_cartesian_2d(ACROSS.log_scale(), self.range.clone().log_scale())?;
        chart
            .configure_mesh()
            .x_desc("Services")
            .x_label_formatter(&ToString::to_string)
            .y_label_formatter(&ToString::to_string)
            .max_light_lines(0)
            .draw()?;
        for (index, (name, label)) in self.lines.iter().enumerate() {
            let points: Vec<_> = SIZES
                .into_iter()
                .filter_map(|size| Some((f64::from(size), self.value(rows, size, label)?)))
                .collect();
            let style = Palette99::pick(index).stroke_width(2);
            chart
                .draw_series(LineSeries::new(points.clone(), style).point_size(3))?
                .label(*name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 15, y)], style));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.8))
            .draw()?;
        Ok(())
    }

    fn value(&self, rows: &[Row], size: u32, label: &str) -> Option<f64> {
        let name = format!("{size} services, {label}");
        let row = rows.iter().find(|row| row.label == name)?;
        Some(row.median_ns.or(row.median)? * self.unit)
    }
}
