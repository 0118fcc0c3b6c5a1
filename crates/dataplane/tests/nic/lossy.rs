//! Two NICs and a path between them that loses, delays and duplicates exactly the frames that a
//! test selects.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Random generator for tests: a Weyl sequence with a mixing function.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 31).wrapping_mul(0xd6e8_feb8_6659_fd93);
        x ^ x >> 32
    }

    fn happens(&mut self, permille: u64) -> bool {
        self.roll() % 1000 < permille
    }
}

#[derive(Clone, Copy, Debug)]
struct Path {
    /// Probability that a data packet is lost, in thousandths.
    data: u64,
    /// Probability that an ACK or NAK is lost, in thousandths.
    replies: u64,
    /// Minimum delay of a frame, in ps. The random delay is up to twice as long, so frames overtake
    /// each other.
    jitter_ps: Time,
    delay_ps: Time,
}

enum Coming {
    Frame(usize, PacketId),
    /// A drop notice for the NIC with this index.
    News(usize, PacketId),
    Wake(usize),
    /// The link becomes free.
    Free,
}

/// Naive model of IRN's sender, with sets and searches instead of indices.
#[derive(Default)]
struct Model {
    packets: u32,
    next: u32,
    acked: u32,
    arrived: BTreeSet<u32>,
    again: BTreeSet<u32>,
    head: bool,
    probe_ps: Option<Time>,
    probed: u32,
    overtaken: u32,
    lost_after: u32,
}

impl Model {
    fn wants(&self) -> u32 {
        if self.head {
            return self.acked;
        }
        let lost = |psn: &u32| {
            let beyond = self.arrived.iter().any(|a| *a >= psn + self.lost_after);
            let missing = !self.arrived.contains(psn) && !self.again.contains(psn);
            missing && (beyond || *psn < self.overtaken)
        };
        (self.acked..self.next).find(lost).unwrap_or(self.next)
    }

    fn sent(&mut self, now: Time, psn: u32) {
        assert_eq!(psn, self.wants(), "the model would send another packet");
        if psn == self.next {
            self.next += 1;
            return;
        }
        // The sender has sent all packets up to this one again.
        self.again.extend(self.acked..=psn);
        if self.head {
            self.head = false;
            self.probe_ps = Some(now);
        }
    }

    fn told(&mut self, kind: Kind, psn: u32, cause: u32, sent_ps: Time) {
        self.acked = self.acked.max(psn);
        if kind == Kind::Nak && cause >= self.acked {
            self.arrived.insert(cause);
        }
        if self.probe_ps.is_some_and(|at| sent_ps >= at) {
            self.probe_ps = None;
            self.overtaken = self.probed;
        }
    }

    fn timed_out(&mut self) {
        self.again.clear();
        self.head = true;
        self.probed = self.next;
        self.probe_ps = None;
    }
}

struct World {
    nics: [Nic; 2],
    ears: [Ears; 2],
    arena: Arena,
    now: Time,
    coming: BTreeMap<(Time, u64), Coming>,
    order: u64,
    busy_until: [Time; 2],
    dice: Dice,
    path: Path,
    ideal: bool,
    model: Option<Model>,
    timeouts: u64,
    /// Number of times that each packet has arrived at the receiver.
    copies: BTreeMap<u32, u32>,
    lost_data: u64,
}

impl World {
    fn new(config: &NicConfig, path: Path, seed: u64, bytes: u64) -> Self {
        let config = Arc::new(config.clone());
        let nic = || Nic::new(&config, 4, &[Rate::from_gbps(100)]);
        let model = match config.recovery {
            Recovery::Irn(irn) => Some(Model {
                packets: bytes.div_ceil(1000) as u32,
                lost_after: irn.lost_after,
                ..Model::default()
            }),
            _ => None,
        };
        let mut world = Self {
            nics: [nic(), nic()],
            ears: [Ears::default(), Ears::default()],
            arena: Arena::new(),
            now: 0,
            coming: BTreeMap::new(),
            order: 0,
            busy_until: [0; 2],
            dice: Dice(seed),
            path,
            ideal: matches!(config.recovery, Recovery::Ideal { .. }),
            model,
            timeouts: 0,
            copies: BTreeMap::new(),
            lost_data: 0,
        };
        world.nics[0].start(0, &start(0, bytes), &mut world.ears[0]);
        world.serve();
        world
    }

    fn push(&mut self, at: Time, what: Coming) {
        self.order += 1;
        self.coming.insert((at, self.order), what);
    }

