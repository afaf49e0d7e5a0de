//! A plot as SVG, without scripts.

use burst_printable::Printable;

use super::engine::SyncStep;

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 300.0;
/// Leaves room for the label `max 5000`.
const LEFT: f64 = 70.0;
const TOP: f64 = 30.0;

/// Returns a plot of replicas, proposal and limits over time.
#[must_use]
pub fn svg(steps: &[SyncStep], min: i32, max: i32, title: &str) -> String {
    let seconds = |step: Option<&SyncStep>| f64::from(step.map_or(0, |step| step.seconds));
    let (first, last) = (seconds(steps.first()), seconds(steps.last()));
    let highest = steps
        .iter()
        .filter_map(|step| step.proposal)
        .chain([max])
        .max()
        .unwrap_or(1);
    let frame = Frame {
        first,
        length: (last - first).max(1.0),
        top: f64::from(highest.clamp(max, max.saturating_mul(2)).max(1)),
    };
    let (right, bottom) = (LEFT + WIDTH, TOP + HEIGHT);
    let limit = |replicas: i32, name: &str| {
        let y = frame.y(replicas);
        format!(
            "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#999\" stroke-dasharray=\"4 4\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{name} {replicas}</text>\n",
            LEFT - 4.0,
            y + 4.0
        )
    };
    let replicas = frame.steps(steps, |step| Some(step.replicas));
    let proposal = frame.steps(steps, |step| step.proposal);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>{title}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"18\">{title}: <tspan fill=\"#1f77b4\">replicas</tspan>, \
         <tspan fill=\"#d62728\">proposal</tspan></text>\n{}{}\
         <path d=\"M{LEFT} {TOP}V{bottom}H{right}\" fill=\"none\" stroke=\"#333\"/>\n\
         <text x=\"{LEFT}\" y=\"{below}\">{first} s</text>\
         <text x=\"{right}\" y=\"{below}\" text-anchor=\"end\">{last} s</text>\n\
         <path d=\"{proposal}\" fill=\"none\" stroke=\"#d62728\" stroke-opacity=\"0.6\"/>\n\
         <path d=\"{replicas}\" fill=\"none\" stroke=\"#1f77b4\" stroke-width=\"2\"/>\n</svg>\n",
        right + 20.0,
        bottom + 30.0,
        limit(max, "max"),
        limit(min, "min"),
        below = bottom + 16.0,
        title = escaped(title),
    )
}

struct Frame {
    first: f64,
    length: f64,
    top: f64,
}

impl Frame {
    fn x(&self, seconds: u32) -> f64 {
        LEFT + (f64::from(seconds) - self.first) / self.length * WIDTH
    }

    fn y(&self, replicas: i32) -> f64 {
        TOP + HEIGHT - f64::from(replicas).min(self.top) / self.top * HEIGHT
    }

    /// Returns the path of a step line, with a gap where there is no value.
    fn steps(&self, steps: &[SyncStep], value: impl Fn(&SyncStep) -> Option<i32>) -> String {
        let mut path = String::new();
        let mut drawing = false;
        for step in steps {
            let Some(replicas) = value(step) else {
                drawing = false;
                continue;
            };
            let (x, y) = (self.x(step.seconds), self.y(replicas));
            path.push_str(&if drawing {
                format!("H{x:.1}V{y:.1}")
            } else {
                format!("M{x:.1} {y:.1}")
            });
            drawing = true;
        }
        path
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
    use super::*;

    /// The value of every attribute with this name.
    fn numbers(svg: &str, attribute: &str) -> Vec<f64> {
        let mark = format!(" {attribute}=\"");
        let values = svg.split(&mark).skip(1).filter_map(|rest| rest.split_once('"'));
        values.map(|(value, _)| value.parse().unwrap()).collect()
    }

    #[test]
    fn everything_is_inside_the_view_box() {
        let svg = svg(&[], 1, 10, "shop/web");
        let (_, size) = svg.split_once("viewBox=\"0 0 ").unwrap();
        let (width, height) = size.split_once('"').unwrap().0.split_once(' ').unwrap();
        let (width, height): (f64, f64) = (width.parse().unwrap(), height.parse().unwrap());
        let (across, down) = (numbers(&svg, "x"), numbers(&svg, "y"));
        assert_eq!((across.len(), down.len()), (5, 5), "{svg}");
        assert!(across.iter().all(|x| (0.0..=width).contains(x)), "{svg}");
        assert!(down.iter().all(|y| (0.0..=height).contains(y)), "{svg}");
    }
}
