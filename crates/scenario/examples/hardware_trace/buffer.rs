//! Prints the inputs and decisions of the lossless buffer of one switch, as test vectors for its
//! circuit.
//!
//! The scenario has one switch with a host at each port. Times are in ps and sizes in bytes.
//!
//! | line | meaning |
//! |---|---|
//! | `enqueue TIME PORT SIZE DROPPED XOFF` | a data packet arrives at the ingress PORT |
//! | `dequeue TIME PORT SIZE XON` | a data packet that arrived at the ingress PORT leaves |
//! | `frame TIME HOST QUANTA` | a pause frame arrives at a host; 0 quanta resume |
//! | `paused TIME HOST 0\|1` | the class is paused or resumed at the host |
//! | `level PORT BYTES VICTIM` | state at the end: bytes of an ingress, and 1 if it is a victim port |
//! | `pool USED` | bytes of the pool in use at the end |
//! | `end TIME` | the end |

use dataplane::classes::{ClassSet, MAX_CLASSES, traffic_class};
use dataplane::config::{Admission, Departures, PfcThreshold};
use dataplane::hop::pfc::{PauseFor, counting_number, said};
use dataplane::packet::{Arena, Frame, Packet, PacketId};
use dataplane::switch::{DATA_CLASS, SwitchConfig, division, headroom_of, pausable_classes};
use dataplane::units::{Rate, Time};
use fabric::NodeId;
use fabric::engine::Plan;

use crate::network::{Network, Trace, View};

/// Trace of the buffer of the only switch.
pub struct BufferTrace {
    node: u32,
    config: SwitchConfig,
    events: u64,
}

impl BufferTrace {
    /// Creates the trace and prints the configuration of the buffer.
    pub fn new(plan: &Plan) -> Result<Self, String> {
        let graph = &plan.graph;
        if graph.switches() != 1 || graph.host_ids().any(|host| graph.ports(host) != 1) {
            return Err(
                "the scenario needs one switch, with each host on one of its ports".to_owned(),
            );
        }
        let node = graph.hosts();
        print_config(
            &plan.switch,
            &graph.rates_and_delays(NodeId::from_bits(node)),
        )?;
        Ok(Self {
            node,
            config: plan.switch.clone(),
            events: 0,
        })
    }

    fn is_lossless(&self, packet: &Packet) -> bool {
        let class = &self.config.classes[usize::from(packet.class())];
        !packet.is_frame() && class.buffered && class.pausable
    }
}

impl Trace for BufferTrace {
    fn host_receives(&mut self, now: Time, host: u32, id: PacketId, arena: &Arena) {
        let packet = arena.hot(id);
        if let Some(frame) = PauseFor::read(packet) {
            println!("frame {now} {host} {}", frame.quanta);
        } else if let Some((false, _)) = said(packet) {
            println!("frame {now} {host} 0");
        }
    }

    fn host_paused(&mut self, now: Time, host: u32, paused: ClassSet) {
        println!("paused {now} {host} {}", u8::from(paused != 0));
    }

    fn arrived(&mut self, view: &View<'_>, port: u16, _: PacketId, packet: &Packet, _: &[u32]) {
        if self.is_lossless(packet) {
            let dropped = u8::from(view.requests.dropped);
            let xoff = u8::from(view.requests.xoff);
            println!(
                "enqueue {} {port} {} {dropped} {xoff}",
                view.now, packet.size
            );
            self.events += 1;
        }
    }

    fn left(&mut self, view: &View<'_>, _port: u16, id: PacketId) {
        let packet = view.arena.hot(id);
        if self.is_lossless(packet) {
            let xon = u8::from(view.requests.xon);
            println!(
                "dequeue {} {} {} {xon}",
                view.now, packet.ingress, packet.size
            );
            self.events += 1;
        }
    }

    fn events(&self) -> u64 {
        self.events
    }

    fn print_state(&self, network: &Network) -> Result<(), String> {
        let switch = network.switch(self.node);
        let level = |port| switch.ingress(network.now, port, DATA_CLASS);
        for port in 0..switch.ports() {
            let level = level(port);
            println!(
                "level {port} {} {}",
                level.held_bytes,
                u8::from(level.victim)
            );
        }
        println!("pool {}", level(0).pool_bytes);
        network.print_end(self.node)
    }
}

/// Prints the configuration of the buffer.
fn print_config(config: &SwitchConfig, links: &[(Rate, Time)]) -> Result<(), String> {
    let Admission::Pfc(pfc) = &config.mmu.admission else {
        return Err("the scheme has no PFC: its buffer makes no decision".to_owned());
    };
    let (reserve, headroom, pool) = division(config, links);
    let ports = links.len();
    let class = (0..MAX_CLASSES as u8).find(|&class| {
        let class = config.classes.get(usize::from(class));
        class.is_some_and(|class| class.buffered && class.pausable)
    });
    println!("config ports {ports}");
    let class = class
        .and_then(traffic_class)
        .ok_or("no class is pausable")?;
    println!("config class {class}");
    println!("config reserve {}", reserve / ports as u64);
    println!("config headrooms {headroom}");
    for (port, &link) in links.iter().enumerate() {
        let bytes = headroom_of(config, pfc, link);
        println!("config headroom.{port} {bytes}");
        println!("config rate_bps.{port} {}", link.0.bps());
    }
    println!("config xon_offset {}", pfc.xon_offset);
    println!("config buffer_bytes {}", config.mmu.buffer_bytes);
    println!("config pool_bytes {pool}");
    let last = u64::from(config.max_frame) * ports as u64;
    println!("config last_frames {last}");
    match pfc.threshold {
        PfcThreshold::Static(bytes) => println!("config fixed_threshold {bytes}"),
        PfcThreshold::Dynamic(alpha) => println!("config alpha {}", alpha.0),
        PfcThreshold::Equal => {
            let share = config.mmu.buffer_bytes / ports as u64;
            println!("config fixed_threshold {share}");
        }
    }
    if let Some(victims) = &pfc.victims {
        let ingresses = (ports * pausable_classes(config)) as u64;
        let beside = victims.beside.bytes(config.mmu.buffer_bytes, ingresses);
        println!("config beside {beside}");
        println!("config interval_ps {}", victims.interval_ps);
        let bytes = victims.count == Departures::Bytes;
        println!("config counts_bytes {}", u8::from(bytes));
        println!(
            "config victim_at_count {}",
            u8::from(victims.detects_at_once)
        );
        println!(
            "config resume_at_once {}",
            u8::from(victims.resumes_at_once)
        );
        println!(
            "config waits_for_resume {}",
            u8::from(victims.unpaused_waits)
        );
        for (port, &(rate, _)) in links.iter().enumerate() {
            let number = counting_number(victims, rate, config.max_frame);
            println!("config counting_number.{port} {number}");
        }
    }
    Ok(())
}
