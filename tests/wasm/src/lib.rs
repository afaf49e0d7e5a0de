//! Shared code of the tests in `tests/`. They are a package of their own because the dev-dependencies of the crates
//! under test need not compile for wasm32.

mod api;
mod served;
mod transcript;

use std::rc::Rc;
use std::time::Duration;

use burst_model::config::{Artifact, Config};
use burst_model::leader::{Handover, Leader};
use burst_model::time::Time;

/// The moment of the first round.
pub const T0: Time = Time::from_unix_millis(1_700_000_000_000);

/// Every kind that was recorded, and one that the cluster does not have; lists are what was recorded.
const CONFIG: &str = r#"{
    "cluster": "kube_api",
    "sync": {"mode": "list"},
    "clusters": [{"name": "{service}.{namespace}"}],
    "header": {"extra_keys": ["as-of"]},
    "workloads": [
        {"group": "apps", "version": "v1", "resource": "deployments", "kind": "Deployment"},
        {"group": "apps", "version": "v1", "resource": "statefulsets", "kind": "StatefulSet"},
        {"group": "argoproj.io", "version": "v1alpha1", "resource": "rollouts", "kind": "Rollout"}
    ]
}"#;

/// What the model makes of the recorded answers.
#[derive(Debug, PartialEq, Eq)]
pub struct Made {
    /// The bytes of the last snapshot.
    pub snapshot: Vec<u8>,
    /// Every request, publication, log line and answer, as text.
    pub transcript: String,
}

/// Runs the leader over what a real API server answered (`tests/golden/kubernetes`), before and after its HPA
/// controller was there, and serves what it published.
///
/// # Panics
/// When the model does not take the recorded answers.
#[must_use]
pub fn make() -> Made {
    let config = Rc::new(Config::parse(CONFIG.as_bytes(), Artifact::Full).expect("a good configuration"));
    let mut transcript = transcript::Transcript::new(&config);
    let mut leader = Leader::new(config.clone(), Handover::default(), T0);
    let rounds = [
        ("hpas-fresh.json", T0),
        ("hpas.json", later(15)),
        ("403.json", later(30)),
    ];
    for (hpas, now) in rounds {
        transcript.round(&mut leader, now, |path| api::answer(path, hpas));
    }
    let (snapshot, confirmed) = transcript.published();
    served::record(&config, snapshot.clone(), &confirmed, &mut transcript.text);
    Made {
        snapshot,
        transcript: transcript.text,
    }
}

/// That many seconds after the first round.
#[must_use]
pub fn later(seconds: u64) -> Time {
    T0.after(Duration::from_secs(seconds))
}
