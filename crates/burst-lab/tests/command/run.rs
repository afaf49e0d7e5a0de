//! `burst-lab run` with a shell script instead of Envoy: its start, its end and its messages. `tests/envoy_local/` runs it
//! with the real Envoy.

use std::net::TcpListener;

use burst_testkit::wait;

use crate::process::{FakeEnvoy, LIMIT, Process, free_addr, is_running};

fn run(envoy: &FakeEnvoy, proxy: &str) -> Process {
    Process::start(envoy.run(proxy))
}

/// The sample services at the address of Envoy: their answers have no header.
fn sample_services_at(proxy: &str) -> FakeEnvoy {
    let lab = env!("CARGO_BIN_EXE_burst-lab");
    FakeEnvoy::new(&format!("exec '{lab}' serve --api 127.0.0.1:0 --services {proxy}"))
}

#[test]
fn terminating_it_asks_envoy_to_end_and_waits_for_it() {
    let envoy = FakeEnvoy::new("while :; do sleep 0.05; done").on_term(r#"echo asked > "$FAKE_ENVOY_PID"; exit"#);
    let process = run(&envoy, &free_addr());
    let pid = envoy.pid();
    assert!(is_running(pid));
    process.terminate();
    let (status, output) = process.end();
    assert!(status.success(), "{output:?}");
    assert!(!is_running(pid));
    assert_eq!(envoy.pid_file_content(), "asked\n");
}

#[test]
fn it_ends_by_itself_after_its_time() {
    let envoy = FakeEnvoy::new("exec sleep 1000");
    let mut command = envoy.run(&free_addr());
    command.args(["--for", "2s"]);
    let (status, output) = Process::start(command).end();
    assert!(status.success(), "{output:?}");
    assert!(!envoy.has_process_left());
}

#[test]
fn control_characters_in_the_log_of_envoy_are_escaped() {
    let line = format!(r"{} a\033[2Jb\n", prefix("warning"));
    let script = format!(r"printf '{line}' >&2; sleep 1; printf 'c\033]0;d\007\n' >&2; exit 3");
    let (_, output) = run(&FakeEnvoy::new(&script), &free_addr()).end();
    let output = output.join("\n");
    assert!(
        output.contains("err: warning: a␛[2Jb\n") && output.contains("c␛]0;d␇"),
        "{output}"
    );
    assert!(!output.contains(|c: char| c.is_control() && c != '\n'), "{output:?}");
}

/// What Envoy writes before a line of the filter.
fn prefix(level: &str) -> String {
    format!("[2026-11-23 05:00:00.000][7][{level}][wasm] [source/wasm.cc:1] wasm log burst-metrics:")
}

#[test]
fn warnings_of_the_filter_are_shown_and_those_of_envoy_are_only_in_its_log() {
    let lines = [
        "[2026-11-23 05:00:00.000][7][warning][main] [source/server.cc:1] a warning of Envoy itself".to_owned(),
        format!("{} cannot list services: 403 Forbidden", prefix("warning")),
        format!("{} listing services works again", prefix("info")),
        format!("{} another line", prefix("info")),
    ];
    let script = format!("printf '%s\\n' '{}' >&2; exec sleep 1000", lines.join("' '"));
    let envoy = FakeEnvoy::new(&script);
    let log = envoy.file("envoy.log", "of the run before");
    let mut command = envoy.run(&free_addr());
    command.args(["--envoy-log", &log]);
    let mut process = Process::start(command);
    process.wait_for_line("err: listing services works again");
    process.terminate();
    let (_, output) = process.end();
    let said = output.iter().skip_while(|line| !line.contains("cannot list")).take(2);
    let wanted = [
        "err: warning: cannot list services: 403 Forbidden",
        "err: listing services works again",
    ];
    assert_eq!(said.collect::<Vec<_>>(), wanted);
    assert!(
        !output.concat().contains("another line") && !output.concat().contains("Envoy itself"),
        "{output:?}"
    );
    assert_eq!(std::fs::read_to_string(log).unwrap().lines().collect::<Vec<_>>(), lines);
}

#[test]
fn when_envoy_exits_its_last_lines_are_shown() {
    let envoy = FakeEnvoy::new("echo first >&2; echo 'no such wasm' >&2; exit 3");
    let (status, output) = run(&envoy, &free_addr()).end();
    assert_eq!(status.code(), Some(1));
    let output = output.join("\n");
    assert!(
        output.contains("Envoy exited (exit status: 3); its last lines:\nerr: first\nerr: no such wasm"),
        "{output}"
    );
}

#[test]
fn a_missing_envoy_is_reported_with_the_command_that_installs_it() {
    let addresses = [
        "--config",
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../envoy-local/envoy.yaml"),
        "--proxy",
        &free_addr(),
        "--api",
        "127.0.0.1:0",
        "--services",
        "127.0.0.1:0",
    ];
    let (status, output) = Process::burst_lab(&[&["run", "--envoy", "no/such/envoy"], &addresses[..]].concat()).end();
    assert_eq!(status.code(), Some(1));
    let output = output.concat();
    assert!(
        output.contains(r#"cannot start Envoy "no/such/envoy""#) && output.contains("`make setup` installs it"),
        "{output}"
    );
}

#[test]
fn a_port_in_use_is_reported_with_what_to_do_before_anything_is_started() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap();
    let envoy = FakeEnvoy::new("exec sleep 1000");
    let cases = [
        (envoy.run(&addr.to_string()), "Envoy", "make run PORT=", "--proxy"),
        (
            envoy.run_with_api(&free_addr(), &addr.to_string()),
            "the Kubernetes API",
            "make run API_PORT=",
            "--api",
        ),
    ];
    for (command, purpose, variable, option) in cases {
        let (status, output) = Process::start(command).end();
        assert_eq!(status.code(), Some(1));
        let output = output.concat();
        let port = addr.port();
        for text in [
            format!("burst-lab: port {port}, for {purpose}, is in use (Address already in use (os error 98))"),
            format!("`ss -ltnp 'sport = :{port}'` shows the process"),
            format!("choose another port: `{variable}"),
            format!("`burst-lab run {option} 127.0.0.1:"),
        ] {
            assert!(output.contains(&text), "{text:?}: {output}");
        }
        assert!(!envoy.was_started());
    }
}

#[test]
fn ports_that_nobody_chose_may_be_in_use() {
    let taken = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [services, admin] = taken.each_ref().map(|listener| listener.local_addr().unwrap());
    let proxy = free_addr();
    let envoy = FakeEnvoy::new("exec sleep 1000");
    let mut command = envoy.run(&proxy);
    command.args([
        "--services",
        &services.to_string(),
        "--admin",
        &admin.port().to_string(),
    ]);
    let process = Process::start(command);
    let pid = envoy.pid();
    let arguments = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    process.terminate();
    assert!(process.end().0.success());
    for port in [services.port(), admin.port()] {
        assert!(!arguments.contains(&format!("\"port_value\":{port}}}")), "{arguments}");
    }
}

#[test]
fn a_missing_configuration_is_named() {
    let envoy = FakeEnvoy::new("exec sleep 1000");
    let mut command = envoy.run(&free_addr());
    command.args(["--config", "no/such.yaml"]);
    let (status, output) = Process::start(command).end();
    assert_eq!(status.code(), Some(1));
    assert!(output.concat().contains("cannot read \"no/such.yaml\": "), "{output:?}");
}

#[test]
fn without_a_terminal_it_writes_a_plain_line_for_each_new_answer() {
    let proxy = free_addr();
    let envoy = sample_services_at(&proxy);
    let mut process = run(&envoy, &proxy);
    let names = ["ngsa-svc-1.default", "ngsa-svc-2.ngsa", "queue.data", "checkout.shop"];
    names
        .iter()
        .for_each(|name| drop(process.wait_for_line(&format!("  {name}"))));
    process.terminate();
    let (_, output) = process.end();
    assert!(output.iter().all(|line| !line.contains(char::is_control)), "{output:?}");
    let lines: Vec<_> = output.iter().filter(|line| line.starts_with("out: ")).collect();
    for name in names {
        let answers = lines
            .iter()
            .filter_map(|line| line.split_once(name))
            .map(|(_, says)| says);
        let answers: Vec<_> = answers.collect();
        assert!(answers[0].ends_with("  200 without x-burst"), "{output:?}");
        // On a very slow machine an answer may be missing, and the next one may be the same as before.
        assert!(answers.windows(2).all(|two| two[0] != two[1]), "{output:?}");
    }
}

#[test]
fn an_envoy_that_ignores_the_request_to_end_is_killed() {
    let envoy = FakeEnvoy::new("while :; do sleep 1; done").on_term("");
    let process = run(&envoy, &free_addr());
    let pid = envoy.pid();
    process.terminate();
    assert!(process.end().0.success());
    wait::until(LIMIT, "the stubborn Envoy is gone", || !is_running(pid));
}

#[test]
fn it_ends_when_its_output_is_closed() {
    let proxy = free_addr();
    let envoy = sample_services_at(&proxy);
    let (status, _) = Process::start_with_closed_output(envoy.run(&proxy)).end();
    assert!(status.success(), "{status}");
    assert!(!is_running(envoy.pid()));
}
