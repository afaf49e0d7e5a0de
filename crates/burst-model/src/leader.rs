//! What the polling root context does: asks for lists, keeps their objects, and publishes a snapshot when a served
//! value changed. It says what is to be done; the shell does it.

mod standing;

use crate::config::Config;
use crate::index::{self, Notes, SERVICES, Table};
use crate::kube::{Answer, Failure, Object, Outcome, Page, Reads, Source, Verb};
use crate::policies::{Gathered, PolicySets};
use crate::records::{Confirmed, Resume, Resumed, Trouble, Troubles};
use crate::snapshot::{self, Snapshot};
use crate::spoke::Question;
use crate::sync::life::{Kept, Step};
use crate::sync::poller::{Ask, Poller, SourceId};
use crate::time::Time;
use standing::Standing;
use std::rc::Rc;
use std::time::Duration;

/// Lines about bad objects that one answer may write at once: a broken controller must not flood the proxy's log.
const MOST_LINES: usize = 10;

/// Often enough that the API server still knows what happened since: it keeps some minutes. More often would cost a
/// large cluster's objects each time.
const RESUME_INTERVAL: Duration = Duration::from_secs(30);

/// What is to be done.
#[derive(Debug)]
pub enum Effect {
    /// Ask for a page.
    Ask(Ask),
    /// Ask the hub; only a spoke does.
    AskHub(Question),
    /// Put a new snapshot into shared data. Comes before its [`Effect::Confirm`].
    Publish(Vec<u8>),
    /// Put the policies that are in force into shared data. Comes before its [`Effect::Confirm`].
    Enforce(PolicySets),
    /// Put what a successor needs into shared data.
    Bequeath(Resume),
    /// Put what fails into shared data.
    Admit(Troubles),
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
    /// And what it holds is not what it held.
    changed: bool,
    /// When a successor was last told what to go on with.
    bequeathed: Option<Time>,
    /// What a successor was last told of what fails.
    admitted: Troubles,
    policies: Gathered,
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
    /// What failed under the last leader.
    pub troubles: Option<Troubles>,
    /// The policies that it put in force.
    pub policies: Option<PolicySets>,
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
            troubles,
            policies,
        } = estate;
        let troubles = troubles
            .filter(|troubles| troubles.lists.len() == sources.len())
            .unwrap_or_default();
        let resume = resume
            .filter(|resume| resume.lists.len() == sources.len())
            .unwrap_or_default();
        let times = confirmed
            .map(|confirmed| confirmed.lists)
            .unwrap_or_default()
            .into_iter();
        let resumed: Vec<_> = resume.lists.into_iter().zip(times).collect();
        let versions: Vec<_> = resumed.iter().map(|(list, _)| list.version.clone()).collect();
        let mut lists: Vec<_> = resumed
            .into_iter()
            .map(|(list, read)| Standing::resumed(list, read))
            .collect();
        lists.resize_with(sources.len(), Standing::default);
        for (list, trouble) in lists.iter_mut().zip(&troubles.lists) {
            list.trouble = trouble.told;
        }
        // A read that lies ahead was made before the clock was set back.
        let due = |list: &Standing| list.read.map_or(now, |read| read.min(now).after(config.poll_interval));
        let keep = |(place, (source, list)): (usize, (&Source, &Standing))| {
            let kept = Kept::new(source.clone(), config.pace(source), config.page_size, due(list));
            let kept = match versions.get(place) {
                Some(version) => kept.resumed(version, now),
                None => kept,
            };
            match troubles.lists.get(place).and_then(|trouble| trouble.pause) {
                Some(pause) => kept.pausing(pause),
                None => kept,
            }
        };
        let kept = sources.iter().zip(&lists).enumerate().map(keep).collect();
        Self {
            poller: Poller::new(kept, config.sync.most_windows),
            lists,
            generation: snapshot.as_ref().map_or(0, Snapshot::generation),
            content: snapshot.as_ref().map(Snapshot::content_hash),
            news: false,
            changed: false,
            bequeathed: None,
            admitted: troubles,
            policies: Gathered::new(policies),
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
        self.poller.list(id).map(Kept::source)
    }

    /// Once a tick.
    pub fn tick(&mut self, now: Time) -> Vec<Effect> {
        let mut effects = self.publish(now);
        effects.extend(self.poller.begin(now).into_iter().map(Effect::Ask));
        effects
    }

    /// Takes what a request brought.
    pub fn answer(&mut self, id: SourceId, answer: Result<Answer, Failure>, now: Time, chance: u32) -> Vec<Effect> {
        let mut effects = vec![Effect::Count(
            answer.as_ref().map_or_else(Outcome::from, |_| Outcome::Ok),
        )];
        let Some(list) = self.poller.list(id) else {
            return effects;
        };
        let source = list.source().clone();
        let may_lack = source.may_be_absent() && !list.is_watching();
        let (answer, lacking) = match answer {
            Err(failure @ Failure::NotFound(_)) if may_lack => (Ok(Answer::Page(Page::default())), Some(failure)),
            answer => (answer, None),
        };
        match self.poller.answer(id, answer, now, chance) {
            Some(Step::Ask(request)) => effects.push(Effect::Ask(Ask { source: id, request })),
            Some(Step::Whole(listed)) => {
                // A first page is not yet a list that works.
                effects.extend(match lacking {
                    Some(failure) => self.trouble(id, &source, Verb::List, &failure, false),
                    None => self.recovered(id, &source, Verb::List),
                });
                effects.extend(self.keep(id, now, |list| (true, list.replace(&source.resource, listed))));
            }
            Some(Step::Changed(window)) => {
                effects.extend(self.recovered(id, &source, Verb::Watch));
                effects.extend(self.keep(id, now, |list| list.apply(&source.resource, window.changes)));
            }
            Some(Step::Failed {
                verb,
                failure,
                falls_back,
            }) => effects.extend(self.trouble(id, &source, verb, &failure, falls_back)),
            None => {}
        }
        effects.extend(self.poller.begin(now).into_iter().map(Effect::Ask));
        if self.poller.is_between_rounds() {
            effects.extend(self.publish(now));
        }
        effects.extend(self.admit());
        effects
    }

    /// One line for a change of state, not one for every failure.
    fn trouble(
        &mut self,
        id: SourceId,
        source: &Source,
        verb: Verb,
        failure: &Failure,
        falls_back: bool,
    ) -> Option<Effect> {
        if !self.lists.get_mut(id.0)?.fails(verb, failure.into()) {
            return None;
        }
        let advice = failure.advice(source, verb);
        let instead = match falls_back {
            true => format!("; it is listed every {:?} meanwhile", self.config.poll_interval),
            false => String::new(),
        };
        Some(Effect::Warn(format!(
            "cannot {verb} {source}: {failure}; {advice}{instead}"
        )))
    }

    fn recovered(&mut self, id: SourceId, source: &Source, verb: Verb) -> Option<Effect> {
        let works = self.lists.get_mut(id.0)?.works(verb);
        let what = match verb {
            Verb::List => "listing",
            Verb::Watch => "watching",
        };
        works.then(|| Effect::Inform(format!("{what} {source} works again")))
    }

    /// Takes what was read of a list, as `take` does; that says whether it changed anything, and what to complain of.
    fn keep(
        &mut self,
        id: SourceId,
        now: Time,
        take: impl FnOnce(&mut Standing) -> (bool, Vec<String>),
    ) -> Vec<Effect> {
        let Some(list) = self.lists.get_mut(id.0) else {
            return Vec::new();
        };
        let (changed, lines) = take(list);
        list.read = Some(now);
        self.news = true;
        self.changed |= changed;
        lines.into_iter().take(MOST_LINES).map(Effect::Warn).collect()
    }

    /// A snapshot where a served value changed, and word of the read in any case: once every list was read, and
    /// nothing that somebody else published is newer.
    fn publish(&mut self, now: Time) -> Vec<Effect> {
        if !self.news || self.poller.is_behind() || self.lists.iter().any(|list| list.read.is_none()) {
            return Vec::new();
        }
        self.news = false;
        let mut effects = match std::mem::take(&mut self.changed) {
            true => self.publish_changes(),
            false => Vec::new(),
        };
        let published = effects.iter().any(|effect| matches!(effect, Effect::Publish(_)));
        effects.extend(self.bequeath(published, now));
        let lists = self.lists.iter().map(|list| list.read).collect();
        effects.push(Effect::Confirm(Confirmed {
            generation: self.generation,
            lists,
        }));
        effects
    }

    fn publish_changes(&mut self) -> Vec<Effect> {
        let objects = self.lists.iter().map(|list| list.objects.as_slice());
        let lists = self.config.content.sources.iter().zip(objects);
        let (table, notes) = index::join(lists, self.config.content.target);
        let services = table.get(SERVICES).map_or(0, Vec::len) as u64;
        let mut effects: Vec<_> = self.snapshot(&table).into_iter().collect();
        effects.push(Effect::Show(self.totals(services, notes)));
        effects.extend(self.enforce());
        effects
    }

    /// The policies, where they are others than before.
    fn enforce(&mut self) -> Vec<Effect> {
        let lists = self.config.content.sources.iter().zip(&self.lists);
        let lists = lists.filter(|(source, _)| source.reads == Reads::Policies);
        let lists: Vec<_> = lists.map(|(_, list)| list).collect();
        // A list that was not read says nothing, and not that there is no policy.
        if lists.is_empty() || lists.iter().any(|list| list.read.is_none()) {
            return Vec::new();
        }
        let specs = lists
            .iter()
            .flat_map(|list| &list.objects)
            .filter_map(|object| match object {
                Object::Policy(policy) => Some(policy),
                Object::Hpa(_) | Object::Service(_) | Object::Workload(_) => None,
            });
        let (sets, lines) = self.policies.gather(specs, lists.iter().flat_map(|list| list.bad()));
        let lines = lines.into_iter().take(MOST_LINES).map(Effect::Warn);
        lines.chain(sets.map(Effect::Enforce)).collect()
    }

    fn snapshot(&mut self, table: &Table) -> Option<Effect> {
        let snapshot = Snapshot::open(snapshot::write(table, self.generation.wrapping_add(1))).ok()?;
        let content = Some(snapshot.content_hash());
        if content == self.content {
            return None;
        }
        (self.content, self.generation) = (content, snapshot.generation());
        Some(Effect::Publish(snapshot.into_bytes()))
    }

    fn totals(&self, services: u64, notes: Notes) -> Totals {
        let count = |of: fn(&Standing) -> usize| self.lists.iter().map(of).sum::<usize>() as u64;
        Totals {
            objects: count(|list| list.objects.len()),
            bad_objects: count(Standing::bad_objects),
            services,
            notes,
        }
    }

    /// What a successor goes on with. Where a watch brings it what happened since, now and then is enough; a list that
    /// is read whole each time must be as new as the snapshot, or the snapshot could go back to what it was.
    fn bequeath(&mut self, published: bool, now: Time) -> Option<Effect> {
        let is_old = |at: Time| now < at || now.since(at) >= RESUME_INTERVAL;
        let watched = self.poller.lists().all(Kept::is_watched);
        if !(self.bequeathed.is_none_or(is_old) && watched || published && !watched) {
            return None;
        }
        self.bequeathed = Some(now);
        let resumed = |(list, kept): (&Standing, &Kept)| Resumed {
            version: kept.version().unwrap_or_default().into(),
            objects: list.objects.clone(),
        };
        let lists = self.lists.iter().zip(self.poller.lists()).map(resumed).collect();
        Some(Effect::Bequeath(Resume { lists }))
    }

    /// What fails, where that is not what it was.
    fn admit(&mut self) -> Option<Effect> {
        let trouble = |(list, kept): (&Standing, &Kept)| Trouble {
            told: list.trouble,
            pause: kept.pause(),
        };
        let lists: Vec<_> = self.lists.iter().zip(self.poller.lists()).map(trouble).collect();
        let is_well = lists.iter().all(|list| *list == Trouble::default());
        let troubles = Troubles {
            lists: if is_well { Vec::new() } else { lists },
        };
        if troubles == self.admitted {
            return None;
        }
        self.admitted = troubles.clone();
        Some(Effect::Admit(troubles))
    }
}

#[cfg(test)]
mod tests;
