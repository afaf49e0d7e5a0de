//! Modules without parts had other keys. A newer one serves what their leader has published, until its own leader publishes.

use super::*;
use burst_model::config::RequestPath;
use burst_model::policies::PolicySet;
use burst_model::records::PreviousKeys;

const JSON: &str =
    r#"{"cluster":"k","metrics_apis":{"filter_chain":"m","policies":{"root_namespace":"istio-system"}}}"#;

fn write_confirmed(key: &str, generation: u64) {
    let confirmed = Confirmed {
        generation,
        lists: vec![Some(at(100)); 5],
    };
    Memory::overwrite(key, &confirmed.to_bytes());
}

#[test]
fn a_vm_serves_the_snapshot_of_the_module_before_until_there_is_a_newer_one() {
    let view = View::<Memory>::new(config(JSON), Rc::default());
    let previous = PreviousKeys::of(&view.config).unwrap();
    assert_ne!(previous.snapshot, view.keys.snapshot);
    for (snapshot, confirmed, generation) in [
        (&previous.snapshot, &previous.confirmed, 41),
        (&view.keys.snapshot, &view.keys.confirmed, 42),
    ] {
        Memory::overwrite(snapshot, &snapshot::write(&Default::default(), generation));
        write_confirmed(confirmed, generation);
        assert_eq!(view.refresh(|| None, at(101)), Some(Ok(())));
        let cache = view.cache.borrow();
        assert_eq!((cache.generation(), cache.as_of()), (Some(generation), Some(at(100))));
    }
    write_confirmed(&previous.confirmed, 43);
    assert_eq!(
        view.refresh(|| None, at(102)),
        None,
        "the leader of the draining module"
    );
}

#[test]
fn the_policies_of_the_module_before_stay_in_force_until_they_are_read_again() {
    let part = config(JSON).metrics_part().map(RequestPath::into_inner).unwrap();
    let root = part.root_namespace().unwrap().clone();
    let view = View::<Memory>::new(part, Rc::default());
    let previous = PreviousKeys::of(&view.config).unwrap();
    let policy_count = || {
        view.refresh(|| None, at(101));
        let policies = view.policies.borrow();
        policies.for_namespace(&root, "shop").map(Iterator::count).ok()
    };
    assert_eq!(policy_count(), None, "nothing was read yet");
    let deny = r#"{"rules":[{"metric":".*","deny":true}]}"#;
    let in_force = PolicySet {
        namespace: "shop".into(),
        in_force: Some(vec![("p".into(), deny.into())]),
        refused: None,
    };
    Memory::overwrite(&previous.policies, &vec![in_force].to_bytes());
    write_confirmed(&previous.confirmed, 1);
    assert_eq!(policy_count(), Some(1));
    Memory::overwrite(&view.keys.policies, &Vec::<PolicySet>::new().to_bytes());
    Memory::overwrite(
        &view.keys.confirmed,
        &Confirmed {
            generation: 1,
            lists: vec![Some(at(101))],
        }
        .to_bytes(),
    );
    assert_eq!(policy_count(), Some(0), "they were deleted");
}

#[test]
fn the_keys_of_a_configuration_without_metrics_apis_stay() {
    let plain = config(r#"{"cluster":"k","requests":{}}"#);
    assert_eq!(PreviousKeys::of(&plain), None);
    let part = plain.metrics_part().map(RequestPath::into_inner).unwrap();
    assert_eq!(PreviousKeys::of(&part), None);
}
