//! PFC: in the worst case, the headroom of the formula is exactly sufficient.

use super::*;
use crate::common::*;
use dataplane::config::{
    Accounting, Admission, Alpha, Beside, ClassConfig, Departures, PauseTime, Pfc, PfcThreshold,
    Recovery, VictimConfig,
};
use dataplane::switch::headroom_bytes;
use dataplane::units::{MS, US};
use fabric::record::Ending;
use kernel::random::{Purpose, Stream};
use traffic::Flow;

/// Number of frames in the pool when XOFF is sent, including the frame that crosses the threshold.
const POOL_FRAMES: u64 = 21;

/// A star with five hosts. Host 0 will be paused. Host 1 keeps the reverse direction to host 0
/// busy. Host 2 is the receiver, behind a very slow link. Two more hosts only fill the pool. All
/// links have the same delay.
struct Corner {
    delay_ps: u64,
    /// Start time of host 0 after the start time of host 1.
    offset_ps: u64,
    /// Time from the arrival of a pause frame to its effect.
    response_ps: u64,
    headroom: Option<u64>,
    /// True if the two other hosts fill the pool, so that the pool is exhausted before the
    /// threshold is reached.
    dry: bool,
}

impl Corner {
    fn pfc(&self) -> Pfc {
        let threshold = if self.dry {
            1 << 30
        } else {
            (POOL_FRAMES - 1) * FRAME
        };
        Pfc {
            accounting: Accounting::Pool,
            threshold: PfcThreshold::Static(threshold),
            xon_offset: 2 * FRAME,
            frame_bytes: 64,
            headroom: self.headroom,
            response_ps: self.response_ps,
            pause: PauseTime::UntilResumed,
            headroom_pool: None,
            headroom_beside: false,
            victims: None,
        }
    }

    fn formula(&self) -> u64 {
        headroom_bytes(GBPS_100, self.delay_ps, FRAME as u16, 1, &self.pfc())
    }

    fn setup(&self) -> Setup {
        let fast = link(100, self.delay_ps);
        let slow = LinkSpec {
            rate: Rate::from_bps(10_000_000),
            delay_ps: self.delay_ps,
            loss: Loss::NONE,
        };
        let links = (0..5)
            .map(|h| (h, 5, if h == 2 { slow } else { fast }))
            .collect();
        // Frames of host 1 start at multiples of the frame time, and so do all its frames at the
        // switch.
        let start = 100 * FRAME_PS;
        let mut flows = vec![
            Flow {
                class: 1,
                ..flow(0, start, 1, 0, 300_000)
            },
            flow(1, start + self.offset_ps, 0, 2, 70_000),
        ];
        if self.dry {
            flows.insert(0, flow(0, 0, 3, 2, 40_000));
            flows.insert(1, flow(1, 0, 4, 2, 40_000));
            flows[2].id = 2;
            flows[3].id = 3;
        }
        let mut s = line_rate(named(5, 1, links), flows);
        s.switch.mmu.admission = Admission::Pfc(self.pfc());
        s.switch.mmu.reserved_bytes = 0;
        // Frames of host 1 use no buffer, so that nothing pauses them.
        s.switch.classes.push(ClassConfig {
            pausable: false,
            buffered: false,
            ecn: false,
            int: false,
        });
        if self.dry {
            // The pool has 70 frames. The two other hosts use 80, less one that is on the slow
            // link, until they are paused. Their further frames use their own headroom.
            let slow_headroom =
                headroom_bytes(slow.rate, self.delay_ps, FRAME as u16, 1, &self.pfc());
            let headrooms = self
                .headroom
                .map_or(4 * self.formula() + slow_headroom, |h| 5 * h);
            s.switch.mmu.buffer_bytes = headrooms + 70 * FRAME;
        }
        // ACKs must not disturb the timing of frames, and no timeout must occur.
        s.nic.ack_every = 1 << 20;
        s.nic.recovery = Recovery::go_back_n(900 * MS);
        s
    }

    /// Returns the maximum headroom that the ingress of host 0 used. No packet of this ingress
    /// leaves while the headroom fills.
    fn peak(&self) -> u64 {
        let (outcome, keep) = self.setup().run();
        assert_eq!(outcome.ending, Ending::Drained);
        assert!(outcome.counters.hop["pfc_pauses"] > 0);
        let most = keep.buffers.iter().map(|b| b.used_bytes).max().unwrap();
        most - POOL_FRAMES * FRAME
    }
}

