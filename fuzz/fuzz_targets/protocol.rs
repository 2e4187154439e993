//! Gives any bytes to `porthole_fuzz::protocol`; it decides nothing itself.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| porthole_fuzz::protocol(bytes));
