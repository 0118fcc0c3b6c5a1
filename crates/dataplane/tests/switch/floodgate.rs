//! Floodgate at one switch between other switches. Ports 0 and 1 lead to switches below, port 2 to
//! the switch of endpoint 4, and port 3 to the switch of endpoint 5. Endpoint 6 is attached to port
//! 4.

use std::sync::Arc;

use super::*;
use dataplane::hop::floodgate::*;
use dataplane::int::IntHop;
use dataplane::packet::flag;

const PORTS_HERE: usize = 5;

/// Returns routes that reach endpoint 4 through port `to_4`.
fn routes(to_4: u16) -> Routes {
    let group = vec![1, 1, 1, 1, 1, 2, 0];
    let port = vec![0, 1, 2, 3, 0, 0, 4];
    let endpoints = Endpoints::new(3, group, port, Vec::new());
    let sets = PortSets::from_iter([[to_4].as_slice(), &[3]]);
    let ways = (vec![0, 0, 1], sets);
    Routes::new(Arc::new(endpoints), 0, ways, (PathChoice::Flow, 1))
}

fn switch(config: &SwitchConfig) -> Bench {
    Bench {
        switch: Switch::new(9, config, &[LINK; PORTS_HERE], routes(2)),
        arena: Arena::new(),
        ears: Ears::default(),
        now: 0,
    }
}

/// Returns the ideal design with windows of `packets` packets and one credit frame per packet.
fn ideal(packets: u64) -> FloodgateConfig {
    let mut windows = *FloodgateConfig::IDEAL.windows().expect("windows");
    windows.initial = Amount::Bytes(packets * 1500);
    FloodgateConfig {
        by: HoldBy::Windows(windows),
        host_pause: None,
        ..FloodgateConfig::IDEAL
    }
}

fn with(floodgate: FloodgateConfig) -> SwitchConfig {
    SwitchConfig {
        hop: HopConfig::Floodgate(floodgate),
        ..config()
    }
}

fn credit(dst: u32, units: u32, number: u32) -> Packet {
    let credit = Credit { dst, units, number };
    credit.packet(56)
}

fn numbered(dst: u32, psn: u32, number: u32) -> Packet {
    Packet {
        location: dataplane::packet::Location::on_link(number),
        ..data(1, dst, psn)
    }
}

/// Returns the bytes that are parked in VOQs for an egress port.
fn in_voqs(b: &Bench, port: u16) -> u64 {
    b.switch.held(port).expect("Floodgate has VOQs").0
}

fn psns(packets: &[Packet]) -> Vec<u32> {
    packets.iter().map(|p| p.psn).collect()
}

// FG-01, FG-04, FG-05, FG-20, FG-22: window per destination, and credits
#[test]
fn a_window_lets_so_many_go_and_credits_let_the_next() {
    let mut b = switch(&with(ideal(2)));
    for psn in 0..5 {
        b.receive(0, numbered(4, psn, psn + 1));
    }
    assert_eq!(psns(&b.all(2)), [0, 1], "the window is two packets");
    assert_eq!(in_voqs(&b, 2), 3000);
    let credits = b.all(0);
    let told: Vec<_> = credits.iter().filter_map(Credit::read).collect();
    let told: Vec<_> = told.iter().map(|c| (c.dst, c.units)).collect();
    assert_eq!(told, [(4, 1); 2], "one each, when they left");
    b.sound();
    b.receive(2, credit(4, 1, 1));
    assert_eq!(psns(&b.all(2)), [2]);
    b.receive(2, credit(4, 2, 3));
    assert_eq!(
        psns(&b.all(2)),
        [3, 4],
        "numbers count: this one gives two back"
    );
    assert_eq!(in_voqs(&b, 2), 0);
    // A last hop has no window, and hosts receive no credits.
    for psn in 0..9 {
        b.receive(4, data(2, 6, psn));
        b.receive(1, numbered(6, psn, psn + 1));
    }
    assert_eq!(b.all(4).len(), 18);
    assert_eq!(
        b.all(1).len(),
        9,
        "a credit for each that came from a switch"
    );
    b.sound();
}