/// A delay with which the pause frame waits for a whole frame except 1 ps, and arrives 1 ps after
/// the upstream node has started one more frame.
const WORST_DELAY_PS: u64 = (24 * FRAME_PS - 64 * 80 + 2) / 2;

// SW-11, SW-12, SW-13, SW-40, SW-41, SW-42
#[test]
fn at_the_worst_instant_the_headroom_is_full_to_the_last_byte() {
    let worst = Corner {
        delay_ps: WORST_DELAY_PS,
        offset_ps: 1,
        response_ps: 0,
        headroom: None,
        dry: false,
    };
    assert_eq!(worst.formula(), 26 * FRAME + 1, "one byte is rounded up");
    assert_eq!(worst.peak(), 26 * FRAME);
    let exact = Corner {
        headroom: Some(26 * FRAME),
        ..worst
    };
    assert_eq!(exact.peak(), 26 * FRAME);
}

/// A response time of five frames needs headroom for exactly five more frames.
// SW-11, SW-45
#[test]
fn the_upstream_obeys_a_pause_after_the_response_time() {
    let late = Corner {
        delay_ps: WORST_DELAY_PS,
        offset_ps: 1,
        response_ps: 5 * FRAME_PS,
        headroom: None,
        dry: false,
    };
    assert_eq!(late.formula(), 31 * FRAME + 1);
    assert_eq!(late.peak(), 31 * FRAME);
    let short = Corner {
        headroom: Some(30 * FRAME),
        ..late
    };
    let (outcome, _) = short.setup().run_raw();
    assert_eq!(outcome.counters.drops.iter().sum::<u64>(), 1);
}

/// The table of pauses contains the time at which a pause takes effect, both with and without pause
/// times (quanta).
// SW-45, QNT-02
#[test]
fn pauses_begin_after_the_response_time() {
    for quanta in [None, Some(60)] {
        let pauses = |response_ps| {
            let mut s = line_rate(
                star(3),
                vec![flow(0, 0, 1, 0, 400_000), flow(1, 0, 2, 0, 400_000)],
            );
            let Admission::Pfc(pfc) = &mut s.switch.mmu.admission else {
                panic!("this is PFC")
            };
            pfc.threshold = PfcThreshold::Static(20 * FRAME);
            pfc.headroom = Some(200_000);
            pfc.response_ps = response_ps;
            if let Some(quanta) = quanta {
                pfc.pause = PauseTime::Quanta {
                    quanta,
                    refresh: quanta / 2,
                };
            }
            let (_, keep) = s.run();
            keep.pauses
        };
        let (now, late) = (pauses(0), pauses(3 * US));
        let first = now.iter().map(|row| row.from_ps).min().unwrap();
        assert_eq!(
            late.iter().map(|row| row.from_ps).min(),
            Some(first + 3 * US),
            "{quanta:?}"
        );
    }
}

// SW-11, AUD-05
#[test]
fn headroom_that_is_one_frame_short_loses_a_frame() {
    for short in [1, FRAME] {
        let corner = Corner {
            delay_ps: WORST_DELAY_PS,
            offset_ps: 1,
            response_ps: 0,
            headroom: Some(26 * FRAME - short),
            dry: false,
        };
        let (outcome, _) = corner.setup().run_raw();
        assert_eq!(
            outcome.counters.drops.iter().sum::<u64>(),
            1,
            "{short} B short"
        );
        assert_eq!(outcome.violations.len(), 1);
        assert_eq!(outcome.violations[0].check, "lossless");
    }
}

/// Arrivals at an instant have an effect on decisions of this instant: a pause frame that arrives
/// at the start time of a frame stops the frame.
// ENG-03
#[test]
fn one_picosecond_decides() {
    let peak = |delay_ps, offset_ps| {
        Corner {
            delay_ps,
            offset_ps,
            response_ps: 0,
            headroom: None,
            dry: false,
        }
        .peak()
    };
    // The reverse direction becomes free at the instant of XOFF, so the pause frame does not wait
    // for another frame.
    assert_eq!(peak(WORST_DELAY_PS, 0), 25 * FRAME);
    assert_eq!(peak(WORST_DELAY_PS, 1), 26 * FRAME);
    // The pause frame arrives at the instant at which the last of these frames would start.
    assert_eq!(peak(WORST_DELAY_PS, 2), 25 * FRAME);
    assert_eq!(peak(WORST_DELAY_PS + 1, 2), 26 * FRAME);
}

