//! What burstctl tells about itself: help, completions, man pages, version.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use burstctl::run::Outcome;

use crate::support::screen::Screen;
use crate::support::{burstctl, program};

#[test]
fn the_help_starts_with_the_commands_for_a_first_look() {
    let (help, _, code) = program(&["--help"]);
    assert_eq!(code, Some(0));
    let (_, commands) = help.split_once("\nCommands:\n").unwrap();
    let (commands, _) = commands.split_once("\n\n").unwrap();
    let names: Vec<_> = commands
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty())
        .collect();
    let expected = [
        "preview",
        "doctor",
        "hpa",
        "policy",
        "istio",
        "proxy",
        "completion",
        "version",
        "help",
    ];
    assert_eq!(names, expected);
}

#[test]
fn a_typo_is_answered_with_a_suggestion_on_stderr() {
    for (args, expected) in [
        (&["previw"][..], "a similar subcommand exists: 'preview'"),
        (&["hpa", "lnit"], "a similar subcommand exists: 'lint'"),
        (
            &["preview", "--namespce", "shop"],
            "a similar argument exists: '--namespace'",
        ),
        (&["preview", "--output", "jsn"], "a similar value exists: 'json'"),
    ] {
        let (out, messages, code) = program(args);
        assert_eq!((out.as_str(), code), ("", Some(2)), "{args:?}");
        assert!(messages.contains(expected), "{args:?}: {messages}");
    }
}

#[test]
fn help_is_wrapped_at_the_width_of_the_terminal() {
    let longest = |columns: u16| {
        let shown = Screen::of_width(columns).run(&["doctor", "--help"], &[("NO_COLOR", "1")]);
        shown.lines().map(|line| line.chars().count()).max().unwrap()
    };
    assert!((50..=60).contains(&longest(60)), "{}", longest(60));
    assert!((70..=80).contains(&longest(80)), "{}", longest(80));
    assert!((90..=100).contains(&longest(200)), "{}", longest(200));
}

#[test]
fn colours_are_for_terminals_without_no_color() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/shop.yaml");
    let screen = Screen::of_width(80);
    for args in [&["hpa", "lint", file][..], &["--help"], &["previw"]] {
        let coloured = |environment: &[(&str, &str)]| screen.run(args, environment).contains('\u{1b}');
        assert!(coloured(&[("TERM", "xterm-256color")]), "{args:?}");
        assert!(!coloured(&[("TERM", "xterm-256color"), ("NO_COLOR", "1")]), "{args:?}");
        assert!(!coloured(&[("TERM", "dumb")]), "{args:?}");
        let (out, messages, _) = program(args);
        assert!(!(out + &messages).contains('\u{1b}'), "{args:?}");
    }
}

#[test]
fn bash_completes_commands_options_and_values() {
    let (script, _, code) = program(&["completion", "bash"]);
    assert_eq!(code, Some(0));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("burstctl.bash");
    fs::write(&file, script).unwrap();
    let completed = |words: &[&str]| {
        let word = words.last().unwrap();
        let before = words[words.len() - 2];
        let asked = format!(
            "source {}; COMP_WORDS=({}); COMP_CWORD={}; _burstctl burstctl '{word}' '{before}'; echo \"${{COMPREPLY[@]}}\"",
            file.display(),
            words
                .iter()
                .map(|word| format!("'{word}'"))
                .collect::<Vec<_>>()
                .join(" "),
            words.len() - 1,
        );
        let output = Command::new("bash").args(["--norc", "-c", &asked]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let completed = String::from_utf8(output.stdout).unwrap();
        completed.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(completed(&["burstctl", "pre"]), ["preview"]);
    assert_eq!(completed(&["burstctl", "hpa", "li"]), ["lint"]);
    assert_eq!(completed(&["burstctl", "preview", "--kube"]), ["--kubeconfig"]);
    assert_eq!(completed(&["burstctl", "preview", "--output", "j"]), ["json"]);
}

#[test]
fn zsh_and_fish_get_scripts_of_their_own() {
    for (shell, first, option) in [
        ("zsh", "#compdef burstctl", "--kubeconfig="),
        ("fish", "# Print an optspec", "-l kubeconfig "),
    ] {
        let (outcome, script, _) = burstctl(&["completion", shell], "");
        assert_eq!(outcome, Outcome::Success);
        assert!(
            script.starts_with(first) && script.contains(option),
            "{shell}: {script}"
        );
    }
}

#[test]
fn each_command_has_a_man_page() {
    let folder = tempfile::tempdir().unwrap();
    let (_, messages, code) = program(&["man", folder.path().to_str().unwrap()]);
    assert_eq!((messages.as_str(), code), ("", Some(0)));
    let pages: BTreeSet<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|page| page.unwrap().file_name().into_string().unwrap())
        .collect();
    for page in [
        "burstctl.1",
        "burstctl-doctor.1",
        "burstctl-hpa-lint.1",
        "burstctl-policy-check.1",
    ] {
        assert!(pages.contains(page), "{pages:?}");
    }
    let source = fs::read_to_string(folder.path().join("burstctl-hpa-lint.1")).unwrap();
    for part in [".SH NAME", ".SH SYNOPSIS", "kube\\-version", "Examples:"] {
        assert!(source.contains(part), "{part}: {source}");
    }
    let (_, messages, code) = program(&["man", "/dev/null/man"]);
    assert_eq!(code, Some(2));
    assert!(messages.starts_with("burstctl: /dev/null/man: "), "{messages}");
}

#[test]
fn the_version_is_for_people_and_for_programs() {
    let version = env!("CARGO_PKG_VERSION");
    let printed = |args: &[&str]| burstctl(args, "").1;
    assert_eq!(
        printed(&["version"]),
        format!("burstctl {version}, with the rules of Kubernetes 1.33 to 1.36\n")
    );
    assert_eq!(
        printed(&["version", "-o", "json"]),
        format!("{{\"burstctl\":\"{version}\",\"kubernetes\":{{\"newest\":\"1.36\",\"oldest\":\"1.33\"}}}}\n")
    );
    assert_eq!(
        printed(&["version", "-o", "yaml"]),
        format!("---\nburstctl: \"{version}\"\nkubernetes:\n  newest: \"1.36\"\n  oldest: \"1.33\"\n")
    );
}

#[cfg(feature = "live")]
#[test]
fn a_cluster_option_that_a_command_would_ignore_is_refused() {
    for (args, option) in [
        (&["--namespace", "shop", "hpa", "render", "-"][..], "--namespace"),
        (&["hpa", "migrate", "-", "--context", "a"], "--context"),
        (&["policy", "check", "-A"], "--all-namespaces"),
        (&["--kubeconfig", "a", "version"], "--kubeconfig"),
        (&["proxy", "-n", "shop"], "--namespace"),
        (&["doctor", "-A"], "--all-namespaces"),
        (
            &["-n", "shop", "doctor", "--admin", "http://127.0.0.1:1"],
            "--namespace",
        ),
    ] {
        let (outcome, out, messages) = burstctl(args, "");
        assert_eq!((outcome, out.as_str()), (Outcome::Incomplete, ""), "{args:?}");
        assert_eq!(
            messages,
            format!("burstctl: this command does not use {option}; see its --help\n"),
            "{args:?}"
        );
    }
}