// FG-13, LNK-27: packets that leave through a former next hop
#[test]
fn what_leaves_by_a_port_of_old_routes_is_over_and_lets_the_next_go() {
    let mut b = switch(&with(ideal(1)));
    for psn in 0..4 {
        b.receive(0, numbered(4, psn, psn + 1));
    }
    b.switch
        .reroute(b.now, routes(3), None, &mut b.arena, &mut b.ears);
    assert_eq!(in_voqs(&b, 2), 3000, "one is queued, not sent");
    assert_eq!(psns(&b.all(2)), [0, 1, 2, 3], "they keep their port");
    b.sound();
    // A packet that left through the current next hop is in flight until its credit arrives.
    for psn in 4..6 {
        b.receive(0, numbered(4, psn, psn + 1));
    }
    assert_eq!(psns(&b.all(3)), [4]);
    b.receive(3, credit(4, 1, 1));
    assert_eq!(psns(&b.all(3)), [5]);
    b.sound();
}

// FG-05, FG-70: windows of different destinations
#[test]
fn destinations_and_other_frames_do_not_hold_each_other() {
    let mut b = switch(&with(ideal(1)));
    b.receive(0, numbered(4, 0, 1));
    b.receive(0, numbered(4, 1, 2));
    b.receive(0, numbered(5, 2, 1));
    let ack = Packet {
        psn: 3,
        dst: 4,
        ..Packet::new(Kind::Ack, 2, 60)
    };
    b.receive(0, ack);
    assert_eq!(psns(&b.all(3)), [2]);
    assert_eq!(psns(&b.all(2)), [0, 3], "an ACK needs no window");
    let counters = b.switch.hop_counters();
    assert_eq!(
        (
            counters["floodgate_held"],
            counters["floodgate_held_not_incast"],
            counters["floodgate_max_voqs"]
        ),
        (1, 1, 1)
    );
    assert_eq!(counters["floodgate_max_windows"], 2);
    b.sound();
}

// FGC-36: pauses by the bytes of one host
#[test]
fn a_host_is_paused_by_what_it_sent_itself() {
    let by_ingress = FloodgateConfig {
        host_pause: Some(PauseThresholds {
            off: Amount::Bytes(3000),
            on_below_bytes: 1500,
        }),
        host_pause_by: HostPauseBy::Ingress,
        ..ideal(1)
    };
    let mut b = switch(&with(by_ingress));
    // Many packets of other senders are parked for the destination. They do not count for this
    // host.
    for psn in 0..8 {
        b.receive(0, numbered(4, psn, psn + 1));
    }
    let paused = |b: &Bench| {
        let c = b.switch.hop_counters();
        (c["floodgate_dst_pauses"], c["floodgate_dst_resumes"])
    };
    // The first 4096 bytes do not count: the eighth packet of 1000 bytes causes the pause.
    for psn in 0..7 {
        b.receive(4, data(2, 4, 10 + psn));
        b.sound();
    }
    assert_eq!(paused(&b), (0, 0));
    b.receive(4, data(2, 4, 17));
    assert_eq!(paused(&b), (1, 0));
    assert!(PauseDestination::read(&b.all(4)[0]).is_some());
    // The resume threshold is 1500 bytes lower. It is reached when three packets have left and five
    // remain.
    for number in 1..=10 {
        assert_eq!(b.all(2).len(), 1);
        b.receive(2, credit(4, 1, number));
    }
    assert_eq!(paused(&b), (1, 0));
    assert_eq!(psns(&b.all(2)), [12]);
    assert_eq!(paused(&b), (1, 1));
    b.sound();
}

// FG-13: round robin of VOQs
#[test]
fn one_frame_of_credits_serves_its_destinations_in_turn() {
    let mut b = switch(&with(ideal(1)));
    // Packets for endpoint 4, and for endpoint 0 of the same next hop, leave through port 2.
    for psn in 0..4 {
        b.receive(0, numbered(4, psn, psn + 1));
        b.receive(0, numbered(0, 10 + psn, psn + 1));
    }
    assert_eq!(psns(&b.all(2)), [0, 10]);
    let frame = Credits.packet(78);
    let words = |number| [4, 1, number, 0, 1, number];
    let mut sent = Vec::new();
    for number in 1..4 {
        let id = b.put(frame);
        b.arena.set_list(id, &words(number));
        b.switch.receive(0, 2, id, &mut b.arena, &mut b.ears);
        sent.extend(psns(&b.all(2)));
    }
    sent.sort_unstable();
    assert_eq!(sent, [1, 2, 3, 11, 12, 13]);
    b.sound();
}

