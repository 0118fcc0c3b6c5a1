//! Writes what the lossless buffer of a switch receives and decides, for the circuits in `hardware/`.
//!
//! `cargo run --release -p backwater-scenario --example hardware_trace -- SCENARIO SCHEME EVENTS [KEY=VALUE]...`
//!
//! The scenario has one switch with a host at each port. Hosts and switch are the state machines of the
//! simulator; this program only carries packets between them. It stops after EVENTS packets have arrived
//! at the switch or left it. The output has these lines, with times in ps and sizes in bytes:
//!
//! | line | meaning |
//! |---|---|
//! | `config KEY VALUE...` | the configuration of the buffer |
//! | `enqueue TIME PORT SIZE accept\|drop [xoff]` | a data packet arrives at the ingress PORT |
//! | `dequeue TIME PORT SIZE [xon]` | a data packet that arrived at the ingress PORT leaves |
//! | `level PORT HELD VICTIM` | what the ingress holds at the end |
//! | `pool USED` | bytes of the pool in use at the end |
//! | `frame TIME HOST QUANTA` | a pause frame arrives at a host; 0 quanta resume |
//! | `paused TIME HOST 0\|1` | the class is paused or resumed at the host |
#![allow(clippy::print_stdout)]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::error::Error;
use std::path::Path;

use dataplane::classes::{ClassSet, MAX_CLASSES, traffic_class};
use dataplane::config::{Admission, Departures, PfcThreshold};
use dataplane::hop::pfc::{PauseFor, counting_number, said};
use dataplane::nic::{FlowEnd, Nic};
use dataplane::packet::{Arena, Frame, Packet, PacketId};
use dataplane::sink::{DropCause, Level, Sink};
use dataplane::switch::{Switch, SwitchConfig, division, headroom_of, pausable_classes};
use dataplane::units::{NEVER, Rate, Time};
use fabric::engine::{Plan, SingleHost};
use scenario::{Changes, Scenario};
use traffic::Flow;

/// What a state machine requests of this driver during one call.
#[derive(Default)]
struct Requests {
    kicks: Vec<u16>,
    timers: Vec<Time>,
    dropped: bool,
    xoff: bool,
    xon: bool,
    /// Classes that a received pause frame or the end of its time changed: before and after.
    paused: Option<(ClassSet, ClassSet)>,
    random: u64,
}

impl Sink for Requests {
    fn kick(&mut self, port: u16) {
        self.kicks.push(port);
    }
    fn wake(&mut self, at: Time) {
        self.timers.push(at);
    }
    fn dropped(&mut self, _packet: &Packet, _port: Option<u16>, _cause: DropCause) {
        self.dropped = true;
    }
    fn call(&mut self, at: Time, _what: u32) {
        self.timers.push(at);
    }
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random
            .rotate_left(29)
            .wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }
    fn pfc_received(&mut self, _port: u16, before: ClassSet, after: ClassSet) {
        self.paused = Some((before, after));
    }
    fn pfc_sent(&mut self, _: u16, _: u8, _: PacketId, _: impl FnOnce() -> Level) {
        self.xoff = true;
    }
    fn pfc_resume_sent(&mut self, _: u16, _: u8, _: PacketId) {
        self.xon = true;
    }
    fn finished(&mut self, _end: FlowEnd) {}
}

/// Events of one instant, in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A packet has arrived whole at a node.
    Arrival(u32, u16, PacketId),
    Timer(u32),
    Start,
    /// A port may send.
    Egress(u32, u16),
}

/// A star of hosts around one switch.
struct Star {
    now: Time,
    arena: Arena,
    nics: Vec<Nic>,
    switch: Switch,
    config: SwitchConfig,
    /// Rate, delay and next time at which the link is free, of the host's port and of the switch's.
    links: Vec<(Rate, Time)>,
    free: [Vec<Time>; 2],
    calendar: BinaryHeap<Reverse<(Time, Event, u64)>>,
    scheduled: u64,
    requests: Requests,
    events: u64,
}

impl Star {
    fn new(plan: &Plan, host: &SingleHost) -> Self {
        let hosts = plan.graph.hosts();
        let links = plan.graph.links(hosts);
        Self {
            now: 0,
            arena: Arena::new(),
            nics: (0..hosts).map(|number| host.nic(plan, number)).collect(),
            switch: Switch::new(hosts, &plan.switch, &links, plan.routes[0].clone()),
            config: plan.switch.clone(),
            free: [vec![0; links.len()], vec![0; links.len()]],
            links,
            calendar: BinaryHeap::new(),
            scheduled: 0,
            requests: Requests::default(),
            events: 0,
        }
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.scheduled += 1;
        self.calendar.push(Reverse((at, event, self.scheduled)));
    }

