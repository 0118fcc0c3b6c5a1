//! Random operations on the switch and on a naive model of it. The model uses lists instead of
//! linked queues, and sums over all packets instead of counters. Both must agree after every step.

use std::collections::{HashMap, VecDeque};

use dataplane::classes::ClassSet;
use dataplane::hash::mix32;
use dataplane::hop::Scheme;
use dataplane::packet::SchemeNumber;
use proptest::prelude::*;
use proptest::strategy::ValueTree;

use super::*;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Sent {
    Packet {
        psn: u32,
        queue: u16,
    },
    Frame {
        scheme: Option<SchemeNumber>,
        on: bool,
        what: u32,
    },
}

#[derive(Clone, Copy, Debug)]
struct Item {
    sent: Sent,
    size: u64,
    class: u8,
    ingress: u16,
    upstream: u16,
    entry: Option<(u16, u32)>,
    over: bool,
    buffered: bool,
}

/// An egress queue. `number` is its index among all queues of a port.
#[derive(Clone, Debug, Default)]
struct Queue {
    class: u8,
    items: VecDeque<Item>,
    paused: bool,
    deficit: u64,
}

#[derive(Clone, Debug, Default)]
struct Port {
    queues: Vec<Queue>,
    /// Queue indices in the order of service, per class.
    rounds: Vec<VecDeque<u16>>,
    /// True if the first queue of the round has received its quantum, per class.
    served: Vec<bool>,
    paused: ClassSet,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    packets: u32,
    last_ps: Time,
    queue: Option<u16>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Ingress {
    pool: u64,
    headroom: u64,
    xoff: bool,
}

struct Model {
    config: SwitchConfig,
    ports: Vec<Port>,
    table: HashMap<(u16, u32), Entry>,
    start: Vec<u16>,
    ingress: Vec<Ingress>,
    drops: Vec<(u32, DropCause)>,
    pool_bytes: u64,
    now: Time,
    /// For SPFC: per ingress port, the departures of packets that arrived through it (time, size).
    left: Vec<Vec<(Time, u64)>>,
    /// For SPFC: per ingress port, the pauses and resumes of its upstream. Each entry is (time,
    /// class, true for a pause, number of earlier departures).
    told: Vec<Vec<(Time, u8, bool, usize)>>,
    spared: u64,
}

impl Model {
    fn new(config: &SwitchConfig) -> Self {
        let mut port = Port::default();
        for class in 0..config.classes.len() as u8 {
            let n = match config.classify {
                Classify::Hash { queues } | Classify::Dynamic { queues, .. } if class >= 2 => {
                    queues
                }
                _ => 1,
            };
            for _ in 0..n {
                port.queues.push(Queue {
                    class,
                    ..Queue::default()
                });
            }
            port.rounds.push(VecDeque::new());
            port.served.push(false);
        }
        let ports: Vec<_> = (0..PORTS).map(|_| LINK).collect();
        let (_, _, pool) = dataplane::switch::division(config, &ports);
        Self {
            config: config.clone(),
            ports: vec![port; PORTS as usize],
            table: HashMap::new(),
            start: vec![0; PORTS as usize],
            ingress: vec![Ingress::default(); PORTS as usize * 8],
            drops: Vec::new(),
            pool_bytes: pool as u64,
            now: 0,
            left: vec![Vec::new(); PORTS as usize],
            told: vec![Vec::new(); PORTS as usize],
            spared: 0,
        }
    }

    fn first_of(&self, class: u8) -> u16 {
        let queues = &self.ports[0].queues;
        queues.iter().position(|q| q.class == class).unwrap() as u16
    }

    fn queues_per_class(&self) -> u16 {
        self.ports[0].queues.iter().filter(|q| q.class == 2).count() as u16
    }

    fn items(&self) -> impl Iterator<Item = &Item> {
        self.ports
            .iter()
            .flat_map(|p| p.queues.iter().flat_map(|q| &q.items))
    }

    fn used(&self) -> u64 {
        self.items().filter(|i| i.buffered).map(|i| i.size).sum()
    }

    fn beyond(&self, bytes: u64) -> u64 {
        bytes.saturating_sub(self.config.mmu.reserved_bytes)
    }

    fn pool_used(&self) -> u64 {
        self.ingress.iter().map(|i| self.beyond(i.pool)).sum()
    }