    /// Handles all requests of both NICs, and transmits all packets that the NICs can send now.
    fn serve(&mut self) {
        for side in 0..2 {
            for at in std::mem::take(&mut self.ears[side].wakes) {
                self.push(at.max(self.now), Coming::Wake(side));
            }
            let kicked = !std::mem::take(&mut self.ears[side].kicks).is_empty();
            if !kicked && !self.nics[side].waiting(0) || self.busy_until[side] > self.now {
                continue;
            }
            let Some(id) =
                self.nics[side].transmit(self.now, 0, &mut self.arena, &mut self.ears[side])
            else {
                continue;
            };
            let hot = *self.arena.hot(id);
            if side == 0
                && let Some(model) = &mut self.model
            {
                model.sent(self.now, hot.psn);
            }
            self.busy_until[side] =
                self.now + Rate::from_gbps(100).serialisation_ps(u64::from(hot.size));
            self.push(self.busy_until[side], Coming::Free);
            let is_data = hot.kind() == Kind::Data;
            let loss = if is_data {
                self.path.data
            } else {
                self.path.replies
            };
            let jitter = self.path.jitter_ps;
            let late = if jitter > 0 {
                self.dice.roll() % jitter
            } else {
                0
            };
            let arrival = self.busy_until[side] + self.path.delay_ps + late;
            if !self.dice.happens(loss) {
                self.push(arrival, Coming::Frame(1 - side, id));
                continue;
            }
            self.lost_data += u64::from(is_data);
            if self.ideal {
                self.push(arrival, Coming::News(side, id));
            } else {
                self.arena.free(id);
            }
        }
        for side in 0..2 {
            for at in std::mem::take(&mut self.ears[side].wakes) {
                self.push(at.max(self.now), Coming::Wake(side));
            }
        }
    }

    /// Runs until the flow is complete and no frame is in flight. Panics after too many events.
    fn run(&mut self) {
        let mut events = 0;
        while let Some(((at, _), what)) = self.coming.pop_first() {
            events += 1;
            assert!(events < 3_000_000, "no end");
            self.now = at;
            match what {
                Coming::Frame(side, id) => self.arrive(side, id),
                Coming::News(side, id) => {
                    self.nics[side].returned(at, 0, id, &mut self.arena, &mut self.ears[side])
                }
                Coming::Wake(side) => {
                    self.nics[side].timer(at, &mut self.arena, &mut self.ears[side]);
                    let timeouts = self.nics[0].counters().timeouts;
                    if timeouts > self.timeouts {
                        assert_eq!(timeouts, self.timeouts + 1);
                        self.timeouts = timeouts;
                        self.model.iter_mut().for_each(Model::timed_out);
                    }
                }
                Coming::Free => {}
            }
            self.serve();
            if !self.ears[0].ends.is_empty() && self.arena.alive() == 0 {
                return;
            }
        }
        panic!("everything is quiet, and the flow is not finished");
    }

    fn arrive(&mut self, side: usize, id: PacketId) {
        let (hot, cold) = (*self.arena.hot(id), *self.arena.cold(id));
        if hot.kind() == Kind::Data {
            *self.copies.entry(hot.psn).or_default() += 1;
        } else if let Some(model) = &mut self.model
            && self.ears[0].ends.is_empty()
        {
            let cause = model.packets - cold.remaining.div_ceil(1000) as u32;
            model.told(hot.kind(), hot.psn, cause, cold.sent_ps);
        }
        self.nics[side].receive(self.now, 0, id, &mut self.arena, &mut self.ears[side]);
    }

    /// Checks that the receiver accepted every byte exactly once.
    fn check(&self, bytes: u64) {
        let (sender, receiver) = (self.nics[0].counters(), self.nics[1].counters());
        assert_eq!(self.ears[0].ends.len(), 1);
        assert_eq!(receiver.delivered_bytes, bytes, "each byte once");
        assert_eq!(sender.payload_bytes, bytes);
        let packets = bytes.div_ceil(1000);
        assert_eq!(self.copies.len() as u64, packets, "each packet came");
        let came: u32 = self.copies.values().sum();
        assert_eq!(receiver.received, u64::from(came));
        assert_eq!(receiver.discarded, u64::from(came) - packets);
        assert_eq!(sender.data_packets, packets + sender.retransmissions);
        assert_eq!(sender.data_packets, u64::from(came) + self.lost_data);
        let end = self.ears[0].ends[0];
        assert_eq!(u64::from(end.retransmitted), sender.retransmissions);
        assert!(end.received_ps < end.acked_ps);
    }
}

const BACK: Recovery = Recovery::go_back_n(300 * US);
const IDEAL: Recovery = Recovery::ideal(None);

