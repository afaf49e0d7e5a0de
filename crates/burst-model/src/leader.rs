//! What the polling root context does: asks for lists, keeps their objects, and publishes a snapshot when a served
//! value changed. It says what is to be done; the shell does it.

use crate::config::Config;
use crate::index::{self, Notes, SERVICES, Table};
use crate::kube::page::Bad;
use crate::kube::{Failure, Object, Outcome, Page, Source};
use crate::records::{Confirmed, Resume, Resumed};
use crate::snapshot::{self, Snapshot};
use crate::sync::life::{Listed, Step};
use crate::sync::poller::{Ask, Poller, SourceId};
use crate::time::Time;
use std::collections::BTreeSet;
use std::mem::Discriminant;
use std::rc::Rc;

/// Lines about bad objects that one list may write at once: a broken controller must not flood the proxy's log.
const MOST_LINES: usize = 10;

/// What is to be done.
#[derive(Debug)]
pub enum Effect {
    /// Ask for a page.
    Ask(Ask),
    /// Put a new snapshot, and what a successor needs, into shared data. Comes before its [`Effect::Confirm`].
    Publish {
        /// The bytes.
        snapshot: Vec<u8>,
        /// The objects behind them.
        resume: Resume,
    },
    /// Show what there is.
    Show(Totals),
    /// Say when the cluster was last read.
    Confirm(Confirmed),
    /// Count the end of a request.
    Count(Outcome),
    /// Tell the operator that something is wrong.
    Warn(String),
    /// Tell the operator that something is well again.
    Inform(String),
}

/// What a snapshot was made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Objects that are kept, over all lists.
    pub objects: u64,
    /// Objects that could not be read, in the last read of each list.
    pub bad_objects: u64,
    /// Services with a load.
    pub services: u64,
    /// What the join noticed.
    pub notes: Notes,
}

/// One list as it stands.
#[derive(Debug, Default)]
struct Standing {
    objects: Vec<Object>,
    version: String,
    read: Option<Time>,
    bad: BTreeSet<String>,
    trouble: Option<Discriminant<Failure>>,
}

/// The polling root context.
#[derive(Debug)]
pub struct Leader {
    config: Rc<Config>,
    poller: Poller,
    lists: Vec<Standing>,
    generation: u64,
    /// The hash of what is published.
    content: Option<u64>,
    /// A list was read since the last publication.
    news: bool,
}

/// What a leader finds in shared data when it takes over.
#[derive(Debug, Default)]
pub struct Estate {
    /// The snapshot of the last leader.
    pub snapshot: Option<Snapshot>,
    /// When the last leader read.
    pub confirmed: Option<Confirmed>,
    /// What the last leader knew.
    pub resume: Option<Resume>,
}

impl Leader {
    /// Takes over. Where the last leader left all its objects, lists are read again when they would have been anyway.
    #[must_use]
    pub fn new(config: Rc<Config>, estate: Estate, now: Time) -> Self {
        let sources = &config.content.sources;
        let Estate {
            snapshot,
            confirmed,
            resume,
        } = estate;
        let resume = resume
            .filter(|resume| resume.lists.len() == sources.len())
            .unwrap_or_default();
        let times = confirmed
            .map(|confirmed| confirmed.lists)
            .unwrap_or_default()
            .into_iter();
        let mut lists: Vec<_> = resume
            .lists
            .into_iter()
            .zip(times)
            .map(|(list, read)| Standing::resumed(list, read))
            .collect();
        lists.resize_with(sources.len(), Standing::default);
        // A read that lies ahead was made before the clock was set back.
        let due = |list: &Standing| list.read.map_or(now, |read| read.min(now).after(config.poll_interval));
        let due = sources.iter().cloned().zip(lists.iter().map(due));
        Self {
            poller: Poller::new(due, config.page_size, config.poll_interval),
            lists,
            generation: snapshot.as_ref().map_or(0, Snapshot::generation),
            content: snapshot.as_ref().map(Snapshot::content_hash),
            news: false,
            config,
        }
    }

    /// Whether nothing is under way, and nothing about to begin: another may take over.
    #[must_use]
    pub fn is_resting(&self, now: Time) -> bool {
        self.poller.is_resting(now)
    }

    /// What a list lists; `None` where there is no such list.
    #[must_use]
    pub fn source(&self, id: SourceId) -> Option<&Source> {
        self.poller.source(id)
    }

    /// Once a tick.
    pub fn tick(&mut self, now: Time) -> Vec<Effect> {
        let mut effects = self.publish();
        effects.extend(self.poller.begin(now).into_iter().map(Effect::Ask));
        effects
    }

