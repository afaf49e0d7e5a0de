//! When something is read again, and for how long it is watched.

use crate::time::Time;
use std::time::Duration;

/// A tick comes early by as much as the one before it came late in its round of the proxy's event loop. A list that is
/// due within this time is read with the tick that is there: the next one would be a second late.
pub(super) const TICK_TOLERANCE: Duration = Duration::from_millis(250);

/// The least that a window after a list or a break lasts; shorter than the shortest that can be configured it has no
/// bookmark.
const MIN_STAGGERED_WINDOW: Duration = Duration::from_secs(3);

/// When to read again what was read from `begun` until now. The interval counts from the beginning: from the end it
/// would miss, by the time that the answer took, the tick it should come with. A read that takes longer than its
/// interval is followed by all of it; so is one that the clock was set back in, by nobody knows how much.
pub(crate) fn next_read(started_at: Time, interval: Duration, now: Time) -> Time {
    let is_known = started_at <= now && now.since(started_at) < interval;
    let from = if is_known { started_at } else { now };
    from.after(interval.saturating_sub(TICK_TOLERANCE))
}

/// A window of whole seconds, shorter by as many as `chance` (any 32 bits) says.
pub(super) fn staggered_window(window: Duration, chance: u32) -> Duration {
    let room = window.saturating_sub(MIN_STAGGERED_WINDOW).as_secs().saturating_add(1);
    let less = u64::from(chance).saturating_mul(room) >> 32;
    window.saturating_sub(Duration::from_secs(less))
}
