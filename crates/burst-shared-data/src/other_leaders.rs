//! Announces the leader of the snapshot to leaders with other settings, and finds those. Each of them reads the cluster for
//! itself.

use crate::shared_data::SharedData;
use burst_model::config::Config;
use burst_model::leader_list::{AnnouncedLeader, LeaderList};
use burst_model::records::Record;
use burst_model::time::Time;
use std::marker::PhantomData;
use std::time::Duration;

const ANNOUNCE_INTERVAL: Duration = Duration::from_secs(10);

/// A leader of a configuration that is draining is another one too, but not for long: Istio drains for 45 s.
const REPORT_DELAY: Duration = Duration::from_secs(60);

/// The other leaders of this proxy, as a leader sees them.
#[derive(Debug)]
pub struct OtherLeaders<H> {
    announced_at: Option<Time>,
    seen: Vec<SeenLeader>,
    host: PhantomData<H>,
}

#[derive(Debug)]
struct SeenLeader {
    settings: u64,
    since: Time,
    is_reported: bool,
}

/// What a leader has found of the others.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct OtherLeadersReport {
    /// How many there are.
    pub count: usize,
    /// Lines for the log.
    pub warnings: Vec<String>,
}

impl<H> Default for OtherLeaders<H> {
    fn default() -> Self {
        Self {
            announced_at: None,
            seen: Vec::new(),
            host: PhantomData,
        }
    }
}

impl<H: SharedData> OtherLeaders<H> {
    /// Called once a tick. Returns a report from time to time.
    pub fn tick(&mut self, config: &Config, now: Time) -> Option<OtherLeadersReport> {
        let is_due = |last: Time| now >= last.after(ANNOUNCE_INTERVAL) || now < last;
        if !self.announced_at.is_none_or(is_due) {
            return None;
        }
        let own = AnnouncedLeader::new(config, now);
        let list = H::update(&LeaderList::key(), |bytes| {
            let mut list = LeaderList::from_bytes(bytes).unwrap_or_default();
            list.announce(own.clone());
            Ok::<_, ()>((list.to_bytes(), list))
        });
        let list = list.ok()?.ok()?;
        self.announced_at = Some(now);
        Some(self.report(&own, &list, now))
    }

    /// Two leaders find each other, and one of them reports it.
    fn report(&mut self, own: &AnnouncedLeader, list: &LeaderList, now: Time) -> OtherLeadersReport {
        let others: Vec<_> = list.others(own).collect();
        self.seen
            .retain(|seen| others.iter().any(|other| other.settings == seen.settings));
        let mut report = OtherLeadersReport {
            count: others.len(),
            warnings: Vec::new(),
        };
        for other in others {
            let known = self.seen.iter().position(|seen| seen.settings == other.settings);
            let index = known.unwrap_or_else(|| {
                self.seen.push(SeenLeader {
                    settings: other.settings,
                    since: now,
                    is_reported: own.settings > other.settings,
                });
                self.seen.len() - 1
            });
            let Some(seen) = self.seen.get_mut(index) else { continue };
            // The clock may have been set back.
            seen.since = seen.since.min(now);
            if !seen.is_reported && now.since(seen.since) >= REPORT_DELAY {
                seen.is_reported = true;
                report.warnings.push(format!(
                    "two threads of this proxy read the cluster, because two configurations of the filter differ in {}; \
                     write the same in both, and one thread reads for both",
                    own.differences(other)
                ));
            }
        }
        report
    }
}
