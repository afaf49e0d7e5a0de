//! The crate against kube-apiserver's own code: with new random documents, and with recorded answers.

mod boundary_values;
mod built;
mod cdk8s;
mod faults;
mod golden;
mod json_text;
mod mutants;
mod oracle;
mod quantities;
mod record;
mod v1_documents;

use burst_hpa::Options;
use burst_hpa::builder::{BuildError, Hpa};
use burst_testkit::seed;
use fastrand::Rng;
use mutants::Mutants;
use quantities::Reading;

const KUBERNETES: Options = Options::kubernetes_1(36);

const GATES: [(Options, usize); 3] = [
    (KUBERNETES, 20_000),
    (
        Options {
            scale_to_zero: true,
            ..KUBERNETES
        },
        5_000,
    ),
    (
        Options {
            tolerance: false,
            ..KUBERNETES
        },
        5_000,
    ),
];

fn assert_none(differing: &[String], count: usize) {
    let shown: String = differing.iter().take(5).map(String::as_str).collect();
    assert!(differing.is_empty(), "{} of {count} differ\n{shown}", differing.len());
}

#[test]
fn random_hpas_get_the_answer_of_the_api_server() {
    let seed = seed();
    let mut mutants = Mutants::new(seed);
    for (options, count) in GATES {
        let documents: Vec<String> = (0..count).map(|_| json_text::to_json(&mutants.hpa())).collect();
        let answers = oracle::kubernetes(&documents, options);
        let accepted = answers.iter().filter(|answer| !answer.object.is_null()).count();
        assert!(
            accepted > count / 10 && accepted < count / 2,
            "{accepted} of {count} accepted: the mutants are too alike"
        );
        let pairs = documents.iter().zip(&answers);
        let differ =
            |(document, theirs): (&String, _)| oracle::difference(document, &oracle::ours(document, options), theirs);
        assert_none(&pairs.filter_map(differ).collect::<Vec<_>>(), count);
    }
}

#[test]
fn recorded_hpas_get_the_answer_of_the_api_server() {
    let cases = record::newest();
    assert!(cases.len() >= 2_000, "{} cases", cases.len());
    assert_none(&cases.iter().filter_map(differing).collect::<Vec<_>>(), cases.len());
}

#[test]
fn hpas_get_the_answers_of_older_versions() {
    let cases = record::older();
    for minor in 33..36 {
        let options = Options::kubernetes_1(minor);
        let of_version: Vec<_> = cases.iter().filter(|case| case.options().minor == minor).collect();
        let newest = |case: &golden::Case| Options {
            minor: KUBERNETES.minor,
            ..case.options()
        };
        let changed = of_version.iter().filter(|case| {
            let document = case.document.get();
            oracle::ours(document, newest(case)) != case.answer
        });
        assert!(changed.count() >= 50, "1.{minor} is told apart from the newest version");
        let default = of_version.iter().filter(|case| case.options() == options);
        assert!(default.count() >= 50, "1.{minor} with the gates it ships with");
    }
    assert_none(&cases.iter().filter_map(differing).collect::<Vec<_>>(), cases.len());
}

fn differing(case: &golden::Case) -> Option<String> {
    let document = case.document.get();
    let difference = oracle::difference(document, &oracle::ours(document, case.options()), &case.answer)?;
    Some(format!("{:?}{difference}", case.options()))
}

#[test]
fn recorded_answers_contain_every_error_five_times() {
    let rare: Vec<_> = golden::errors(&record::newest())
        .into_iter()
        .filter(|(_, count)| *count < 5)
        .collect();
    assert!(rare.is_empty(), "{rare:#?}");
}

#[test]
fn random_quantities_are_read_as_go_reads_them() {
    let seed = seed();
    let mut rng = Rng::with_seed(seed);
    let texts: Vec<String> = (0..20_000).map(|_| quantities::text(&mut rng)).collect();
    for theirs in quantities::go(&texts) {
        assert_eq!(
            Reading::ours(&theirs.text),
            theirs,
            "left: here, right: Go; BURST_SEED={seed}"
        );
    }
}

#[test]
fn recorded_quantities_are_read_as_go_read_them() {
    let readings = record::quantities();
    assert!(readings.len() >= 500, "{} quantities", readings.len());
    for theirs in readings {
        assert_eq!(Reading::ours(&theirs.text), theirs, "left: here, right: Go");
    }
}

