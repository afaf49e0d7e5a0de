//! Policies and their decisions.

use burst_labels::Selector;
use burst_policy::cost::{self, MAX_BYTES, MAX_STEPS};
use burst_policy::{AccessRequest, DefaultDecision, LabelConstraints, Policy, evaluate, name};
use regex_automata::nfa::thompson::{NFA, State, WhichCaptures};
use regex_automata::util::{primitives::StateID, syntax};
use std::collections::BTreeSet;

/// Reads a metric name, a query's selector and a policy's `spec`, one per line. A valid policy costs no more than the
/// limit, and the regex engine accepts each of its patterns.
pub(crate) fn policies(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.splitn(3, '\n');
    let mut line = || lines.next().unwrap_or_default();
    let (metric, selector, spec) = (name::canonical(line()), line(), line());
    let Ok(policy) = Policy::parse("shop/p", Some("shop"), spec) else {
        return false;
    };
    let size = cost::check_set(&[&policy]).unwrap_or_else(|(_, excess)| panic!("{excess}"));
    assert!(size <= MAX_BYTES, "{size}");
    let labels = selector
        .parse::<Selector>()
        .map(|selector| LabelConstraints::from_query(&selector));
    let labels = labels.unwrap_or_default();
    // A name of the maximum length, repeated from the input.
    let longest: String = metric.chars().cycle().take(name::MAX_LENGTH / 4).collect();
    for metric in [metric.as_str(), &longest]
        .into_iter()
        .filter(|metric| metric.len() <= name::MAX_LENGTH)
    {
        for rule in policy.rules().iter().filter(|rule| rule.pattern.may_match(metric)) {
            let (visited, allowed) = (visits(&rule.pattern.to_string(), metric), rule.pattern.steps());
            assert!(
                visited <= allowed,
                "{} visits {visited} states for {metric}, of {allowed}",
                rule.pattern
            );
        }
        let met = policy.rules().iter().filter(|rule| rule.pattern.may_match(metric));
        let steps: usize = met.map(|rule| rule.pattern.steps()).sum();
        assert!(steps <= MAX_STEPS, "{steps} steps for {metric}");
        for rule in policy.rules() {
            assert!(
                rule.pattern.matches(metric).is_some(),
                "the engine refuses {}",
                rule.pattern
            );
        }
        let query = AccessRequest {
            namespace: "shop",
            metric,
            user: "alice",
            groups: &[],
            labels: &labels,
        };
        let first = evaluate([&policy], DefaultDecision::Deny, query)
            .denial()
            .map(|reason| reason.to_string());
        let again = evaluate([&policy], DefaultDecision::Deny, query)
            .denial()
            .map(|reason| reason.to_string());
        assert_eq!(first, again, "what is remembered is what was decided");
    }
    true
}

/// The number of states that another engine's automaton visits for a name. That engine matches bytes, so this skips
/// names that are not ASCII.
fn visits(pattern: &str, name: &str) -> usize {
    if !name.is_ascii() {
        return 0;
    }
    let bytes = syntax::Config::new().unicode(false).utf8(false);
    let plain = NFA::config().utf8(false).which_captures(WhichCaptures::None);
    let nfa = NFA::compiler()
        .syntax(bytes)
        .configure(plain)
        .build(&format!("(?:{pattern})"));
    let nfa = nfa.unwrap_or_else(|error| panic!("{pattern}: {error}"));
    let (mut active, mut visited) = (BTreeSet::new(), 0);
    add_state(&nfa, nfa.start_anchored(), &mut active);
    for byte in name.bytes() {
        visited += active.len();
        let mut next = BTreeSet::new();
        for state in &active {
            let leads_to = match nfa.state(*state) {
                State::ByteRange { trans } => trans.matches_byte(byte).then_some(trans.next),
                State::Sparse(all) => all.matches_byte(byte),
                State::Dense(all) => all.matches_byte(byte),
                _ => None,
            };
            leads_to.into_iter().for_each(|state| add_state(&nfa, state, &mut next));
        }
        active = next;
    }
    visited + active.len()
}

/// Adds a state, and the states that follow it without consuming a character.
fn add_state(nfa: &NFA, state: StateID, active: &mut BTreeSet<StateID>) {
    let mut open = vec![state];
    while let Some(state) = open.pop() {
        if !active.insert(state) {
            continue;
        }
        match nfa.state(state) {
            State::Look { next, .. } | State::Capture { next, .. } => open.push(*next),
            State::Union { alternates } => open.extend(alternates.iter()),
            State::BinaryUnion { alt1, alt2 } => open.extend([*alt1, *alt2]),
            _ => {}
        }
    }
}
