//! All the lists of a configuration together.

use super::backoff::PROBE_INTERVAL;
use super::reflector::{ApiRequest, Reflector, ReflectorEvent};
use crate::kube::{Failure, Payload, Verb};
use crate::order::sort_by;
use crate::time::Time;

/// Pages under way at once, over all lists. Enough to overlap the round trips of a few kinds; a list a namespace and
/// kind must not become a stampede.
const MAX_CONCURRENT_LISTS: usize = 8;

/// Which list, by its place in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceId(pub usize);

/// A request to be sent.
#[derive(Debug, PartialEq, Eq)]
pub struct ScheduledRequest {
    /// For which list.
    pub source: SourceId,
    /// What is asked.
    pub request: ApiRequest,
}

/// The lists of a configuration.
#[derive(Debug)]
pub struct Scheduler {
    reflectors: Vec<Reflector>,
    /// Windows that may be open at once.
    max_windows: usize,
    /// When the server was noticed to be back.
    recovered_at: Option<Time>,
}

impl Scheduler {
    /// Keeps these lists, with so many windows open at once.
    #[must_use]
    pub fn new(lists: Vec<Reflector>, max_windows: usize) -> Self {
        Self {
            reflectors: lists,
            max_windows,
            recovered_at: None,
        }
    }

    /// Whether no list is being read: the moment to publish. What an open window will bring is a change of its own.
    #[must_use]
    pub fn is_between_rounds(&self) -> bool {
        !self.reflectors.iter().any(Reflector::is_listing)
    }

    /// Whether no list is about to be read either: the moment to hand over. A successor goes on with the windows.
    #[must_use]
    pub fn is_idle(&self, now: Time) -> bool {
        let lists = |list: &Reflector| list.due(now).is_some() && list.next_verb() == Verb::List;
        !self.reflectors.iter().any(|list| list.is_listing() || lists(list))
    }

    /// Whether somebody else's last word on some list may be newer than what is known here.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.reflectors.iter().any(Reflector::is_behind)
    }

    /// The list of that place.
    #[must_use]
    pub fn reflector(&self, id: SourceId) -> Option<&Reflector> {
        self.reflectors.get(id.0)
    }

    /// All lists, in the order of the configuration.
    pub fn reflectors(&self) -> impl Iterator<Item = &Reflector> {
        self.reflectors.iter()
    }

    /// What is due, as much as may be under way; who waits longest comes first.
    pub fn due_requests(&mut self, now: Time) -> Vec<ScheduledRequest> {
        self.probe(now);
        let room = |most: usize, under_way: fn(&Reflector) -> bool| {
            most.saturating_sub(self.reflectors.iter().filter(|list| under_way(list)).count())
        };
        let mut pages = room(MAX_CONCURRENT_LISTS, Reflector::is_listing);
        let mut windows = room(self.max_windows, Reflector::is_watching);
        let mut due: Vec<_> = self.reflectors.iter_mut().enumerate().collect();
        due.retain(|(_, list)| list.due(now).is_some());
        sort_by(&mut due, |(_, a), (_, b)| a.due(now).cmp(&b.due(now)));
        let mut asks = Vec::new();
        for (place, list) in due {
            let room = match list.next_verb() {
                Verb::List => &mut pages,
                Verb::Watch => &mut windows,
            };
            let Some(less) = room.checked_sub(1) else { continue };
            *room = less;
            let source = SourceId(place);
            asks.extend(list.next_request(now).map(|request| ScheduledRequest { source, request }));
        }
        asks
    }

    /// Where nothing works, one list after the other asks whether the server is back: pauses of their own are too long
    /// for that. So it is asked no more often than before by a proxy that keeps the four lists of the defaults.
    fn probe(&mut self, now: Time) {
        let probes = self.reflectors.iter().map(Reflector::next_probe);
        let due = probes.reduce(|one, other| Some(one?.max(other?))).flatten();
        if due.is_none_or(|due| due > now) {
            return;
        }
        let askable = self.reflectors.iter_mut().filter(|list| list.may_request(now));
        if let Some(list) = askable.min_by_key(|list| list.requested_at()) {
            list.end_pause(now);
        }
    }

    /// Ends the pause of a list, see [`Reflector::end_pause`].
    pub fn hurry(&mut self, id: SourceId, now: Time) {
        if let Some(list) = self.reflectors.get_mut(id.0) {
            list.end_pause(now);
        }
    }

    /// Has a list read as if nobody ever did; whether that could be, see [`Reflector::relist`].
    pub fn relist(&mut self, id: SourceId) -> bool {
        self.reflectors.get_mut(id.0).is_some_and(Reflector::relist)
    }

    /// Takes an answer; `None` where there is no such list. The first good one after an outage ends the pauses of all
    /// the others.
    pub fn handle_response(
        &mut self,
        id: SourceId,
        answer: Result<Payload, Failure>,
        now: Time,
        chance: u32,
    ) -> Option<ReflectorEvent> {
        let is_outage = self.reflectors.iter().all(Reflector::is_failing);
        let list = self.reflectors.get_mut(id.0)?;
        let step = list.handle_response(answer, now, chance);
        let is_back = match &step {
            ReflectorEvent::Relisted(_) | ReflectorEvent::Updated(_) => true,
            // Only a server that is there knows what it has forgotten.
            ReflectorEvent::Failed { failure, .. } => matches!(failure, Failure::Expired(_)),
            ReflectorEvent::Request(_) => false,
        };
        // Lists that fail one after the other would end each other's pauses for ever.
        let is_news = self
            .recovered_at
            .is_none_or(|back| now < back || now.since(back) >= PROBE_INTERVAL);
        if is_outage && is_back && is_news {
            self.recovered_at = Some(now);
            self.reflectors.iter_mut().for_each(|list| list.end_pause_spread(now));
        }
        Some(step)
    }
}

#[cfg(test)]
mod tests;
