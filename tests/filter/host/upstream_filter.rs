//! The filter as an upstream HTTP filter of a cluster: the callouts to that cluster pass through it.
//!
//! Envoy creates the stream context and passes the request inside the caller's `proxy_http_call`. The end of a callout is
//! two callbacks. `on_delete` of the stream comes first, unless the filter itself has reset the stream: then the answer
//! to the caller comes first.

use super::callout::{Answer, Progress};
use super::chunked_body::BodyPart;
use super::guest::{self, with};
use super::message::{Request, Response};
use super::route::Route;
use super::state::{Part, VmState};
use super::stream::Stream;
use proxy_wasm::types::Action;

/// Where the upstream filter of a cluster runs. It has the same configuration as the listener's filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UpstreamFilter {
    /// In the VM of the listener's filter, with the same root context: Envoy 1.40.
    SharedRoot,
    /// In the VM of the listener's filter, with a root context of its own, which ticks too: Envoy 1.36. A VM makes it
    /// before the listener's.
    OwnRootFirst,
    /// The same, but a VM makes it after the listener's.
    OwnRootLast,
    /// In a VM of its own, of which the VMs here see nothing.
    OtherVm,
}

impl UpstreamFilter {
    pub(super) fn has_own_root(self) -> bool {
        matches!(self, Self::OwnRootFirst | Self::OwnRootLast)
    }
}

impl VmState {
    /// The root context that handles the streams of callouts to a cluster, if that is in this VM.
    fn upstream_root(&self, cluster: &str) -> Option<u32> {
        let filter = self.proxy.state().upstream_filters.get(cluster).copied()?;
        if filter == UpstreamFilter::OtherVm {
            return None;
        }
        let part = if filter.has_own_root() {
            Part::Cluster
        } else {
            Part::Listener
        };
        let mut newest_first = self.roots.iter().rev();
        let (&id, _) = newest_first.find(|(_, root)| root.part == part)?;
        Some(id)
    }

    fn open_upstream(&mut self, token: u32) -> Option<(u32, u32)> {
        let callout = self.callout_mut(token)?;
        let (cluster, headers, body) = (callout.cluster.clone(), callout.headers.clone(), callout.body.clone());
        let root = self.upstream_root(&cluster)?;
        let id = self.next_context();
        let mut stream = Stream::new(root, Request { headers, body }, Route::to(&cluster));
        stream.callout = Some(token);
        self.streams.insert(id, stream);
        self.callout_mut(token)?.upstream = Some(id);
        Some((root, id))
    }

    /// The stream context of a callout, while both exist.
    fn upstream(&mut self, token: u32) -> Option<u32> {
        let id = self.callout_mut(token)?.upstream?;
        self.streams.contains_key(&id).then_some(id)
    }

    fn next_part(&mut self, token: u32) -> Option<BodyPart> {
        match &self.callout_mut(token)?.progress {
            Progress::Receiving(_, body) => body.next(),
            Progress::Waiting | Progress::Hangs => None,
        }
    }

    /// Adds to the body that Envoy collects for the caller. Returns false if it is over the limit then.
    fn collect(&mut self, token: u32, part: &[u8]) -> bool {
        let limit = self.proxy.state().body_limit;
        match self.callout_mut(token).map(|callout| &mut callout.progress) {
            Some(Progress::Receiving(response, _)) => {
                response.body.extend(part);
                response.body.len() <= limit
            }
            _ => true,
        }
    }

    fn collected(&mut self, token: u32) -> Option<Response> {
        match &self.callout_mut(token)?.progress {
            Progress::Receiving(response, _) => Some(response.clone()),
            Progress::Waiting | Progress::Hangs => None,
        }
    }
}

/// Passes the request of a callout through the upstream filter of its cluster. The caller's callback still runs.
pub(super) fn begin(token: u32) {
    let Some((root, stream)) = with(|vm| vm.open_upstream(token)) else {
        return;
    };
    guest::create(stream, root);
    let (headers, body) = on(stream, |stream| {
        stream.lent.request_headers = true;
        (stream.request.headers.len(), stream.request.body.len())
    });
    flows(guest::request_headers(stream, headers, body == 0));
    on(stream, |stream| stream.lent.request_headers = false);
    if body > 0 {
        on(stream, |stream| stream.lent.request_body = true);
        flows(guest::request_body(stream, body));
        on(stream, |stream| stream.lent.request_body = false);
    }
    with(|vm| {
        let request = vm.streams.get(&stream).map(|stream| stream.request.clone());
        if let (Some(request), Some(callout)) = (request, vm.callout_mut(token)) {
            callout.headers = request.headers;
            callout.body = request.body;
        }
    });
}

