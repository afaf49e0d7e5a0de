//! The published rates as every VM has them: bytes until somebody asks.

use super::hub::Published;
use super::rate::{Rates, Scope};
use super::share::Share;
use crate::time::Time;
use std::cell::OnceCell;
use std::time::Duration;

impl Published<'_> {
    /// The record in shared data: a word for the scope, and the share as text.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let word = match self.scope {
            Scope::Proxy => "proxy;",
            Scope::AllProxies => "all;",
        };
        [word, &self.share.to_text()].concat().into_bytes()
    }
}

fn read(bytes: &[u8]) -> Option<Rates> {
    let (scope, text) = match bytes.strip_prefix(b"proxy;") {
        Some(text) => (Scope::Proxy, text),
        None => (Scope::AllProxies, bytes.strip_prefix(b"all;")?),
    };
    Share::parse(text).ok()?.rates(scope)
}

/// What was published last.
#[derive(Debug, Default)]
pub struct Latest {
    bytes: Vec<u8>,
    rates: OnceCell<Option<Rates>>,
    looked: Time,
    max_age: Duration,
}

impl Latest {
    /// Takes the record as it stands, once a tick. Rates older than `max_age` are not known any more.
    pub fn look(&mut self, bytes: Vec<u8>, max_age: Duration, now: Time) {
        (self.looked, self.max_age) = (now, max_age);
        if bytes != self.bytes {
            (self.bytes, self.rates) = (bytes, OnceCell::new());
        }
    }

    /// The rates; `None` before there are any, and when they are too old.
    #[must_use]
    pub fn rates(&self) -> Option<&Rates> {
        let rates = self.rates.get_or_init(|| read(&self.bytes)).as_ref();
        rates.filter(|rates| self.looked.since(rates.timestamp) <= self.max_age)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::ObjectName;
    use crate::rates::Count;

    const MAX_AGE: Duration = Duration::from_secs(30);

    fn at(seconds: u64) -> Time {
        Time::from_unix_millis(seconds * 1000)
    }

    fn published(scope: Scope) -> Vec<u8> {
        let count = Count {
            requests: 60,
            ..Count::default()
        };
        let share = Share {
            id: 1,
            taken: at(100),
            span: Duration::from_secs(30),
            services: vec![("shop/web", count)],
        };
        Published {
            scope,
            ..Published::own(share)
        }
        .to_bytes()
    }

    #[test]
    fn what_was_published_is_read_by_every_vm() {
        for scope in [Scope::Proxy, Scope::AllProxies] {
            let mut latest = Latest::default();
            latest.look(published(scope), MAX_AGE, at(101));
            let rates = latest.rates().unwrap();
            let web = rates.of(&ObjectName::parse("shop/web").unwrap()).unwrap();
            assert_eq!((rates.scope, web.requests_milli_per_second), (scope, 2_000));
        }
    }

    #[test]
    fn rates_that_nobody_renews_become_unknown() {
        let mut latest = Latest::default();
        assert!(latest.rates().is_none());
        for (now, known) in [(101, true), (130, true), (131, false), (110, true)] {
            latest.look(published(Scope::Proxy), MAX_AGE, at(now));
            assert_eq!(latest.rates().is_some(), known, "at {now}");
        }
        latest.look(b"all;nonsense".into(), MAX_AGE, at(101));
        assert!(latest.rates().is_none());
    }
}