    /// Takes what a page brought.
    pub fn answer(&mut self, id: SourceId, answer: Result<Page, Failure>, now: Time, chance: u32) -> Vec<Effect> {
        let mut effects = vec![Effect::Count(
            answer.as_ref().map_or_else(Outcome::from, |_| Outcome::Ok),
        )];
        let Some(source) = self.poller.source(id).cloned() else {
            return effects;
        };
        let (answer, lacking) = match answer {
            Err(failure @ Failure::NotFound(_)) if source.may_be_absent() => (Ok(Page::default()), Some(failure)),
            answer => (answer, None),
        };
        match self.poller.answer(id, answer, now, chance) {
            Some(Step::Ask(path)) => effects.push(Effect::Ask(Ask { source: id, path })),
            Some(Step::Whole(listed)) => {
                // A first page is not yet a list that works.
                effects.extend(match lacking {
                    Some(failure) => self.trouble(id, &source, &failure),
                    None => self.recovered(id, &source),
                });
                effects.extend(self.keep(id, &source, listed, now));
            }
            Some(Step::Failed(failure)) => effects.extend(self.trouble(id, &source, &failure)),
            None => {}
        }
        effects.extend(self.poller.begin(now).into_iter().map(Effect::Ask));
        if self.poller.is_between_rounds() {
            effects.extend(self.publish());
        }
        effects
    }

    /// One line for a change of state, not one for every failure.
    fn trouble(&mut self, id: SourceId, source: &Source, failure: &Failure) -> Option<Effect> {
        let kind = Some(std::mem::discriminant(failure));
        let list = self.lists.get_mut(id.0).filter(|list| list.trouble != kind)?;
        list.trouble = kind;
        Some(Effect::Warn(format!(
            "cannot list {source}: {failure}; {}",
            failure.advice(source)
        )))
    }

    fn recovered(&mut self, id: SourceId, source: &Source) -> Option<Effect> {
        self.lists.get_mut(id.0)?.trouble.take()?;
        Some(Effect::Inform(format!("listing {source} works again")))
    }

    fn keep(&mut self, id: SourceId, source: &Source, listed: Listed, now: Time) -> Vec<Effect> {
        let Some(list) = self.lists.get_mut(id.0) else {
            return Vec::new();
        };
        let line = |Bad { name, reason }: &Bad| format!("left out {} {name}: {reason}", source.resource.kind);
        let bad: BTreeSet<_> = listed.bad.iter().map(line).collect();
        let lines = bad
            .difference(&list.bad)
            .take(MOST_LINES)
            .cloned()
            .map(Effect::Warn)
            .collect();
        (list.objects, list.version, list.read, list.bad) = (listed.objects, listed.version, Some(now), bad);
        self.news = true;
        lines
    }

    /// A snapshot where a served value changed, and word of the read in any case: once every list was read.
    fn publish(&mut self) -> Vec<Effect> {
        if !self.news || self.lists.iter().any(|list| list.read.is_none()) {
            return Vec::new();
        }
        self.news = false;
        let objects = self.lists.iter().map(|list| list.objects.as_slice());
        let lists = self.config.content.sources.iter().zip(objects);
        let (table, notes) = index::join(lists, self.config.content.target);
        let services = table.get(SERVICES).map_or(0, Vec::len) as u64;
        let mut effects: Vec<_> = self.publish_changes(&table).into_iter().collect();
        effects.push(Effect::Show(self.totals(services, notes)));
        let lists = self.lists.iter().map(|list| list.read).collect();
        effects.push(Effect::Confirm(Confirmed {
            generation: self.generation,
            lists,
        }));
        effects
    }

    fn publish_changes(&mut self, table: &Table) -> Option<Effect> {
        let snapshot = Snapshot::open(snapshot::write(table, self.generation.wrapping_add(1))).ok()?;
        let content = Some(snapshot.content_hash());
        if content == self.content {
            return None;
        }
        (self.content, self.generation) = (content, snapshot.generation());
        Some(Effect::Publish {
            snapshot: snapshot.into_bytes(),
            resume: self.resume(),
        })
    }

    fn totals(&self, services: u64, notes: Notes) -> Totals {
        let count = |of: fn(&Standing) -> usize| self.lists.iter().map(of).sum::<usize>() as u64;
        Totals {
            objects: count(|list| list.objects.len()),
            bad_objects: count(|list| list.bad.len()),
            services,
            notes,
        }
    }

    fn resume(&self) -> Resume {
        let resumed = |list: &Standing| Resumed {
            version: list.version.clone(),
            objects: list.objects.clone(),
        };
        Resume {
            lists: self.lists.iter().map(resumed).collect(),
        }
    }
}

impl Standing {
    fn resumed(Resumed { version, objects }: Resumed, read: Option<Time>) -> Self {
        Self {
            objects,
            version,
            read,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests;
