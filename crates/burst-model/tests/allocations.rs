//! Once its cluster is known, a response costs a look-up and no allocation.

use burst_model::config::{Artifact, Config};
use burst_model::request_rates::Meter;
use burst_model::serve::ServingCache;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// The system allocator, with a counter.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: each call is the system allocator's own.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        unsafe { System.dealloc(memory, layout) }
    }
}

/// The number of allocations during `work`. A reallocation counts as one.
fn allocations(work: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

const CLUSTER: &[u8] = b"outbound|80||web.shop.svc.cluster.local";

fn config() -> Config {
    let json = br#"{"cluster": "kube_api", "header": {"value": "service=shop/web, current-load=1"}}"#;
    Config::parse(json, Artifact::Full).unwrap()
}

#[test]
fn the_header_of_a_known_cluster_takes_no_memory() {
    let (config, mut cache) = (config(), ServingCache::default());
    let mut header = || drop(cache.header(&config, CLUSTER, &()).unwrap());
    assert!(allocations(&mut header) > 0, "the first time it is rendered");
    assert_eq!(allocations(&mut header), 0);
}

#[test]
fn counting_a_request_of_a_known_cluster_takes_no_memory() {
    let (config, mut meter) = (config(), Meter::default());
    let mut count = || {
        let slot = meter.begin(&config.upstreams, CLUSTER, &());
        meter.count_response(&config.upstreams, CLUSTER, &(), false);
        meter.end(slot.unwrap());
    };
    assert!(allocations(&mut count) > 0, "the first time its slot is created");
    assert_eq!(allocations(&mut count), 0);
}
