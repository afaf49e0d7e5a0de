//! `hpa simulate`: loads by their shape and from Prometheus, and the answer whether there were enough pods.

use std::path::{Path, PathBuf};

use burstctl::run::Outcome;
use serde_json::{Value, json};

use crate::support::hpa_command;

/// An HPA from 2 to 20 replicas with these metrics.
fn hpa(metrics: &Value) -> String {
    json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 2, "maxReplicas": 20, "metrics": metrics,
        },
    })
    .to_string()
}

fn resource(name: &str, target: &Value) -> Value {
    json!({"type": "Resource", "resource": {"name": name, "target": target}})
}

fn cpu() -> Value {
    resource("cpu", &json!({"type": "Utilization", "averageUtilization": 50}))
}

fn requests() -> Value {
    json!({"type": "Pods", "pods": {
        "metric": {"name": "requests"}, "target": {"type": "AverageValue", "averageValue": "10"},
    }})
}

/// Returns the JSON lines of a simulation, the answer last.
fn simulated(metrics: &Value, args: &[&str]) -> (Vec<Value>, Value) {
    let args = [&["simulate", "-", "--output", "json"], args].concat();
    let (outcome, out, messages) = hpa_command(&args, hpa(metrics));
    assert_eq!((outcome, messages.as_str()), (Outcome::Success, ""), "{args:?}");
    let mut lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let answer = lines.pop().unwrap()["summary"].take();
    (lines, answer)
}

