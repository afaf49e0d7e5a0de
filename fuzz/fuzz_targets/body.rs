#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = burst_fuzz::run("body", bytes);
});
