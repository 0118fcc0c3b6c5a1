//! Pauses of a destination at a NIC.

use super::*;

fn pause(b: &mut Bench, dst: u32, on: bool) {
    let frame = PauseDestination { on, dst };
    b.receive(frame.packet(64), Cold::default());
}

fn both(ring: bool) -> NicConfig {
    if ring {
        return config();
    }
    NicConfig {
        control: Sending::Control(ControlConfig::FixedWindow(FixedWindowConfig {
            window: Some(1 << 30),
        })),
        recovery: Recovery::go_back_n(NEVER),
        host: HostConfig {
            arbiter: Arbiter::Scan,
            ..HostConfig::default()
        },
        ..config()
    }
}

// FG-42: dstPause stops flows to one destination
#[test]
fn flows_to_a_paused_destination_wait_and_others_go_on() {
    for ring in [true, false] {
        let mut b = Bench::new(&both(ring));
        for (flow, dst) in [(0, 5), (1, 6), (2, 5)] {
            b.start_with(FlowStart {
                dst,
                ..start(flow, 2000)
            });
        }
        pause(&mut b, 5, true);
        let sent: Vec<u32> = b.send_all().iter().map(|p| p.flow).collect();
        assert_eq!(sent, [1, 1], "ring {ring}");
        pause(&mut b, 5, false);
        let mut sent: Vec<u32> = b.send_all().iter().map(|p| p.flow).collect();
        sent.sort_unstable();
        assert_eq!(sent, [0, 0, 2, 2]);
        assert_eq!(b.nic.counters().repeated_pauses, 0);
        pause(&mut b, 5, false);
        assert_eq!(b.nic.counters().repeated_pauses, 1);
    }
}

// FG-42: a flow that completes while its destination is paused
#[test]
fn a_flow_may_end_while_it_waits() {
    let mut b = Bench::new(&config());
    for flow in 0..3 {
        b.start(flow, 1000);
    }
    assert_eq!(b.send_all().len(), 3);
    // All flows go back to their only packet, and their destination is paused. Then a late ACK
    // completes one flow.
    for flow in 0..3 {
        b.answer(Kind::Nak, flow, flow, 0);
    }
    pause(&mut b, 5, true);
    assert_eq!(b.send_all().len(), 0);
    b.answer(Kind::Ack, 1, 1, 1);
    assert_eq!(b.ears.ends.len(), 1);
    pause(&mut b, 5, false);
    let mut sent: Vec<u32> = b.send_all().iter().map(|p| p.flow).collect();
    sent.sort_unstable();
    assert_eq!(sent, [0, 2]);
}