    fn free(&self) -> u64 {
        self.pool_bytes.saturating_sub(self.pool_used())
    }

    /// Returns the unused bytes of the shared pool and of SPFC's additional memory.
    fn free_for_victims(&self) -> u64 {
        let beside = match self.config.mmu.admission {
            Admission::Pfc(pfc) => pfc.victims.map(|victims| victims.beside),
            _ => None,
        };
        let buffer = self.config.mmu.buffer_bytes;
        let beside = match beside {
            Some(Beside::Bytes(bytes)) => bytes,
            Some(Beside::Buffer) => buffer,
            Some(Beside::Unbounded) => 1 << 40,
            None => 0,
        };
        self.pool_bytes + beside - self.pool_used()
    }

    fn pfc(&self, class: u8) -> Option<Pfc> {
        match self.config.mmu.admission {
            Admission::Pfc(pfc) if self.config.classes[class as usize].pausable => Some(pfc),
            _ => None,
        }
    }

    /// Returns the bytes of one largest frame for each ingress that can be paused.
    fn last_frames(&self) -> u64 {
        match self.config.mmu.admission {
            Admission::Pfc(_) => u64::from(PORTS) * u64::from(self.config.max_frame),
            _ => 0,
        }
    }

    fn xoff_at(&self, pfc: &Pfc) -> u64 {
        match pfc.threshold {
            PfcThreshold::Static(bytes) => bytes,
            PfcThreshold::Dynamic(alpha) => alpha.of(self.free()),
            PfcThreshold::Equal => self.config.mmu.buffer_bytes / u64::from(PORTS),
        }
    }

    /// SPFC: returns true if a port is a victim port, computed from its complete history.
    // SPFC-21
    fn is_victim(&self, pfc: &Pfc, port: u16) -> bool {
        let Some(spfc) = pfc.victims else {
            return false;
        };
        let tc = spfc.interval_ps;
        let edge = self.now / tc * tc;
        let departed = |from: Time, to: Time, seen: usize| -> u64 {
            let left = self.left[port as usize][..seen].iter();
            let of = left.filter(|(at, _)| *at + tc >= from && *at < to);
            match spfc.count {
                Departures::Packets => of.count() as u64,
                Departures::Bytes => of.map(|(_, size)| size).sum(),
            }
        };
        let left = &self.left[port as usize];
        let in_last = departed(edge, edge, left.len());
        let enough = dataplane::hop::pfc::counting_number(&spfc, LINK.0, self.config.max_frame);
        let told = &self.told[port as usize];
        let paused = |class: u8, before: Time| {
            let mut of = told.iter().filter(|t| t.1 == class && t.0 < before);
            of.next_back().is_some_and(|last| last.2)
        };
        let is_reset = (0..8).any(|class| paused(class, Time::MAX))
            || spfc.unpaused_waits && !told.iter().any(|t| !t.2);
        let since = told.last().map_or(0, |last| last.3);
        if spfc.detects_at_once
            && !is_reset
            && left[since..].iter().any(|&(at, _)| at >= edge)
            && departed(edge + tc, Time::MAX, left.len()) >= enough
        {
            return true;
        }
        if let Some(&(at, _, on, seen)) = told.last()
            && spfc.resumes_at_once
            && at >= edge
        {
            let in_this = departed(edge + tc, Time::MAX, seen);
            let fast = in_this >= enough || edge > 0 && in_last >= enough;
            return !on && fast && !(0..8).any(|class| paused(class, Time::MAX));
        }
        let paused_since = told.iter().any(|t| t.2 && t.0 >= edge);
        let resumed = told.iter().any(|t| !t.2 && t.0 < edge);
        edge > 0
            && in_last >= enough
            && !(0..8).any(|class| paused(class, edge))
            && !paused_since
            && (resumed || !spfc.unpaused_waits)
    }

