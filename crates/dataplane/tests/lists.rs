//! Every scheme has defaults that fit its types and do not contradict each other.

use crate::sets::defaults::defaults;
use dataplane::cc::CONTROLS;
use dataplane::config::{Admission, Classify, PathChoice, Schedule};
use dataplane::hop::HOPS;
use dataplane::link::LinkConfig;
use dataplane::param::Word;
use dataplane::paths::POLICIES;
use dataplane::reliability::RECOVERIES;
use dataplane::signal::NOTIFIERS;
use dataplane::transport::TRANSPORTS;
use dataplane::watchdog::WatchdogConfig;

#[test]
fn every_scheme_accepts_its_defaults() {
    accept(CONTROLS);
    accept(TRANSPORTS);
    accept(POLICIES);
    accept(PathChoice::WORDS);
    accept(RECOVERIES);
    accept(Classify::WORDS);
    accept(Schedule::WORDS);
    accept(Admission::WORDS);
    accept(WatchdogConfig::WORDS);
    accept(NOTIFIERS);
    for word in HOPS {
        let spec = word.with(&defaults(word.params)).unwrap();
        assert!(spec.declaration().unwrap().smallest_frame_bytes() > 0);
    }
    for word in LinkConfig::WORDS {
        let links = (word.configure)(&defaults(word.params)).unwrap();
        assert_eq!(links.words().collect::<Vec<_>>(), [word.name]);
    }
}

fn accept<C>(words: &[Word<C>]) {
    for word in words {
        let accepted = (word.configure)(&defaults(word.params));
        assert!(accepted.is_ok(), "{}: {:?}", word.name, accepted.err());
    }
}
