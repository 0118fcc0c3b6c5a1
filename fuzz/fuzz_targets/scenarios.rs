//! Fuzz target: checks scenarios. A scenario without errors must equal the scenario in its
//! `resolved.toml`.
//!
//! Texts after a zero byte are overrides, as for the option `--set`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scenario::{Changes, Scenario};
use std::path::Path;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let mut parts = text.split('\0').map(str::to_owned);
    let text = parts.next().unwrap_or_default();
    let changes = Changes {
        set: parts.collect(),
        ..Changes::default()
    };
    // No file can be below this path, so the scenario reads no files.
    let base = Path::new("/dev/null");
    if let Ok(first) = Scenario::parse(&text, "fuzz.toml", base, &changes) {
        let again = Scenario::parse(&first.resolved, "resolved.toml", base, &Changes::default());
        let again = again.unwrap_or_else(|error| panic!("{error}\nin\n{}", first.resolved));
        assert_eq!(first.spec, again.spec, "in\n{}", first.resolved);
    }
});
