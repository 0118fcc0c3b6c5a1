//! Every scheme of the lists has defaults that its types hold and that do not contradict each other.

use crate::sets::defaults::defaults;
use dataplane::cc::CONTROLS;
use dataplane::guard::GuardConfig;
use dataplane::hop::HOPS;
use dataplane::link::LinkConfig;
use dataplane::paths::POLICIES;
use dataplane::reliability::RECOVERIES;
use dataplane::signal::NotifierConfig;
use dataplane::transport::TRANSPORTS;

#[test]
fn every_scheme_accepts_its_defaults() {
    for scheme in CONTROLS {
        (scheme.configure)(&defaults(scheme.params)).unwrap();
    }
    for scheme in TRANSPORTS {
        (scheme.configure)(&defaults(scheme.params)).unwrap();
    }
    for scheme in POLICIES {
        (scheme.configure)(&defaults(scheme.params)).unwrap();
    }
    for scheme in RECOVERIES {
        (scheme.configure)(&defaults(scheme.params)).unwrap();
    }
    for word in HOPS {
        let spec = word.with(&defaults(word.params)).unwrap();
        assert!(spec.declaration().unwrap().smallest_frame_bytes() > 0);
    }
    for &(word, params) in LinkConfig::WORDS {
        let links = LinkConfig::default().with(word, &defaults(params)).unwrap();
        assert_eq!(links.words().collect::<Vec<_>>(), [word]);
    }
    for &(word, params) in GuardConfig::WORDS {
        assert!(GuardConfig::from_values(word, &defaults(params)).is_some());
    }
    for &(word, (_, params)) in NotifierConfig::WORDS {
        assert!(NotifierConfig::from_values(word, &defaults(params)).is_some());
    }
}
