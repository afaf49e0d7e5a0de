//! `tests/golden/kubernetes/`: recorded answers of a real API server, for the tests that run without one.
//!
//! `BURST_RECORD=1 cargo test --test cluster recorded` records them again.

use std::{env, fs};

use burst_model::kube::{ApiResponse, Object, ObjectKind, PollOutcome, Resource, Source, response};
use burst_testkit::{ControlPlane, Controllers, Version, http::Answer, repository, wait};

use crate::{
    account::apply_shipped_role,
    custom_kind,
    gateway::{Gateway, SOON},
    pages, sample,
    shipped::{Shipped, Token},
};

const HPAS: &str = "/apis/autoscaling/v2/horizontalpodautoscalers?limit=500";
const SERVICES: &str = "/api/v1/services";

#[test]
fn the_recorded_answers_have_the_form_that_the_api_server_answers_with() {
    let mut cluster = ControlPlane::start_forgetful();
    let account = apply_shipped_role(&cluster);
    let mount = account.mount(&cluster);
    sample::create(&cluster);
    // Sends our requests as the filter sends its own: with its cluster, its TLS and its token.
    let bootstrap = Shipped::bootstrap(Token::Injected, &cluster, &mount).configured("");
    let bootstrap = bootstrap.with("route: {cluster: web}", "route: {cluster: kube_api}");
    let api = Gateway::start(Version::Tested, &bootstrap, &mount);

    // A new role takes effect after a moment.
    compare("hpas-fresh.json", &hpas(), &api.wait_for(HPAS, 200));
    compare("services.json", &services(), &api.get(&format!("{SERVICES}?limit=500")));
    compare(
        "deployments.json",
        &workloads(Resource::deployments()),
        &api.get("/apis/apps/v1/deployments?limit=500"),
    );
    compare(
        "statefulsets.json",
        &workloads(Resource::statefulsets()),
        &api.get("/apis/apps/v1/statefulsets?limit=500"),
    );
    let [first, second] = two_pages(&api);
    compare("services-page-1.json", &services(), &first);
    compare("services-page-2.json", &services(), &second);
    let expired = format!("{HPAS}&continue={}", pages::expired_continue_token(&cluster));
    compare("410.json", &hpas(), &api.get(&expired));
    cluster.apply(custom_kind::ROLE);
    let rollouts = Resource::new("argoproj.io", "v1alpha1", "rollouts", "Rollout");
    let absent = api.wait_for("/apis/argoproj.io/v1alpha1/rollouts?limit=500", 404);
    compare("404.txt", &workloads(rollouts), &absent);

    cluster.start_controllers(Controllers::Autoscaler);
    let observed = wait::for_ok(SOON, "the conditions of every HPA", || {
        let answer = api.get(HPAS);
        let seen = answer.body.matches("FailedGetResourceMetric").count();
        if seen >= sample::HPAS {
            Ok(answer)
        } else {
            Err(answer.body)
        }
    });
    compare("hpas.json", &hpas(), &observed);

    cluster.kubectl(&["delete", "clusterrole", "burst-metrics"]);
    compare("403.json", &hpas(), &api.wait_for(HPAS, 403));
    mount.swap("not-a-token");
    compare("401.json", &hpas(), &api.wait_for(HPAS, 401));
}

/// Both pages of one `continue` token. This API server soon expires its tokens.
fn two_pages(api: &Gateway) -> [Answer; 2] {
    wait::for_ok(SOON, "two pages", || {
        let first = api.get(&format!("{SERVICES}?limit=3"));
        let (_, cursor) = first.body.split_once(r#""continue":""#).expect("a cursor");
        let (cursor, _) = cursor.split_once('"').expect("the end of the cursor");
        let second = api.get(&format!("{SERVICES}?limit=3&continue={cursor}"));
        if second.status == 200 {
            Ok([first, second])
        } else {
            Err(second.body)
        }
    })
}

fn hpas() -> Source {
    source(ObjectKind::Hpas, Resource::hpas())
}

fn services() -> Source {
    source(ObjectKind::Services, Resource::services())
}

fn workloads(resource: Resource) -> Source {
    source(ObjectKind::Workloads, resource)
}

fn source(reads: ObjectKind, resource: Resource) -> Source {
    Source::all_namespaces(reads, resource)
}

/// Compares an answer with the recorded one, or records it.
#[track_caller]
fn compare(file: &str, source: &Source, answer: &Answer) {
    let path = repository().join("tests/golden/kubernetes").join(file);
    if env::var_os("BURST_RECORD").is_some() {
        fs::write(&path, &answer.body).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    let recorded = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let type_of = |answer: &Answer| answer.header("content-type").map(ToOwned::to_owned);
    let content_type = type_of(answer).expect("a content type");
    assert_eq!(
        content_type.contains("json"),
        file.ends_with(".json"),
        "{file}: {content_type}"
    );
    assert_eq!(
        parsed(source, answer.status, &recorded),
        parsed(source, answer.status, &answer.body),
        "{file}; write it again with BURST_RECORD=1 if the API server is right"
    );
}

/// What the model parses from an answer: its objects and whether more pages follow, or how the request failed.
fn parsed(source: &Source, status: u16, body: &str) -> Result<(Vec<Object>, bool), PollOutcome> {
    let response = ApiResponse {
        status: Some(status),
        content_type: None,
        retry_after: None,
        body: body.as_bytes(),
    };
    let page = response::parse_list(source, response, &mut ()).map_err(|failure| PollOutcome::from(&failure))?;
    assert!(page.invalid.is_empty(), "{:?}", page.invalid);
    Ok((page.objects, page.continue_token.is_some()))
}
