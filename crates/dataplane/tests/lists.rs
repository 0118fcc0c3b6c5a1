//! Every scheme of the lists has defaults that its types hold and that do not contradict each other.

use crate::sets::defaults::defaults;
use dataplane::cc::CONTROLS;
use dataplane::hop::HOPS;
use dataplane::link::LinkConfig;
use dataplane::param::Params;
use dataplane::paths::POLICIES;
use dataplane::reliability::RECOVERIES;
use dataplane::signal::NotifierConfig;
use dataplane::transport::TRANSPORTS;
use dataplane::watchdog::WatchdogConfig;

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
    let watchdog = WatchdogConfig::read(&defaults(WatchdogConfig::PARAMS));
    assert!(watchdog.patience_ps() > 0);
    for &(word, (_, params)) in NotifierConfig::WORDS {
        assert!(NotifierConfig::from_values(word, &defaults(params)).is_some());
    }
}
