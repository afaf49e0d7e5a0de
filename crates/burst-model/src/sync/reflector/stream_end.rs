//! The end of a stream: complete, broken, or given up because it is silent.

use super::listing::Listing;
use super::pause::waiting_after;
use super::stream::{Probe, StreamContent, StreamRead};
use super::{ApiRequest, MIN_WINDOW, Reflector, ReflectorEvent, ReflectorState};
use crate::kube::{BodyEnd, Failure, ListPage, Payload, Source, Verb, WatchBatch};
use crate::time::Time;
use std::time::Duration;

/// Consecutive streams that break without a message, after which the list is watched in windows.
const MAX_BROKEN_STREAMS: u32 = 3;

/// Consecutive lists as events that break, after which the list is read in pages.
const MAX_BROKEN_LISTS: u32 = 2;

impl Reflector {
    /// Takes a stream as over. What it led to is in `read`.
    pub(super) fn finish_stream(&mut self, end: Result<(), Failure>, now: Time, chance: u32, read: &mut StreamRead) {
        let waiting = ReflectorState::Waiting { since: now, due: now };
        let ReflectorState::Streaming(_, stream) = std::mem::replace(&mut self.state, waiting) else {
            return;
        };
        let (opened_at, has_worked) = (stream.opened_at, stream.last_message_at.is_some());
        let (content, body) = match end {
            Ok(()) => stream.finish(&self.source),
            Err(failure) => (stream.content, Err(failure)),
        };
        match (content, body) {
            (StreamContent::Page { listing, page }, body) => self.finish_page(listing, page, body, read),
            (StreamContent::Initial { listing, .. }, body) => {
                let failure = body.err().unwrap_or(Failure::Disconnected);
                self.finish_initial_events(listing.started_at, failure, now, chance, read);
            }
            (StreamContent::Window, body) => {
                self.state = ReflectorState::Watching { started_at: opened_at };
                read.answer = Some(body.map(|_| Payload::WatchBatch(WatchBatch::default())));
            }
            (StreamContent::Live, Ok(_)) => {
                self.state = ReflectorState::Watching { started_at: opened_at };
                read.answer = Some(Ok(Payload::WatchBatch(WatchBatch::default())));
            }
            (StreamContent::Live, Err(failure)) => {
                if !matches!(failure, Failure::Disconnected | Failure::Timeout) {
                    self.state = ReflectorState::Watching { started_at: opened_at };
                    read.answer = Some(Err(failure));
                    return;
                }
                let event = self.interrupt(opened_at, has_worked, failure, now, chance);
                read.events.push(event);
            }
        }
    }

    fn finish_page(
        &mut self,
        listing: Listing,
        mut page: ListPage,
        body: Result<BodyEnd, Failure>,
        read: &mut StreamRead,
    ) {
        self.state = ReflectorState::Listing(listing);
        read.answer = Some(match body {
            Ok(BodyEnd::List {
                resource_version,
                continue_token,
            }) => {
                (page.resource_version, page.continue_token) = (resource_version, continue_token);
                Ok(Payload::Page(page))
            }
            Ok(BodyEnd::Watch) => Err(Failure::Disconnected),
            Err(failure) => Err(failure),
        });
    }

    /// Handles the end of a list that was not sent in full. Nothing of it is applied.
    fn finish_initial_events(
        &mut self,
        started_at: Time,
        failure: Failure,
        now: Time,
        chance: u32,
        read: &mut StreamRead,
    ) {
        let is_broken = matches!(failure, Failure::Disconnected | Failure::Timeout);
        self.streams.broken_lists = self.streams.broken_lists.saturating_add(is_broken.into());
        let is_unavailable =
            is_broken || failure.is_server_unavailable() || matches!(failure, Failure::Unauthorized(_));
        if !is_unavailable || self.streams.broken_lists >= MAX_BROKEN_LISTS {
            // Pages show what is wrong, if they fail too.
            self.streams.broken_lists = 0;
            self.avoid_watch_list(now);
            self.state = waiting_after(started_at, now);
            read.events.push(ReflectorEvent::WatchListRefused(failure));
            return;
        }
        let event = self.handle_failure(Verb::Watch, failure, now, chance);
        read.events.push(event);
    }

