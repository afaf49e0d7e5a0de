//! `burstctl policy` beside a real API server.

mod hpas;
mod random;

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Output};
use std::time::Duration;

use burst_testkit::{ControlPlane, repository, wait};
use random::Generator;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

const SOON: Duration = Duration::from_secs(120);

/// Sets of policies, and HPAs for each of them.
const SETS: usize = 8;
const HPAS: usize = 40;

fn burstctl(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_burstctl"))
        .args(words)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A file with these objects.
fn file(objects: &[Value]) -> NamedTempFile {
    let file = NamedTempFile::with_suffix(".json").unwrap();
    std::fs::write(file.path(), documents(objects)).unwrap();
    file
}

fn documents(objects: &[Value]) -> String {
    objects.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
}

/// Policies in a file, and how they are judged.
struct Set {
    file: NamedTempFile,
    default: &'static str,
}

impl Set {
    fn new(policies: &[Value], default: &'static str) -> Self {
        let file = file(policies);
        Self { file, default }
    }

    fn run(&self, command: &str, more: &[&str]) -> Output {
        let path = self.file.path().to_str().unwrap();
        let words = [
            "policy",
            command,
            path,
            "--root-namespace",
            random::ROOT,
            "--default",
            self.default,
        ];
        burstctl(&[&words[..], more].concat())
    }

    /// Why HPAs are refused, by their titles.
    fn refused(&self, hpas: &[Value]) -> BTreeMap<String, Vec<String>> {
        let hpas = file(hpas);
        let output = self.run("test", &["--hpa", hpas.path().to_str().unwrap(), "--output", "json"]);
        let (lines, messages) = (text(&output.stdout), text(&output.stderr));
        let mut refused: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for line in lines.lines() {
            let decision: Value = serde_json::from_str(line).unwrap();
            if let Some(reason) = decision["reason"].as_str() {
                let hpa = decision["hpa"].as_str().unwrap().to_owned();
                refused
                    .entry(hpa)
                    .or_default()
                    .push(format!("{}: {reason}", decision["metric"].as_str().unwrap()));
            }
        }
        let expected = if refused.is_empty() { 0 } else { 1 };
        assert_eq!(output.status.code(), Some(expected), "{messages}");
        refused
    }

    /// Puts the admission policy in force; `probe` is an HPA that the first rule of `policy` refuses, and that of no set
    /// before this one.
    fn enforce(&self, cluster: &ControlPlane, policy: &str, probe: &Value) {
        let output = self.run("admission", &[]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        cluster.apply(&text(&output.stdout));
        wait::for_ok(SOON, "the admission policy in force", || {
            match cluster.try_kubectl(&["create", "--dry-run=server", "-f", "-"], &probe.to_string()) {
                Err(said) if said.contains(policy) && said.contains("rule 1 denies it") => Ok(()),
                other => Err(format!("{other:?}")),
            }
        });
    }
}

/// What the API server says of each HPA that it refuses, by its title.
fn applied(cluster: &ControlPlane, hpas: &[Value]) -> BTreeMap<String, String> {
    let mut refused = BTreeMap::new();
    for namespace in random::NAMESPACES {
        let here: Vec<_> = hpas
            .iter()
            .filter(|hpa| hpa["metadata"]["namespace"] == namespace)
            .cloned()
            .collect();
        let Err(said) = cluster.try_kubectl(&["create", "--dry-run=server", "-f", "-"], &documents(&here)) else {
            continue;
        };
        for line in said.lines().filter(|line| line.starts_with("Error from server")) {
            let name = line.split('"').find(|word| word.starts_with("hpa-"));
            let name = name.unwrap_or_else(|| panic!("{line}"));
            refused.insert(format!("{namespace}/{name}"), line.replace("\\\"", "\""));
        }
    }
    refused
}

#[test]
fn another_user_is_not_in_the_groups_of_the_controller() {
    let mut policy = random::policy(
        "of-accounts",
        "shop",
        &json!({"rules": [{"metric": ".*", "deny": true}]}),
    );
    policy["spec"]["subjects"] = json!([{"kind": "Group", "name": "system:serviceaccounts"}]);
    let set = Set::new(&[policy], "allow");
    let hpas = file(&[random::hpa(
        "web",
        "shop",
        &[random::external("queue_depth", &json!({}))],
    )]);
    let code = |more: &[&str]| {
        let words = [&["--hpa", hpas.path().to_str().unwrap()], more].concat();
        set.run("test", &words).status.code()
    };
    assert_eq!(code(&[]), Some(1));
    assert_eq!(code(&["--user", "alice"]), Some(0));
    assert_eq!(code(&["--user", "system:serviceaccount:shop:reader"]), Some(1));
}

#[test]
fn the_admission_policy_refuses_exactly_what_policy_test_refuses() {
    let seed = burst_testkit::seed();
    let mut chance = Generator::new(seed);
    let cluster = ControlPlane::start();
    for namespace in random::NAMESPACES {
        cluster.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}).to_string());
    }
    let mut refusals = 0;
    for round in 0..SETS {
        let metric = format!("probe_{round}");
        let probing = json!({"rules": [{"metric": metric, "deny": true}, {"metric": ".*", "selector": {}}]});
        let mut policies = vec![random::policy("a-probe", random::ROOT, &probing)];
        policies.extend(chance.policies());
        let set = Set::new(&policies, if round % 2 == 0 { "allow" } else { "deny" });
        set.enforce(
            &cluster,
            "root/a-probe",
            &random::hpa("hpa-probe", "shop", &[random::external(&metric, &json!({}))]),
        );
        let hpas: Vec<_> = (0..HPAS).map(|number| chance.hpa(number)).collect();
        let (foretold, found) = (set.refused(&hpas), applied(&cluster, &hpas));
        let names = |of: Vec<&String>| of.into_iter().cloned().collect::<BTreeSet<_>>();
        let (ours, theirs) = (names(foretold.keys().collect()), names(found.keys().collect()));
        let odd = ours.symmetric_difference(&theirs).next();
        let hpa = odd.and_then(|odd| {
            hpas.iter()
                .find(|hpa| odd.ends_with(hpa["metadata"]["name"].as_str().unwrap()))
        });
        let context = || {
            format!(
                "{:#?} {:#?}\n{policies:#?}",
                odd.map(|odd| found.get(odd)),
                hpa.map(Value::to_string)
            )
        };
        assert_eq!(
            ours,
            theirs,
            "left: here, right: the API server; BURST_SEED={seed}; {}",
            context()
        );
        for (title, reasons) in &foretold {
            let said = &found[title];
            assert!(
                reasons.iter().any(|reason| said.contains(reason)),
                "{said}\n{reasons:?}"
            );
        }
        refusals += ours.len();
    }
    let all = SETS * HPAS;
    assert!(
        refusals > all / 10 && refusals < all * 9 / 10,
        "{refusals} of {all} refused: they are too alike"
    );
}

