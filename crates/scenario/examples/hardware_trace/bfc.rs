//! Prints the events of BFC at one switch, as test vectors for its circuit.
//!
//! Times are in ps and sizes in bytes. Queues are numbered from 0 within the data queues of a port.
//! Queue numbers in frames are those of the neighbour.
//!
//! | line | meaning |
//! |---|---|
//! | `enqueue TIME INGRESS EGRESS HASH UPSTREAM SIZE RANDOM QUEUE OVER PAUSE` | a data packet from the queue UPSTREAM joins QUEUE; RANDOM was drawn for it |
//! | `dequeue TIME INGRESS EGRESS HASH UPSTREAM SIZE QUEUE OVER RESUME` | a data packet leaves |
//! | `pause TIME PORT QUEUE ON`, `bitmap TIME PORT QUEUE...` | a frame of the downstream neighbour arrives |
//! | `lost TIME PORT QUEUE ON` | the link loses such a frame |
//! | `sent TIME PORT QUEUE ON`, `bits TIME PORT QUEUE...` | a frame to the upstream neighbour leaves |
//! | `timer TIME TICK` | the timer of the switch runs out; `TICK` is 1 if the switch sends its bitmaps |
//! | `bytes PORT QUEUE BYTES`, `counter INGRESS UPSTREAM COUNT`, `inside INGRESS EGRESS HASH` | state at the end: queues, pause counters, packets |
//! | `end TIME` | the end |

use fabric::NodeId;
use std::collections::BTreeMap;

use dataplane::config::{AssignBy, Classify, Schedule};
use dataplane::hop::HopConfig;
use dataplane::hop::bfc::{BfcConfig, Bitmap, PauseQueue, pause_thresholds};
use dataplane::ids::QueueId;
use dataplane::packet::{Frame, Packet, PacketId, flag};
use dataplane::switch::{DATA_CLASS, Holds, Switch, sticky_ps};
use dataplane::units::Time;
use fabric::engine::Plan;

use crate::network::{Network, Trace, View};

/// A data packet that is stored in the switch.
struct Inside {
    ingress: u16,
    hash: u32,
    upstream: u16,
    queue: QueueId,
    is_over: bool,
}

/// Trace of BFC at one switch.
pub struct BfcTrace {
    /// Node ID of the traced switch.
    node: u32,
    inside: BTreeMap<PacketId, Inside>,
    /// Number of data queues of a port.
    queues: u32,
    events: u64,
    resumes: u64,
    bitmaps: u64,
    /// One of this many arriving pause frames is lost; 0: none is lost.
    lost_one_in: u64,
    pause_frames: u64,
}

fn counter(switch: &Switch, name: &str) -> u64 {
    let counters = switch.hop_counters();
    counters.iter().find(|c| c.0 == name).map_or(0, |c| c.1)
}

fn config(plan: &Plan) -> Result<&BfcConfig, String> {
    match &plan.switch.hop {
        HopConfig::Bfc(config) => Ok(config),
        _ => Err("the scheme is not BFC".to_owned()),
    }
}

impl BfcTrace {
    /// Creates the trace and prints the configuration of the switch. One of `lost_one_in` arriving
    /// pause frames is lost.
    pub fn new(plan: &Plan, node: u32, lost_one_in: u64) -> Result<Self, String> {
        let bfc = config(plan)?;
        let Classify::Dynamic { queues, table, .. } = plan.switch.classify else {
            return Err("the scheme has no dynamic assignment".to_owned());
        };
        let Schedule::Drr { quantum } = plan.switch.schedule else {
            return Err("the scheme has no deficit round robin".to_owned());
        };
        let assign = &plan.switch.assign;
        let links = plan.graph.rates_and_delays(NodeId::from_bits(node));
        let pipelines = u32::from(assign.pipelines);
        println!("config ports {}", links.len());
        println!("config pipelines {pipelines}");
        println!("config queues {queues}");
        println!("config per_port {}", (table / pipelines).max(1));
        println!("config upstream {}", bfc.upstream_queues);
        println!("config sticky_ps {}", sticky_ps(&plan.switch, &links));
        println!("config quantum {quantum}");
        println!("config floor {}", bfc.floor_bytes);
        println!("config first_exempt {}", u8::from(bfc.first_exempt));
        println!(
            "config paused_eligible {}",
            u8::from(assign.paused_eligible)
        );
        println!(
            "config stochastic {}",
            u8::from(assign.by == AssignBy::Hash)
        );
        println!("config map_ps {}", assign.bitmap_ps.unwrap_or(0));
        println!("config first_queue {DATA_CLASS}");
        for (port, (_, bytes)) in pause_thresholds(bfc, &links).into_iter().enumerate() {
            println!("config threshold.{port} {bytes}");
        }
        Ok(Self {
            node,
            inside: BTreeMap::new(),
            queues: queues.into(),
            events: 0,
            resumes: 0,
            bitmaps: 0,
            lost_one_in,
            pause_frames: 0,
        })
    }

