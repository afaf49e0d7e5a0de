//! Time on wasm32: the target has no clock, and a `usize` that holds no milliseconds since 1970.
#![cfg(target_arch = "wasm32")]

use burst_model::config::{Artifact, Config};
use burst_model::records::{Confirmed, Record};
use burst_model::time::Time;
use burst_wasm_tests::{T0, later};
use std::time::{Duration, Instant, SystemTime};
use wasm_bindgen_test::wasm_bindgen_test;

#[wasm_bindgen_test]
#[should_panic(expected = "time not implemented on this platform")]
fn the_standard_library_has_no_wall_clock_here() {
    let _ = SystemTime::now();
}

#[wasm_bindgen_test]
#[should_panic(expected = "time not implemented on this platform")]
fn the_standard_library_has_no_monotonic_clock_here() {
    let _ = Instant::now();
}

#[wasm_bindgen_test]
fn times_wider_than_usize_keep_every_bit() {
    assert!(usize::try_from(T0.unix_millis()).is_err());
    let century = Duration::from_secs(100 * 365 * 24 * 3600);
    let far = T0.after(century);
    assert!(u32::try_from(far.unix_seconds()).is_err());
    assert_eq!(far.since(T0), century);
    let record = Confirmed {
        generation: u64::MAX,
        lists: vec![Some(far), None, Some(Time::from_unix_millis(u64::MAX))],
    };
    assert_eq!(Confirmed::from_bytes(&record.to_bytes()), Some(record));
}

#[wasm_bindgen_test]
fn durations_of_more_than_32_bits_of_milliseconds_keep_every_bit() {
    let json = r#"{"cluster": "k", "poll_interval": "1193h", "max_staleness": "10000h"}"#;
    let config = Config::parse(json.as_bytes(), Artifact::Full).unwrap();
    assert_eq!(config.poll_interval.as_millis(), 1193 * 3_600_000);
    assert!(u32::try_from(config.max_staleness.as_millis()).is_err());
    assert_eq!(T0.after(config.max_staleness), later(36_000_000));
}
