//! Which of several lists send a request next.

use super::backoff::PROBE_INTERVAL;
use super::reflector::{ApiRequest, Reflector, ReflectorEvent};
use crate::kube::{Failure, Payload, Verb};
use crate::order::sort_by;
use crate::time::Time;

/// LIST requests that may be under way at once, over all lists. That is enough to overlap the round trips of a few kinds,
/// and a configuration with a list for each namespace and kind does not flood the API server.
const MAX_CONCURRENT_LISTS: usize = 8;

/// A list, by its index in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceId(pub usize);

/// A request to send for a list.
#[derive(Debug, PartialEq, Eq)]
pub struct ScheduledRequest {
    /// The list that it is for.
    pub source: SourceId,
    /// The request.
    pub request: ApiRequest,
}

/// Schedules the requests of all lists. The caller owns the lists and passes them to each call, always in the same order.
#[derive(Debug)]
pub struct Scheduler {
    /// Watches that may be open at once.
    max_windows: usize,
    /// When the last outage was seen to end.
    recovered_at: Option<Time>,
}

/// Returns whether no list is being read, which is the moment to publish. An open watch brings a change of its own later.
#[must_use]
pub fn is_between_rounds(lists: &[impl AsRef<Reflector>]) -> bool {
    !lists.iter().any(|list| list.as_ref().is_listing())
}

/// Returns whether no list is being read or is about to be read, which is the moment to hand over: a successor continues
/// the watches.
#[must_use]
pub fn is_idle(lists: &[impl AsRef<Reflector>], now: Time) -> bool {
    is_between_rounds(lists) && !lists.iter().any(|list| is_list_due(list.as_ref(), now))
}

/// Returns whether another VM may have read newer objects of a list than those that are known here.
#[must_use]
pub fn is_behind(lists: &[impl AsRef<Reflector>]) -> bool {
    lists.iter().any(|list| list.as_ref().is_behind())
}

fn is_list_due(reflector: &Reflector, now: Time) -> bool {
    reflector.due(now).is_some() && reflector.next_verb() == Verb::List
}

impl Scheduler {
    /// A scheduler that has at most `max_windows` watches open at once.
    #[must_use]
    pub fn new(max_windows: usize) -> Self {
        Self {
            max_windows,
            recovered_at: None,
        }
    }

    /// Returns the requests that are due, as many as may be under way. The one that has waited longest comes first.
    pub fn due_requests<L>(&mut self, lists: &mut [L], now: Time) -> Vec<ScheduledRequest>
    where
        L: AsRef<Reflector> + AsMut<Reflector>,
    {
        let mut reflectors: Vec<&mut Reflector> = lists.iter_mut().map(AsMut::as_mut).collect();
        probe(&mut reflectors, now);
        let mut free_lists = free(MAX_CONCURRENT_LISTS, &reflectors, Reflector::is_listing);
        let mut free_watches = free(self.max_windows, &reflectors, Reflector::is_watching);
        let mut due: Vec<_> = reflectors.into_iter().enumerate().collect();
        due.retain(|(_, reflector)| reflector.due(now).is_some());
        sort_by(&mut due, |(_, a), (_, b)| a.due(now).cmp(&b.due(now)));
        let mut requests = Vec::new();
        for (index, reflector) in due {
            let free = match reflector.next_verb() {
                Verb::List => &mut free_lists,
                Verb::Watch => &mut free_watches,
            };
            let Some(left) = free.checked_sub(1) else { continue };
            *free = left;
            let source = SourceId(index);
            let request = reflector.next_request(now);
            requests.extend(request.map(|request| ScheduledRequest { source, request }));
        }
        requests
    }

    /// Passes a response to its list. Returns `None` if there is no such list. The first success after an outage ends the
    /// pauses of all lists.
    pub fn handle_response<L>(
        &mut self,
        lists: &mut [L],
        id: SourceId,
        answer: Result<Payload, Failure>,
        now: Time,
        chance: u32,
    ) -> Option<ReflectorEvent>
    where
        L: AsRef<Reflector> + AsMut<Reflector>,
    {
        let was_outage = lists.iter().all(|list| list.as_ref().is_failing());
        let event = lists.get_mut(id.0)?.as_mut().handle_response(answer, now, chance);
        // Lists that fail one after the other would otherwise end each other's pauses for ever.
        let is_first = self
            .recovered_at
            .is_none_or(|recovered_at| now < recovered_at || now.since(recovered_at) >= PROBE_INTERVAL);
        if was_outage && is_sign_of_life(&event) && is_first {
            self.recovered_at = Some(now);
            for list in lists {
                list.as_mut().end_pause_spread(now);
            }
        }
        Some(event)
    }
}

/// Returns whether an event shows that the API server works.
fn is_sign_of_life(event: &ReflectorEvent) -> bool {
    match event {
        ReflectorEvent::Relisted(_) | ReflectorEvent::Updated(_) => true,
        // Only a server that works knows what has expired.
        ReflectorEvent::Failed { failure, .. } => matches!(failure, Failure::Expired(_)),
        ReflectorEvent::Request(_) => false,
    }
}

/// How many more requests may be in flight.
fn free(max: usize, reflectors: &[&mut Reflector], is_in_flight: fn(&Reflector) -> bool) -> usize {
    let in_flight = reflectors.iter().filter(|reflector| is_in_flight(reflector)).count();
    max.saturating_sub(in_flight)
}

/// While nothing works, has one list after the other probe the API server: the lists' own pauses are too long for that.
/// With the four lists of the default configuration, the server gets no more requests than without probes.
fn probe(reflectors: &mut [&mut Reflector], now: Time) {
    let next_probes = reflectors.iter().map(|reflector| reflector.next_probe());
    let due = next_probes.reduce(|one, other| Some(one?.max(other?))).flatten();
    if due.is_none_or(|due| due > now) {
        return;
    }
    let allowed = reflectors.iter_mut().filter(|reflector| reflector.may_request(now));
    if let Some(reflector) = allowed.min_by_key(|reflector| reflector.requested_at()) {
        reflector.end_pause(now);
    }
}

#[cfg(test)]
mod tests;
