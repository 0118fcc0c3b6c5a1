//! Samples all switches every few microseconds of simulated time. It does not change results.

use dataplane::packet::{Arena, Kind};
use dataplane::switch::Switch;
use dataplane::units::Time;

use super::long_queues::{LongQueues, OfFlow};
use super::network::Network;
use crate::ids::NodeId;
use crate::record::{BufferSample, Recorder};
use crate::topology::Graph;

/// Minimum number of bytes of a long queue, whose contents are cached between probes.
const LONG_BYTES: u64 = 1 << 16;

/// Largest value of the histogram of active flows. Higher numbers of flows count as this value.
const MOST_FLOWS: usize = 4096;

/// The active flows of a port are counted at every 8th probe, alternately for the ports, because
/// counting visits every queued packet.
const TURN: usize = 8;

/// A set of numbers that can be cleared in constant time.
#[derive(Debug)]
struct Stamps {
    slots: Vec<(u32, u32)>,
    stamp: u32,
    len: usize,
}

impl Stamps {
    fn new() -> Self {
        Self {
            slots: vec![(0, 0); 1024],
            stamp: 0,
            len: 0,
        }
    }

    fn clear(&mut self) {
        self.len = 0;
        self.stamp += 1;
        if self.stamp == u32::MAX {
            self.slots.fill((0, 0));
            self.stamp = 1;
        }
    }

    fn insert(&mut self, key: u32) {
        if self.len * 2 >= self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut at = key.wrapping_mul(0x9e37_79b1) as usize & mask;
        while self.slots[at].0 == self.stamp {
            if self.slots[at].1 == key {
                return;
            }
            at = (at + 1) & mask;
        }
        self.slots[at] = (self.stamp, key);
        self.len += 1;
    }

    fn grow(&mut self) {
        let old = std::mem::take(&mut self.slots);
        self.slots = vec![(0, 0); old.len() * 2];
        self.len = 0;
        for (stamp, key) in old {
            if stamp == self.stamp {
                self.insert(key);
            }
        }
    }
}

/// Returns true if the active flows of port `number` are counted in this round.
const fn has_turn(number: usize, round: usize) -> bool {
    (number + round).is_multiple_of(TURN)
}

/// The probes of a run.
#[derive(Debug)]
pub(super) struct Probes {
    /// Histogram of active flows, per port of all switches: element n is the number of probes at
    /// which n flows were active.
    active: Vec<Vec<u64>>,
    ports: Vec<u16>,
    first_switch: u32,
    seen: Stamps,
    long: LongQueues<OfFlow>,
    /// Number of probes so far.
    round: usize,
    samples: Vec<BufferSample>,
}

impl Probes {
    pub fn new(graph: &Graph) -> Self {
        let ports: Vec<u16> = graph.switch_ids().map(|node| graph.ports(node)).collect();
        let all = ports.iter().map(|&n| n as usize).sum();
        Self {
            active: vec![Vec::new(); all],
            ports,
            first_switch: graph.hosts(),
            seen: Stamps::new(),
            long: LongQueues::default(),
            round: 0,
            samples: Vec::new(),
        }
    }

    /// Records a probe of every switch.
    // ENG-30, ENG-31
    pub fn look<C>(&mut self, at_ps: Time, net: &Network<C>, recorder: &mut dyn Recorder) {
        self.samples.clear();
        self.look_at_long(net);
        let mut first = 0usize;
        for (index, (node, switch, arena)) in net.each_switch().enumerate() {
            let ports = self.ports[index];
            let mut max_port_bytes = 0;
            for port in 0..ports {
                let (bytes, _) = switch.queued(port);
                let held = switch.held(port).map_or(0, |held| held.0);
                max_port_bytes = max_port_bytes.max(bytes + held);
                if !has_turn(first + port as usize, self.round) {
                    continue;
                }
                let flows = if bytes == 0 {
                    0
                } else {
                    self.active_flows((first + port as usize) as u32, switch, port, arena)
                };
                let counts = &mut self.active[first + port as usize];
                if counts.len() <= flows {
                    counts.resize(flows + 1, 0);
                }
                counts[flows] += 1;
            }
            first += ports as usize;
            self.samples.push(BufferSample {
                at_ps,
                from_ps: at_ps,
                probes: 1,
                node,
                used_bytes: switch.buffer_used(),
                max_port_bytes,
            });
        }
        self.round += 1;
        recorder.rows(&self.samples);
    }