// SW-11, SW-12, SW-45
#[test]
fn no_phase_needs_more_headroom_than_the_formula_gives() {
    let mut closest = u64::MAX;
    let delays = [0, 1, 300_007, WORST_DELAY_PS, 1_000_000, 1_500_000];
    let late = delays.map(|delay_ps| (delay_ps, 2_345_678));
    for (delay_ps, response_ps) in delays.map(|delay_ps| (delay_ps, 0)).into_iter().chain(late) {
        for step in 0..24 {
            let corner = Corner {
                delay_ps,
                offset_ps: step * FRAME_PS / 24 + step % 3,
                response_ps,
                headroom: None,
                dry: false,
            };
            let left = corner.formula() - corner.peak();
            closest = closest.min(left);
        }
    }
    assert!(closest < FRAME, "the sweep came within {closest} B");
}

// SW-18
#[test]
fn nothing_is_lost_where_the_pool_runs_dry_before_the_threshold() {
    for step in 0..40 {
        let corner = Corner {
            delay_ps: WORST_DELAY_PS,
            offset_ps: step * FRAME_PS / 40 + (step + 1) % 3,
            response_ps: 0,
            headroom: None,
            dry: true,
        };
        let (outcome, _) = corner.setup().run();
        assert!(
            outcome.counters.hop["pfc_pauses"] >= 3,
            "all three senders are paused"
        );
    }
}

/// Random load on small buffers, with all PFC presets and all kinds of thresholds.
// SW-12, SW-13, SW-14, SW-18, AUD-05, AUD-06, SPFC-02, SPFC-08
#[test]
fn random_traffic_on_small_buffers_loses_nothing_under_pfc() {
    let thresholds = [
        PfcThreshold::Dynamic(Alpha::new(0.11)),
        PfcThreshold::Dynamic(Alpha::new(1.0)),
        PfcThreshold::Dynamic(Alpha::new(8.0)),
        PfcThreshold::Static(5_000),
        PfcThreshold::Static(1 << 30),
    ];
    let (mut pauses, mut spared) = (0, 0);
    for (name, preset) in PRESETS {
        if matches!(name, "bfc" | "ideal-fq") {
            continue;
        }
        for (seed, threshold) in (0u64..).zip(thresholds) {
            let mut random = Stream::new(seed, 7, Purpose::Test);
            let mut flows: Vec<_> = (0..150)
                .map(|_| {
                    let src = random.below(12) as u32;
                    let dst = if random.below(3) == 0 {
                        u32::from(src == 0)
                    } else {
                        (src + 1 + random.below(11) as u32) % 12
                    };
                    flow(0, random.below(60 * US), src, dst, 1 + random.below(60_000))
                })
                .collect();
            flows.sort_by_key(|f| f.start_ps);
            for (id, f) in (0..).zip(&mut flows) {
                f.id = id;
            }
            let mut s = preset(leaf_spine(3, 2, 4), flows);
            let Admission::Pfc(pfc) = s.switch.mmu.admission else {
                panic!("{name} is lossless by PFC");
            };
            // SPFC-02, SPFC-08: victim ports may use the whole pool or more, and still nothing is
            // lost.
            let victims = (seed % 2 == 1).then_some(VictimConfig {
                interval_ps: 10 * US,
                k: 8 << 16,
                rate: None,
                count: Departures::Bytes,
                detects_at_once: false,
                unpaused_waits: false,
                resumes_at_once: false,
                beside: [Beside::Bytes(0), Beside::Unbounded][seed as usize / 2 % 2],
            });
            s.switch.mmu.admission = Admission::Pfc(Pfc {
                threshold,
                victims,
                ..pfc
            });
            s.switch.mmu.reserved_bytes = 0;
            let headroom = headroom_bytes(GBPS_100, US, s.switch.max_frame, 1, &pfc);
            s.switch.mmu.buffer_bytes = 6 * headroom + 20_000 * (1 + seed);
            let (outcome, _) = s.run();
            assert_eq!(outcome.finished, 150, "{name}, {threshold:?}");
            pauses += outcome.counters.hop["pfc_pauses"];
            spared += outcome.counters.hop["spfc_spared"];
        }
    }
    assert!(spared > 1000, "{spared} packets spared are no test");
    assert!(pauses > 1000, "{pauses} pauses are no test");
}
