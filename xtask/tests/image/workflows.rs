//! The workflows of `.github` run only make, so a contributor can run the same.

use std::fs;

use burst_testkit::repository;
use serde_json::Value;

/// Returns the file name and the text of every workflow.
fn workflows() -> Vec<(String, String)> {
    let files = fs::read_dir(repository().join(".github/workflows")).unwrap();
    let named = files.map(|file| file.unwrap()).map(|file| {
        let text = fs::read_to_string(file.path()).unwrap();
        (file.file_name().into_string().unwrap(), text)
    });
    named.collect()
}

#[test]
fn every_command_of_a_workflow_is_a_make_target() {
    let makefile = fs::read_to_string(repository().join("Makefile")).unwrap();
    for (file, workflow) in workflows() {
        let commands: Vec<_> = workflow
            .lines()
            .filter_map(|line| line.trim_start_matches([' ', '-']).strip_prefix("run:"))
            .collect();
        assert!(!commands.is_empty(), "{file} runs nothing");
        for command in commands {
            let mut words = command.split_whitespace();
            assert_eq!(words.next(), Some("make"), "{file}: `{command}`");
            for target in words.filter(|word| !word.contains('=')) {
                assert!(
                    makefile.contains(&format!("\n{target}: ")),
                    "{file}: no target {target}"
                );
            }
        }
    }
}

#[test]
fn every_workflow_has_permissions_and_every_action_a_version() {
    for (file, workflow) in workflows() {
        assert!(workflow.contains("\npermissions:"), "{file} has no permissions");
        for action in workflow.lines().filter_map(|line| line.trim().strip_prefix("- uses: ")) {
            let (_, version) = action
                .split_once('@')
                .unwrap_or_else(|| panic!("{file}: {action} has no version"));
            assert!(!version.starts_with("main"), "{file}: {action}");
        }
    }
}

/// Returns the jobs of the workflow `release`.
fn release() -> Value {
    let text = fs::read_to_string(repository().join(".github/workflows/release.yaml")).unwrap();
    let workflow: Value = serde_saphyr::from_str(&text).unwrap();
    workflow["jobs"].clone()
}

fn commands(job: &Value) -> Vec<&str> {
    let steps = job["steps"].as_array().unwrap();
    steps.iter().filter_map(|step| step["run"].as_str()).collect()
}

#[test]
fn a_release_is_pushed_after_tests_and_advisories_by_a_job_that_does_not_build() {
    let release = release();
    let push = &release["push"];
    let needed: Vec<_> = push["needs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| job.as_str().unwrap())
        .collect();
    assert_eq!(needed, ["advisories", "test", "image"]);
    for command in commands(push) {
        assert!(command.starts_with("make push BUNDLE=target/bundle.tar "), "{command}");
    }
    assert_eq!(commands(&release["advisories"]), ["make advisories"]);
    assert_eq!(commands(&release["test"]), ["make test"]);
}

#[test]
fn a_release_is_built_from_the_inputs_that_an_earlier_job_pinned() {
    let release = release();
    assert_eq!(commands(&release["pin"]), ["make pin"]);
    assert_eq!(release["image"]["needs"], "pin");
    assert_eq!(commands(&release["image"]), ["make bundle PINNED=target/pinned.tar"]);
}

#[test]
fn only_the_job_that_pushes_has_secrets_and_no_job_uses_a_cache() {
    for (name, job) in release().as_object().unwrap() {
        let text = job.to_string();
        assert_eq!(text.contains("secrets."), name == "push", "{name}");
        assert!(!text.contains("actions/cache"), "{name}");
    }
}