    fn receive(&mut self, in_port: u16, packet: &Packet, draw: u64) {
        let (class, size) = (packet.class(), u64::from(packet.size));
        let port = packet.dst as u16;
        let (number, entry, searched) = self.place(port, packet, draw);
        let mut buffered = false;
        if self.config.classes[class as usize].buffered {
            if !self.admit(in_port, class, size, port, packet.psn) {
                return;
            }
            buffered = true;
        }
        if let Some(key) = entry {
            let e = self.table.entry(key).or_default();
            e.packets += 1;
            e.last_ps = self.now;
            e.queue = Some(number);
            if searched {
                self.start[port as usize] =
                    (self.start[port as usize] + 1) % self.queues_per_class();
            }
        }
        let found: u64 = self.ports[port as usize].queues[number as usize]
            .items
            .iter()
            .map(|i| i.size)
            .sum();
        let mut item = Item {
            sent: Sent::Packet {
                psn: packet.psn,
                queue: number,
            },
            size,
            class,
            ingress: in_port,
            upstream: packet.upstream_queue,
            entry,
            over: false,
            buffered,
        };
        self.push(port, number, item);
        if self.config.hop != HopConfig::None && class >= 2 {
            let open = self.ports[port as usize].queues.iter();
            let open = open.filter(|q| q.class == class && !q.paused && !q.items.is_empty());
            let threshold = 25_000 / (open.count() as u64).max(1);
            if found > threshold {
                item.over = true;
                let held = self.holds(in_port, packet.upstream_queue);
                *self.ports[port as usize].queues[number as usize]
                    .items
                    .back_mut()
                    .unwrap() = item;
                if !held {
                    self.tell(in_port, Scheme::Bfc, true, u32::from(packet.upstream_queue));
                }
            }
        }
    }

    /// Returns true if the switch contains a packet from this upstream queue that was over the
    /// threshold.
    fn holds(&self, ingress: u16, upstream: u16) -> bool {
        self.items()
            .any(|i| i.over && (i.ingress, i.upstream) == (ingress, upstream))
    }

    /// Returns the index of a packet's queue, its key in the flow table, and true if the search for
    /// an empty queue was used.
    fn place(&self, port: u16, packet: &Packet, draw: u64) -> (u16, Option<(u16, u32)>, bool) {
        let class = packet.class();
        let first = self.first_of(class);
        if class < 2 {
            return (first, None, false);
        }
        let n = self.queues_per_class();
        match self.config.classify {
            Classify::Hash { .. } => {
                let hash = u64::from(mix32(packet.hash ^ 0x5eed));
                (first + ((hash * u64::from(n)) >> 32) as u16, None, false)
            }
            Classify::Dynamic {
                table, sticky_ps, ..
            } => {
                let key = (
                    port,
                    ((u64::from(packet.hash) * u64::from(table)) >> 32) as u32,
                );
                let queues = &self.ports[port as usize].queues;
                if let Some(e) = self.table.get(&key)
                    && (e.packets > 0 || self.now - e.last_ps <= sticky_ps)
                    && let Some(number) = e.queue
                    && queues[number as usize].class == class
                {
                    return (number, Some(key), false);
                }
                let start = self.start[port as usize];
                let empty = (0..n).map(|i| first + (start + i) % n).find(|&number| {
                    let q = &queues[number as usize];
                    q.items.is_empty() && !q.paused
                });
                let drawn = first + ((u128::from(draw) * u128::from(n)) >> 64) as u16;
                (empty.unwrap_or(drawn), Some(key), true)
            }
            _ => (first, None, false),
        }
    }

    fn admit(&mut self, port: u16, class: u8, size: u64, egress: u16, psn: u32) -> bool {
        let at = port as usize * 8 + class as usize;
        let ingress = self.ingress[at];
        let more = self.beyond(ingress.pool + size) - self.beyond(ingress.pool);
        let free = self.free();
        if let Some(pfc) = self.pfc(class) {
            if more == 0 || !ingress.xoff && more <= self.free_for_victims() {
                self.ingress[at].pool += size;
            } else if ingress.headroom + size <= pfc.headroom.unwrap() {
                self.ingress[at].headroom += size;
            } else {
                self.drops.push((psn, DropCause::Buffer));
                return false;
            }
            let inside = self.beyond(self.ingress[at].pool);
            let full = inside > 0 && self.free() < self.last_frames();
            let must = self.ingress[at].headroom > 0;
            let over = full || inside > self.xoff_at(&pfc);
            let fits_all = inside <= self.config.mmu.buffer_bytes
                && self.free_for_victims() >= self.last_frames();
            let spared = over && !must && fits_all && self.is_victim(&pfc, port);
            self.spared += u64::from(spared && !ingress.xoff);
            if !ingress.xoff && (must || over && !spared) {
                self.ingress[at].xoff = true;
                let seen = self.left[port as usize].len();
                self.told[port as usize].push((self.now, class, true, seen));
                self.tell(port, Scheme::Pfc, true, 1 << class);
            }
            return true;
        }
        if let Admission::EgressDynamic { alpha, per_queue } = self.config.mmu.admission {
            assert!(!per_queue, "the fuzz uses the port's bytes");
            let queues = self.ports[egress as usize].queues.iter();
            let waiting: u64 = queues.flat_map(|q| &q.items).map(|i| i.size).sum();
            if waiting + size > alpha.of(free) {
                self.drops.push((psn, DropCause::EgressThreshold));
                return false;
            }
        }
        if more > 0 && more + self.last_frames() > free {
            self.drops.push((psn, DropCause::Buffer));
            return false;
        }
        self.ingress[at].pool += size;
        true
    }

