//! Gives any bytes to `porthole_fuzz::name`; it decides nothing itself.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| porthole_fuzz::name(bytes));