    /// Handles a stream of changes that broke.
    fn interrupt(
        &mut self,
        opened_at: Time,
        has_worked: bool,
        failure: Failure,
        now: Time,
        chance: u32,
    ) -> ReflectorEvent {
        if has_worked {
            self.streams.is_interrupted = true;
            self.state = waiting_after(opened_at, now);
            return ReflectorEvent::Interrupted(failure);
        }
        self.streams.broken = self.streams.broken.saturating_add(1);
        if self.streams.broken >= MAX_BROKEN_STREAMS {
            (self.streams.broken, self.streams.windows_since) = (0, Some(now));
        }
        self.handle_failure(Verb::Watch, failure, now, chance)
    }

    /// Has the shell close the open stream. What still comes of it is ignored as soon as the state is another one.
    pub(super) fn close_stream(&mut self) {
        let id = self.stream_id();
        self.streams.closed.extend(id);
    }

    /// Closes a stream of changes. The next request is due at once.
    pub(super) fn close_live_stream(&mut self) {
        if self.is_live()
            || self
                .stream()
                .is_some_and(|stream| matches!(stream.content, StreamContent::Window))
        {
            self.close_stream();
            self.state = ReflectorState::Waiting {
                since: Time::default(),
                due: Time::default(),
            };
        }
    }

    /// Returns a request that shows whether a silent stream is alive, if one is due. `is_proof_due`: it must show now that
    /// the list is current, if the stream does not show it yet.
    pub fn due_probe(&mut self, is_proof_due: bool, now: Time) -> Option<ApiRequest> {
        let version = self.resource_version.clone()?;
        let stream = self.stream_mut().filter(|stream| stream.is_live())?;
        let is_due = stream.is_silent(now) || is_proof_due && stream.proven_at(now).is_none();
        if stream.is_busy() || stream.probe != Probe::None || !is_due {
            return None;
        }
        stream.probe = Probe::Sent(now);
        Some(probe_request(&self.source, &version, MIN_WINDOW))
    }

    /// Takes the response to a probe. If the stream is dead, it is given up and continued.
    pub fn handle_probe(&mut self, answer: Result<WatchBatch, Failure>, now: Time) -> StreamRead {
        let mut read = StreamRead::default();
        let Some(stream) = self.stream_mut() else { return read };
        let Probe::Sent(sent_at) = std::mem::replace(&mut stream.probe, Probe::None) else {
            return read;
        };
        let has_message = stream.last_message_at.is_some_and(|at| at >= sent_at);
        if has_message || stream.is_busy() {
            return read;
        }
        match answer {
            Ok(batch) if batch.changes.is_empty() => {
                stream.last_message_at = Some(now);
                self.add_changes(batch, &mut read.events);
            }
            Ok(batch) => {
                self.add_changes(batch, &mut read.events);
                self.close_live_stream();
                read.events.push(ReflectorEvent::Interrupted(Failure::Disconnected));
            }
            Err(failure) => {
                let opened_at = stream.opened_at;
                self.close_stream();
                self.state = ReflectorState::Watching { started_at: opened_at };
                read.answer = Some(Err(failure));
            }
        }
        read
    }
}

/// The short watch that shows whether a stream is alive.
fn probe_request(source: &Source, resource_version: &str, lasts: Duration) -> ApiRequest {
    ApiRequest {
        verb: Verb::Watch,
        path: source.watch_path(resource_version, lasts.as_secs()),
        accept: source.accept(Verb::Watch),
        watch_timeout: lasts,
        stream: None,
        is_probe: true,
    }
}
