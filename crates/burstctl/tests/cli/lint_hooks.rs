//! `hpa lint` in CI: the GitHub Action and the hook of pre-commit.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use burst_testkit::{Part, repository};
use burstctl::yaml::documents;
use serde_json::{Value, json};
use tempfile::TempDir;

const WELL: &str = "apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
";

/// Returns a folder with the files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// Returns a command in the folder, with burstctl on its PATH.
fn command(program: impl AsRef<std::ffi::OsStr>, folder: &Path) -> Command {
    let burstctl = Path::new(env!("CARGO_BIN_EXE_burstctl")).parent().unwrap().to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = [burstctl].into_iter().chain(std::env::split_paths(&path));
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .env("PATH", std::env::join_paths(folders).unwrap());
    command
}

/// Returns the output and the exit code.
fn run(command: &mut Command) -> (String, Option<i32>) {
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8(text).unwrap(), output.status.code())
}

fn yaml(file: PathBuf) -> Value {
    documents(&fs::read_to_string(file).unwrap())
        .remove(0)
        .content
        .unwrap()
        .to_json()
}

/// Runs the step of the action as GitHub's runner does: it replaces the expressions and hands a file to the shell. See
/// <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#jobsjob_idstepsshell>.
fn run_action(folder: &Path, args: Option<&str>) -> (String, Option<i32>) {
    let action = yaml(Path::new(env!("CARGO_MANIFEST_DIR")).join("action/action.yml"));
    assert_eq!(action["runs"]["using"], "composite");
    let steps = action["runs"]["steps"].as_array().unwrap();
    assert_eq!((steps.len(), &steps[0]["shell"]), (1, &json!("bash")));
    let script = tempfile::NamedTempFile::new().unwrap();
    fs::write(&script, steps[0]["run"].as_str().unwrap()).unwrap();
    let default = action["inputs"]["args"]["default"].as_str().unwrap();
    let environment = steps[0]["env"].as_object().unwrap().iter().map(|(name, value)| {
        let value = value
            .as_str()
            .unwrap()
            .replace("${{ inputs.args }}", args.unwrap_or(default));
        assert!(!value.contains("${{"), "{value}");
        (name, value)
    });
    run(command("bash", folder)
        .args(["--noprofile", "--norc", "-eo", "pipefail"])
        .arg(script.path())
        .envs(environment))
}

#[test]
fn the_github_action_annotates_the_lines_of_a_repository() {
    let broken = WELL.replace("maxReplicas: 3", "maxReplicas: -1");
    let folder = folder(&[
        (".github/workflows/ci.yaml", "on: push\njobs: {}\n"),
        ("manifests/hpa.yaml", &broken),
        ("manifests/kustomization.yaml", "resources: [hpa.yaml]\n"),
        ("well/hpa.yaml", WELL),
    ]);
    let (output, code) = run_action(folder.path(), None);
    assert_eq!(code, Some(1), "{output}");
    let annotation = "::error file=manifests/hpa.yaml,line=4,col=21,title=apiserver::default/web: spec.maxReplicas: invalid \
                      value: must be greater than or equal to 1\n";
    assert!(output.starts_with(annotation), "{output}");
    assert_eq!(run_action(folder.path(), Some("well")), (String::new(), Some(0)));
    let (output, code) = run_action(folder.path(), Some(".github"));
    assert_eq!(
        code,
        Some(1),
        "without --allow-empty, other files are not allowed: {output}"
    );
}

/// Runs git without the configuration of the machine.
fn git(folder: &Path, args: &[&str]) {
    let mut git = command("git", folder);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null");
    git.args([
        "-c",
        "user.name=test",
        "-c",
        "user.email=test@localhost",
        "-c",
        "init.defaultBranch=main",
    ]);
    let (output, code) = run(git.args(args));
    assert_eq!(code, Some(0), "git {args:?}: {output}");
}

#[test]
fn the_hook_of_pre_commit_refuses_a_commit_with_a_broken_hpa() {
    let hooks = fs::read_to_string(repository().join(".pre-commit-hooks.yaml")).unwrap();
    let hooks = folder(&[(".pre-commit-hooks.yaml", &hooks)]);
    let broken = WELL.replace("maxReplicas: 3", "maxReplicas: -1");
    let folder = folder(&[
        ("broken.yaml", &broken),
        ("well.yaml", WELL),
        ("compose.yaml", "services: {}\n"),
        ("notes.txt", &broken),
    ]);
    for folder in [&hooks, &folder] {
        git(folder.path(), &["init", "--quiet"]);
        git(folder.path(), &["add", "."]);
        git(folder.path(), &["commit", "--quiet", "--message=all"]);
    }
    let home = tempfile::tempdir().unwrap();
    let pre_commit = |files: &[&str]| {
        let mut command = command(Part::PreCommit.path(), folder.path());
        command
            .env("PRE_COMMIT_HOME", home.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .args(["try-repo", "--color=never"])
            .arg(hooks.path())
            .args(["burstctl-hpa-lint", "--files"])
            .args(files);
        run(&mut command)
    };
    let (output, code) = pre_commit(&["broken.yaml", "well.yaml", "compose.yaml"]);
    assert_eq!(code, Some(1), "{output}");
    assert!(
        output.contains("error[apiserver]: must be greater than or equal to 1\n --> broken.yaml:4:21\n"),
        "{output}"
    );
    let (output, code) = pre_commit(&["well.yaml", "compose.yaml"]);
    assert!(
        code == Some(0) && output.contains("burstctl hpa lint") && output.contains("Passed"),
        "{output}"
    );
    let (output, code) = pre_commit(&["notes.txt"]);
    assert!(code == Some(0) && output.contains("Skipped"), "{output}");
}