    /// Schedules what the last call of a node requested, and prints changes of its pauses.
    fn serve(&mut self, node: u32) {
        for at in std::mem::take(&mut self.requests.timers) {
            if at != NEVER {
                self.schedule(at, Event::Timer(node));
            }
        }
        for port in std::mem::take(&mut self.requests.kicks) {
            self.schedule(self.now, Event::Egress(node, port));
        }
        if let Some((before, after)) = self.requests.paused.take()
            && before != after
        {
            println!("paused {} {node} {}", self.now, u8::from(after != 0));
        }
    }

    fn is_lossless(&self, packet: &Packet) -> bool {
        let class = &self.config.classes[usize::from(packet.class())];
        !packet.is_frame() && class.buffered && class.pausable
    }

    fn arrive(&mut self, node: u32, port: u16, id: PacketId) {
        let packet = *self.arena.hot(id);
        let (now, arena, requests) = (self.now, &mut self.arena, &mut self.requests);
        if let Some(nic) = self.nics.get_mut(node as usize) {
            if let Some(frame) = PauseFor::read(&packet) {
                println!("frame {now} {node} {}", frame.quanta);
            } else if let Some((false, _)) = said(&packet) {
                println!("frame {now} {node} 0");
            }
            nic.receive(now, port, id, arena, requests);
        } else {
            (requests.dropped, requests.xoff) = (false, false);
            self.switch.receive(now, port, id, arena, requests);
            if self.is_lossless(&packet) {
                let taken = ["accept", "drop"][usize::from(self.requests.dropped)];
                let xoff = ["", " xoff"][usize::from(self.requests.xoff)];
                println!("enqueue {now} {port} {} {taken}{xoff}", packet.size);
                self.events += 1;
            }
        }
        self.serve(node);
    }

    fn transmit(&mut self, node: u32, port: u16) {
        let is_host = (node as usize) < self.nics.len();
        // The port of the switch that this link has.
        let link = if is_host { node as usize } else { port.into() };
        let free = self.free[usize::from(is_host)][link];
        if free > self.now {
            return self.schedule(free, Event::Egress(node, port));
        }
        let (now, arena, requests) = (self.now, &mut self.arena, &mut self.requests);
        requests.xon = false;
        let sent = match self.nics.get_mut(node as usize) {
            Some(nic) => nic.transmit(now, port, arena, requests),
            None => self.switch.transmit(now, port, arena, requests),
        };
        if let Some(id) = sent {
            let packet = *self.arena.hot(id);
            if !is_host && self.is_lossless(&packet) {
                let xon = ["", " xon"][usize::from(self.requests.xon)];
                println!("dequeue {now} {} {}{xon}", packet.ingress, packet.size);
                self.events += 1;
            }
            let (rate, delay_ps) = self.links[link];
            let free = now + rate.serialisation_ps(u64::from(packet.size));
            self.free[usize::from(is_host)][link] = free;
            self.schedule(free, Event::Egress(node, port));
            let (to, in_port) = match is_host {
                true => (self.nics.len() as u32, node as u16),
                false => (u32::from(port), 0),
            };
            self.schedule(free + delay_ps, Event::Arrival(to, in_port, id));
        }
        self.serve(node);
    }

    fn run(&mut self, host: &mut SingleHost, feed: &mut dyn Iterator<Item = Flow>, events: u64) {
        let mut next = feed.next();
        if let Some(flow) = &next {
            self.schedule(flow.start_ps, Event::Start);
        }
        let mut started = 0;
        while self.events < events
            && let Some(Reverse((now, event, _))) = self.calendar.pop()
        {
            self.now = now;
            match event {
                Event::Arrival(node, port, id) => self.arrive(node, port, id),
                Event::Egress(node, port) => self.transmit(node, port),
                Event::Timer(node) => {
                    let (arena, requests) = (&mut self.arena, &mut self.requests);
                    match self.nics.get_mut(node as usize) {
                        Some(nic) => nic.timer(now, arena, requests),
                        None => self.switch.timer(now, arena, requests),
                    }
                    self.serve(node);
                }
                Event::Start => {
                    while let Some(flow) = next.take_if(|flow| flow.start_ps <= now) {
                        let (start, _) = host.flow(&flow, started);
                        started += 1;
                        let nic = &mut self.nics[flow.src as usize];
                        nic.start(now, &start, &mut self.requests);
                        self.serve(flow.src);
                        next = feed.next();
                    }
                    if let Some(flow) = &next {
                        self.schedule(flow.start_ps, Event::Start);
                    }
                }
            }
        }
    }

