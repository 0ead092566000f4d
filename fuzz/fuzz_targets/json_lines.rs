#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| drop(hushtable_fuzz::json_lines(input)));
