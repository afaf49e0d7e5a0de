//! What is known of each service from the answers that came through Envoy.

#[cfg(feature = "context")]
use std::collections::BTreeMap;
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
    /// What it is called on the board.
    pub(crate) name: String,
    /// The newest answer; none before the first.
    pub(crate) seen: Option<Seen>,
    /// Requests that were answered; none where nobody asks the service itself.
    pub(crate) requests: Option<u64>,
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
    /// Why there is no picture of the cluster.
    pub(crate) trouble: Option<String>,
}

impl Board {
    /// The services that traffic goes to.
    pub(crate) fn new(services: &[Service]) -> Self {
        // Which is also what Envoy's cluster is called.
        let name = |service: &Service| format!("{}.{}", service.name, service.namespace);
        Board {
            rows: services
                .iter()
                .map(|service| Row::new(name(service), Some(0)))
                .collect(),
            elapsed: Duration::ZERO,
            api_requests: 0,
            warning: None,
            trouble: None,
        }
    }

    /// Takes in what all services have at once, by `namespace/name`; gives the names of those that say something else
    /// than before. The fullest come first.
    #[cfg(feature = "context")]
    pub(crate) fn show(&mut self, picture: BTreeMap<String, String>) -> Vec<String> {
        self.trouble = None;
        self.rows.retain(|row| picture.contains_key(&row.name));
        let mut changed = Vec::new();
        for (name, header) in picture {
            let place = self.rows.iter().position(|row| row.name == name);
            let place = place.unwrap_or(self.rows.len());
            if place == self.rows.len() {
                self.rows.push(Row::new(name.clone(), None));
            }
            if self.note(place, Seen::Normal(Some(header))) {
                changed.push(name);
            }
        }
        let share = |row: &Row| {
            row.load()
                .map(|(current, max)| u64::from(current) * 10_000 / u64::from(max.max(1)))
        };
        self.rows
            .sort_by(|one, other| share(other).cmp(&share(one)).then_with(|| one.name.cmp(&other.name)));
        changed
    }

    /// There is no picture; true when the reason is another than before.
    #[cfg(feature = "context")]
    pub(crate) fn cannot_show(&mut self, seen: &Seen, reason: &str) -> bool {
        self.rows.iter_mut().for_each(|row| row.seen = Some(seen.clone()));
        let reason = reason.trim();
        let changed = self.trouble.as_deref() != Some(reason);
        self.trouble = Some(reason.to_owned());
        changed
    }

    /// Takes in an answer; true when it says something else than the one before.
    pub(crate) fn note(&mut self, row: usize, seen: Seen) -> bool {
        let Some(row) = self.rows.get_mut(row) else {
            return false;
        };
        // Envoy may not listen yet, also where another one was answered meanwhile.
        if seen == Seen::Nothing && row.seen.is_none() {
            return false;
        }
        if let Some(requests) = &mut row.requests {
            *requests += u64::from(seen != Seen::Nothing);
        }
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
        self.rows.iter().filter_map(|row| row.requests).sum()
    }
}

impl Row {
    fn new(name: String, requests: Option<u64>) -> Self {
        Row {
            name,
            seen: None,
            requests,
            load: VecDeque::new(),
        }
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
        Board::new(&burst_lab::sample::services(&burst_lab::sample::cluster().unwrap()))
    }

    #[test]
    fn only_a_different_answer_is_a_change() {
        let mut board = board();
        let normal = Seen::Normal(Some(HEADER.to_owned()));
        let changes = [normal.clone(), normal.clone(), Seen::Failure(503), normal].map(|seen| board.note(0, seen));
        assert_eq!(changes, [true, false, true, true]);
        assert_eq!((board.rows[0].requests, board.requests()), (Some(4), 4));
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
    fn no_answer_is_no_request_and_no_news_before_the_first() {
        let mut board = board();
        board.note(1, Seen::Normal(None));
        assert!(!board.note(0, Seen::Nothing), "it set out before Envoy listened");
        assert_eq!((board.requests(), board.rows[0].says().as_str()), (1, "no answer yet"));
        board.note(0, Seen::Normal(None));
        assert!(board.note(0, Seen::Nothing));
        assert_eq!((board.requests(), board.rows[0].says().as_str()), (2, "no answer"));
    }

    #[cfg(feature = "context")]
    #[test]
    fn a_picture_has_the_fullest_first_and_says_what_is_new() {
        let header = |current| format!("service=a/b, current-load={current}, target-load=4, max-load=5");
        let picture = |services: &[(&str, u32)]| {
            let services = services
                .iter()
                .map(|(name, current)| ((*name).to_owned(), header(*current)));
            services.collect::<BTreeMap<_, _>>()
        };
        let mut board = Board::new(&[]);
        assert_eq!(
            board.show(picture(&[("a/x", 1), ("a/y", 3), ("b/z", 3)])),
            ["a/x", "a/y", "b/z"]
        );
        board.remember();
        let names = |board: &Board| board.rows.iter().map(|row| row.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&board), ["a/y", "b/z", "a/x"]);
        assert_eq!(board.show(picture(&[("a/x", 5), ("b/z", 3)])), ["a/x"]);
        assert_eq!(
            (names(&board), board.rows[0].load.clone()),
            (vec!["a/x".into(), "b/z".into()], [Some((1, 5))].into())
        );
        assert!(
            board.cannot_show(&Seen::Failure(503), "too stale\n")
                && !board.cannot_show(&Seen::Failure(503), "too stale")
        );
        assert_eq!((board.rows[0].load(), board.requests()), (None, 0));
    }
}
