//! Limits of the memory that responses and reports take, whatever they contain.

use burst_model::config::{Artifact, Config};
use burst_model::hub_client::{self, HubClient, HubResponse, HubSource, MAX_RESPONSE_BYTES};
use burst_model::leader::Handover;
use burst_model::request_rates::{MAX_REPORT_BYTES, MAX_SERVICES, ReportSettings, Tally};
use burst_model::time::Time;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

thread_local! {
    static ALLOCATED: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// The system allocator, which tracks how much each thread has allocated.
struct TrackingAllocator;

#[global_allocator]
static ALLOCATOR: TrackingAllocator = TrackingAllocator;

fn track(bytes: isize) {
    let allocated = ALLOCATED.get() + bytes;
    ALLOCATED.set(allocated);
    PEAK.set(PEAK.get().max(allocated));
}

// SAFETY: each call is the system allocator's own.
unsafe impl GlobalAlloc for TrackingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        track(layout.size().cast_signed());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        track(-layout.size().cast_signed());
        unsafe { System.dealloc(memory, layout) }
    }
}

const MIB: isize = 1 << 20;

/// The result of `work`, the MiB that it allocated at its peak, and the MiB that are still allocated.
fn memory<R>(work: impl FnOnce() -> R) -> (R, isize, isize) {
    let before = ALLOCATED.get();
    PEAK.set(before);
    let result = work();
    (result, (PEAK.get() - before) / MIB, (ALLOCATED.get() - before) / MIB)
}

fn client() -> HubClient {
    let config = Config::parse(br#"{"cluster":"hub","source":"hub"}"#, Artifact::Full).unwrap();
    let hub = HubSource::hub(&config, "/burstmetrics/services");
    HubClient::new(config.into(), hub, Handover::default(), NOW)
}

const NOW: Time = Time::from_unix_millis(1_700_000_000_000);

/// A response of the largest size, with entries from `entry`.
fn body_of(entry: impl Fn(usize) -> Vec<u8>) -> Vec<u8> {
    let mut body = b"{".to_vec();
    for n in 0.. {
        let entry = entry(n);
        if body.len() + entry.len() + 1 > MAX_RESPONSE_BYTES {
            break;
        }
        body.extend(entry);
        body.push(b',');
    }
    body.pop();
    body.push(b'}');
    body
}

#[test]
fn the_response_of_a_broken_hub_takes_limited_memory() {
    let header = "service=a/b, current-load=1, target-load=4, max-load=5";
    let long = "x".repeat(1 << 20);
    let answers = [
        (
            "short entries that are none",
            body_of(|n| format!("\"{n}\":1").into_bytes()),
        ),
        (
            "one name all the time",
            body_of(|_| format!("\"a/b\":\"{header}\"").into_bytes()),
        ),
        (
            "no header in any",
            body_of(|n| format!("\"a/b{n}\":\"no\"").into_bytes()),
        ),
        ("long names", body_of(|n| format!("\"{n}{long}\":1").into_bytes())),
        (
            "long values",
            body_of(|n| format!("\"a/b{n}\":\"{long}\"").into_bytes()),
        ),
        (
            "escapes",
            body_of(|n| format!("\"{n}{}\":1", "\\u0001".repeat(100)).into_bytes()),
        ),
        (
            "no text",
            body_of(|n| [format!("\"{n}").as_bytes(), &[0xff; 500], b"\":1"].concat()),
        ),
        ("services", body_of(|n| format!("\"a/b{n}\":\"{header}\"").into_bytes())),
    ];
    for (what, body) in answers {
        let ((), peak, left) = memory(|| {
            let mut client = client();
            let response = HubResponse {
                status: Some(200),
                confirmed: Some(b"at=5, age=7"),
                body: &body,
                ..HubResponse::default()
            };
            for seconds in 0..3 {
                let now = NOW.after(Duration::from_secs(60 * seconds));
                client.tick(now);
                let answer = hub_client::parse(response, &mut ());
                assert!(answer.is_ok(), "{what}: {answer:?}");
                let published = client.handle_response(answer, now, 0);
                assert!(!published.is_empty(), "{what}");
            }
            // The memory of the client counts as still allocated.
            std::mem::forget(client);
        });
        let allowed = if what == "services" { 160 } else { 100 };
        assert!(peak < allowed, "{what}: {peak} MiB at once");
        assert!(left < 1, "{what}: {left} MiB are kept");
    }
}

#[test]
fn reports_of_any_names_cost_the_hub_no_more_than_one_sum() {
    let own = text(0, 100);
    let ((), peak, _) = memory(|| {
        let hub = ReportSettings {
            since: Time::default(),
            max_age: Duration::from_secs(15),
            sends_reports: false,
        };
        let mut sum = hub.begin(&Tally::parse(own.as_bytes()).unwrap());
        // Each report has the largest size, and ten of them have more names than a sum may have.
        for id in 1..=50 {
            let text = text(id, MAX_SERVICES);
            assert!(
                text.len() > MAX_REPORT_BYTES / 3 && text.len() <= MAX_REPORT_BYTES,
                "{}",
                text.len()
            );
            sum.add(&Tally::parse(text.as_bytes()).unwrap(), NOW);
        }
        let tally = sum.tally(NOW).unwrap();
        assert!(Tally::parse(tally.to_text().as_bytes()).is_ok());
        assert_eq!(tally.services.len(), MAX_SERVICES);
    });
    assert!(peak < 16, "{peak} MiB at once");
}

/// The report of a proxy with that many Services, which no other proxy has.
fn text(id: u64, services: usize) -> String {
    let mut text = format!("1;{id:016x};{};30000", NOW.unix_millis());
    for n in 0..services {
        text += &format!(";shop-{id:02}/a-service-of-a-usual-name-{n:05}=10,1");
    }
    text
}
