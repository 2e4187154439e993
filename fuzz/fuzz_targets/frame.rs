//! Gives any bytes to `porthole_fuzz::frame`; it decides nothing itself.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| porthole_fuzz::frame(bytes));
