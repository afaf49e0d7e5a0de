//! Refusals, in the words of kube-apiserver v1.36.3.

use http::Method;

use super::*;

#[test]
fn a_missing_resource_or_object_is_reported_as_by_a_real_server() {
    let api = api(&[]);
    let resource = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404}"#;
    let object = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"horizontalpodautoscalers.autoscaling \"zz\" not found","reason":"NotFound","details":{"name":"zz","group":"autoscaling","kind":"horizontalpodautoscalers"},"code":404}"#;
    let cases = [
        ("/apis/autoscaling/v2/nope", resource),
        ("/apis/autoscaling/v7/horizontalpodautoscalers", resource),
        (
            "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/zz",
            object,
        ),
        ("/apis/argoproj.io/v1alpha1/rollouts", "404 page not found\n"),
        ("/foo", "404 page not found\n"),
    ];
    for (path, wanted) in cases {
        assert_eq!(text(&api, path), (404, wanted.to_owned()), "{path}");
    }
}

#[test]
fn writes_are_not_allowed() {
    let api = api(&[]);
    let mut post = request(ALL_HPAS);
    *post.method_mut() = Method::POST;
    assert_eq!(api.handle(&post).status(), Some(StatusCode::METHOD_NOT_ALLOWED));
}

#[test]
fn a_token_is_required_once_one_is_registered() {
    let api = api(&["a/1"]);
    let status = |token: Option<&str>| {
        let mut request = request(ALL_HPAS);
        if let Some(token) = token {
            request
                .headers_mut()
                .insert("authorization", format!("Bearer {token}").parse().unwrap());
        }
        api.handle(&request).status().unwrap().as_u16()
    };
    assert_eq!([status(None), status(Some("old"))], [200, 200]);
    api.access.add_token("old", "system:serviceaccount:istio-system:gw");
    assert_eq!(
        [status(None), status(Some("old")), status(Some("new"))],
        [403, 200, 401]
    );
    api.access.add_token("new", "system:serviceaccount:istio-system:gw");
    api.access.revoke("old");
    assert_eq!([status(Some("old")), status(Some("new"))], [401, 200]);
    api.access
        .set_rules("system:serviceaccount:istio-system:gw", Vec::new());
    assert_eq!(status(Some("new")), 403);
    assert_eq!(text(&api, "/apis/argoproj.io/v1alpha1/rollouts").0, 403);
}
