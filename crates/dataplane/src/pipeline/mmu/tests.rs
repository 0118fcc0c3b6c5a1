use super::*;
use crate::config::tests::{config, pfc};
use crate::config::{Alpha, PfcThreshold};
use crate::units::US;

const LINK: (Rate, Time) = (Rate::from_gbps(100), US);

fn mmu(buffer: u64, reserved: u64, admission: Admission, ports: usize) -> Mmu {
    let mut c = config();
    c.mmu = MmuConfig {
        buffer_bytes: buffer,
        reserved_bytes: reserved,
        admission,
    };
    Mmu::new(&c, &vec![LINK; ports])
}

// SW-11
#[test]
fn headroom_formula_adds_round_trip_two_frames_and_the_pause() {
    let p = Pfc {
        headroom: None,
        ..pfc(PfcThreshold::Static(0))
    };
    // 2 us at 100 Gbps are 25 000 B. One more byte covers the rounding.
    assert_eq!(
        headroom_bytes(LINK.0, LINK.1, 1048, 1, &p),
        25_001 + 2 * 1048 + 64
    );
    // SW-54: the pause frame may wait for the pause frames of two other classes.
    assert_eq!(
        headroom_bytes(LINK.0, LINK.1, 1048, 3, &p),
        25_001 + 2 * 1048 + 3 * 64
    );
    let slow = Pfc {
        response_ps: US,
        ..p
    };
    assert_eq!(
        headroom_bytes(LINK.0, LINK.1, 1048, 1, &slow),
        37_501 + 2 * 1048 + 64
    );
}

// SW-56
#[test]
fn headroom_in_a_pool_is_shared_by_ports() {
    let pooled = Pfc {
        headroom_pool: Some(6000),
        ..pfc(PfcThreshold::Static(1000))
    };
    let mut m = mmu(20_000, 0, Admission::Pfc(pooled), 3);
    let mut c = config();
    c.mmu.admission = Admission::Pfc(pooled);
    c.mmu.buffer_bytes = 20_000;
    c.mmu.reserved_bytes = 0;
    assert_eq!(division(&c, &[LINK; 3]), (0, 6000, 14_000));
    // Port 0 may use 5000 B of headroom. Port 1 gets the remaining 1000 B of the pool.
    for _ in 0..5 {
        assert_eq!(m.verdict(0, 2, 1000, 0, true), Ok(Space::Headroom));
        m.enter(0, 2, 1000, Space::Headroom);
    }
    assert_eq!(m.verdict(0, 2, 1000, 0, true), Err(DropCause::Buffer));
    m.enter(1, 2, 1000, Space::Headroom);
    assert_eq!(m.verdict(1, 2, 1000, 0, true), Err(DropCause::Buffer));
    m.leave(0, 2, 1000);
    assert_eq!(m.verdict(1, 2, 1000, 0, true), Ok(Space::Headroom));
    m.audit().unwrap();
}

// SW-10
#[test]
fn the_reserve_is_used_before_the_pool() {
    let mut m = mmu(14_000, 2000, Admission::SharedPool, 2);
    assert_eq!(m.enter(0, 2, 1500, Space::Pool), Excess::default());
    assert_eq!(m.shared_used, 0);
    m.enter(0, 2, 1500, Space::Pool);
    assert_eq!(m.shared_used, 1000);
    m.leave(0, 2, 1500);
    assert_eq!(m.shared_used, 0);
    m.audit().unwrap();
}

// SW-16
#[test]
fn a_shared_pool_drops_only_when_exhausted() {
    let mut m = mmu(10_000, 0, Admission::SharedPool, 2);
    for _ in 0..10 {
        assert_eq!(m.verdict(0, 2, 1000, 0, false), Ok(Space::Pool));
        m.enter(0, 2, 1000, Space::Pool);
    }
    assert_eq!(m.verdict(1, 2, 1, 0, false), Err(DropCause::Buffer));
}

// SW-15
#[test]
fn an_egress_threshold_drops_by_what_waits_at_the_egress() {
    let admission = Admission::EgressDynamic {
        alpha: Alpha::new(1.0),
        per_queue: false,
    };
    let mut m = mmu(10_000, 0, admission, 2);
    assert_eq!(m.verdict(0, 2, 1000, 9000, false), Ok(Space::Pool));
    assert_eq!(
        m.verdict(0, 2, 1000, 9001, false),
        Err(DropCause::EgressThreshold)
    );
    m.enter(0, 2, 4000, Space::Pool);
    assert_eq!(m.verdict(0, 2, 1000, 5000, false), Ok(Space::Pool));
    assert_eq!(
        m.verdict(0, 2, 1000, 5001, false),
        Err(DropCause::EgressThreshold)
    );
}

// SW-17
#[test]
fn an_unlimited_buffer_only_counts() {
    let mut m = mmu(10, 0, Admission::Unlimited, 1);
    assert_eq!(m.verdict(0, 2, 1 << 40, 0, false), Ok(Space::Pool));
    m.enter(0, 2, 1 << 40, Space::Pool);
    assert_eq!(m.max_used, 1 << 40);
    m.audit().unwrap();
}
