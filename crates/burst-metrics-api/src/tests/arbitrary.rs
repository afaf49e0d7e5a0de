//! Whatever comes.

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn any_request_is_answered(
        start in prop::sample::select(vec!["/", CUSTOM, EXTERNAL, "/apis", "/openapi"]),
        path in "(/[a-z*.%_]{0,12}){0,4}|.{0,40}",
        query in "([a-zA-Z]{0,8}(Selector)?=[a-z%0-9=,()! ]{0,20}&?){0,4}|.{0,40}",
        accept in ".{0,40}",
    ) {
        let path = format!("{start}{path}?{query}");
        let request = MetricsRequest { accept: accept.as_bytes(), ..get(&path) };
        for world in [World::known(), World::empty()] {
            let (status, _) = world.ask(request);
            prop_assert!([200, 400, 404, 405, 406, 503].contains(&status), "{}: {}", path, status);
        }
    }

    #[test]
    fn any_bytes_are_answered(
        method in proptest::collection::vec(any::<u8>(), 0..8),
        path in proptest::collection::vec(any::<u8>(), 0..64),
        user in proptest::collection::vec(any::<u8>(), 0..8),
    ) {
        let request = MetricsRequest { method: &method, path: &path, accept: &user, if_none_match: &path, user: &user, groups: &[] };
        let _ = World::known().ask(request);
    }
}
