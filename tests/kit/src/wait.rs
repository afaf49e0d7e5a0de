//! Waiting for a condition, with a deadline. No test sleeps and hopes.

use std::{
    fmt::{self, Display},
    thread,
    time::{Duration, Instant},
};

/// The least pause between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Connections after which neither of two workers was left out, but once in some hundred thousand times.
const STREAK: usize = 20;

/// Why a condition does not hold yet: what the message says when there is no more time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotYet(pub String);

impl Display for NotYet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Waits until `condition` holds.
///
/// # Panics
/// When it does not within `patience`; the message says `what` was waited for.
#[track_caller]
pub fn until(patience: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    for_ok(patience, what, || condition().then_some(()).ok_or("it does not hold"));
}

/// Waits until `attempt` succeeds, and gives what it found.
///
/// # Panics
/// When it does not within `patience`; the message says `what` was waited for and how the last attempt failed.
#[track_caller]
pub fn for_ok<T, E: Display>(patience: Duration, what: &str, mut attempt: impl FnMut() -> Result<T, E>) -> T {
    let started = Instant::now();
    loop {
        let attempted = Instant::now();
        match attempt() {
            Ok(found) => return found,
            Err(error) if started.elapsed() >= patience => panic!("waited {patience:?} for {what}: {error}"),
            Err(_) => thread::sleep(pause_after(attempted.elapsed())),
        }
    }
}

/// Twice as long as the attempt took, within limits: one that starts a program, such as kubectl, would otherwise keep a core
/// busy and hold up what it waits for.
fn pause_after(attempt: Duration) -> Duration {
    (attempt * 2).clamp(PAUSE, LONGEST_PAUSE)
}

/// Waits until every worker of a proxy answers as it should: `ask` asks over a new connection each time, which comes to a
/// worker by chance. Gives what it found last.
///
/// # Panics
/// When that is not so within `patience`; the message says `what` was waited for and how the last answer was not.
#[track_caller]
pub fn for_every_worker<T, E: Display>(patience: Duration, what: &str, mut ask: impl FnMut() -> Result<T, E>) -> T {
    for_ok(patience, what, || {
        let last = ask()?;
        (1..STREAK).try_fold(last, |_, _| ask())
    })
}

/// Holds `condition` for all of `span`: the way to say that something does *not* happen.
///
/// # Panics
/// As soon as it does not hold.
#[track_caller]
pub fn throughout(span: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while started.elapsed() < span {
        assert!(condition(), "after {:?} no longer: {what}", started.elapsed());
        thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(60);

    #[test]
    fn a_slow_attempt_leaves_the_machine_to_others() {
        let pauses = [1, 200, 5_000].map(|attempt| pause_after(Duration::from_millis(attempt)).as_millis());
        assert_eq!(pauses, [20, 400, 1_000]);
    }

    #[test]
    fn a_condition_is_checked_again() {
        let mut looks = 0;
        until(Duration::from_secs(60), "three looks", || {
            looks += 1;
            looks == 3
        });
    }

    #[test]
    #[should_panic(expected = "waited 60ms for rain: sunny")]
    fn a_timeout_names_the_last_error() {
        for_ok(SOON, "rain", || Err::<(), _>("sunny"));
    }

    #[test]
    fn a_worker_that_is_behind_restarts_the_streak() {
        let mut asked = 0;
        let last = for_every_worker(Duration::from_secs(60), "a streak", || {
            asked += 1;
            if asked == STREAK { Err("behind") } else { Ok(asked) }
        });
        assert_eq!(last, 2 * STREAK);
    }

    #[test]
    #[should_panic(expected = "no longer: it is dry")]
    fn a_condition_that_stops_holding_fails_at_once() {
        let mut looks = 0;
        throughout(Duration::from_secs(60), "it is dry", || {
            looks += 1;
            looks < 3
        });
    }
}