#[test]
fn a_thousand_rules_fit_an_admission_policy() {
    let cluster = ControlPlane::start();
    let rule = |number: usize| match number {
        0 => json!({"metric": "probe", "deny": true}),
        999 => json!({"metric": "queue_.*", "selector": {"matchLabels": {"team": "web"}}}),
        _ => json!({"metric": format!("metric_{number}_(depth|age|[a-f]{{2}}\\d+)"), "deny": true}),
    };
    let spec = json!({"rules": (0..1000).map(rule).collect::<Vec<_>>()});
    let set = Set::new(&[random::policy("many", random::ROOT, &spec)], "deny");
    set.enforce(
        &cluster,
        "many",
        &random::hpa("hpa-probe", "default", &[random::external("probe", &json!({}))]),
    );
    let ten = |metric: &str, team: &str| {
        let external = random::external(metric, &json!({"matchLabels": {"team": team}}));
        random::hpa("hpa-ten", "default", &vec![external; 10])
    };
    let create = |hpa: &Value| cluster.try_kubectl(&["create", "--dry-run=server", "-f", "-"], &hpa.to_string());
    for (hpa, refusal) in [
        (ten("queue_depth", "web"), None),
        (
            ten("queue_depth", "api"),
            Some("rule 1000 asks for a selector that is at least as narrow as"),
        ),
        (ten("metric_998_ab12", "web"), Some("rule 999 denies it")),
        (
            ten("metric_1000_ab12", "web"),
            Some("has no rule for it, and the default is deny"),
        ),
    ] {
        let ours: Vec<_> = set
            .refused(std::slice::from_ref(&hpa))
            .into_values()
            .flatten()
            .collect();
        let theirs = create(&hpa).err();
        assert_eq!(ours.is_empty(), refusal.is_none(), "{ours:?}");
        match refusal {
            None => assert_eq!(theirs, None),
            Some(words) => {
                let theirs = theirs.unwrap();
                assert!(theirs.contains(words) && ours[0].contains(words), "{theirs}\n{ours:?}");
            }
        }
    }
}

