//! The examples in the README show the real output.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Returns each `$ burstctl …` command of a console block with the output below it. `preview.rs`, `doctor` and
/// `lint_cluster.rs` check the examples that need a cluster.
fn examples(readme: &str) -> Vec<(&str, &str)> {
    let blocks = readme
        .split("```console\n")
        .skip(1)
        .filter_map(|block| block.split_once("\n```"));
    blocks
        .filter_map(|(block, _)| block.strip_prefix("$ burstctl "))
        .filter(|block| {
            !["preview", "doctor", "hpa lint --all-namespaces"]
                .iter()
                .any(|start| block.starts_with(start))
        })
        .map(|block| block.split_once('\n').unwrap_or((block, "")))
        .collect()
}

/// Returns stdout and stderr, interleaved as in a terminal.
fn output(args: &str, folder: &Path) -> String {
    let (mut shown, screen) = std::io::pipe().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_burstctl"));
    let command = command.args(args.split(' ')).current_dir(folder);
    let mut child = command
        .stdout(screen.try_clone().unwrap())
        .stderr(screen)
        .spawn()
        .unwrap();
    // `command` also holds the write end of the pipe. Release it, or the read below never ends.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut output = String::new();
    shown.read_to_string(&mut output).unwrap();
    child.wait().unwrap();
    output
}

#[test]
fn every_example_shows_the_real_output() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let examples = examples(&readme);
    assert_eq!(examples.len(), 9);
    for (args, shown) in examples {
        let output = output(args, &root.join("tests/data"));
        let lines: Vec<&str> = output.trim_end().lines().map(str::trim_end).collect();
        assert_eq!(lines.join("\n"), shown, "burstctl {args}");
    }
}

#[test]
fn the_short_form_in_the_readme_is_the_rendered_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let short = std::fs::read_to_string(root.join("tests/data/short.yaml")).unwrap();
    let (first, _) = short.split_once("\n---").unwrap();
    assert!(readme.contains(&format!("```yaml\n{first}\n```")));
}

#[test]
fn the_process_exits_with_the_code_of_the_command() {
    let code = |args: &[&str]| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        let output = Command::new(env!("CARGO_BIN_EXE_burstctl"))
            .args(args)
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(
            !String::from_utf8_lossy(&output.stdout).contains('\u{1b}'),
            "colours where no one sees them"
        );
        output.status.code()
    };
    assert_eq!(code(&["hpa", "lint", "load.yaml"]), Some(0));
    assert_eq!(code(&["hpa", "lint", "shop.yaml"]), Some(1));
    assert_eq!(code(&["hpa", "lint", "absent.yaml", "load.yaml"]), Some(2));
    assert_eq!(code(&["hpa", "lint", "."]), Some(1));
    assert_eq!(code(&["hpa", "lint"]), Some(2));
}
