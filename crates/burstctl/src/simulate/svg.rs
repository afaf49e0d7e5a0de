//! A plot as SVG, without scripts.

use burst_printable::Printable;

use super::axes::{Axes, time_labels};
use super::timeline::{Span, Timeline};
use crate::duration::format_seconds;

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 300.0;
/// Leaves room for the label `max 5000`.
const LEFT: f64 = 75.0;
/// Leaves room for the title, the answer and the legend.
const TOP: f64 = 80.0;
/// The most columns: more do not show.
const COLUMNS: usize = 800;

const SERVED: &str = "#74a9cf";
const SPARE: &str = "#dce6ee";
const UNSERVED: &str = "#d62728";
const UNKNOWN: &str = "#bdbdbd";
const READY: &str = "#08519c";

/// What a figure shows.
#[derive(Clone, Copy, Debug)]
pub struct Figure<'a> {
    /// The name of the HPA.
    pub title: &'a str,
    /// The answer, below the title.
    pub headline: &'a str,
    /// The load and the pods.
    pub timeline: &'a Timeline,
    /// `spec.minReplicas`, or the default.
    pub min: i32,
    /// `spec.maxReplicas`.
    pub max: i32,
}

/// Returns a plot of the load as replicas that it needs, and of the pods that were ready.
#[must_use]
pub fn svg(figure: &Figure<'_>) -> String {
    let frame = Frame {
        range: figure.timeline.range(),
        axes: Axes::of(figure.timeline, figure.min, figure.max),
    };
    let columns = figure.timeline.columns(COLUMNS);
    let needed = |span: &Span| span.demand.map_or(0, |demand| demand.replicas);
    let is_known = |span: &Span| span.demand.is_some();
    let area = |fill: &str, value: &dyn Fn(&Span) -> i32| {
        format!("<path d=\"{}\" fill=\"{fill}\"/>\n", frame.area(&columns, value))
    };
    let (title, headline) = (escaped(figure.title), escaped(figure.headline));
    let [width, height, below] = [LEFT + WIDTH + 25.0, TOP + HEIGHT + 45.0, TOP + HEIGHT];
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\" role=\"img\">\n\
         <title>{title}</title>\n<desc>{headline}</desc>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"15\">{title}</text>\n<text x=\"{LEFT}\" y=\"40\">{headline}</text>\n\
         {}{}{}{}{}\
         <path d=\"{}\" fill=\"none\" stroke=\"{READY}\" stroke-width=\"1.5\"/>\n{}{}{}\
         <path d=\"M{LEFT} {TOP}V{below}H{}\" fill=\"none\" stroke=\"#333\"/>\n</svg>\n",
        legend(
            frame.axes.is_cut,
            columns.iter().any(is_known),
            !columns.iter().all(is_known)
        ),
        area(UNSERVED, &needed),
        area(SPARE, &|span| span.ready),
        area(UNKNOWN, &|span| if is_known(span) { 0 } else { span.ready }),
        area(SERVED, &|span| needed(span).min(span.ready)),
        frame.outline(&columns, &|span| span.ready),
        limit(&frame, frame.axes.max, "max"),
        limit(&frame, frame.axes.min, "min"),
        labels(&frame),
        LEFT + WIDTH,
    )
}

/// The colours and their meanings.
fn legend(is_cut: bool, is_known: bool, has_gaps: bool) -> String {
    let unserved = if is_cut {
        "load not served (cut at the top)"
    } else {
        "load not served"
    };
    let entries = [
        (is_known, 0.0, SERVED, "load served"),
        (is_known, 110.0, SPARE, "ready, not needed"),
        (is_known, 250.0, UNSERVED, unserved),
        (true, 460.0, READY, "pods ready (line)"),
        (has_gaps, 600.0, UNKNOWN, "ready, load unknown"),
    ];
    let shown = entries.into_iter().filter(|(is_shown, ..)| *is_shown);
    shown
        .map(|(_, offset, colour, meaning)| entry(offset, colour, meaning))
        .collect()
}

fn entry(offset: f64, colour: &str, meaning: &str) -> String {
    let x = LEFT + offset;
    format!(
        "<rect x=\"{x}\" y=\"54\" width=\"10\" height=\"10\" fill=\"{colour}\"/>\
         <text x=\"{}\" y=\"63\">{meaning}</text>\n",
        x + 14.0
    )
}

/// A dashed line at a limit, with its name.
fn limit(frame: &Frame, replicas: i32, name: &str) -> String {
    if replicas > frame.axes.top {
        return String::new();
    }
    let (y, right) = (frame.y(replicas), LEFT + WIDTH);
    format!(
        "<path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"#555\" stroke-dasharray=\"4 4\"/>\
         <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{name} {replicas}</text>\n",
        LEFT - 6.0,
        y + 4.0
    )
}

