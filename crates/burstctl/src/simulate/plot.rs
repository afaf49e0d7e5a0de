//! A plot as text.

use super::engine::SyncStep;

const WIDTH: usize = 72;
const HEIGHT: usize = 16;

/// Returns a plot of the replicas (`█`), the proposal (`·`) and the limits (`─`).
#[must_use]
pub fn plot(steps: &[SyncStep], min: i32, max: i32) -> String {
    let columns: Vec<&SyncStep> = sampled(steps);
    let proposals = steps.iter().filter_map(|step| step.proposal);
    // A proposal far above the limit would flatten everything else.
    let top = steps
        .iter()
        .map(|step| step.replicas)
        .chain(proposals)
        .max()
        .unwrap_or(0)
        .clamp(max, max.saturating_mul(2))
        .max(1);
    let rows = HEIGHT.min(usize::try_from(top).unwrap_or(HEIGHT));
    let row_of = |replicas: i32| scaled(replicas, top, rows);
    let mut out = String::new();
    for row in (1..=rows).rev() {
        let label = if row == row_of(max) {
            format!("max {max}")
        } else if row == row_of(min) {
            format!("min {min}")
        } else {
            String::new()
        };
        let line: String = columns
            .iter()
            .map(|step| match step.proposal {
                _ if row <= row_of(step.replicas) => '█',
                Some(proposal) if row == row_of(proposal.min(top)) => '·',
                _ if row == row_of(max) || row == row_of(min) => '─',
                _ => ' ',
            })
            .collect();
        out.push_str(format!("{label:>9} │{line}").trim_end());
        out.push('\n');
    }
    let last = steps.last().map_or(0, |step| step.seconds);
    let first = steps.first().map_or(0, |step| step.seconds);
    out.push_str(&format!("{:>9} └{}\n", "0", "─".repeat(columns.len())));
    let end = format!("{last} s");
    let room = columns
        .len()
        .saturating_sub(end.len())
        .max(format!("{first} s").len() + 1);
    out.push_str(&format!("{:>9}  {:<room$}{end}\n", "", format!("{first} s")));
    out.push_str(&format!("{:>9}  █ replicas   · proposal   ─ limits\n", ""));
    out
}

fn scaled(replicas: i32, top: i32, rows: usize) -> usize {
    let (replicas, top) = (
        usize::try_from(replicas).unwrap_or(0),
        usize::try_from(top).unwrap_or(1).max(1),
    );
    (replicas * rows).div_ceil(top)
}

/// Returns the step for each column. Few steps are repeated to fill the width, and many are sampled.
fn sampled(steps: &[SyncStep]) -> Vec<&SyncStep> {
    let count = steps.len();
    let columns = if count == 0 {
        0
    } else if count >= WIDTH {
        WIDTH
    } else {
        count * (WIDTH / count)
    };
    (0..columns)
        .filter_map(|column| steps.get(column * count / columns))
        .collect()
}