    /// Index of a queue among the data queues of its port.
    fn number(&self, queue: QueueId) -> u32 {
        let first = u32::from(DATA_CLASS);
        queue.index() as u32 % (first + self.queues) - first
    }
}

impl Trace for BfcTrace {
    fn follows(&self, node: u32) -> bool {
        node == self.node
    }

    fn loses(&mut self, now: Time, port: u16, packet: &Packet) -> bool {
        let Some(PauseQueue { on, queue }) = PauseQueue::read(packet) else {
            return false;
        };
        self.pause_frames += 1;
        let is_lost = self.lost_one_in > 0 && self.pause_frames.is_multiple_of(self.lost_one_in);
        if is_lost {
            println!("lost {now} {port} {queue} {}", u8::from(on));
        }
        is_lost
    }

    fn arrived(&mut self, view: &View<'_>, port: u16, id: PacketId, packet: &Packet, list: &[u32]) {
        let now = view.now;
        if let Some(PauseQueue { on, queue }) = PauseQueue::read(packet) {
            println!("pause {now} {port} {queue} {}", u8::from(on));
        } else if Bitmap::read(packet).is_some() {
            println!("bitmap {now} {port}{}", words(list));
        }
        if packet.is_frame() || packet.class() != DATA_CLASS || view.requests.dropped {
            return;
        }
        let here = view.arena.hot(id);
        let inside = Inside {
            ingress: port,
            hash: packet.hash,
            upstream: packet.upstream_queue,
            queue: here.location.queue(),
            is_over: here.has(flag::HOP_A),
        };
        println!(
            "enqueue {now} {port} {} {} {} {} {} {} {} {}",
            view.switch.port_of(here.location.queue()),
            packet.hash,
            packet.upstream_queue,
            packet.size,
            view.requests.random >> 48,
            self.number(here.location.queue()),
            u8::from(inside.is_over),
            u8::from(view.requests.pauses),
        );
        self.inside.insert(id, inside);
        self.events += 1;
    }

    fn left(&mut self, view: &View<'_>, port: u16, id: PacketId) {
        let now = view.now;
        let packet = view.arena.hot(id);
        if let Some(PauseQueue { on, queue }) = PauseQueue::read(packet) {
            println!("sent {now} {port} {queue} {}", u8::from(on));
        } else if Bitmap::read(packet).is_some() {
            println!("bits {now} {port}{}", words(view.arena.list(id)));
        }
        let Some(inside) = self.inside.remove(&id) else {
            return;
        };
        let resumes = counter(view.switch, "bfc_resumes");
        println!(
            "dequeue {now} {} {port} {} {} {} {} {} {}",
            inside.ingress,
            inside.hash,
            inside.upstream,
            packet.size,
            self.number(inside.queue),
            u8::from(inside.is_over),
            resumes - self.resumes,
        );
        self.resumes = resumes;
        self.events += 1;
    }

    fn timer(&mut self, view: &View<'_>) {
        let bitmaps = counter(view.switch, "bfc_bitmaps");
        println!("timer {} {}", view.now, u8::from(bitmaps > self.bitmaps));
        self.bitmaps = bitmaps;
    }

    fn events(&self) -> u64 {
        self.events
    }

    fn print_state(&self, network: &Network) -> Result<(), String> {
        let (switch, arena) = (network.switch(self.node), &network.arena);
        for port in 0..switch.ports() {
            switch.for_each_queue(port, |state| {
                if switch.class_of(state.queue) == DATA_CLASS {
                    println!("bytes {port} {} {}", self.number(state.queue), state.bytes);
                }
            });
        }
        let mut counters: BTreeMap<(u16, u32), u32> = BTreeMap::new();
        switch.for_each_hold(arena, |ingress, holds, _, _| {
            if let Holds::Named(queue) = holds {
                *counters.entry((ingress, queue)).or_default() += 1;
            }
        });
        for ((ingress, queue), count) in counters {
            println!("counter {ingress} {queue} {count}");
        }
        for inside in self.inside.values() {
            let port = inside.queue.index() as u32 / (u32::from(DATA_CLASS) + self.queues);
            println!("inside {} {port} {}", inside.ingress, inside.hash);
        }
        network.print_end(self.node)
    }
}

fn words(list: &[u32]) -> String {
    list.iter().map(|word| format!(" {word}")).collect()
}
