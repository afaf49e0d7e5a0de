use burst_model::kube::{Object, ObjectKind, Resource, WatchBatch};
use bytes::{BufMut as _, BytesMut};

use super::*;
use message::{
    CrossVersionObjectReference, Entry, Hpa, HpaSpec, HpaStatus, ListMeta, ObjectMeta, RawExtension, Service,
    ServiceSpec, Status, TypeMeta, WatchEvent,
};

fn hpas() -> Source {
    Source::all_namespaces(ObjectKind::Hpas, Resource::hpas())
}

fn services() -> Source {
    Source::all_namespaces(ObjectKind::Services, Resource::services())
}

fn named(name: &str) -> Option<ObjectMeta> {
    Some(ObjectMeta {
        name: name.to_owned().into(),
        namespace: "shop".into(),
        resource_version: "7".into(),
        labels: vec![entry("tier", "web").encode_to_vec().into()],
    })
}

fn entry(key: &str, value: &str) -> Entry {
    Entry {
        key: key.to_owned().into(),
        value: value.to_owned().into(),
    }
}

fn service(name: &str) -> Bytes {
    let selector = vec![entry("app", name)];
    let service = Service {
        metadata: named(name),
        spec: Some(ServiceSpec { selector }),
    };
    service.encode_to_vec().into()
}

fn envelope(kind: &str, raw: Bytes) -> Bytes {
    let type_meta = Some(TypeMeta {
        kind: kind.to_owned().into(),
    });
    let mut body = BytesMut::from(PREFIX);
    Unknown { type_meta, raw }.encode(&mut body).unwrap();
    body.freeze()
}

fn list(kind: &str, items: Vec<Bytes>) -> Bytes {
    let metadata = Some(ListMeta {
        resource_version: "9".into(),
        r#continue: "next".into(),
    });
    envelope(kind, List { metadata, items }.encode_to_vec().into())
}

fn event(r#type: &str, object: Bytes) -> Bytes {
    let event = WatchEvent {
        r#type: r#type.to_owned().into(),
        object: Some(RawExtension { raw: object }),
    };
    let mut frame = BytesMut::new();
    frame.put_u32(u32::try_from(event.encoded_len()).unwrap());
    event.encode(&mut frame).unwrap();
    frame.freeze()
}

fn window(frames: &[Bytes]) -> Result<WatchBatch, Failure> {
    watch::read(&services(), frames.concat().into())
}

fn current_replicas(status: HpaStatus) -> Option<u32> {
    let hpa = Hpa {
        metadata: named("web"),
        spec: Some(HpaSpec {
            scale_target_ref: Some(CrossVersionObjectReference {
                kind: "Deployment".into(),
                name: "web".into(),
                api_version: "apps/v1".into(),
            }),
            max_replicas: 5,
        }),
        status: Some(status),
    };
    match object::read(&hpas(), hpa.encode_to_vec().into()).unwrap() {
        Object::Hpa(hpa) => hpa.current_replicas,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_zero_that_go_writes_anyway_is_no_word_of_a_controller() {
    assert_eq!(current_replicas(HpaStatus::default()), None);
    let seen = HpaStatus {
        last_condition: Some(Bytes::new()),
        ..HpaStatus::default()
    };
    assert_eq!(current_replicas(seen), Some(0));
}

#[test]
fn one_bad_object_costs_one_object() {
    let body = list("ServiceList", vec![service("a"), service("B"), "\u{7}".into()]);
    let page = page(&services(), &body).unwrap();
    assert_eq!(page.objects.len(), 1);
    let bad: Vec<_> = page.invalid.iter().map(|bad| &*bad.name).collect();
    assert_eq!(bad, ["shop/B", "an object without a name"]);
    assert_eq!(
        (&*page.resource_version, page.continue_token.as_deref()),
        ("9", Some("next"))
    );
}

#[test]
fn own_labels_are_read_where_they_are_wanted() {
    let wanted = Source {
        keep_labels: true,
        ..services()
    };
    for (source, labels) in [(wanted, "tier=web"), (services(), "")] {
        match object::read(&source, service("a")).unwrap() {
            Object::Service(service) => assert_eq!(&*service.own_labels, labels),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn another_kind_and_other_bytes_are_refused() {
    let other = page(&services(), &list("PodList", Vec::new())).unwrap_err();
    assert!(matches!(other, Failure::WrongKind { .. }), "{other}");
    for body in [&b"{\"kind\":\"ServiceList\"}"[..], b"", b"k8s\0\xff"] {
        let refused = page(&services(), &body.into()).unwrap_err();
        assert!(matches!(refused, Failure::Malformed(_)), "{refused}");
    }
}

#[test]
fn a_last_frame_without_its_end_comes_again() {
    let object = |name| envelope("Service", service(name));
    let (first, last) = (event("ADDED", object("a")), event("DELETED", object("b")));
    let whole = window(&[first.clone(), last.clone()]).unwrap();
    assert_eq!((whole.changes.len(), whole.resource_version.as_deref()), (2, Some("7")));
    for cut in 0..last.len() {
        assert_eq!(
            window(&[first.clone(), last.slice(..cut)]).unwrap().changes.len(),
            1,
            "{cut}"
        );
    }
    assert_eq!(window(&[first.slice(..9)]), Err(Failure::Disconnected));
}

#[test]
fn an_expired_version_is_told() {
    let status = Status {
        message: "too old".into(),
        code: 410,
    };
    let gone = event("ERROR", envelope("Status", status.encode_to_vec().into()));
    assert_eq!(window(&[gone]), Err(Failure::Expired("too old".into())));
}
