//! Prints the events of Floodgate at one switch, as test vectors for its circuit.
//!
//! Times are in ps and sizes in bytes.
//!
//! | line | meaning |
//! |---|---|
//! | `packet TIME DST BELOW LAST_HOP SIZE HELD` | a data packet arrives; HELD is 1 if the switch puts it into a VOQ |
//! | `credit TIME PORT [DST UNITS]...` | a frame of credits arrives from the next hop |
//! | `released TIME DST` | because of the line before, a packet leaves its VOQ |
//! | `earn TIME INGRESS DST SIZE` | a packet leaves that came from a switch |
//! | `sent TIME PORT [DST UNITS]...` | a frame of credits leaves |
//! | `timer TIME 0` | the timer of the switch runs out |
//! | `window UNITS`, `voq DST VOQ PACKETS` | state at the end: sum of all in flight, VOQs |
//! | `end TIME` | the end |

use fabric::{LinkId, NodeId};
use std::collections::HashMap;
use std::sync::Arc;

use dataplane::hop::HopConfig;
use dataplane::hop::floodgate::{Amount, Credit, Credits, FloodgateConfig, Voqs, WindowUnit};
use dataplane::packet::{Frame, Kind, Packet, PacketId, flag};
use fabric::engine::{Plan, upward};
use fabric::topology::Graph;

use crate::network::{Network, Trace, View};

/// A data packet that is stored in the switch.
struct Inside {
    ingress: u16,
    dst: u32,
}

/// Trace of Floodgate at one switch.
pub struct FloodgateTrace {
    graph: Arc<Graph>,
    node: u32,
    upward: Vec<bool>,
    inside: HashMap<PacketId, Inside>,
    events: u64,
}

fn config(plan: &Plan) -> Result<&FloodgateConfig, String> {
    match &plan.switch.hop {
        HopConfig::Floodgate(config) => Ok(config),
        _ => Err("the scheme is not Floodgate".to_owned()),
    }
}

impl FloodgateTrace {
    /// Creates the trace and prints the configuration of the switch.
    pub fn new(plan: &Plan, node: u32) -> Result<Self, String> {
        let floodgate = config(plan)?;
        let windows = floodgate.windows().ok_or("the scheme has no windows")?;
        let credit = windows.credit;
        let Some(aggregation) = credit.aggregation else {
            return Err(
                "the circuit aggregates credits: set floodgate.credit = \"timer\"".to_owned(),
            );
        };
        if windows.numbers_timeout_ps.is_some() {
            return Err("the circuit has no numbers: set floodgate.loss = \"off\"".to_owned());
        }
        let Amount::Bytes(window) = windows.initial else {
            return Err("the circuit has one window: set floodgate.window to a size".to_owned());
        };
        let Voqs::Pool { count, groups } = floodgate.voqs else {
            return Err("the circuit has a pool of VOQs: set floodgate.voqs".to_owned());
        };
        let links = plan.graph.rates_and_delays(NodeId::from_bits(node));
        let most = |amount: Amount| links.iter().map(|&link| amount.bytes(link)).max();
        let frame = u64::from(plan.switch.max_frame);
        let in_bytes = windows.unit == WindowUnit::Bytes;
        let initial = match in_bytes {
            true => window.max(frame),
            false => window.div_ceil(frame).max(1),
        };
        println!("config ports {}", links.len());
        println!("config destinations {}", plan.graph.endpoints());
        println!("config voqs {count}");
        println!("config groups {}", u8::from(groups));
        println!("config initial {initial}");
        println!("config in_bytes {}", u8::from(in_bytes));
        println!("config hashed {}", windows.entries.unwrap_or(0));
        println!(
            "config delay_bytes {}",
            credit.delay.and_then(most).unwrap_or(0)
        );
        println!("config interval_ps {}", aggregation.interval_ps);
        println!(
            "config generator_ps {}",
            aggregation.generator_ps.unwrap_or(0)
        );
        println!("config vup_ps {}", floodgate.vup_ps.unwrap_or(0));
        Ok(Self {
            upward: upward(&plan.graph, NodeId::from_bits(node)),
            graph: Arc::clone(&plan.graph),
            node,
            inside: HashMap::new(),
            events: 0,
        })
    }

    fn print_released(view: &View<'_>) {
        for &id in &view.requests.released {
            println!("released {} {}", view.now, view.arena.hot(id).dst);
        }
    }
}

impl Trace for FloodgateTrace {
    fn follows(&self, node: u32) -> bool {
        node == self.node
    }

    fn arrived(&mut self, view: &View<'_>, port: u16, id: PacketId, packet: &Packet, list: &[u32]) {
        let now = view.now;
        let credits: Vec<Credit> = match Credit::read(packet) {
            Some(credit) => vec![credit],
            None if Credits::read(packet).is_some() => Credits::named(list).collect(),
            None => Vec::new(),
        };
        if !credits.is_empty() {
            println!("credit {now} {port}{}", pairs(&credits));
        } else if !packet.is_frame() && packet.kind() == Kind::Data && !view.requests.dropped {
            let here = view.arena.hot(id);
            let is_held = here.has(flag::PARKED);
            let src = view.arena.cold(id).src;
            let egress = view.switch.way(here, src);
            println!(
                "packet {now} {} {} {} {} {}",
                packet.dst,
                egress.map_or(0, |port| u8::from(!self.upward[usize::from(port)])),
                u8::from(
                    self.graph.hosts() + self.graph.switch_of(LinkId::from_bits(packet.dst))
                        == self.node
                ),
                packet.size,
                u8::from(is_held),
            );
            let ingress = port;
            let dst = packet.dst;
            self.inside.insert(id, Inside { ingress, dst });
            self.events += 1;
        }
        Self::print_released(view);
    }

    fn left(&mut self, view: &View<'_>, port: u16, id: PacketId) {
        let packet = view.arena.hot(id);
        if let Some(credit) = Credit::read(packet) {
            println!("sent {} {port}{}", view.now, pairs(&[credit]));
        } else if Credits::read(packet).is_some() {
            let credits: Vec<Credit> = Credits::named(view.arena.list(id)).collect();
            println!("sent {} {port}{}", view.now, pairs(&credits));
        }
        if let Some(Inside { ingress, dst }) = self.inside.remove(&id) {
            // Floodgate sends no credits to hosts.
            let index = self.graph.link(NodeId::from_bits(self.node), ingress);
            if self.graph.port(index).peer >= NodeId::from_bits(self.graph.hosts()) {
                println!("earn {} {ingress} {dst} {}", view.now, packet.size);
            }
            self.events += 1;
        }
        Self::print_released(view);
    }

    fn timer(&mut self, view: &View<'_>) {
        println!("timer {} 0", view.now);
        Self::print_released(view);
    }

    fn events(&self) -> u64 {
        self.events
    }

    fn print_state(&self, network: &Network) -> Result<(), String> {
        let switch = network.switch(self.node);
        let books = switch.credit_sums();
        println!("window {}", books.map_or(0, |books| books.in_flight));
        for dst in self.graph.endpoint_ids() {
            if let Some((voq, packets)) = switch.voq_of(dst.bits()) {
                println!("voq {dst} {voq} {packets}");
            }
        }
        network.print_end(self.node)
    }
}

fn pairs(credits: &[Credit]) -> String {
    let of = credits.iter().map(|c| format!(" {} {}", c.dst, c.units));
    of.collect()
}
