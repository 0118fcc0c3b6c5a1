//! `backpressure = "brake"`: a switch pauses a neighbour that has too many bytes in the switch.
//!
//! The switch counts the bytes of each ingress port. Above `stop` bytes it sends a frame that
//! pauses the data of the neighbour. Below half of `stop` it sends a frame that resumes the data.

use dataplane::classes::{ClassSet, DATA_CLASS};
use dataplane::declaration::{Around, Declaration, Spec};
use dataplane::hop::{Counter, Cx, HopScheme, Outcome, Pipeline, Ports, Site, Step, Steps};
use dataplane::packet::{Frame, Packet, SchemeNumber, Words};
use dataplane::param::{Conflict, Param};
use dataplane::params;
use dataplane::properties::{Choice, Properties, Property};
use dataplane::sink::Sink;

const FRAME_BYTES: u16 = 64;
/// All data classes, as a bit set.
const DATA: ClassSet = ClassSet::MAX << DATA_CLASS;

params! {
    /// The parameters.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Brake {
        /// Bytes of an ingress above which the neighbour must stop.
        stop_bytes: u64 = Param::size("stop", 1_000, 1_000_000_000)
            .default("\"50KB\"", "", "an example"),
    }
}

impl Spec for Brake {
    const NAME: &'static str = "brake";
    type Params = Self;
    type Config = Self;

    fn configure(params: Self, _around: &Around) -> Result<Self, Conflict> {
        Ok(params)
    }
}

impl Choice for Brake {
    fn provides(&self) -> Properties {
        Properties::of(&[Property::CanDeadlock])
    }
}

/// Properties for the simulation engine and the checks of a scenario.
impl Declaration for Brake {
    fn name(&self) -> &'static str {
        "Brake"
    }

    fn smallest_frame_bytes(&self) -> u16 {
        FRAME_BYTES
    }
}

/// The control frame to a neighbour: `stop` pauses its data, otherwise they resume.
struct Order {
    stop: bool,
}

/// Position of `stop` in the packet record of the frame.
impl Frame for Order {
    const SCHEME: SchemeNumber = Switch::NUMBER;
    const NUMBER: u8 = 0;

    fn words(&self) -> Words {
        let number = self.stop.into();
        Words {
            number,
            ..Words::NONE
        }
    }

    fn from_words(words: Words) -> Self {
        let stop = words.number != 0;
        Self { stop }
    }
}

/// State of the scheme at one switch.
#[derive(Debug)]
pub struct Switch {
    stop_bytes: u64,
    /// For each ingress port: its bytes in the switch, and true if the neighbour is paused.
    ingresses: Vec<(u64, bool)>,
    stops: u64,
}

impl Switch {
    /// Counts data of an ingress port that are enqueued (`comes`) or dequeued. Sends a frame if a
    /// threshold is crossed.
    fn change<S: Sink>(&mut self, cx: &mut Cx<'_, S>, packet: &Packet, comes: bool) {
        if packet.class() < DATA_CLASS {
            return;
        }
        let (bytes, is_stopped) = &mut self.ingresses[usize::from(packet.ingress)];
        let size = u64::from(packet.size);
        *bytes = if comes { *bytes + size } else { *bytes - size };
        let stop = *bytes > self.stop_bytes >> u32::from(*is_stopped);
        if stop != *is_stopped && !cx.is_dead(packet.ingress) {
            *is_stopped = stop;
            self.stops += u64::from(stop);
            cx.emit(packet.ingress, Order { stop }.packet(FRAME_BYTES));
        }
    }
}

impl HopScheme for Switch {
    type Config = Brake;
    const NUMBER: SchemeNumber = 16; // 16 to 31 are for schemes of other crates
    const COUNTERS: &'static [Counter] = &[Counter::sum("brake_stops")];
    const WATCHES: Steps = Steps::ENQUEUE.or(Steps::DEPART);

    fn new(config: &Brake, site: &Site<'_>) -> Self {
        Self {
            stop_bytes: config.stop_bytes,
            ingresses: vec![(0, false); site.ports.len()],
            stops: 0,
        }
    }

    fn step<S: Sink>(&mut self, cx: &mut Cx<'_, S>, step: Step<'_>) -> Outcome {
        match step {
            Step::Enqueue { packet, .. } | Step::Rejoin { packet, .. } => {
                self.change(cx, packet, true);
            }
            Step::Depart { packet, .. } | Step::Withdraw { packet, .. } => {
                self.change(cx, packet, false);
            }
            _ => {}
        }
        Outcome::Continue
    }

    /// Handles a frame at a switch or NIC: pauses or resumes the data of a port.
    fn obey<P: Ports + ?Sized>(ports: &mut P, port: u16, frame: &Packet, _list: &[u32]) {
        if let Some(Order { stop }) = Order::read(frame) {
            ports.pause_classes(port, DATA, stop);
        }
    }

    /// Resets the state of a port whose link failed or recovered: the neighbour is not paused.
    fn link<S: Sink>(&mut self, _cx: &mut Cx<'_, S>, port: u16) {
        self.ingresses[usize::from(port)].1 = false;
    }

    fn count(of: Option<&Self>, _core: &Pipeline, values: &mut [u64]) {
        values[0] = of.map_or(0, |switch| switch.stops);
    }

    fn pauses_upstream(&self) -> bool {
        self.ingresses.iter().any(|ingress| ingress.1)
    }
}