/// Gives a callout its answer, or the headers of it.
pub(super) fn answer(token: u32, answer: Answer) {
    match answer {
        Answer::Later => {}
        Answer::Never => with(|vm| vm.leave_unanswered(token)),
        Answer::Chunked(response, body) if response.has_few_headers() => {
            with(|vm| {
                if let Some(callout) = vm.callout_mut(token) {
                    callout.progress = Progress::Receiving(response, body);
                }
            });
            pass_headers(token, false);
        }
        Answer::Response(response) if response.has_few_headers() => pass_whole(token, response),
        answer => end(token, answer),
    }
}

fn pass_whole(token: u32, mut response: Response) {
    if with(|vm| vm.upstream(token)).is_none() {
        return end(token, Answer::Response(response));
    }
    let body = std::mem::take(&mut response.body);
    with(|vm| {
        if let Some(callout) = vm.callout_mut(token) {
            callout.progress = Progress::Receiving(response, Default::default());
        }
    });
    pass_headers(token, body.is_empty());
    if !body.is_empty() {
        pass_chunk(token, body, false);
        pass_chunk(token, Vec::new(), true);
    }
    complete(token);
}

/// Delivers the next part of a body that comes in chunks. Returns false if there is none now.
pub(super) fn receive(token: u32) -> bool {
    let Some(part) = with(|vm| vm.next_part(token)) else {
        return false;
    };
    match part {
        BodyPart::Chunk(chunk) => pass_chunk(token, chunk, false),
        BodyPart::End => {
            pass_chunk(token, Vec::new(), true);
            complete(token);
        }
        BodyPart::Reset => end(token, Answer::Reset),
    }
    true
}

/// Ends a callout whose time is over.
pub(super) fn time_out(token: u32) {
    let has_headers = with(|vm| vm.collected(token)).is_some();
    end(token, if has_headers { Answer::Reset } else { Answer::Timeout });
}

/// Ends a callout whose stream the upstream filter has reset, then the stream.
pub(super) fn reset(stream: u32) {
    if let Some(token) = with(|vm| vm.streams.get(&stream)?.callout) {
        tell_caller(token, Answer::Reset);
    }
    guest::end_stream(stream);
}

fn pass_headers(token: u32, end_of_stream: bool) {
    let Some(stream) = with(|vm| vm.upstream(token)) else {
        return;
    };
    let Some(response) = with(|vm| vm.collected(token)) else {
        return;
    };
    let count = response.headers.len();
    on(stream, |stream| {
        stream.responded = true;
        stream.response = Some(response);
        stream.lent.response_headers = true;
    });
    flows(guest::response_headers(stream, count, end_of_stream));
    on(stream, |stream| stream.lent.response_headers = false);
    with(|vm| {
        let headers = vm
            .streams
            .get(&stream)
            .and_then(|stream| Some(stream.response.as_ref()?.headers.clone()));
        let progress = vm.callout_mut(token).map(|callout| &mut callout.progress);
        if let (Some(headers), Some(Progress::Receiving(response, _))) = (headers, progress) {
            response.headers = headers;
        }
    });
}

fn pass_chunk(token: u32, chunk: Vec<u8>, end_of_stream: bool) {
    let Some(stream) = with(|vm| vm.upstream(token)) else {
        return collect(token, &chunk);
    };
    let size = chunk.len();
    on(stream, |stream| {
        if let Some(response) = &mut stream.response {
            response.body = chunk;
        }
        stream.lent.response_body = true;
    });
    flows(guest::response_body(stream, size, end_of_stream));
    on(stream, |stream| stream.lent.response_body = false);
    let left = with(|vm| {
        Some(std::mem::take(
            &mut vm.streams.get_mut(&stream)?.response.as_mut()?.body,
        ))
    });
    collect(token, &left.unwrap_or_default());
}

fn collect(token: u32, part: &[u8]) {
    if !with(|vm| vm.collect(token, part)) {
        end(token, Answer::Reset);
    }
}

fn complete(token: u32) {
    if let Some(response) = with(|vm| vm.collected(token)) {
        end(token, Answer::Response(response));
    }
}

/// Ends the stream of a callout, then the callout.
fn end(token: u32, answer: Answer) {
    if let Some(stream) = with(|vm| vm.upstream(token)) {
        guest::end_stream(stream);
    }
    tell_caller(token, answer);
}

fn tell_caller(token: u32, answer: Answer) {
    let opened = with(|vm| {
        let root = vm.root_of_callout(token)?;
        Some((root, vm.open_answer(root, token, answer)?))
    });
    if let Some((root, sizes)) = opened {
        guest::http_call_response(root, token, sizes);
        with(|vm| vm.close_answer(root));
    }
}

/// Accesses a stream, unless a callback has ended it.
fn on<R: Default>(stream: u32, look: impl FnOnce(&mut Stream) -> R) -> R {
    with(|vm| vm.streams.get_mut(&stream).map(look).unwrap_or_default())
}

fn flows(action: Action) {
    assert_eq!(
        action,
        Action::Continue,
        "the fake host cannot pause the stream of a callout"
    );
}
