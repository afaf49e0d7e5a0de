//! Mutates the responses of a real API server (`tests/golden/kubernetes`) while the clock jumps. The leader does not panic,
//! every snapshot is valid, and the first good responses repair everything.

use burst_model::config::{Artifact, Config};
use burst_model::kube::{ApiResponse, Source, response};
use burst_model::leader::{Effect, Handover, Leader};
use burst_model::name::ObjectName;
use burst_model::snapshot::Snapshot;
use burst_model::time::Time;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

const T0: Time = Time::from_unix_millis(1_700_000_000_000);

/// The limit of a log line.
const LONGEST_LINE: usize = 2_000;

/// A mutation of a response.
#[derive(Clone, Debug)]
enum Mutation {
    Byte(Index, u8),
    Cut(Index),
    /// A part is repeated.
    Repeat(Index, Index),
    /// A JSON value is replaced.
    Other(Index, usize),
}

/// One round: the mutations of each list's response, and by how many seconds the clock jumps before it.
type Round = (Vec<(usize, Mutation)>, i32);

fn recorded(source: &Source) -> Vec<u8> {
    let file = match source.resource.plural.as_str() {
        "horizontalpodautoscalers" => "hpas.json",
        "services" => "services.json",
        "deployments" => "deployments.json",
        _ => "statefulsets.json",
    };
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/kubernetes");
    fs::read(golden.join(file)).unwrap()
}

/// Unexpected JSON values.
fn unexpected(which: usize) -> Value {
    let values = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1e300),
        json!(u64::MAX),
        json!(""),
        json!("\u{1b}[31m\r\nx-evil: 1"),
        json!("x".repeat(1_000)),
        json!([]),
        json!({}),
        json!([[[{"metadata": {"name": "web"}}]]]),
    ];
    values[which % values.len()].clone()
}

fn count(value: &Value) -> usize {
    let inner = match value {
        Value::Array(all) => all.iter().map(count).sum(),
        Value::Object(all) => all.values().map(count).sum(),
        _ => 0,
    };
    inner + 1
}

/// Replaces the value with that index, counted in pre-order.
fn replace(value: &mut Value, index: &mut usize, other: &Value) {
    if *index == 0 {
        value.clone_from(other);
    }
    *index = index.wrapping_sub(1);
    match value {
        Value::Array(all) => all.iter_mut().for_each(|value| replace(value, index, other)),
        Value::Object(all) => all.values_mut().for_each(|value| replace(value, index, other)),
        _ => {}
    }
}

impl Mutation {
    fn of(&self, mut body: Vec<u8>) -> Vec<u8> {
        match self {
            Self::Byte(at, byte) => {
                let at = at.index(body.len());
                body[at] = *byte;
            }
            Self::Cut(at) => body.truncate(at.index(body.len() - 1) + 1),
            Self::Repeat(from, to) => {
                let (from, to) = (from.index(body.len()), to.index(body.len()));
                let part = body[from.min(to)..from.max(to)].to_vec();
                body.splice(from..from, part);
            }
            Self::Other(at, which) => {
                if let Ok(mut value) = serde_json::from_slice::<Value>(&body) {
                    let mut index = at.index(count(&value));
                    replace(&mut value, &mut index, &unexpected(*which));
                    body = serde_json::to_vec(&value).unwrap();
                }
            }
        }
        body
    }
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        1 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Mutation::Byte(at, byte)),
        1 => any::<Index>().prop_map(Mutation::Cut),
        1 => (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Mutation::Repeat(from, to)),
        6 => (any::<Index>(), any::<usize>()).prop_map(|(at, which)| Mutation::Other(at, which)),
    ]
}

fn rounds() -> impl Strategy<Value = Vec<Round>> {
    let of_a_list = (0..4usize, mutation());
    let jump = prop_oneof![3 => Just(0), 1 => -100_000..100_000i32];
    proptest::collection::vec((proptest::collection::vec(of_a_list, 0..4), jump), 1..6)
}

/// The snapshots and log lines of a leader.
#[derive(Default)]
struct Served {
    content: Option<u64>,
    lines: Vec<String>,
}

/// Runs a leader until it is idle. `body` makes the first page of each list.
fn run(leader: &mut Leader, now: Time, served: &mut Served, body: &dyn Fn(usize, &Source) -> Vec<u8>) {
    let mut effects = leader.tick(now);
    while !effects.is_empty() || leader.is_busy() {
        for effect in std::mem::take(&mut effects) {
            match effect {
                Effect::Request(scheduled) => {
                    let source = leader.source(scheduled.source).unwrap().clone();
                    // Only the first page is mutated.
                    let is_first = !scheduled.request.path.contains("continue=");
                    let body = if is_first {
                        body(scheduled.source.0, &source)
                    } else {
                        recorded(&source)
                    };
                    let response = ApiResponse {
                        status: Some(200),
                        content_type: Some(b"application/json"),
                        retry_after: None,
                        body: &body,
                    };
                    let answer = response::parse(&source, scheduled.request.verb, response, &mut ());
                    effects.extend(leader.answer(scheduled.source, answer, now, 0));
                }
                Effect::PublishSnapshot(bytes) => {
                    let snapshot = Snapshot::open(bytes).expect("a valid snapshot");
                    for row in ["services", "hpas", "deployments", "statefulsets"]
                        .iter()
                        .flat_map(|section| snapshot.section(section).unwrap().rows())
                    {
                        assert!(
                            ObjectName::is_valid(row.name) && ObjectName::is_valid(row.label),
                            "{row:?}"
                        );
                        assert!(row.load.max > 0 && row.load.target <= row.load.max, "{row:?}");
                    }
                    served.content = Some(snapshot.content_hash());
                }
                Effect::LogWarning(line) | Effect::LogInfo(line) => {
                    assert!(
                        line.len() < LONGEST_LINE && !line.contains(char::is_control),
                        "{line:?}"
                    );
                    served.lines.push(line);
                }
                _ => {}
            }
        }
        effects.extend(leader.advance(now));
    }
}

fn leader(now: Time) -> Leader {
    let config = Config::parse(br#"{"cluster":"k","sync":{"mode":"list"}}"#, Artifact::Full).unwrap();
    Leader::new(Rc::new(config), Handover::default(), now)
}

fn fresh() -> Option<u64> {
    let mut served = Served::default();
    run(&mut leader(T0), T0, &mut served, &|_, source| recorded(source));
    served.content
}

proptest! {
    #[test]
    fn mutated_responses_have_no_lasting_effect(rounds in rounds(), is_known: bool) {
        let (mut now, mut served) = (T0, Served::default());
        let mut leader = leader(now);
        if is_known {
            run(&mut leader, now, &mut served, &|_, source| recorded(source));
        }
        for (mutations, jump) in &rounds {
            now = now.after(Duration::from_secs(15));
            let by = Duration::from_secs(jump.unsigned_abs().into());
            now = if *jump < 0 { now.before(by) } else { now.after(by) };
            run(&mut leader, now, &mut served, &|index, source| {
                let of_it = mutations.iter().filter(|(list, _)| *list == index);
                of_it.fold(recorded(source), |body, (_, mutation)| mutation.of(body))
            });
        }
        // Longer than the longest backoff.
        for _ in 0..2 {
            now = now.after(Duration::from_secs(31));
            run(&mut leader, now, &mut served, &|_, source| recorded(source));
        }
        prop_assert!(fresh().is_some());
        prop_assert_eq!(served.content, fresh(), "{:?}", served.lines);
    }
}
