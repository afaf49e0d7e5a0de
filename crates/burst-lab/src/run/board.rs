//! What is known of each service from the answers that came through Envoy.

use std::collections::VecDeque;
use std::time::Duration;

use burst_lab::sample::Service;

/// How many seconds of load are remembered: more than any terminal is wide.
const HISTORY: usize = 240;

/// One answer through Envoy, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// A normal response: what its `x-burst` said, if it had one.
    Normal(Option<String>),
    /// A response with another status than 200.
    Failure(u16),
    /// No response.
    Nothing,
}

/// One service.
pub(crate) struct Row {
    pub(crate) service: Service,
    /// The newest answer; none before the first.
    pub(crate) seen: Option<Seen>,
    /// Requests that were answered.
    pub(crate) requests: u64,
    /// Current and maximum load second by second; none where no header told them.
    pub(crate) load: VecDeque<Option<(u32, u32)>>,
}

/// All of them.
pub(crate) struct Board {
    pub(crate) rows: Vec<Row>,
    /// Since the start.
    pub(crate) elapsed: Duration,
    /// Requests the Kubernetes API has received.
    pub(crate) api_requests: u64,
    /// Envoy's newest line of level warning or above.
    pub(crate) warning: Option<String>,
}

impl Board {
    pub(crate) fn new(services: Vec<Service>) -> Self {
        let row = |service| Row {
            service,
            seen: None,
            requests: 0,
            load: VecDeque::new(),
        };
        Board {
            rows: services.into_iter().map(row).collect(),
            elapsed: Duration::ZERO,
            api_requests: 0,
            warning: None,
        }
    }

    /// Takes in an answer; true when it says something else than the one before.
    pub(crate) fn note(&mut self, row: usize, seen: Seen) -> bool {
        let Some(row) = self.rows.get_mut(row) else {
            return false;
        };
        row.requests += u64::from(seen != Seen::Nothing);
        let changed = row.seen.as_ref() != Some(&seen);
        row.seen = Some(seen);
        changed
    }

    /// Remembers the load of this second.
    pub(crate) fn remember(&mut self) {
        for row in &mut self.rows {
            let load = row.load();
            row.load.push_back(load);
            if row.load.len() > HISTORY {
                row.load.pop_front();
            }
        }
    }

    /// All requests answered so far.
    pub(crate) fn requests(&self) -> u64 {
        self.rows.iter().map(|row| row.requests).sum()
    }
}

impl Row {
    /// `name.namespace`, which is also what Envoy's cluster is called.
    pub(crate) fn name(&self) -> String {
        format!("{}.{}", self.service.name, self.service.namespace)
    }

    /// Current and maximum load, as the newest answer's header tells them.
    pub(crate) fn load(&self) -> Option<(u32, u32)> {
        match &self.seen {
            Some(Seen::Normal(Some(header))) => Some((number(header, "current-load")?, number(header, "max-load")?)),
            _ => None,
        }
    }

    /// What to show as its header.
    pub(crate) fn says(&self) -> String {
        match &self.seen {
            None => "no answer yet".to_owned(),
            Some(Seen::Normal(Some(header))) => format!("x-burst: {header}"),
            Some(Seen::Normal(None)) => "200 without x-burst".to_owned(),
            Some(Seen::Failure(status)) => format!("status {status}"),
            Some(Seen::Nothing) => "no answer".to_owned(),
        }
    }
}

fn number(header: &str, key: &str) -> Option<u32> {
    let mut pairs = header.split(',').filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(k, _)| *k == key).and_then(|(_, value)| value.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "service=default/ngsa-1, current-load=2, target-load=4, max-load=5";

    fn board() -> Board {
        Board::new(burst_lab::sample::services(&burst_lab::sample::cluster().unwrap()))
    }

    #[test]
    fn only_a_different_answer_is_a_change() {
        let mut board = board();
        let normal = Seen::Normal(Some(HEADER.to_owned()));
        let changes = [normal.clone(), normal.clone(), Seen::Failure(503), normal].map(|seen| board.note(0, seen));
        assert_eq!(changes, [true, false, true, true]);
        assert_eq!((board.rows[0].requests, board.requests()), (4, 4));
    }

    #[test]
    fn load_is_read_from_the_header_alone() {
        let mut board = board();
        board.remember();
        board.note(0, Seen::Normal(Some(HEADER.to_owned())));
        board.remember();
        board.note(0, Seen::Normal(None));
        board.remember();
        assert_eq!(board.rows[0].load, [None, Some((2, 5)), None]);
    }

    #[test]
    fn no_answer_is_no_request() {
        let mut board = board();
        board.note(0, Seen::Nothing);
        assert_eq!(board.requests(), 0);
        assert_eq!(board.rows[0].says(), "no answer");
    }
}
