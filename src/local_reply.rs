//! Sends replies of the filter itself. A bulk reply needs a permit, because Envoy holds its body until the client has
//! taken it.

use crate::host;
use crate::vm::{self, BulkPermit};
use burst_model::serve::LocalReply;

/// Requests that are answered in one callback, besides the one that it is for. Envoy sends the replies of a callback when it
/// ends, and each reply calls the filter again before the next one is sent. These calls nest, and the stack is full at about
/// 300.
pub(crate) const MAX_PER_CALLBACK: usize = 8;

/// Whether [`send_or`] would send this reply now.
pub(crate) fn fits(answer: &LocalReply) -> bool {
    answer.bulk_size().is_none_or(|size| vm::permit_bulk(size).is_some())
}

/// Replies to the current stream. The stream has to hold the permit of a bulk reply until its end. If no permit is left for
/// a bulk reply, `busy` is sent in its place.
pub(crate) fn send_or(answer: &LocalReply, busy: impl FnOnce() -> LocalReply) -> Option<BulkPermit> {
    let Some(size) = answer.bulk_size() else {
        send(answer);
        return None;
    };
    let permit = vm::permit_bulk(size);
    if permit.is_some() {
        send(answer);
    } else {
        vm::stats().count_rejected_bulk();
        send(&busy());
    }
    permit
}

/// Replies to the current stream with an answer that needs no permit.
pub(crate) fn send(LocalReply { status, headers, body }: &LocalReply) {
    vm::stats().count_reply(*status);
    host::reply(*status, headers, body);
}
