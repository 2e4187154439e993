//! Gives any bytes to `porthole_fuzz::keys`; it decides nothing itself.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| porthole_fuzz::keys(bytes));
