//! The lifecycle of an HTTP stream, on the thread of its VM.

use super::guest::{self, with};
use super::message::{By, Request, Response, Seen};
use super::route::{End, Route};
use super::stream::{Pause, Stream};
use proxy_wasm::types::Action;

/// Creates the stream and passes it the request. If the filter asks for a local reply, this sends it.
pub(super) fn open(root: u32, request: Request, route: Route) -> u32 {
    let (headers, body) = (request.headers.len(), request.body.len());
    let id = with(|vm| {
        let id = vm.next_context();
        vm.streams.insert(id, Stream::new(root, request, route));
        id
    });
    guest::create(id, root);
    on(id, |stream| stream.lent.request_headers = true);
    let action = guest::request_headers(id, headers, body == 0);
    on(id, |stream| {
        if stream.route_cleared {
            stream.route = stream.routes.of(&stream.request.headers).clone();
        }
    });
    if flows_on(id, action) {
        on(id, |stream| stream.lent.request_headers = false);
        if body > 0 {
            on(id, |stream| stream.lent.request_body = true);
            let action = guest::request_body(id, body);
            flows_on(id, action);
            on(id, |stream| stream.lent.request_body = false);
        }
    }
    id
}

/// Passes the response to the filter, unless there has been a local reply. `None` if the filter has paused the stream.
pub(super) fn finish(id: u32) -> Option<Seen> {
    // A local reply may be pending by now, for instance because of a callout's answer.
    if let Some(reply) = on(id, |stream| stream.wanted_reply.take()) {
        pass_response(id, By::Filter, reply);
    }
    let (seen, pause) = on(id, |stream| (stream.seen.clone(), stream.pause));
    if seen.is_some() || pause != Pause::Flowing {
        return seen;
    }
    let (by, response) = on(id, |stream| match &stream.route.end {
        End::Upstream(response) => (By::Upstream, response.clone()),
        End::Envoy(response, _) => (By::Envoy, response.clone()),
    });
    pass_response(id, by, response);
    on(id, |stream| stream.seen.clone())
}

/// Runs the access log and ends the stream.
pub(super) fn close(id: u32) {
    on(id, |stream| stream.logging = true);
    guest::log(id);
    guest::done(id);
    guest::delete(id);
}

fn on<R>(id: u32, look: impl FnOnce(&mut Stream) -> R) -> R {
    with(|vm| look(vm.streams.get_mut(&id).expect("the stream is open")))
}

/// The step after a callback of the request phase: the local reply that it asked for, a pause, or the next phase.
fn flows_on(id: u32, action: Action) -> bool {
    let (reply, head) = on(id, |stream| (stream.wanted_reply.take(), stream.request.is_head()));
    if let Some(mut reply) = reply {
        if head {
            reply.body.clear();
        }
        pass_response(id, By::Filter, reply);
        return false;
    }
    on(id, |stream| {
        if action == Action::Pause && stream.pause == Pause::Flowing {
            stream.pause = Pause::Paused;
        }
        stream.pause == Pause::Flowing
    })
}

fn pass_response(id: u32, by: By, response: Response) {
    let (headers, body) = (response.headers.len(), response.body.len());
    on(id, |stream| {
        stream.replied |= by == By::Filter;
        stream.responded |= by != By::Filter;
        stream.response = Some(response);
        stream.lent.response_headers = true;
    });
    let mut action = guest::response_headers(id, headers, body == 0);
    on(id, |stream| stream.lent.response_headers = false);
    if body > 0 && action == Action::Continue && on(id, |stream| stream.wanted_reply.is_none()) {
        on(id, |stream| stream.lent.response_body = true);
        action = guest::response_body(id, body, true);
        on(id, |stream| stream.lent.response_body = false);
    }
    on(id, |stream| {
        // A reply that is asked for here goes straight to the client, because the response filters already run.
        if let Some(reply) = stream.wanted_reply.take() {
            stream.replied = true;
            stream.seen = Some(Seen {
                by: By::Filter,
                response: reply,
            });
        } else if action == Action::Continue {
            stream.seen = stream.response.clone().map(|response| Seen { by, response });
        }
    });
}