#[track_caller]
fn define(cluster: &ControlPlane) {
    cluster.apply(&std::fs::read_to_string(repository().join("istio/metrics-apis/policies.yaml")).unwrap());
    cluster.wait_for_crds();
}

#[test]
fn the_shipped_crd_refuses_invalid_policies() {
    let cluster = ControlPlane::start();
    define(&cluster);
    let rule = |rule: Value| json!({"rules": [rule]});
    let create = |spec: &Value| {
        let policy = random::policy("p", "default", spec);
        cluster.try_kubectl(&["create", "--dry-run=server", "-f", "-"], &policy.to_string())
    };
    for good in [
        rule(json!({"metric": r"burst_(requests|rejected)_per_second|[^a\-]\d{2,}", "deny": true})),
        rule(json!({"metric": "a", "selector": {}})),
        json!({"subjects": [{"kind": "Group", "name": "a"}], "rules": [{"metric": "a", "selector": {
            "matchLabels": {"team": "web"}, "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["x"]}]}}]}),
    ] {
        assert!(create(&good).is_ok(), "{good}: {:?}", create(&good));
        assert!(burst_policy::Policy::parse("p", None, &good.to_string()).is_ok());
    }
    let expression = |words: Value| rule(json!({"metric": "a", "selector": {"matchExpressions": [words]}}));
    for (bad, said) in [
        (json!({}), "spec.rules: Required value"),
        (json!({"rules": []}), "spec.rules: Invalid value"),
        (rule(json!({"deny": true})), "spec.rules[0].metric: Required value"),
        (
            rule(json!({"metric": "", "deny": true})),
            "spec.rules[0].metric: Invalid value",
        ),
        (
            rule(json!({"metric": "a"})),
            "a rule has exactly one of a selector and deny",
        ),
        (
            rule(json!({"metric": "a", "deny": true, "selector": {}})),
            "a rule has exactly one of a selector and deny",
        ),
        (
            rule(json!({"metric": "a", "deny": false})),
            "spec.rules[0].deny: Unsupported value",
        ),
        (
            rule(json!({"metric": "(a", "deny": true})),
            "spec.rules[0].metric: Invalid value",
        ),
        (
            rule(json!({"metric": "a**", "deny": true})),
            "spec.rules[0].metric: Invalid value",
        ),
        (
            rule(json!({"metric": "Upper", "deny": true})),
            "spec.rules[0].metric: Invalid value",
        ),
        (rule(json!({"metric": "a", "allow": true})), "unknown field"),
        (
            json!({"subjects": [], "rules": [{"metric": "a", "deny": true}]}),
            "spec.subjects: Invalid value",
        ),
        (
            expression(json!({"key": "a", "operator": "In"})),
            "In and NotIn have values",
        ),
        (
            expression(json!({"key": "a", "operator": "Exists", "values": ["a"]})),
            "In and NotIn have values",
        ),
        (expression(json!({"key": "a", "operator": "Near"})), "Unsupported value"),
    ] {
        let refusal = create(&bad).expect_err("a refusal");
        assert!(refusal.contains(said), "{bad}: {refusal}");
        assert!(
            burst_policy::Policy::parse("p", None, &bad.to_string()).is_err(),
            "{bad}"
        );
    }
}

#[test]
fn check_writes_an_accepted_condition_for_each_policy() {
    let cluster = ControlPlane::start();
    define(&cluster);
    let create = |name: &str, spec: Value| {
        let policy = random::policy(name, "default", &spec).to_string();
        cluster.apply(&policy);
    };
    create("fine", json!({"rules": [{"metric": ".*", "deny": true}]}));
    // What no schema finds: a selector that contradicts itself.
    let labels = json!({"matchLabels": {"a": "x"}, "matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]});
    create("odd", json!({"rules": [{"metric": "a", "selector": labels}]}));
    let check = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_burstctl"));
        command.args(["policy", "check", "--context", ""]).args(words);
        command.env("KUBECONFIG", cluster.kubeconfig()).output().unwrap()
    };
    let columns = || {
        let printed = cluster.kubectl(&["get", "externalmetricpolicies", "--no-headers"]);
        let of_line = |line: &str| line.split_whitespace().take(4).collect::<Vec<_>>().join(" ");
        printed.lines().map(of_line).collect::<Vec<_>>()
    };
    let refusal = "default/odd: refused: spec.rules[0].selector: contradicts itself about \"a\", and so selects nothing; \
                   `deny: true` says that\n";
    let output = check(&[]);
    assert_eq!(
        (output.status.code(), text(&output.stdout)),
        (Some(1), format!("default/fine: accepted, 1 rule\n{refusal}"))
    );
    assert!(
        columns().iter().all(|line| !line.contains("True")),
        "only looked at: {:?}",
        columns()
    );

    let output = check(&["--write-status"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert_eq!(columns(), ["fine True Valid 1", "odd False Invalid 0"]);
    let status = |name: &str| {
        let object = cluster.kubectl(&["get", "externalmetricpolicies", name, "--output=json"]);
        let object: Value = serde_json::from_str(&object).unwrap();
        (object["metadata"]["resourceVersion"].clone(), object["status"].clone())
    };
    let before = status("odd");
    assert_eq!(before.1["observedGeneration"], 1);
    assert!(
        before.1["conditions"][0]["message"]
            .as_str()
            .unwrap()
            .contains("contradicts itself")
    );
    check(&["--write-status"]);
    assert_eq!(status("odd"), before, "what is there already is not written again");

    create(
        "odd",
        json!({"rules": [{"metric": "a", "selector": {"matchLabels": {"a": "x"}}}]}),
    );
    assert_eq!(check(&["--write-status"]).status.code(), Some(0));
    assert_eq!(columns(), ["fine True Valid 1", "odd True Valid 1"]);
    assert_eq!(status("odd").1["observedGeneration"], 2);

    // Nor does one know what a policy costs.
    let slow = vec![json!({"metric": "(?:.{0,30}){30}x", "deny": true}); 1000];
    create("slow", json!({"rules": slow}));
    assert_eq!(
        check(&["--write-status", "--root-namespace=default"]).status.code(),
        Some(1)
    );
    assert_eq!(
        columns(),
        ["fine True Valid 1", "odd True Valid 1", "slow False Invalid 0"]
    );
    let message = status("slow").1["conditions"][0]["message"].to_string();
    assert!(
        message.contains("steps for the most expensive query; 200000 are allowed"),
        "{message}"
    );
}

#[test]
fn an_invalid_policy_is_reported_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policies.yaml");
    let policy =
        "apiVersion: burstmetrics.dev/v1alpha1\nkind: ExternalMetricPolicy\nmetadata: {name: p, namespace: shop}\n";
    let run = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let path = path.to_str().unwrap();
        let output = burstctl(&["policy", "test", path, "--hpa", path]);
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap().replace(path, "FILE"),
        )
    };
    for (text, said) in [
        (
            format!("{policy}spec:\n  rules:\n  - metric: a\n"),
            "FILE:6:5: shop/p: spec.rules[0]: has neither",
        ),
        (
            format!("{policy}spec:\n  rules:\n  - metric: (\n    deny: true\n"),
            "FILE:6:13: shop/p: spec.rules[0].metric: `(` is",
        ),
        (
            format!("{policy}spec: {{rules: []}}\n"),
            "FILE:4:8: shop/p: spec.rules: is empty",
        ),
        (
            format!("{policy}spek: {{rules: []}}\n"),
            "shop/p: spek: is no field of an ExternalMetricPolicy",
        ),
        (policy.to_owned(), "shop/p: spec: is missing"),
        (
            policy.replace("v1alpha1", "v9"),
            "FILE:1:13: shop/p: apiVersion: expected \"burstmetrics.dev/v1alpha1\"",
        ),
        (
            "kind: Service\n".to_owned(),
            "neither an ExternalMetricPolicy nor the filter's configuration",
        ),
        (
            "cluster: k\nmetrics_apis: {filter_chain: m, policies: {given: [{name: p, rules: []}]}}\n".to_owned(),
            "given[0].rules: is empty",
        ),
        ("a: [\n".to_owned(), "FILE:"),
    ] {
        let (code, words) = run(&text);
        assert!(code == Some(2) && words.contains(said), "{text}\n{code:?} {words}");
    }
}

#[test]
fn policies_in_a_configuration_are_read_with_its_default() {
    let configuration = json!({"cluster": "k", "metrics_apis": {"filter_chain": "m", "policies": {
        "default": "deny", "root_namespace": "root",
        "given": [{"name": "given", "namespace": "shop", "rules": [{"metric": "a", "selector": {}}]}]}}});
    let of_root = random::policy(
        "everywhere",
        "root",
        &json!({"rules": [{"metric": "[ab]", "selector": {}}]}),
    );
    let policies = file(&[configuration, of_root]);
    let metrics = [random::external("a", &json!({})), random::external("b", &json!({}))];
    let hpas = file(&[
        random::hpa("hpa", "shop", &metrics),
        random::hpa("hpa", "data", &metrics),
    ]);
    let output = burstctl(&[
        "policy",
        "test",
        policies.path().to_str().unwrap(),
        "--hpa",
        hpas.path().to_str().unwrap(),
    ]);
    assert_eq!(
        text(&output.stdout),
        "shop/hpa: a: passes: given rule 1, root/everywhere rule 1\n\
         shop/hpa: b: refused: ExternalMetricPolicy \"given\" has no rule for it, and the default is deny\n\
         data/hpa: a: passes: root/everywhere rule 1\n\
         data/hpa: b: passes: root/everywhere rule 1\n"
    );
}

#[test]
fn the_guide_shows_the_real_output() {
    let read = |path: &str| std::fs::read_to_string(repository().join(path)).unwrap();
    let (guide, policies) = (
        read("docs/policies.md"),
        read("crates/burstctl/tests/data/policies/policies.yaml"),
    );
    let (_, shown) = guide.split_once("$ burstctl policy test ").unwrap();
    let (words, shown) = shown.split_once("\n```").unwrap().0.split_once('\n').unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_burstctl"));
    command.args(["policy", "test"]).args(words.split(' '));
    let folder = repository().join("crates/burstctl/tests/data/policies");
    assert_eq!(
        text(&command.current_dir(folder).output().unwrap().stdout).trim_end(),
        shown
    );
    let (_, policy) = guide.split_once("```yaml\n").unwrap();
    let (policy, _) = policy.split_once("```").unwrap();
    assert!(policies.ends_with(policy), "{policy}");
}
