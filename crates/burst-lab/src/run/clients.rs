//! The two clients that the dashboard compares.

use std::collections::VecDeque;

use super::HISTORY;
use super::header::Load;
use super::traffic::{ClientKind, Outcome};

/// Both clients.
pub(crate) struct Clients {
    pub(crate) ignores_header: ClientRow,
    pub(crate) reads_header: ClientRow,
}

/// One client.
pub(crate) struct ClientRow {
    pub(crate) name: &'static str,
    /// Answered requests since the start.
    pub(crate) requests: u64,
    /// The 503s among them.
    pub(crate) refused: u64,
    /// The replicas in the header of its newest response. The client that ignores the header receives it as well.
    pub(crate) load: Option<Load>,
    /// The service that most of its requests of the last second went to, and their share in percent.
    pub(crate) destination: Option<(usize, u64)>,
    pub(crate) history: VecDeque<Second>,
    /// The responses of the current second.
    current: Vec<(usize, Answer)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Refused,
    Other,
}

/// The responses of one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Second {
    pub(crate) requests: u64,
    pub(crate) refused: u64,
}

impl Default for Clients {
    fn default() -> Self {
        Clients {
            ignores_header: ClientRow::new("ignores x-burst"),
            reads_header: ClientRow::new("reads x-burst"),
        }
    }
}

impl Clients {
    pub(crate) fn rows(&self) -> [&ClientRow; 2] {
        [&self.ignores_header, &self.reads_header]
    }

    /// Records the outcome of a request of a client to a service.
    pub(crate) fn record(&mut self, client: ClientKind, service: usize, outcome: &Outcome) {
        match client {
            ClientKind::IgnoresHeader => self.ignores_header.record(service, outcome),
            ClientKind::ReadsHeader => self.reads_header.record(service, outcome),
        }
    }

    pub(super) fn end_second(&mut self) {
        self.ignores_header.end_second();
        self.reads_header.end_second();
    }
}

impl ClientRow {
    fn new(name: &'static str) -> Self {
        ClientRow {
            name,
            requests: 0,
            refused: 0,
            load: None,
            destination: None,
            history: VecDeque::new(),
            current: Vec::new(),
        }
    }

    fn record(&mut self, service: usize, outcome: &Outcome) {
        let Outcome::Answered { status, header } = outcome else {
            return;
        };
        let answer = if *status == 503 { Answer::Refused } else { Answer::Other };
        self.requests += 1;
        self.refused += u64::from(answer == Answer::Refused);
        self.load = header.as_deref().and_then(Load::parse);
        self.current.push((service, answer));
    }

    fn end_second(&mut self) {
        let answers = std::mem::take(&mut self.current);
        let count = |is: &dyn Fn(&(usize, Answer)) -> bool| answers.iter().filter(|answer| is(answer)).count() as u64;
        let second = Second {
            requests: answers.len() as u64,
            refused: count(&|(_, answer)| *answer == Answer::Refused),
        };
        self.history.push_back(second);
        if self.history.len() > HISTORY {
            self.history.pop_front();
        }
        let to = |service: usize| count(&|(to, _)| *to == service);
        let most = answers
            .iter()
            .map(|(service, _)| *service)
            .max_by_key(|service| to(*service));
        self.destination = most.map(|service| (service, to(service) * 100 / second.requests.max(1)));
    }

    /// What it has received since the start.
    pub(crate) fn summary(&self) -> String {
        format!(
            "{}: {} requests, {} of them 503",
            self.name, self.requests, self.refused
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "service=default/ngsa-1, current-load=5, target-load=4, max-load=5";

    fn answered(status: u16) -> Outcome {
        Outcome::Answered {
            status,
            header: Some(HEADER.to_owned()),
        }
    }

    #[test]
    fn each_client_has_its_own_requests_and_503s() {
        let mut clients = Clients::default();
        clients.record(ClientKind::IgnoresHeader, 0, &answered(200));
        clients.record(ClientKind::IgnoresHeader, 0, &answered(503));
        clients.record(ClientKind::ReadsHeader, 1, &answered(200));
        clients.record(ClientKind::ReadsHeader, 1, &Outcome::NoResponse);
        clients.end_second();
        let summaries = clients.rows().map(ClientRow::summary);
        assert_eq!(
            summaries,
            [
                "ignores x-burst: 2 requests, 1 of them 503",
                "reads x-burst: 1 requests, 0 of them 503"
            ]
        );
        let load = Load {
            current: 5,
            target: 4,
            max: 5,
        };
        assert!(clients.rows().iter().all(|row| row.load == Some(load)));
        let second = |requests, refused| Second { requests, refused };
        assert_eq!(clients.rows().map(|row| row.history[0]), [second(2, 1), second(1, 0)]);
    }

    #[test]
    fn the_destination_is_where_most_requests_of_the_last_second_went() {
        let mut clients = Clients::default();
        for service in [0, 1, 1, 1] {
            clients.record(ClientKind::ReadsHeader, service, &answered(200));
        }
        assert_eq!(clients.reads_header.destination, None, "the second is not over");
        clients.end_second();
        assert_eq!(clients.reads_header.destination, Some((1, 75)));
        clients.end_second();
        assert_eq!(clients.reads_header.destination, None);
    }
}
