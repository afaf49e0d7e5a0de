//! The workflows of `.github` do what a contributor can do: they call make, and nothing else.

use std::fs;

use burst_testkit::repository;

/// The text of every workflow, by its file name.
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
fn no_workflow_may_write_more_than_it_says() {
    for (file, workflow) in workflows() {
        assert!(workflow.contains("\npermissions:"), "{file} says no permissions");
        for action in workflow.lines().filter_map(|line| line.trim().strip_prefix("- uses: ")) {
            let (_, version) = action
                .split_once('@')
                .unwrap_or_else(|| panic!("{file}: {action} has no version"));
            assert!(!version.starts_with("main"), "{file}: {action}");
        }
    }
}
