//! `cargo xtask test`: runs the test programs of the workspace side by side.
//!
//! `cargo test` runs one program after another. Most of ours wait for real processes, so the cores would be idle meanwhile.

use std::{
    collections::VecDeque,
    fs::{self, File},
    io::BufReader,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::{
        Mutex, PoisonError,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use cargo_metadata::{Artifact, Message};

use crate::wasm::target_folder;

/// The number of programs that run at the same time. With three, two cores are so busy that tests miss their deadlines.
const LANES: usize = 2;

/// The programs that take longest. They start first, so that none of them runs alone at the end.
const LONGEST: [&str; 6] = ["envoy", "istio", "metrics", "cluster", "cli", "filter"];

/// The time between two lines that name the programs that still run.
const PROGRESS: Duration = Duration::from_secs(60);

/// A test program that Cargo built.
#[derive(Debug)]
struct Program {
    /// The package and the target, such as `burst-metrics/envoy`.
    name: String,
    /// The arguments of `cargo test` that select it.
    selection: String,
    executable: PathBuf,
    /// The folder of its package: the current folder of its tests.
    folder: PathBuf,
}

/// The end of a program.
#[derive(Debug)]
struct Finished {
    program: Program,
    status: ExitStatus,
    output: String,
    time: Duration,
}

#[derive(Debug)]
enum Event {
    Started(String),
    Finished(anyhow::Result<Finished>),
}

/// Builds the tests that `arguments` select, as `cargo test` does, and runs them. The arguments after `--` go to each program.
/// The documentation tests are not among them.
///
/// # Errors
/// When a test fails, or cannot be built or started.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<()> {
    let separator = arguments.iter().position(|argument| *argument == "--");
    let (selection, filters) = arguments.split_at(separator.unwrap_or(arguments.len()));
    run_all(build(selection)?, filters.get(1..).unwrap_or_default())
}

/// Runs the programs, those that take longest first.
fn run_all(mut programs: Vec<Program>, filters: &[&str]) -> anyhow::Result<()> {
    programs.sort_by_key(|program| rank(&program.name));
    let total = programs.len();
    let queue = Mutex::new(VecDeque::from(programs));
    let (sender, events) = mpsc::channel();
    let failed = thread::scope(|scope| {
        for _ in 0..LANES {
            let (sender, queue) = (sender.clone(), &queue);
            scope.spawn(move || run_queue(queue, filters, &sender));
        }
        drop(sender);
        report(&events, total)
    })?;
    ensure!(
        failed.is_empty(),
        "{} of {total} test programs failed; to repeat them:\n{}",
        failed.len(),
        failed.join("\n")
    );
    Ok(())
}

/// Compiles the test programs.
fn build(selection: &[&str]) -> anyhow::Result<Vec<Program>> {
    let mut cargo = Command::new(env!("CARGO"))
        .args(["test", "--locked", "--quiet", "--no-run"])
        .arg("--message-format=json-render-diagnostics")
        .args(selection)
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run cargo")?;
    let messages = cargo.stdout.take().context("no output of cargo")?;
    let mut programs = Vec::new();
    for message in Message::parse_stream(BufReader::new(messages)) {
        if let Message::CompilerArtifact(artifact) = message?
            && artifact.profile.test
        {
            programs.extend(program(&artifact));
        }
    }
    ensure!(cargo.wait()?.success(), "the tests do not compile");
    Ok(programs)
}

fn program(artifact: &Artifact) -> Option<Program> {
    let folder = artifact.manifest_path.parent()?;
    let package = package_name(&artifact.package_id.repr)?;
    let target = &artifact.target;
    let kind = if target.is_test() {
        format!("--test {}", target.name)
    } else if target.is_bin() {
        format!("--bin {}", target.name)
    } else if target.is_example() {
        format!("--example {}", target.name)
    } else {
        "--lib".to_owned()
    };
    Some(Program {
        name: format!("{package}/{}", target.name),
        selection: format!("--package {package} {kind}"),
        executable: artifact.executable.clone()?.into(),
        folder: folder.into(),
    })
}

/// Returns the name in a package id: `…/crates/burst-lab#0.1.0`, or `…/tests/kit#burst-testkit@0.1.0` if the folder has another
/// name.
fn package_name(id: &str) -> Option<&str> {
    let (folder, version) = id.rsplit_once('#')?;
    version
        .split_once('@')
        .map(|(name, _)| name)
        .or(folder.rsplit('/').next())
}

fn rank(name: &str) -> usize {
    let target = name.rsplit('/').next().unwrap_or(name);
    let position = LONGEST.iter().position(|longest| *longest == target);
    position.unwrap_or(LONGEST.len())
}

/// Runs programs until the queue is empty.
fn run_queue(queue: &Mutex<VecDeque<Program>>, filters: &[&str], events: &Sender<Event>) {
    while let Some(program) = next(queue) {
        // The receiver is gone only when it has failed, and then no one reads the results.
        drop(events.send(Event::Started(program.name.clone())));
        drop(events.send(Event::Finished(execute(program, filters))));
    }
}

fn next(queue: &Mutex<VecDeque<Program>>) -> Option<Program> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
}

