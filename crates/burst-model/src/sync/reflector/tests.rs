use super::*;
use crate::kube::{ObjectKind, Resource};

mod failed_watches;
mod lists;
mod watches;

const T0: Time = Time::from_unix_millis(1_000_000);
const PAUSE: Duration = Duration::from_secs(15);
const WINDOW: Duration = Duration::from_secs(5);
const FROM_7: &str = "/api/v1/services?watch=1&allowWatchBookmarks=true&timeoutSeconds=5&resourceVersion=7";
const SHORT_FROM_7: &str = "/api/v1/services?watch=1&allowWatchBookmarks=true&timeoutSeconds=1&resourceVersion=7";
const LIST: &str = "/api/v1/services?limit=500";

fn list(window: Option<Duration>) -> Reflector {
    let source = Source::all_namespaces(ObjectKind::Services, Resource::services());
    let schedule = Schedule {
        interval: PAUSE,
        window,
    };
    Reflector::new(source, schedule, 500, T0)
}

fn listing() -> Reflector {
    list(None)
}

fn path(request: Option<ApiRequest>) -> Option<String> {
    request.map(|request| request.path)
}

fn page(continue_token: Option<&str>) -> Result<Payload, Failure> {
    Ok(Payload::Page(ListPage {
        continue_token: continue_token.map(Into::into),
        resource_version: "7".into(),
        ..ListPage::default()
    }))
}

/// A reflector that has listed and sent its first watch.
fn watching() -> Reflector {
    let mut list = list(Some(WINDOW));
    list.next_request(T0);
    list.handle_response(page(None), T0, 0);
    let watch = list.next_request(T0).unwrap();
    assert_eq!((watch.verb, watch.watch_timeout), (Verb::Watch, WINDOW));
    list
}

fn batch(version: Option<&str>) -> Result<Payload, Failure> {
    Ok(Payload::WatchBatch(WatchBatch {
        resource_version: version.map(Into::into),
        ..WatchBatch::default()
    }))
}

fn later(seconds: u64) -> Time {
    T0.after(Duration::from_secs(seconds))
}