    /// Returns the switch with the most buffered bytes at the last probe, and these bytes; `None`:
    /// all buffers were empty.
    pub fn fullest(&self) -> Option<(NodeId, u64)> {
        let held = self.samples.iter().map(|s| (s.node, s.used_bytes));
        held.filter(|&(_, bytes)| bytes > 0)
            .max_by_key(|&(node, bytes)| (bytes, std::cmp::Reverse(node)))
    }

    /// Counts the active flows of long queues, at the ports that are counted in this round.
    fn look_at_long<C>(&mut self, net: &Network<C>) {
        let switches = net.each_switch().zip(&self.ports);
        let ports = switches.flat_map(|((_, switch, arena), &ports)| {
            (0..ports).map(move |port| (switch, port, arena))
        });
        let round = self.round;
        let mut reader = self.long.read();
        for (number, (switch, port, arena)) in ports.enumerate() {
            if has_turn(number, round) && switch.queued(port).0 >= LONG_BYTES {
                switch.for_each_queue(port, |queue| {
                    if queue.bytes >= LONG_BYTES {
                        reader.add(number as u32, queue, arena);
                    }
                });
            }
        }
        reader.read();
    }

    /// Records `probes` probes of an empty network, the first at `from_ps`, the last at `at_ps`.
    // ENG-33
    pub fn look_at_nothing(
        &mut self,
        from_ps: Time,
        at_ps: Time,
        probes: u64,
        recorder: &mut dyn Recorder,
    ) {
        for (port, counts) in self.active.iter_mut().enumerate() {
            // ENG-31: number of these probes at which the active flows of this port are counted.
            let first = (TURN - (port + self.round) % TURN) % TURN;
            let turns = (probes + (TURN - 1 - first) as u64) / TURN as u64;
            if turns > 0 {
                counts.resize(counts.len().max(1), 0);
                counts[0] += turns;
            }
        }
        // `round` is only used modulo `TURN`.
        self.round += (probes % TURN as u64) as usize;
        self.samples.clear();
        let nodes = self.first_switch..self.first_switch + self.ports.len() as u32;
        self.samples
            .extend(nodes.map(NodeId::from_bits).map(|node| BufferSample {
                at_ps,
                from_ps,
                probes,
                node,
                used_bytes: 0,
                max_port_bytes: 0,
            }));
        recorder.rows(&self.samples);
    }

    /// Returns the number of active flows of a port: those with at least one queued data packet.
    /// `number` is the index of the port among all switch ports.
    fn active_flows(&mut self, number: u32, switch: &Switch, port: u16, arena: &Arena) -> usize {
        self.seen.clear();
        let (seen, long) = (&mut self.seen, &mut self.long);
        switch.for_each_queue(port, |queue| {
            if queue.bytes >= LONG_BYTES {
                long.counts(number, queue.queue)
                    .for_each(|(OfFlow(flow), _)| seen.insert(flow));
                return;
            }
            long.forget(number, queue.queue);
            let mut last = None; // packets of a flow are often adjacent
            queue.for_each(arena, |id| {
                let packet = arena.hot(id);
                if packet.kind() == Kind::Data && last != Some(packet.flow) {
                    seen.insert(packet.flow);
                    last = Some(packet.flow);
                }
            });
        });
        self.seen.len.min(MOST_FLOWS)
    }

    /// Removes and returns the histogram of active flows of a port. `port` is its index among all
    /// switch ports.
    pub fn take_active(&mut self, port: usize) -> Vec<u64> {
        std::mem::take(&mut self.active[port])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_count_distinct_keys_and_forget_at_once() {
        let mut s = Stamps::new();
        s.clear();
        for key in 0..5000u32 {
            s.insert(key % 1700);
        }
        assert_eq!(s.len, 1700);
        s.clear();
        s.insert(3);
        s.insert(3);
        assert_eq!(s.len, 1);
    }
}