fn path(data: u64, replies: u64) -> Path {
    Path {
        data,
        replies,
        jitter_ps: 0,
        delay_ps: 2 * US,
    }
}

fn transfer(config: &NicConfig, path: Path, seed: u64, bytes: u64) -> World {
    let mut world = World::new(config, path, seed, bytes);
    world.run();
    world.check(bytes);
    world
}

// NIC-20, NIC-21, REC-14, REC-17, REC-30, REC-33: every recovery completes every flow
#[test]
fn every_flow_arrives_over_a_path_that_loses_data_and_acks() {
    for recovery in [BACK, Recovery::Irn(IrnConfig::paper()), IDEAL] {
        for (data, replies) in [(0, 0), (10, 0), (0, 10), (10, 10), (100, 0), (100, 100)] {
            for seed in 0..10 {
                let config = NicConfig {
                    recovery,
                    ..window(60_000)
                };
                let bytes = 400_000 + 333 * seed;
                let world = transfer(&config, path(data, replies), seed, bytes);
                let sender = world.nics[0].counters();
                match recovery {
                    Recovery::Ideal { .. } => {
                        assert_eq!(sender.retransmissions, world.lost_data);
                        assert_eq!(sender.timeouts, 0);
                    }
                    Recovery::Irn(_) if replies == 0 => {
                        assert!(sender.retransmissions >= world.lost_data);
                    }
                    _ => {}
                }
                if data == 0 && replies == 0 {
                    assert_eq!(sender.retransmissions, 0);
                }
            }
        }
    }
}

/// Cost of a loss: go-back-N sends a window of packets again, IRN and ideal retransmission one.
// REC-14, REC-30, NIC-20
#[test]
fn selective_repeat_sends_less_than_going_back() {
    let again = |recovery| -> u64 {
        let config = NicConfig {
            recovery,
            ..window(60_000)
        };
        (0..10)
            .map(|seed| {
                let world = transfer(&config, path(10, 0), seed, 1_000_000);
                world.nics[0].counters().retransmissions * 1000 / world.lost_data.max(1)
            })
            .sum::<u64>()
            / 10
    };
    let irn = again(Recovery::Irn(IrnConfig::paper()));
    assert!((1000..1100).contains(&irn), "{irn} thousandths of a packet");
    assert_eq!(again(IDEAL), 1000);
    // About the packets of a round trip of 4 µs, which are 48.
    let back = again(BACK);
    assert!((30_000..70_000).contains(&back), "{back} thousandths");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// IRN's sender selects the same packets as the naive model. The flow completes for all losses
    /// and all orders of arrival.
    // REC-10, REC-11, REC-12, REC-13, REC-14, REC-16, REC-17, REC-18
    #[test]
    fn irn_is_its_naive_model(
        data in prop_oneof![Just(0u64), 0u64..30, 0u64..300],
        replies in prop_oneof![Just(0u64), 0u64..30, 0u64..300],
        jitter in prop_oneof![Just(0u64), 0u64..3_000_000],
        bytes in 1u64..150_000,
        flight in prop_oneof![Just(IrnWindow::Bdp), Just(IrnWindow::Off), (1u64..60_000).prop_map(IrnWindow::Bytes)],
        few in 0u32..6,
        lost_after in prop_oneof![Just(1u32), 1u32..20],
        ack_every in 1u32..4,
        seed in any::<u64>(),
    ) {
        let irn = IrnConfig { window: flight, few, lost_after, rto_low_ps: 30 * US, rto_high_ps: 80 * US };
        let config = NicConfig { recovery: Recovery::Irn(irn), ack_every, ..window(60_000) };
        let path = Path { jitter_ps: jitter, ..path(data, replies) };
        transfer(&config, path, seed, bytes);
    }

    // REC-30, REC-32, REC-33: ideal retransmission
    #[test]
    fn ideal_repeats_exactly_what_was_lost(
        data in 0u64..500,
        replies in 0u64..500,
        jitter in prop_oneof![Just(0u64), 0u64..3_000_000],
        bytes in 1u64..150_000,
        ack_every in 1u32..4,
        seed in any::<u64>(),
    ) {
        let config = NicConfig { recovery: IDEAL, ack_every, ..window(20_000) };
        let path = Path { jitter_ps: jitter, ..path(data, replies) };
        let world = transfer(&config, path, seed, bytes);
        prop_assert_eq!(world.nics[0].counters().retransmissions, world.lost_data);
        prop_assert_eq!(world.nics[1].counters().discarded, 0);
    }
}
