//! Several congestion controls at one NIC: each flow has the control of its traffic class.

use crate::common::*;
use dataplane::config::{ControlConfig, PerClass, Sending};
use fabric::record::Ending;
use traffic::Flow;

/// Four flows of three hosts to a fourth, flow `i` of traffic class `classes[i]`.
fn flows(classes: [u8; 4]) -> Vec<Flow> {
    let flow = |(id, class)| Flow {
        class,
        ..flow(id, u64::from(id) * 1_000_000, id % 3, 3, 400_000)
    };
    (0..).zip(classes).map(flow).collect()
}

/// Adds a second class of data, ECN, and congestion notifications every microsecond.
fn network(classes: [u8; 4]) -> Setup {
    let mut s = dcqcn(star(4), flows(classes));
    let data = s.switch.classes[2];
    s.switch.classes.push(data);
    s
}

fn control(s: &Setup) -> ControlConfig {
    s.nic.control.controls()[0].clone()
}

fn two(first: ControlConfig, second: ControlConfig) -> Sending {
    Sending::PerClass(PerClass::new(&[first, second]))
}

// NIC-04, NIC-05
#[test]
fn the_same_control_for_each_class_is_one_control() {
    for preset in [hpcc, dcqcn, dctcp, timely] {
        let alone = preset(star(4), flows([0; 4]));
        let mut twice = preset(star(4), flows([0; 4]));
        twice.nic.control = two(control(&alone), control(&alone));
        assert_eq!(alone.run().0.digest, twice.run().0.digest);
    }
}

// DCQCN-23
#[test]
fn each_class_has_its_own_control_and_only_one_is_notified_of_marks() {
    let dctcp = control(&dctcp(star(4), Vec::new()));
    let with = |classes, control: Option<Sending>| {
        let mut s = network(classes);
        if let Some(control) = control {
            s.nic.control = control;
            s.nic.cnp_classes = 1 << 2;
        }
        let (outcome, _) = s.run();
        assert_eq!(outcome.ending, Ending::Drained);
        assert_eq!(outcome.finished, 4);
        assert!(outcome.counters.marks > 0);
        outcome
    };
    let dcqcn = control(&network([0; 4]));
    let both = two(dcqcn, dctcp.clone());
    // All flows of one class: the result is that of the control alone.
    let first = with([0; 4], Some(both.clone()));
    assert_eq!(first.digest, with([0; 4], None).digest);
    assert!(first.counters.cnps > 0);
    let second = with([1; 4], Some(both.clone()));
    assert_eq!(second.counters.cnps, 0);
    assert_eq!(second.digest, with([1; 4], Some(dctcp.into())).digest);
    // Flows of both classes: the result differs from that of either control alone.
    let mixed = with([0, 1, 0, 1], Some(both));
    assert!(mixed.counters.cnps > 0);
    let only = with([0, 1, 0, 1], None);
    assert_ne!(mixed.digest, only.digest);
    assert!(mixed.counters.cnps < only.counters.cnps);
}