/// Runs one program. Its output goes to a file, so that what it wrote is not lost when the run is interrupted.
fn execute(program: Program, filters: &[&str]) -> anyhow::Result<Finished> {
    let started = Instant::now();
    let path = log_path(&program.name)?;
    let log = File::create(&path).with_context(|| path.display().to_string())?;
    let status = Command::new(&program.executable)
        .args(filters)
        .env("CARGO_MANIFEST_DIR", &program.folder)
        .current_dir(&program.folder)
        .stdin(Stdio::null())
        .stderr(log.try_clone()?)
        .stdout(log)
        .status()
        .with_context(|| format!("cannot run {}", program.executable.display()))?;
    Ok(Finished {
        program,
        status,
        output: String::from_utf8_lossy(&fs::read(&path)?).into_owned(),
        time: started.elapsed(),
    })
}

fn log_path(name: &str) -> anyhow::Result<PathBuf> {
    let path = target_folder().join("test-logs").join(format!("{name}.log"));
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    Ok(path)
}

/// Prints a line for each program that ends, and the whole output of one that failed. Returns the commands that repeat those.
fn report(events: &Receiver<Event>, total: usize) -> anyhow::Result<Vec<String>> {
    let (mut running, mut failed, mut done) = (Vec::new(), Vec::new(), 0);
    loop {
        match events.recv_timeout(PROGRESS) {
            Ok(Event::Started(name)) => running.push(name),
            Ok(Event::Finished(finished)) => {
                let Finished {
                    program,
                    status,
                    output,
                    time,
                } = finished?;
                running.retain(|name| *name != program.name);
                done += 1;
                let seconds = time.as_secs();
                if status.success() {
                    println!("[{done}/{total}] {}: {} in {seconds} s", program.name, passed(&output));
                } else {
                    println!("{output}\n[{done}/{total}] {}: {status} in {seconds} s", program.name);
                    failed.push(format!("  cargo test {}", program.selection));
                }
            }
            Err(RecvTimeoutError::Timeout) => println!("still running: {}", running.join(", ")),
            Err(RecvTimeoutError::Disconnected) => return Ok(failed),
        }
    }
}

/// Returns the count of tests from the output of a program that passed, such as `91 passed`.
fn passed(output: &str) -> &str {
    output
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("test result: ok. ")?.split(';').next())
        .unwrap_or("ok")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(name: &str) -> Program {
        Program {
            name: format!("xtask-unit-test/{name}"),
            selection: format!("--test {name}"),
            executable: "/bin/sh".into(),
            folder: "/".into(),
        }
    }

    #[test]
    fn each_program_runs_in_the_folder_of_its_package() {
        let script = r#"test "$PWD" = "$CARGO_MANIFEST_DIR""#;
        run_all(["a", "b", "c", "d"].map(shell).into(), &["-c", script]).unwrap();
    }

    #[test]
    fn the_commands_that_repeat_the_failed_programs_are_named() {
        let script = r#"mkdir "$BURST_NO_SUCH_VARIABLE""#;
        let error = run_all(vec![shell("e"), shell("envoy")], &["-c", script]).unwrap_err();
        let expected = "2 of 2 test programs failed; to repeat them:\n  cargo test --test ";
        assert!(error.to_string().starts_with(expected), "{error}");
    }

    #[test]
    fn a_package_is_named_with_or_without_its_folder() {
        assert_eq!(package_name("path+file:///a/crates/burst-lab#0.1.0"), Some("burst-lab"));
        assert_eq!(
            package_name("path+file:///a/tests/kit#burst-testkit@0.1.0"),
            Some("burst-testkit")
        );
    }

    #[test]
    fn the_longest_programs_start_first() {
        let mut names = vec!["burst-kube/burst_kube", "burst-metrics/metrics", "burst-metrics/envoy"];
        names.sort_by_key(|name| rank(name));
        assert_eq!(
            names,
            ["burst-metrics/envoy", "burst-metrics/metrics", "burst-kube/burst_kube"]
        );
    }

    #[test]
    fn the_count_of_tests_is_found() {
        let output = "running 2 tests\n..\ntest result: ok. 2 passed; 0 failed; 0 ignored; finished in 0.00s\n\n";
        assert_eq!(passed(output), "2 passed");
        assert_eq!(passed("a program with a `main` of its own"), "ok");
    }
}