    fn push(&mut self, port: u16, number: u16, item: Item) {
        let p = &mut self.ports[port as usize];
        let q = &mut p.queues[number as usize];
        q.items.push_back(item);
        if q.items.len() == 1 && !q.paused {
            self.join(port, number);
        }
    }

    fn join(&mut self, port: u16, number: u16) {
        let p = &mut self.ports[port as usize];
        let round = &mut p.rounds[p.queues[number as usize].class as usize];
        if !round.contains(&number) {
            round.push_back(number);
        }
    }

    /// Sends a pause or resume frame. A PFC pause removes a resume that is still queued.
    fn tell(&mut self, port: u16, scheme: Scheme, on: bool, what: u32) {
        let frame = |on| Sent::Frame {
            scheme: Some(scheme.number()),
            on,
            what,
        };
        if on && scheme == Scheme::Pfc {
            let waiting = &mut self.ports[port as usize].queues[0].items;
            if let Some(at) = waiting.iter().position(|item| item.sent == frame(false)) {
                waiting.remove(at);
                return;
            }
        }
        let item = Item {
            sent: frame(on),
            size: 64,
            class: 0,
            ingress: 0,
            upstream: 0,
            entry: None,
            over: false,
            buffered: false,
        };
        self.push(port, 0, item);
    }

    fn set_queue_paused(&mut self, port: u16, number: u16, on: bool) {
        let q = &mut self.ports[port as usize].queues[number as usize];
        q.paused = on;
        if !on && !q.items.is_empty() {
            self.join(port, number);
        }
    }

    fn transmit(&mut self, port: u16) -> Option<Sent> {
        let p = &self.ports[port as usize];
        let open = |q: &&Queue| !q.paused && !q.items.is_empty() && p.paused >> q.class & 1 == 0;
        let class = p.queues.iter().filter(open).map(|q| q.class).min()? as usize;
        let number = self.pick(port, class);
        let p = &mut self.ports[port as usize];
        let q = &mut p.queues[number as usize];
        let item = q.items.pop_front().unwrap();
        if q.items.is_empty() {
            q.deficit = 0;
            p.rounds[class].pop_front();
            p.served[class] = false;
        } else if self.config.schedule == Schedule::RoundRobin {
            p.rounds[class].rotate_left(1);
            p.served[class] = false;
        }
        self.leave(&item, port);
        Some(item.sent)
    }

    fn pick(&mut self, port: u16, class: usize) -> u16 {
        let p = &mut self.ports[port as usize];
        loop {
            let number = p.rounds[class][0];
            let q = &mut p.queues[number as usize];
            if q.paused || q.items.is_empty() {
                q.deficit = 0;
                p.rounds[class].pop_front();
                p.served[class] = false;
                continue;
            }
            let Schedule::Drr { quantum } = self.config.schedule else {
                return number;
            };
            if !p.served[class] {
                p.served[class] = true;
                q.deficit += u64::from(quantum);
            }
            if q.deficit >= q.items[0].size {
                q.deficit -= q.items[0].size;
                return number;
            }
            p.rounds[class].rotate_left(1);
            p.served[class] = false;
        }
    }