    /// Prints the configuration of the buffer.
    fn print_config(&self) -> Result<(), String> {
        let Admission::Pfc(pfc) = &self.config.mmu.admission else {
            return Err("the scheme has no PFC: its buffer makes no decision".to_owned());
        };
        let (reserve, headroom, pool) = division(&self.config, &self.links);
        let ports = self.links.len();
        let class = (0..MAX_CLASSES as u8).find(|&class| {
            let class = self.config.classes.get(usize::from(class));
            class.is_some_and(|class| class.buffered && class.pausable)
        });
        println!("config ports {ports}");
        let class = class
            .and_then(traffic_class)
            .ok_or("no class is pausable")?;
        println!("config class {class}");
        println!("config reserve {}", reserve / ports as u64);
        println!("config headrooms {headroom}");
        for (port, &link) in self.links.iter().enumerate() {
            let bytes = headroom_of(&self.config, pfc, link);
            println!("config headroom.{port} {bytes}");
            println!("config rate_bps.{port} {}", link.0.bps());
        }
        println!("config xon_offset {}", pfc.xon_offset);
        println!("config buffer_bytes {}", self.config.mmu.buffer_bytes);
        println!("config pool_bytes {pool}");
        let last = u64::from(self.config.max_frame) * ports as u64;
        println!("config last_frames {last}");
        match pfc.threshold {
            PfcThreshold::Static(bytes) => println!("config fixed_threshold {bytes}"),
            PfcThreshold::Dynamic(alpha) => println!("config alpha {}", alpha.0),
            PfcThreshold::Equal => {
                let share = self.config.mmu.buffer_bytes / ports as u64;
                println!("config fixed_threshold {share}");
            }
        }
        if let Some(victims) = &pfc.victims {
            let ingresses = (ports * pausable_classes(&self.config)) as u64;
            let beside = victims
                .beside
                .bytes(self.config.mmu.buffer_bytes, ingresses);
            println!("config beside {beside}");
            println!("config interval_ps {}", victims.interval_ps);
            let bytes = victims.count == Departures::Bytes;
            println!("config counts_bytes {}", u8::from(bytes));
            println!(
                "config resume_at_once {}",
                u8::from(victims.resumes_at_once)
            );
            println!(
                "config waits_for_resume {}",
                u8::from(victims.unpaused_waits)
            );
            for (port, &(rate, _)) in self.links.iter().enumerate() {
                let number = counting_number(victims, rate, self.config.max_frame);
                println!("config counting_number.{port} {number}");
            }
        }
        Ok(())
    }

    /// Prints the state at the end.
    fn print_state(&self, class: u8) {
        for port in 0..self.links.len() as u16 {
            let level = self.switch.ingress(self.now, port, class);
            println!(
                "level {port} {} {}",
                level.held_bytes,
                u8::from(level.victim)
            );
        }
        let level = self.switch.ingress(self.now, 0, class);
        println!("pool {}", level.pool_bytes);
        println!("end {}", self.now);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("which scenario?")?;
    let scheme = arguments.next().ok_or("which scheme?")?;
    let events = arguments.next().ok_or("how many events?")?.parse()?;
    let changes = Changes {
        scheme: Some(scheme),
        set: arguments.collect(),
        ..Changes::default()
    };
    let scenario = Scenario::load(Path::new(&path), &changes).map_err(|e| e.to_string())?;
    let mut plan = scenario.build()?.plan;
    if plan.graph.switches() != 1 || (0..plan.graph.hosts()).any(|h| plan.graph.ports(h) != 1) {
        return Err("the scenario needs one switch, with each host on one of its ports".into());
    }
    let mut host = SingleHost::new(&plan);
    let mut star = Star::new(&plan, &host);
    star.print_config()?;
    star.run(&mut host, &mut plan.feed, events);
    let class = dataplane::switch::DATA_CLASS;
    star.print_state(class);
    Ok(())
}