// FG-15: released packets in a low-priority queue
#[test]
fn behind_others_a_flow_keeps_its_order_and_others_go_first() {
    let behind = FloodgateConfig {
        release: Release::Behind,
        ..ideal(2)
    };
    let mut b = switch(&with(behind));
    for psn in 0..4 {
        b.receive(0, numbered(4, psn, psn + 1));
    }
    assert_eq!(psns(&b.all(2)), [0, 1]);
    b.receive(2, credit(4, 2, 2)); // releases 2 and 3 to the low-priority queue
    b.receive(0, numbered(0, 20, 1));
    b.receive(2, credit(4, 0, 2));
    // The VOQ of the destination is empty now, but packet 4 may not overtake packets 2 and 3.
    b.receive(2, credit(4, 9, 1)); // an outdated credit
    b.receive(0, numbered(4, 4, 5));
    let first = b.send(2).expect("something waits");
    assert_eq!(first.psn, 20, "what was not held goes first");
    assert_eq!(psns(&b.all(2)), [2, 3]);
    b.receive(2, credit(4, 2, 4));
    assert_eq!(psns(&b.all(2)), [4]);
    // PFC pauses both queues of the class.
    let mut b = switch(&with(behind));
    for psn in 0..3 {
        b.receive(0, numbered(4, psn, psn + 1));
    }
    b.all(2);
    b.receive(2, credit(4, 2, 2));
    b.receive(2, pause_classes(true, 1 << 2));
    assert!(b.send(2).is_none());
    b.receive(2, pause_classes(false, 1 << 2));
    assert_eq!(psns(&b.all(2)), [2]);
    b.sound();
}

fn marking(ecn_sees_held: bool) -> Bench {
    let red = Red {
        kmin_bytes: 2000,
        kmax_bytes: 2000,
        pmax: 1.0,
    };
    let mut config = with(FloodgateConfig {
        ecn_sees_held,
        ..ideal(2)
    });
    config.ecn = Some(EcnConfig {
        profiles: vec![(LINK.0, red)],
        scope: Scope::Queue,
        at_dequeue: true,
        replay: false,
    });
    switch(&config)
}

// FG-50: ECN counts parked bytes
#[test]
fn ecn_counts_what_is_held_for_the_egress() {
    for (sees, marked) in [(true, [true, true]), (false, [false, false])] {
        let mut b = marking(sees);
        for psn in 0..5 {
            b.receive(0, numbered(4, psn, psn + 1));
        }
        let sent: Vec<bool> = b.all(2).iter().map(|p| p.has(flag::CE)).collect();
        assert_eq!(sent, marked, "3000 B are held");
        b.receive(0, numbered(5, 9, 1));
        assert!(
            !b.send(3).expect("it passed").has(flag::CE),
            "held for another port"
        );
    }
}

// FG-51: INT of a parked packet reports VOQ bytes
#[test]
fn int_tells_a_packet_that_was_held_of_the_voqs() {
    for (sees, tells) in [(true, [0, 3000]), (false, [0, 0])] {
        let mut config = with(FloodgateConfig {
            int_sees_held: sees,
            ..ideal(1)
        });
        config.int = Some(IntConfig::default());
        let mut b = switch(&config);
        for psn in 0..5 {
            let id = b.put(numbered(4, psn, psn + 1));
            b.arena.attach_stack(id);
            b.switch.receive(0, 0, id, &mut b.arena, &mut b.ears);
        }
        let mut lengths = Vec::new();
        for number in 1..3 {
            let id = b
                .switch
                .transmit(0, 2, &mut b.arena, &mut b.ears)
                .expect("one may go");
            let hop: IntHop = b.arena.stack(id).expect("a stack").hops()[0];
            lengths.push(hop.qlen_bytes);
            b.arena.free(id);
            b.receive(2, credit(4, 1, number));
        }
        assert_eq!(lengths, tells);
    }
}