/// Returns the loads of `name` at the given seconds.
fn loads(steps: &[Value], name: &str, seconds: &[u64]) -> Vec<String> {
    let at = |second: &u64| steps.iter().rfind(|step| step["seconds"].as_u64().unwrap() <= *second);
    seconds
        .iter()
        .map(|second| at(second).unwrap()["load"][name].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_load_has_a_shape_between_two_levels() {
    // By default from 2 pods at their target of 10 to 20 pods at theirs.
    for (load, seconds, expected) in [
        (
            "spike",
            &[0, 60, 645, 660, 1260][..],
            &["20", "200", "200", "20", "20"][..],
        ),
        (
            "spike:3x,for=5m",
            &[45, 60, 345, 360, 960],
            &["20", "60", "60", "20", "20"],
        ),
        ("spike:90rps,from=30rps", &[0, 60, 660, 1260], &["30", "90", "30", "30"]),
        ("ramp", &[60, 360, 660, 1260], &["20", "110", "200", "200"]),
        ("ramp:from=1x,2x,for=1m", &[60, 90, 120, 720], &["20", "30", "40", "40"]),
        ("daily", &[0, 21_600, 43_200, 86_400], &["20", "110", "200", "20"]),
        ("daily:for=1h,10x", &[0, 1800, 3600], &["20", "200", "20"]),
        ("35", &[0, 1800], &["35", "35"]),
        ("1.5x,for=1m", &[0, 60], &["30", "30"]),
    ] {
        let (steps, _) = simulated(&json!([requests()]), &["--load", load]);
        assert_eq!(loads(&steps, "requests", seconds), expected, "{load}");
        assert_eq!(steps.last().unwrap()["seconds"], *seconds.last().unwrap(), "{load}");
    }
}

#[test]
fn a_multiple_loads_every_metric() {
    let metrics = json!([cpu(), requests()]);
    let (steps, answer) = simulated(&metrics, &["--load", "spike:3x"]);
    assert_eq!(loads(&steps, "cpu", &[0, 60]), ["100", "300"]);
    assert_eq!(loads(&steps, "requests", &[0, 60]), ["20", "60"]);
    // 300 % of a request need 3 pods, and 60 requests 6 pods of at most 11.
    assert_eq!(answer["peakNeeded"], 6);
}

#[test]
fn requests_per_second_load_the_cpu_of_a_pod_with_a_known_capacity() {
    let args = [
        "--load",
        "spike:200rps,from=20rps",
        "--pod-capacity",
        "20rps",
        "--startup",
        "0",
    ];
    let (steps, answer) = simulated(&json!([cpu()]), &args);
    assert_eq!(loads(&steps, "cpu", &[0, 60]), ["20", "200"]);
    assert_eq!(answer["peakNeeded"], 10);
    let replicas = |second: u64| steps.iter().find(|step| step["seconds"] == second).unwrap()["replicas"].clone();
    // 200 rps need 20 pods at 50 %.
    assert_eq!([60, 75, 90, 105, 120].map(replicas), [4, 8, 16, 20, 20]);
    // Busy pods measure 100 % of their requests and no more: at a target of 80 % their number grows by a quarter.
    let busy = resource("cpu", &json!({"type": "Utilization", "averageUtilization": 80}));
    let (steps, _) = simulated(&json!([busy]), &args);
    let replicas = |second: u64| steps.iter().find(|step| step["seconds"] == second).unwrap()["replicas"].clone();
    assert_eq!([60, 75, 90].map(replicas), [3, 4, 5]);
    let (twenty, _) = simulated(&json!([cpu()]), &["--load", "1x", "--pod-capacity", "20rps"]);
    assert_eq!(loads(&twenty, "cpu", &[0]), ["20"], "two pods at half of 20 rps");
}

#[test]
fn the_answer_depends_on_the_capacity_and_the_startup_of_a_pod() {
    let answer = |args: &[&str]| simulated(&json!([requests()]), &[&["--load", "spike:5x"], args].concat()).1;
    let default = answer(&[]);
    // 100 requests need 10 pods of at most 11. The HPA doubles its 2 replicas, to 10 at the third sync.
    assert_eq!(default["enough"], false);
    assert_eq!(default["peakNeeded"], 10);
    assert_eq!(default["peakReplicas"], 10);
    assert_eq!(default["longestShortage"], json!({"from": 60, "seconds": 60}));
    assert_eq!(
        default["reasons"],
        json!({"notScaled": 30, "notReady": 30, "maxReplicas": 0})
    );
    assert_eq!(default["startupSeconds"], 30);
    let at_once = answer(&["--startup", "0"]);
    assert_eq!(at_once["longestShortage"], json!({"from": 60, "seconds": 30}));
    let strong = answer(&["--pod-capacity", "50"]);
    assert_eq!((&strong["enough"], &strong["servedShare"]), (&json!(true), &json!(1.0)));
    assert_eq!(
        strong["podCapacity"],
        json!([{"metric": "requests", "amount": "50", "unit": ""}])
    );
}

#[test]
fn a_total_says_what_is_needed_only_with_a_capacity() {
    let total = json!([{"type": "External", "external": {
        "metric": {"name": "queue"}, "target": {"type": "Value", "value": "100"},
    }}]);
    let (_, unknown) = simulated(&total, &["--load", "100"]);
    assert_eq!(
        (&unknown["enough"], &unknown["unknownSeconds"]),
        (&Value::Null, &json!(1800))
    );
    let (_, known) = simulated(&total, &["--load", "100", "--pod-capacity", "25"]);
    assert_eq!((&known["enough"], &known["peakNeeded"]), (&json!(false), &json!(4)));
}

#[test]
fn a_load_without_meaning_is_refused_in_words() {
    let memory = resource("memory", &json!({"type": "AverageValue", "averageValue": "64Mi"}));
    let total = json!({"type": "External", "external": {
        "metric": {"name": "queue"}, "target": {"type": "Value", "value": "100"},
    }});
    for (metrics, args, message) in [
        (
            json!([cpu()]),
            &["--load", "100rps"][..],
            "--load: how many rps does one pod serve at most? Add --pod-capacity, such as --pod-capacity 20rps",
        ),
        (
            json!([requests()]),
            &["--load", "400%"],
            "--load: the load of requests is not in percent",
        ),
        (
            json!([cpu(), requests()]),
            &["--load", "100"],
            "--load: the HPA has 2 metrics; write the load in multiples, such as spike:10x, or use --trace",
        ),
        (
            json!([total]),
            &["--load", "spike:10x"],
            "--load: queue has a total as its target, so no load follows from it; write amounts, such as \
             spike:200,from=20",
        ),
        (
            json!([cpu(), requests()]),
            &["--load", "1x", "--pod-capacity", "20rps"],
            "--pod-capacity: it is for an HPA with one metric, and this one has 2; without it, their targets say what \
             a pod serves",
        ),
        (
            json!([memory]),
            &["--load", "1x", "--pod-capacity", "20rps"],
            "--pod-capacity: memory has an averageValue as its target, so requests per second cannot be converted; \
             write an amount of memory",
        ),
        (
            json!([requests()]),
            &["--load", "1x", "--pod-capacity", "80%"],
            "--pod-capacity: requests has no utilization as its target, so a percentage of it has no meaning",
        ),
        (
            json!([requests()]),
            &["--load", "1x", "--pod-capacity", "0"],
            "--pod-capacity: a pod has to serve something",
        ),
        (
            json!([requests()]),
            &["--load", "spike:9Px"],
            "--load: it is more than the controller's thousandths hold, 9.2P",
        ),
    ] {
        let (outcome, out, messages) = hpa_command(&[&["simulate", "-"], args].concat(), hpa(&metrics));
        assert_eq!((outcome, out.as_str()), (Outcome::Incomplete, ""), "{args:?}");
        assert_eq!(messages, format!("burstctl: {message}\n"), "{args:?}");
    }
}

/// A number with a unit is easier to check than bytes.
#[test]
fn the_assumptions_are_named_with_their_units() {
    let memory = resource("memory", &json!({"type": "AverageValue", "averageValue": "64Mi"}));
    for (metric, args, lines) in [
        (
            requests(),
            &[][..],
            [
                "  load: 20 to 100 of requests",
                "  assumed: a pod serves 11 of requests: its target 10 and 10 % tolerance",
            ],
        ),
        (
            memory,
            &[],
            [
                "  load: 128Mi to 640Mi of memory",
                "  assumed: a pod serves 70.4Mi of memory: its target 64Mi and 10 % tolerance",
            ],
        ),
        (
            cpu(),
            &[],
            [
                "  load: 100 % to 500 % of cpu",
                "  assumed: a pod serves what 100 % of its cpu request can",
            ],
        ),
        (
            cpu(),
            &["--pod-capacity", "20rps"],
            [
                "  load: 20 rps to 100 rps of cpu",
                "  assumed: a pod serves 20 rps with 100 % of its cpu request",
            ],
        ),
        (
            requests(),
            &["--pod-capacity", "20rps"],
            [
                "  load: 20 rps to 100 rps of requests",
                "  assumed: a pod serves 20 rps",
            ],
        ),
    ] {
        let args = [&["simulate", "-", "--load", "spike:5x", "--startup", "1m30s"], args].concat();
        let (_, out, _) = hpa_command(&args, hpa(&json!([metric])));
        let [load, capacity] = lines;
        for line in [load, capacity, "  assumed: a new pod is ready after 1m30s (--startup)"] {
            assert!(out.lines().any(|shown| shown == line), "{line}\n{out}");
        }
    }
}

/// Returns the block of the README that begins with `start`.
fn readme_block(start: &str) -> String {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let (_, rest) = readme.split_once(&format!("```console\n$ {start}")).unwrap();
    format!("{start}{}", rest.split_once("\n```").unwrap().0)
}

/// The recipe of the README asks a server with the stored answer, and the file that it writes is a trace.
#[test]
fn the_recipe_makes_a_trace_from_a_query() {
    use std::io::{BufRead as _, BufReader, Write as _};

    let stored: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "data", "prometheus.json"]
        .iter()
        .collect();
    let answer = std::fs::read(stored).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let length = answer.len();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = String::new();
        BufReader::new(&stream).read_line(&mut request).unwrap();
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
        )
        .unwrap();
        stream.write_all(&answer).unwrap();
        request
    });
    let folder = tempfile::tempdir().unwrap();
    let recipe = readme_block("curl").replace("prometheus.example:9090", &address);
    assert!(recipe.contains(&address), "{recipe}");
    let curl = std::process::Command::new("bash")
        .args(["-c", &recipe])
        .env("no_proxy", "*")
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(curl.status.success(), "{}", String::from_utf8_lossy(&curl.stderr));
    let request = server.join().unwrap();
    assert_eq!(
        request,
        "GET /api/v1/query_range?query=sum%28rate%28http_requests_total%7bservice%3d%22web%22%7d%5b1m%5d%29%29\
         &start=2026-10-25T00%3a00%3a00Z&end=2026-10-25T01%3a00%3a00Z&step=15s HTTP/1.1\r\n"
    );
    let trace = folder.path().join("prometheus.json");
    let (steps, answer) = simulated(&json!([requests()]), &["--trace", trace.to_str().unwrap()]);
    assert_eq!(loads(&steps, "requests", &[0]), ["30"]);
    assert_eq!(
        answer["unknownSeconds"], 300,
        "Prometheus had no samples for five minutes"
    );
}
