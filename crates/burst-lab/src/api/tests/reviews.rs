use super::*;

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

fn review(api: &KubeApi, body: &str) -> (u16, Value) {
    let request = Request::post(REVIEWS)
        .body(Bytes::copy_from_slice(body.as_bytes()))
        .unwrap();
    let answer = complete(api.handle(&request));
    let body = serde_json::from_slice(answer.body()).unwrap();
    (answer.status().as_u16(), body)
}

fn about(user: &str, groups: &[&str], namespace: &str) -> String {
    let attributes =
        json!({"verb": "list", "group": "autoscaling", "resource": "horizontalpodautoscalers", "namespace": namespace});
    let spec = json!({"user": user, "groups": groups, "resourceAttributes": attributes});
    json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}).to_string()
}

#[test]
fn a_review_is_answered_by_the_rules_of_a_user_or_a_group() {
    let api = api(&[]);
    let rule = |namespace: &str| Rule {
        api_groups: vec!["autoscaling".into()],
        resources: vec!["*".into()],
        verbs: vec!["list".into()],
        namespace: Some(namespace.into()),
    };
    api.access.set_rules("alice", vec![rule("shop")]);
    api.access.set_rules("a,b", vec![rule("data")]);
    for (user, groups, namespace, allowed) in [
        ("alice", &[][..], "shop", true),
        ("alice", &[], "data", false),
        ("alice", &["a,b"], "data", true),
        ("alice", &["a", "b"], "data", false),
        ("bob", &["dev"], "data", true),
    ] {
        let (status, review) = review(&api, &about(user, groups, namespace));
        assert_eq!(
            (status, &review["status"]["allowed"]),
            (201, &json!(allowed)),
            "{user} {groups:?} {namespace}"
        );
        assert_eq!(review["spec"]["user"], user);
    }
    assert_eq!(review(&api, "{}").0, 400);
    let seen = api.requests.entries();
    assert_eq!(
        (seen[0].resource.as_str(), seen[0].verb.as_str()),
        ("subjectaccessreviews.authorization.k8s.io", "create")
    );
}
