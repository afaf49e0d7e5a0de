use super::*;

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

fn ask(api: &KubeApi, body: &str) -> (u16, Value) {
    let request = Request::post(REVIEWS)
        .body(Bytes::copy_from_slice(body.as_bytes()))
        .unwrap();
    let answer = whole(api.answer(&request));
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
    api.access.restrict("alice", vec![rule("shop")]);
    api.access.restrict("a,b", vec![rule("data")]);
    for (user, groups, namespace, allowed) in [
        ("alice", &[][..], "shop", true),
        ("alice", &[], "data", false),
        ("alice", &["a,b"], "data", true),
        ("alice", &["a", "b"], "data", false),
        ("bob", &["dev"], "data", true),
    ] {
        let (status, review) = ask(&api, &about(user, groups, namespace));
        assert_eq!(
            (status, &review["status"]["allowed"]),
            (201, &json!(allowed)),
            "{user} {groups:?} {namespace}"
        );
        assert_eq!(review["spec"]["user"], user);
    }
    assert_eq!(ask(&api, "{}").0, 400);
    let seen = api.requests.seen();
    assert_eq!(
        (seen[0].resource.as_str(), seen[0].verb.as_str()),
        ("subjectaccessreviews.authorization.k8s.io", "create")
    );
}
