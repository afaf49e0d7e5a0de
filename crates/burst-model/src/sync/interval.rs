//! When something is read again.

use crate::time::Time;
use std::time::Duration;

/// A tick comes early by as much as the one before it came late in its round of the proxy's event loop. A list that is
/// due within this time is read with the tick that is there: the next one would be a second late.
pub(super) const EARLY: Duration = Duration::from_millis(250);

/// When to read again what was read from `begun` until now. The interval counts from the beginning: from the end it
/// would miss, by the time that the answer took, the tick it should come with. A read that takes longer than its
/// interval is followed by all of it; so is one that the clock was set back in, by nobody knows how much.
pub(crate) fn next_read(begun: Time, interval: Duration, now: Time) -> Time {
    let is_known = begun <= now && now.since(begun) < interval;
    let from = if is_known { begun } else { now };
    from.after(interval.saturating_sub(EARLY))
}