/// `defaulted` returns the object that the API server stores when it gets the object of `build`.
fn assert_accepted(built: &[Hpa]) {
    let documents: Vec<String> = built
        .iter()
        .map(|hpa| serde_json::to_string(&hpa.build().unwrap().hpa).unwrap())
        .collect();
    for ((hpa, document), answer) in built
        .iter()
        .zip(&documents)
        .zip(oracle::kubernetes(&documents, Options::default()))
    {
        let stored = oracle::comparable(serde_json::to_value(hpa.defaulted().unwrap().hpa).unwrap());
        assert_eq!(
            stored, answer.object,
            "left: here, right: kube-apiserver {answer:?}\n{document}"
        );
    }
}

#[test]
fn documented_examples_are_accepted_by_the_api_server() {
    assert_accepted(&built::seed_examples());
}

#[test]
fn the_builder_can_write_the_hpas_of_cdk8s_plus() {
    use cdk8s::Expected;
    let cases = cdk8s::all();
    assert_eq!(cases.len(), 24);
    for cdk8s::Case { name, theirs, expected } in cases {
        let stored = burst_hpa::admit(&burst_hpa::Node::from_json(&theirs.to_string()).unwrap(), KUBERNETES);
        match (expected, stored) {
            (Expected::Same(ours), Ok(theirs)) => assert_eq!(ours.defaulted().unwrap().hpa, theirs, "{name}"),
            (Expected::Refused(field, ours), Err(refusal)) => {
                assert!(refusal.to_string().starts_with(field), "{name}: {refusal}");
                let _ = ours.build().unwrap();
            }
            (Expected::Unserved, Ok(theirs)) => {
                let found = burst_hpa::lint(&theirs, KUBERNETES);
                let unserved = |finding: &burst_hpa::Finding| finding.lint == burst_hpa::Lint::UnservedResource;
                assert!(found.iter().any(unserved), "{name}: {found:?}");
            }
            (Expected::Unbuilt(ours, lint), Ok(_)) => {
                let errors = ours.build().unwrap_err();
                let [BuildError::NeverWorks(finding)] = errors.as_slice() else {
                    panic!("{name}: {errors}")
                };
                assert_eq!(finding.lint, lint, "{name}");
            }
            (_, stored) => panic!("{name}: {stored:?}"),
        }
    }
}

#[test]
fn each_hpa_of_cdk8s_plus_has_its_expected_result_in_kube_apiserver() {
    let (mut documents, mut built, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for case in cdk8s::all() {
        documents.push(case.theirs.to_string());
        refused.push(matches!(case.expected, cdk8s::Expected::Refused(..)));
        if let cdk8s::Expected::Same(hpa) | cdk8s::Expected::Refused(_, hpa) = case.expected {
            built.push(hpa);
        }
    }
    let answers = oracle::kubernetes(&documents, KUBERNETES);
    let theirs: Vec<bool> = answers.iter().map(|answer| answer.object.is_null()).collect();
    assert_eq!(theirs, refused);
    assert_eq!(theirs.iter().filter(|refused| **refused).count(), 5);
    assert_accepted(&built);
}

#[test]
fn every_built_hpa_is_accepted_by_the_api_server() {
    let seed = seed();
    let mut rng = Rng::with_seed(seed);
    let built: Vec<Hpa> = (0..10_000)
        .map(|_| built::any(&mut rng))
        .filter(|hpa| hpa.build().is_ok())
        .collect();
    assert!(built.len() > 500, "{} of 10000 build", built.len());
    assert_accepted(&built);
}

#[test]
fn migrated_v1_hpas_equal_those_of_kube_apiserver() {
    let documents: Vec<String> = v1_documents::V1.iter().map(|text| (*text).to_owned()).collect();
    for (document, answer) in documents.iter().zip(oracle::kubernetes(&documents, Options::default())) {
        let migration = burst_hpa::migrate(&burst_hpa::Node::from_json(document).unwrap()).unwrap();
        let ours = oracle::ours(&json_text::to_json(&migration.document), Options::default());
        assert!(!answer.object.is_null(), "{answer:?}\n{document}");
        assert_eq!(ours, answer, "left: here, right: kube-apiserver\n{document}");
    }
}
