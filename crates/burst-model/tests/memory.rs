//! How much memory foreign answers take at most, whatever is in them.

use burst_model::config::{Artifact, Config};
use burst_model::hub_client::{self, HubClient, HubResponse, MAX_RESPONSE_BYTES};
use burst_model::leader::Handover;
use burst_model::request_rates::{MAX_REPORT_BYTES, MAX_SERVICES, ReportSettings, Tally};
use burst_model::time::Time;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

/// The system's allocator, which knows how much each thread holds.
struct Weighing;

#[global_allocator]
static ALLOCATOR: Weighing = Weighing;

fn weigh(bytes: isize) {
    let held = HELD.get() + bytes;
    HELD.set(held);
    MOST.set(MOST.get().max(held));
}

// SAFETY: each call is the system allocator's own.
unsafe impl GlobalAlloc for Weighing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        weigh(layout.size().cast_signed());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        weigh(-layout.size().cast_signed());
        unsafe { System.dealloc(memory, layout) }
    }
}

const MIB: isize = 1 << 20;

/// What some work gives, and how many MiB more than before it held at its worst, and still holds.
fn memory<R>(work: impl FnOnce() -> R) -> (R, isize, isize) {
    let before = HELD.get();
    MOST.set(before);
    let result = work();
    (result, (MOST.get() - before) / MIB, (HELD.get() - before) / MIB)
}

fn spoke() -> HubClient {
    let config = Config::parse(br#"{"cluster":"hub","source":"hub"}"#, Artifact::Full).unwrap();
    HubClient::new(config.into(), "/burstmetrics/services", Handover::default(), NOW)
}

const NOW: Time = Time::from_unix_millis(1_700_000_000_000);

/// As many entries as one answer may have, each as `entry` says.
fn answer(entry: impl Fn(usize) -> Vec<u8>) -> Vec<u8> {
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
            answer(|n| format!("\"{n}\":1").into_bytes()),
        ),
        (
            "one name all the time",
            answer(|_| format!("\"a/b\":\"{header}\"").into_bytes()),
        ),
        (
            "no header in any",
            answer(|n| format!("\"a/b{n}\":\"no\"").into_bytes()),
        ),
        ("long names", answer(|n| format!("\"{n}{long}\":1").into_bytes())),
        ("long values", answer(|n| format!("\"a/b{n}\":\"{long}\"").into_bytes())),
        (
            "escapes",
            answer(|n| format!("\"{n}{}\":1", "\\u0001".repeat(100)).into_bytes()),
        ),
        (
            "no text",
            answer(|n| [format!("\"{n}").as_bytes(), &[0xff; 500], b"\":1"].concat()),
        ),
        ("services", answer(|n| format!("\"a/b{n}\":\"{header}\"").into_bytes())),
    ];
    for (what, body) in answers {
        let ((), most, left) = memory(|| {
            let mut spoke = spoke();
            let response = HubResponse {
                status: Some(200),
                confirmed: Some(b"at=5, age=7"),
                body: &body,
                ..HubResponse::default()
            };
            for seconds in 0..3 {
                let now = NOW.after(Duration::from_secs(60 * seconds));
                spoke.tick(now);
                let answer = hub_client::parse(response, &mut ());
                assert!(answer.is_ok(), "{what}: {answer:?}");
                let published = spoke.handle_response(answer, now, 0);
                assert!(!published.is_empty(), "{what}");
            }
            // Its memory counts as kept.
            std::mem::forget(spoke);
        });
        let allowed = if what == "services" { 160 } else { 100 };
        assert!(most < allowed, "{what}: {most} MiB at once");
        assert!(left < 1, "{what}: {left} MiB are kept");
    }
}

#[test]
fn reports_of_any_names_cost_the_hub_no_more_than_one_sum() {
    let own = text(0, 100);
    let ((), most, _) = memory(|| {
        let hub = ReportSettings {
            since: Time::default(),
            max_age: Duration::from_secs(15),
            sends_reports: false,
        };
        let mut total = hub.begin(&Tally::parse(own.as_bytes()).unwrap());
        // Each is a report of the largest size, and ten of them have more names than a sum holds.
        for id in 1..=50 {
            let text = text(id, MAX_SERVICES);
            assert!(
                text.len() > MAX_REPORT_BYTES / 3 && text.len() <= MAX_REPORT_BYTES,
                "{}",
                text.len()
            );
            total.add(&Tally::parse(text.as_bytes()).unwrap(), NOW);
        }
        let share = total.tally(NOW).unwrap();
        assert!(Tally::parse(share.to_text().as_bytes()).is_ok());
        assert_eq!(share.services.len(), MAX_SERVICES);
    });
    assert!(most < 16, "{most} MiB at once");
}

/// The report of a proxy that saw that many Services, which no other saw.
fn text(id: u64, services: usize) -> String {
    let mut text = format!("1;{id:016x};{};30000", NOW.unix_millis());
    for n in 0..services {
        text += &format!(";shop-{id:02}/a-service-of-a-usual-name-{n:05}=10,1");
    }
    text
}
