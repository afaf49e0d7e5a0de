//! What happened second by second: the replicas that the load needed, and the pods that were ready.

/// A time in which nothing changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The first second.
    pub start: u32,
    /// The second after the last.
    pub end: u32,
    /// The load; `None` if it is unknown.
    pub demand: Option<Demand>,
    /// The pods that were ready.
    pub ready: i32,
    /// The replicas that the workload had, ready or not.
    pub replicas: i32,
}

/// A load in pods, for the metric that needs the most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// The load, divided by what one pod serves.
    pub pods: f64,
    /// The same in whole pods: the fewest that serve it.
    pub replicas: i32,
}

impl Span {
    /// The length in seconds.
    #[must_use]
    pub fn seconds(&self) -> u32 {
        self.end.saturating_sub(self.start)
    }

    /// Whether nothing but the time is different.
    fn is_like(&self, other: &Self) -> bool {
        (self.demand, self.ready, self.replicas) == (other.demand, other.ready, other.replicas)
    }

    /// How many ready pods were missing.
    #[must_use]
    pub fn missing(&self) -> i32 {
        self.demand
            .map_or(0, |demand| demand.replicas.saturating_sub(self.ready).max(0))
    }
}

/// Spans without gaps, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    spans: Vec<Span>,
}

impl Timeline {
    /// Appends a span; equal neighbours become one.
    pub fn push(&mut self, span: Span) {
        match self.spans.last_mut() {
            Some(last) if last.is_like(&span) => last.end = span.end,
            _ => self.spans.push(span),
        }
    }

    /// Returns the spans.
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Returns the first second, and the second after the last.
    #[must_use]
    pub fn range(&self) -> (u32, u32) {
        let start = self.spans.first().map_or(0, |span| span.start);
        (start, self.spans.last().map_or(start, |span| span.end))
    }

    /// Divides the time into at most `count` columns of the same length, and returns of each its worst moment: the one with
    /// the most missing pods, then the most needed, then the most ready.
    #[must_use]
    pub fn columns(&self, count: usize) -> Vec<Span> {
        let (start, end) = self.range();
        let length = u64::from(end - start);
        let count = u64::try_from(count).unwrap_or(u64::MAX).min(length);
        let boundary = |column: u64| u64::from(start) + column * length / count.max(1);
        let columns = (0..count).map(|column| (boundary(column), boundary(column + 1)));
        columns
            .filter_map(|(from, to)| {
                let first = self.spans.partition_point(|span| u64::from(span.end) <= from);
                let within = self.spans.iter().skip(first);
                let worst = within
                    .take_while(|span| u64::from(span.start) < to)
                    .max_by_key(|span| (span.missing(), span.demand.map(|demand| demand.replicas), span.ready))?;
                let second = |boundary: u64| u32::try_from(boundary).unwrap_or(u32::MAX);
                Some(Span {
                    start: second(from),
                    end: second(to),
                    ..*worst
                })
            })
            .collect()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Makes a timeline of `(seconds, needed, ready, replicas)`.
    pub(crate) fn timeline(spans: &[(u32, Option<i32>, i32, i32)]) -> Timeline {
        let mut timeline = Timeline::default();
        for &(seconds, needed, ready, replicas) in spans {
            let start = timeline.range().1;
            let demand = needed.map(|replicas| Demand {
                pods: replicas.into(),
                replicas,
            });
            timeline.push(Span {
                start,
                end: start + seconds,
                demand,
                ready,
                replicas,
            });
        }
        timeline
    }

    #[test]
    fn equal_neighbours_are_one_span() {
        let timeline = timeline(&[(15, Some(2), 2, 2), (15, Some(2), 2, 2), (15, Some(3), 2, 2)]);
        let ends: Vec<u32> = timeline.spans().iter().map(|span| span.end).collect();
        assert_eq!((ends.as_slice(), timeline.range()), (&[30, 45][..], (0, 45)));
    }

    #[test]
    fn a_column_shows_its_worst_moment() {
        let timeline = timeline(&[(40, Some(2), 2, 2), (1, Some(9), 2, 2), (59, Some(9), 9, 9)]);
        let shown: Vec<(u32, u32, i32)> = timeline
            .columns(2)
            .iter()
            .map(|column| (column.start, column.end, column.missing()))
            .collect();
        assert_eq!(shown, [(0, 50, 7), (50, 100, 0)]);
        assert_eq!(timeline.columns(500).len(), 100);
        assert_eq!(Timeline::default().columns(5), []);
    }
}
