//! Packets that a switch creates itself.

use super::*;
use dataplane::packet::Notice;
use dataplane::signal::{Amount, BoltConfig, NotifierConfig};

fn bench(threshold_bytes: u64) -> Bench {
    let bolt = BoltConfig {
        threshold: Amount::Bytes(threshold_bytes),
        ramp_up_tokens: 256,
        supply: Amount::Bytes(30_000),
        notice_bytes: 64,
    };
    Bench::new(&SwitchConfig {
        notifier: Some(NotifierConfig::Bolt(bolt)),
        ..config()
    })
}

// SW-60, SW-62, BOLT-02, BOLT-06: route and class of a notice
#[test]
fn a_notice_goes_to_the_port_of_the_sender_before_data() {
    let mut b = bench(1000);
    // Packets of this test have endpoint 0 as source. Data for endpoint 0 is queued at its port.
    b.receive(1, data(9, 0, 0));
    b.receive(2, data(1, 3, 0));
    assert_eq!(b.switch.counters().created, 0, "the queue was empty");
    b.receive(2, data(1, 3, 1));
    assert_eq!(b.switch.counters().created, 1);
    b.sound();
    let sent = b.all(0);
    let kinds: Vec<Kind> = sent.iter().map(Packet::kind).collect();
    assert_eq!(kinds, [Kind::Notice, Kind::Data]);
    let notice = Notice::read(&sent[0], &Cold::default()).unwrap();
    assert_eq!((notice.psn, sent[0].flow, sent[0].dst), (1, 1, 0));
    b.all(3);
    b.sound();
}

// SW-60: notice without a working link
#[test]
fn a_notice_whose_link_failed_is_dropped_and_counted() {
    let mut b = bench(0);
    let down = Some(dataplane::switch::Stranded::Drop);
    b.switch.link(b.now, 0, down, &mut b.arena, &mut b.ears);
    b.receive(2, data(1, 3, 7));
    assert_eq!(b.ears.drops, [(7, DropCause::Link)]);
    assert_eq!(b.switch.counters().created, 1);
    assert_eq!(b.all(3).len(), 1);
    b.sound();
}

// SW-61: notices and the buffer
#[test]
fn a_notice_uses_no_buffer() {
    let mut b = bench(0);
    b.receive(2, data(1, 3, 0));
    assert_eq!(b.all(3).len(), 1);
    assert_eq!((b.switch.queued(0).0, b.switch.buffer_used()), (64, 0));
    b.sound();
}