/// The labels of both axes, and their units.
fn labels(frame: &Frame) -> String {
    let (axes, bottom) = (frame.axes, TOP + HEIGHT);
    let is_apart = |replicas: &i32| {
        let distance = |limit: i32| (frame.y(limit) - frame.y(*replicas)).abs();
        distance(axes.min) > 12.0 && (axes.max > axes.top || distance(axes.max) > 12.0)
    };
    let replica = |replicas: i32| {
        let y = frame.y(replicas) + 4.0;
        format!(
            "<text x=\"{}\" y=\"{y:.1}\" text-anchor=\"end\">{replicas}</text>\n",
            LEFT - 6.0
        )
    };
    let time = |second: u32| {
        let x = frame.x(second);
        format!(
            "<path d=\"M{x:.1} {bottom}v5\" stroke=\"#333\"/>\
             <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
            bottom + 18.0,
            format_seconds(second)
        )
    };
    let replicas: String = axes
        .replica_labels(6)
        .into_iter()
        .filter(is_apart)
        .map(replica)
        .collect();
    let times: String = time_labels(frame.range, 12).into_iter().map(time).collect();
    format!(
        "{replicas}{times}<text x=\"{}\" y=\"{}\" text-anchor=\"end\">replicas</text>\
         <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">time</text>\n",
        LEFT - 6.0,
        TOP - 12.0,
        LEFT + WIDTH / 2.0,
        bottom + 36.0
    )
}

struct Frame {
    range: (u32, u32),
    axes: Axes,
}

impl Frame {
    fn x(&self, seconds: u32) -> f64 {
        let (start, end) = self.range;
        let length = f64::from(end.saturating_sub(start)).max(1.0);
        LEFT + (f64::from(seconds) - f64::from(start)) / length * WIDTH
    }

    fn y(&self, replicas: i32) -> f64 {
        let top = f64::from(self.axes.top);
        TOP + HEIGHT - f64::from(replicas).min(top) / top * HEIGHT
    }

    /// Returns the path of a step line; equal neighbours are one step.
    fn outline(&self, columns: &[Span], value: &dyn Fn(&Span) -> i32) -> String {
        let mut path = String::new();
        for group in columns.chunk_by(|one, next| value(one) == value(next)) {
            let (Some(first), Some(last)) = (group.first(), group.last()) else {
                continue;
            };
            let (from, to, y) = (self.x(first.start), self.x(last.end), self.y(value(first)));
            path.push_str(&if path.is_empty() {
                format!("M{from:.1} {y:.1}H{to:.1}")
            } else {
                format!("V{y:.1}H{to:.1}")
            });
        }
        path
    }

    /// Returns the path around the area below a step line.
    fn area(&self, columns: &[Span], value: &dyn Fn(&Span) -> i32) -> String {
        let outline = self.outline(columns, value);
        if outline.is_empty() {
            return outline;
        }
        format!("{outline}V{}H{LEFT}Z", TOP + HEIGHT)
    }
}

fn escaped(text: &str) -> String {
    // XML allows no control characters, not even escaped ones.
    Printable::new(text)
        .to_string()
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::timeline::tests::timeline;
    use super::*;

    fn numbers(svg: &str, attribute: &str) -> Vec<f64> {
        let start = format!(" {attribute}=\"");
        let values = svg.split(&start).skip(1).filter_map(|rest| rest.split_once('"'));
        values.map(|(value, _)| value.parse().unwrap()).collect()
    }

    #[test]
    fn everything_is_inside_the_view_box() {
        for timeline in [
            Timeline::default(),
            timeline(&[(500, Some(90), 5, 5), (500, Some(1), 5, 5)]),
        ] {
            let svg = svg(&Figure {
                title: "shop/web",
                headline: "Too few <pods>",
                timeline: &timeline,
                min: 1,
                max: 10,
            });
            let (_, size) = svg.split_once("viewBox=\"0 0 ").unwrap();
            let (width, height) = size.split_once('"').unwrap().0.split_once(' ').unwrap();
            let (width, height): (f64, f64) = (width.parse().unwrap(), height.parse().unwrap());
            let (across, down) = (numbers(&svg, "x"), numbers(&svg, "y"));
            assert!(across.len() > 7 && down.len() > 7, "{svg}");
            assert!(across.iter().all(|x| (0.0..=width).contains(x)), "{svg}");
            assert!(down.iter().all(|y| (0.0..=height).contains(y)), "{svg}");
            assert!(svg.contains("<desc>Too few &lt;pods&gt;</desc>"), "{svg}");
        }
    }

    #[test]
    fn what_is_not_served_is_red() {
        let timeline = timeline(&[(10, Some(5), 5, 5), (10, Some(10), 5, 5)]);
        let svg = svg(&Figure {
            title: "",
            headline: "",
            timeline: &timeline,
            min: 1,
            max: 10,
        });
        // The load is red, and what is served of it is drawn above that.
        let path = |fill: &str| {
            let (before, _) = svg.rsplit_once(&format!("\" fill=\"{fill}\"/>")).unwrap();
            before.rsplit_once("d=\"").unwrap().1
        };
        assert_eq!(path(UNSERVED), "M75.0 230.0H475.0V80.0H875.0V380H75Z");
        assert_eq!(path(SERVED), "M75.0 230.0H875.0V380H75Z");
        assert!(svg.find(UNSERVED) < svg.rfind(SERVED));
    }
}