    fn leave(&mut self, item: &Item, _egress: u16) {
        if item.buffered {
            let at = item.ingress as usize * 8 + item.class as usize;
            let from_headroom = self.ingress[at].headroom.min(item.size);
            self.ingress[at].headroom -= from_headroom;
            self.ingress[at].pool -= item.size - from_headroom;
            if self.pfc(item.class).is_some() {
                self.left[item.ingress as usize].push((self.now, item.size));
            }
            if let Some(pfc) = self.pfc(item.class)
                && self.ingress[at].xoff
                && self.ingress[at].headroom == 0
            {
                let inside = self.beyond(self.ingress[at].pool);
                let room = self.pool_used() + self.last_frames() <= self.pool_bytes;
                if inside == 0 || inside + pfc.xon_offset <= self.xoff_at(&pfc) && room {
                    self.ingress[at].xoff = false;
                    let seen = self.left[item.ingress as usize].len();
                    let told = (self.now, item.class, false, seen);
                    self.told[item.ingress as usize].push(told);
                    self.tell(item.ingress, Scheme::Pfc, false, 1 << item.class);
                }
            }
        }
        if item.over && !self.holds(item.ingress, item.upstream) {
            self.tell(item.ingress, Scheme::Bfc, false, u32::from(item.upstream));
        }
        if let Some(key) = item.entry {
            let e = self.table.get_mut(&key).unwrap();
            e.packets -= 1;
            e.last_ps = self.now;
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Arrive {
        port: u16,
        dst: u32,
        flow: u32,
        size: u16,
        class: u8,
        upstream: u16,
    },
    Transmit {
        port: u16,
    },
    Pfc {
        port: u16,
        class: u8,
    },
    Pause {
        port: u16,
        queue: u16,
    },
    Wait {
        ps: Time,
    },
}

fn op() -> impl Strategy<Value = Op> {
    let port = 0..PORTS;
    prop_oneof![
        6 => (port.clone(), 0..2u32, 0..12u32, 60u16..1500, 1u8..4, 0u16..4).prop_map(
            |(port, dst, flow, size, class, upstream)| Op::Arrive { port, dst, flow, size, class, upstream }
        ),
        5 => port.clone().prop_map(|port| Op::Transmit { port }),
        1 => (port.clone(), 1u8..4).prop_map(|(port, class)| Op::Pfc { port, class }),
        1 => (port, 1u16..12).prop_map(|(port, queue)| Op::Pause { port, queue }),
        1 => (0..6 * US).prop_map(|ps| Op::Wait { ps }),
    ]
}

/// Generates SPFC configurations whose thresholds ports exceed, and whose intervals contain enough
/// packets.
fn victims_config() -> impl Strategy<Value = SwitchConfig> {
    let threshold = prop_oneof![
        (0u64..3000).prop_map(PfcThreshold::Static),
        (0.02f64..0.5).prop_map(|a| PfcThreshold::Dynamic(Alpha::new(a))),
    ];
    let beside = prop_oneof![
        Just(Beside::Bytes(0)),
        (1_000u64..20_000).prop_map(Beside::Bytes),
        Just(Beside::Buffer),
        Just(Beside::Unbounded),
    ];
    let yes = any::<bool>;
    let options = (yes(), yes(), yes(), yes());
    let spfc = (US / 2..3 * US, 20u32..200, options, beside);
    (threshold, 0u64..2000, any::<bool>(), spfc, 8_000u64..80_000).prop_map(
        |(threshold, xon_offset, headroom_beside, spfc, pool)| {
            let (interval_ps, k, options, beside) = spfc;
            let (bytes, detects_at_once, unpaused_waits, resumes_at_once) = options;
            let mut c = config();
            let count = match bytes {
                true => Departures::Bytes,
                false => Departures::Packets,
            };
            c.mmu.admission = Admission::Pfc(Pfc {
                accounting: Accounting::Pool,
                threshold,
                victims: Some(VictimConfig {
                    interval_ps,
                    k: k << 16,
                    rate: None,
                    count,
                    detects_at_once,
                    unpaused_waits,
                    resumes_at_once,
                    beside,
                }),
                xon_offset,
                frame_bytes: 64,
                headroom: Some(3000),
                headroom_pool: None,
                headroom_beside,
                response_ps: 0,
                pause: PauseTime::UntilResumed,
            });
            let (reserved, headroom, _) = dataplane::switch::division(&c, &[LINK; PORTS as usize]);
            c.mmu.buffer_bytes = reserved + headroom + pool;
            c
        },
    )
}

/// Generates bursts of data and short waits.
fn busy_op() -> impl Strategy<Value = Op> {
    let port = 0..PORTS;
    prop_oneof![
        6 => (port.clone(), 0..2u32, 60u16..1500, 2u8..4).prop_map(
            |(port, dst, size, class)| Op::Arrive { port, dst, flow: 1, size, class, upstream: 0 }
        ),
        5 => port.prop_map(|port| Op::Transmit { port }),
        3 => (0..US / 2).prop_map(|ps| Op::Wait { ps }),
    ]
}

// SPFC-01, SPFC-02, SPFC-03, SPFC-04, SPFC-05, SPFC-06, SPFC-07, SPFC-08, SPFC-09, SPFC-10, SPFC-11, SPFC-12,
// SPFC-15, SPFC-16, SPFC-17, SPFC-19, SPFC-20
#[test]
fn victim_ports_are_what_a_look_at_the_whole_past_says() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut sums = (0, 0, 0);
    for _ in 0..300 {
        let strategy = (
            victims_config(),
            proptest::collection::vec(busy_op(), 300..301),
        );
        let (config, ops) = strategy.new_tree(&mut runner).unwrap().current();
        let (mut bench, mut model) = (Bench::new(&config), Model::new(&config));
        for (psn, &op) in (0u32..).zip(&ops) {
            step(&mut bench, &mut model, psn, op);
            agree(&bench, &model);
        }
        let c = bench.switch.hop_counters();
        sums.0 += c["spfc_spared"];
        sums.1 += c["spfc_victim_pauses"];
        sums.2 += u64::from(c["spfc_beside_bytes"] > 0);
    }
    assert!(sums.0 > 300 && sums.1 > 30 && sums.2 > 5, "{sums:?}");
}

fn any_config() -> impl Strategy<Value = SwitchConfig> {
    let classify = prop_oneof![
        Just(Classify::Fifo),
        (1u16..6).prop_map(|queues| Classify::Hash { queues }),
        (1u16..6).prop_map(|queues| Classify::Dynamic {
            queues,
            table: 8,
            sticky_ps: 4 * US
        }),
    ];
    let schedule = prop_oneof![
        (300u32..3000).prop_map(|quantum| Schedule::Drr { quantum }),
        Just(Schedule::RoundRobin),
    ];
    let threshold = prop_oneof![
        (0u64..20_000).prop_map(PfcThreshold::Static),
        (0.1f64..4.0).prop_map(|a| PfcThreshold::Dynamic(Alpha::new(a))),
        Just(PfcThreshold::Equal),
    ];
    let admission = prop_oneof![
        Just(Admission::SharedPool),
        Just(Admission::Unlimited),
        (0.2f64..2.0).prop_map(|a| Admission::EgressDynamic {
            alpha: Alpha::new(a),
            per_queue: false
        }),
        (threshold, 0u64..4000, 0u64..6000, any::<bool>()).prop_map(
            |(threshold, xon_offset, headroom, headroom_beside)| {
                Admission::Pfc(Pfc {
                    accounting: Accounting::Pool,
                    threshold,
                    victims: None,
                    xon_offset,
                    frame_bytes: 64,
                    headroom: Some(headroom),
                    headroom_pool: None,
                    headroom_beside,
                    response_ps: 0,
                    pause: PauseTime::UntilResumed,
                })
            }
        ),
    ];
    (
        classify,
        schedule,
        admission,
        any::<bool>(),
        0u64..60_000,
        0u64..2000,
    )
        .prop_map(
            |(classify, schedule, admission, bfc, pool, reserved_bytes)| {
                let mut c = config();
                c.classify = classify;
                c.schedule = schedule;
                if bfc {
                    c.hop = HopConfig::Bfc(BFC);
                }
                c.mmu = MmuConfig {
                    buffer_bytes: 0,
                    reserved_bytes,
                    admission,
                };
                // The buffer is reserve and headroom, plus a shared pool.
                let ports = [LINK; PORTS as usize];
                let (reserved, headroom, _) = dataplane::switch::division(&c, &ports);
                c.mmu.buffer_bytes = reserved + headroom + pool;
                if admission == Admission::Unlimited {
                    c.mmu.buffer_bytes = 1 << 40;
                }
                c
            },
        )
}

/// Converts a packet that the switch sent to the model's form.
fn as_sent(packet: &Packet) -> Sent {
    if packet.is_frame() {
        Sent::Frame {
            scheme: packet.scheme(),
            on: packet.psn != 0,
            what: packet.hash,
        }
    } else {
        Sent::Packet {
            psn: packet.psn,
            queue: packet.upstream_queue,
        }
    }
}

/// Applies one operation to the switch and the model.
fn step(bench: &mut Bench, model: &mut Model, psn: u32, op: Op) {
    match op {
        Op::Arrive {
            port,
            dst,
            flow,
            size,
            class,
            upstream,
        } => {
            let kind = if class == 1 { Kind::Ack } else { Kind::Data };
            let packet = Packet {
                upstream_queue: upstream,
                size,
                tag: Packet::new(kind, class, 0).tag,
                ..data(flow, dst, psn)
            };
            bench.receive(port, packet);
            model.receive(port, &packet, bench.ears.draw);
        }
        Op::Transmit { port } => transmit(bench, model, port),
        Op::Pfc { port, class } => {
            let on = model.ports[port as usize].paused >> class & 1 == 0;
            bench.receive(port, pause_classes(on, 1 << class));
            model.ports[port as usize].paused ^= 1 << class;
        }
        Op::Pause { port, queue } => {
            if let Some(q) = model.ports[port as usize].queues.get(queue as usize) {
                let on = !q.paused;
                bench.receive(port, pause_queue(on, queue));
                // SW-46: a switch without BFC ignores BFC pauses.
                if model.config.hop != HopConfig::None {
                    model.set_queue_paused(port, queue, on);
                }
            }
        }
        Op::Wait { ps } => {
            bench.now += ps;
            model.now += ps;
        }
    }
}

#[track_caller]
fn transmit(bench: &mut Bench, model: &mut Model, port: u16) {
    let waits = bench.switch.waiting(port);
    let (ours, theirs) = (bench.send(port), model.transmit(port));
    assert_eq!(ours.as_ref().map(as_sent), theirs, "port {port}");
    assert_eq!(
        waits,
        theirs.is_some(),
        "`waiting` tells what `transmit` finds"
    );
}

#[track_caller]
fn agree(bench: &Bench, model: &Model) {
    bench.sound();
    assert_eq!(bench.ears.drops, model.drops);
    assert_eq!(bench.switch.buffer_used(), model.used());
    assert_eq!(bench.switch.hop_counters()["spfc_spared"], model.spared);
    for (port, p) in (0u16..).zip(&model.ports) {
        let bytes: u64 = p.queues.iter().flat_map(|q| &q.items).map(|i| i.size).sum();
        assert_eq!(bench.switch.queued(port).0, bytes, "port {port}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    // SW-01, SW-10, SW-12, SW-13, SW-14, SW-15, SW-16, SW-17, SW-18, SW-19, SW-20, SW-21, SW-22, SW-23, SW-24,
    // SW-26, SW-40, SW-41, SW-42, SW-44, BFC-01, BFC-02, BFC-03, BFC-04, BFC-05, BFC-06, BFC-07, BFC-09, BFC-10,
    // BFC-12, BFC-13, BFC-14, BFC-17, AUD-01, AUD-06
    #[test]
    fn the_switch_does_what_the_naive_model_does(
        config in any_config(),
        draw in any::<u64>(),
        ops in proptest::collection::vec(op(), 1..400),
    ) {
        let mut bench = Bench::new(&config);
        bench.ears.draw = draw;
        let mut model = Model::new(&config);
        for (psn, &op) in (0u32..).zip(&ops) {
            step(&mut bench, &mut model, psn, op);
            agree(&bench, &model);
        }
        // After all resumes and departures, the switch contains no packet.
        for port in 0..PORTS {
            for class in 1..4 {
                if model.ports[port as usize].paused >> class & 1 != 0 {
                    step(&mut bench, &mut model, 0, Op::Pfc { port, class });
                }
            }
            for queue in 1..model.ports[0].queues.len() as u16 {
                if model.ports[port as usize].queues[queue as usize].paused {
                    step(&mut bench, &mut model, 0, Op::Pause { port, queue });
                }
            }
        }
        // A departure can add frames to ports that the loop has already emptied.
        for port in (0..PORTS).chain(0..PORTS) {
            while bench.switch.waiting(port) {
                transmit(&mut bench, &mut model, port);
                agree(&bench, &model);
            }
        }
        prop_assert_eq!(bench.switch.buffer_used(), 0);
        prop_assert_eq!(bench.arena.alive(), 0);
        let c = bench.switch.hop_counters();
        prop_assert_eq!((c["pfc_pauses"], c["bfc_pauses"]), (c["pfc_resumes"], c["bfc_resumes"]));
    }
}
