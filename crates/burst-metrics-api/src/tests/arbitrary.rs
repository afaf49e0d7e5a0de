//! Property tests: every request has an answer.

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn a_request_with_any_path_is_answered(
        start in prop::sample::select(vec!["/", CUSTOM, EXTERNAL, "/apis", "/openapi"]),
        path in "(/[a-z*.%_]{0,12}){0,4}|.{0,40}",
        query in "([a-zA-Z]{0,8}(Selector)?=[a-z%0-9=,()! ]{0,20}&?){0,4}|.{0,40}",
        accept in ".{0,40}",
    ) {
        let path = format!("{start}{path}?{query}");
        let request = TestRequest { accept: accept.as_bytes(), ..get(&path) };
        for server in [TestServer::synced(), TestServer::unsynced()] {
            let (status, _) = server.status_and_body(request);
            prop_assert!([200, 400, 404, 405, 406, 503].contains(&status), "{}: {}", path, status);
        }
    }

    #[test]
    fn a_request_with_any_headers_is_answered(
        method in proptest::collection::vec(any::<u8>(), 0..8),
        path in proptest::collection::vec(any::<u8>(), 0..64),
        user in proptest::collection::vec(any::<u8>(), 0..8),
    ) {
        let request = TestRequest { method: &method, path: &path, accept: &user, if_none_match: &path, user: &user, groups: &[] };
        let _ = TestServer::synced().status_and_body(request);
    }
}
