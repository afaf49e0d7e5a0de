//! When a list is read again, and how long a watch lasts.

use crate::time::Time;
use std::time::Duration;

/// How early a read may come. A tick comes early by as much as the one before it came late in the proxy's event loop, and
/// a list that waited for the next tick would be read a second late.
pub(super) const TICK_TOLERANCE: Duration = Duration::from_millis(250);

/// The shortest watch after a list or a failure. A watch that is shorter than the shortest that can be configured gets no
/// bookmark.
const MIN_STAGGERED_WINDOW: Duration = Duration::from_secs(3);

/// When to read again after a read from `started_at` until `now`. The interval counts from the start: counted from the end
/// the next read would miss its tick, by the time that the response took. After a read that took longer than the interval
/// it counts from the end, and so it does if the clock was set back during the read.
pub(crate) fn next_read(started_at: Time, interval: Duration, now: Time) -> Time {
    let is_in_time = started_at <= now && now.since(started_at) < interval;
    let from = if is_in_time { started_at } else { now };
    from.after(interval.saturating_sub(TICK_TOLERANCE))
}

/// The length of a watch in whole seconds, shortened by as many as `chance`, any 32 random bits, decides.
pub(super) fn staggered_window(window: Duration, chance: u32) -> Duration {
    let choices = window.saturating_sub(MIN_STAGGERED_WINDOW).as_secs().saturating_add(1);
    let shortened_by = u64::from(chance).saturating_mul(choices) >> 32;
    window.saturating_sub(Duration::from_secs(shortened_by))
}