// FG-23, FG-27, FG-26: credit timer and withheld credits
#[test]
fn credits_wait_for_the_timer_and_while_too_much_is_held() {
    let mut windows = *FloodgateConfig::PRACTICAL.windows().expect("windows");
    windows.initial = Amount::Bytes(1500);
    windows.credit.delay = Some(Amount::Bytes(2000));
    let mut b = switch(&with(FloodgateConfig {
        by: HoldBy::Windows(windows),
        ..FloodgateConfig::PRACTICAL
    }));
    b.now = 3 * US;
    for psn in 0..5 {
        b.receive(0, numbered(4, psn, psn + 1));
    }
    assert_eq!(psns(&b.all(2)), [0]);
    // 4000 B are parked, so the credit is withheld and no timer is set.
    assert!(!b.ears.wakes.contains(&(10 * US)));
    b.now = 14 * US;
    b.receive(2, credit(4, 1, 1));
    b.all(2);
    assert!(!b.ears.wakes.contains(&(20 * US)), "3000 B");
    b.receive(2, credit(4, 1, 2));
    b.all(2);
    assert!(b.ears.wakes.contains(&(20 * US)), "2000 B are not too much");
    b.now = 20 * US;
    b.switch.timer(20 * US, &mut b.arena, &mut b.ears);
    let sent = b.all(0);
    assert_eq!(sent.len(), 1);
    assert_eq!((sent[0].hash, sent[0].psn, sent[0].size), (3, 3, 56));
    b.sound();
}

// FG-33: switchSYN and its answer
#[test]
fn silence_is_asked_about_and_a_question_answered() {
    let mut b = switch(&with(ideal(4)));
    b.receive(0, numbered(4, 0, 7)); // the six previous units were lost
    b.all(2);
    let told = b.all(0);
    assert_eq!(
        (told[0].hash, told[0].psn),
        (1, 7),
        "the number makes them good"
    );
    b.now = 1000 * US;
    b.switch.timer(b.now, &mut b.arena, &mut b.ears);
    let asked = b.all(2);
    assert_eq!(
        SwitchSyn::read(&asked[0]),
        Some(SwitchSyn { dst: 4, number: 1 })
    );
    let question = SwitchSyn { dst: 4, number: 9 };
    b.receive(0, question.packet(64));
    let answer = b.all(0);
    assert_eq!(
        Credit::read(&answer[0]).map(|c| (c.units, c.number)),
        Some((0, 9))
    );
}

// FG-45, FG-46, FG-47: PFC with tag
#[test]
fn a_tag_holds_one_destination_and_releases_at_the_pace_of_the_port() {
    let tags = FloodgateConfig {
        by: HoldBy::Tags(PauseThresholds {
            off: Amount::Bytes(2500),
            on_below_bytes: 0,
        }),
        ..FloodgateConfig::TAGS
    };
    let mut b = switch(&with(tags));
    let pause = |dst, on| PauseDestination { on, dst }.packet(64);
    b.receive(2, pause(4, true));
    for psn in 0..4 {
        b.receive(0, data(1, 4, psn));
    }
    b.receive(0, data(1, 0, 9));
    assert_eq!(
        psns(&b.all(2)),
        [9],
        "the other destination of that port goes on"
    );
    let told = b.all(0);
    assert_eq!(
        PauseDestination::read(&told[0]),
        Some(PauseDestination { on: true, dst: 4 })
    );
    b.receive(2, pause(4, false));
    assert_eq!(
        in_voqs(&b, 2),
        3000,
        "one waits at the port, the others in the VOQ"
    );
    assert_eq!(psns(&[b.send(2).expect("one")]), [0]);
    assert_eq!(in_voqs(&b, 2), 2000);
    assert_eq!(psns(&b.all(2)), [1, 2, 3]);
    let resumed = b.all(0);
    assert_eq!((resumed[0].dst, resumed[0].psn, resumed.len()), (4, 0, 1));
    // At the last hop, the pause threshold applies to the egress queue.
    for psn in 0..3 {
        b.receive(1, data(1, 6, psn));
    }
    assert_eq!(b.all(1)[0].psn, 1);
    assert_eq!(b.all(4).len(), 3);
    assert_eq!(b.all(1)[0].psn, 0);
    b.sound();
}
