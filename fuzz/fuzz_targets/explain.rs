#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| hushtable_fuzz::explain(input));
