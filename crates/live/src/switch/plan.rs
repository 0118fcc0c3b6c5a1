//! Configuration of a switch that runs on the wall clock: the configuration in the scenario, and
//! options of the user.

use dataplane::classes::{DATA_CLASS, TRAFFIC_CLASSES};
use dataplane::config::{Admission, ClassConfig, PauseTime};
use dataplane::packet::{Kind, Packet};
use dataplane::properties::Property;
use dataplane::route::Routes;
use dataplane::switch::{Switch, SwitchConfig, division};

use super::classes::Classes;
use crate::Error;
use crate::wall::NodeDescription;

/// The longest pause time. Pauses are repeated after half of it. It is used if pauses in the
/// scenario last until they are resumed.
// WSW-22, QNT-05: pause times
const PAUSE: PauseTime = PauseTime::Quanta {
    quanta: u16::MAX,
    refresh: u16::MAX / 2,
};

/// Bytes of the Ethernet header with a VLAN tag, plus the frame check sequence.
const FRAME_BYTES: u16 = 22;

/// The configuration of a switch, and the properties of the network that the switch needs.
#[derive(Clone, Debug)]
pub struct SwitchDescription {
    /// The node and its links.
    pub node: NodeDescription,
    /// Index of the switch in the network.
    pub number: u32,
    /// Configuration of the switch.
    pub config: SwitchConfig,
    /// Routes of the switch.
    pub routes: Routes,
    /// For each port, true if its link leads to a higher tier.
    pub upward: Vec<bool>,
    /// For each port, true if flooded frames leave by the port.
    pub floods: Vec<bool>,
}

/// Options that the user sets in addition to the scenario.
#[derive(Clone, Debug)]
pub struct Choices {
    /// The traffic class of each priority.
    pub classes: Classes,
    /// Bitmap of the priorities that PFC pauses. `None`: the priorities of the scenario's pausable
    /// data classes.
    pub lossless: Option<u8>,
    /// Maximum size of an IP datagram in bytes.
    pub mtu: u16,
}

/// A switch with its configuration, ready to run.
#[derive(Debug)]
pub struct SwitchPlan {
    /// The node and its links.
    pub node: NodeDescription,
    /// The switch of the dataplane, without clock and sockets.
    pub switch: Switch,
    /// Configuration of the switch.
    pub config: SwitchConfig,
    /// Routes of the switch.
    pub routes: Routes,
    /// The traffic class of each priority.
    pub classes: Classes,
    /// For each port, an endpoint that is reached through the port, if any.
    pub targets: Vec<Option<u32>>,
    /// For each port, true if flooded frames leave by the port.
    pub floods: Vec<bool>,
    /// Length of the largest frame in bytes, without the frame check sequence.
    pub largest_bytes: usize,
}

/// Configures a switch with the options of the user.
///
/// # Errors
/// The scheme cannot run on the wall clock, or the buffer is too small.
// WSW-20: scheme, buffer, rates and delays are as in the scenario
pub fn switch_plan(of: SwitchDescription, choices: &Choices) -> Result<SwitchPlan, Error> {
    check_scheme(&of.config)?;
    let config = on_the_wall_clock(&of.config, choices);
    let links = &of.node.links;
    let (reserved, headroom, shared) = division(&config, links);
    if shared < i64::from(config.max_frame) && config.mmu.admission != Admission::Unlimited {
        return Err(Error::Buffer {
            buffer: config.mmu.buffer_bytes,
            headroom,
            reserved,
        });
    }
    let mut switch = Switch::new(of.number, &config, links, of.routes.clone());
    switch.set_upward(&of.upward);
    let target = |port| (0..of.node.endpoints).find(|&dst| leads(&of.routes, dst, port));
    Ok(SwitchPlan {
        targets: (0..links.len() as u16).map(target).collect(),
        floods: of.floods,
        largest_bytes: usize::from(config.max_frame) - 4,
        classes: choices.classes,
        routes: of.routes,
        node: of.node,
        switch,
        config,
    })
}

/// Checks that neighbours that do not run Backwater can take part in the scheme.
///
/// # Errors
/// They cannot take part. The error contains the reason.
// WSW-24: refuse receiver-driven transports, paths by load, and schemes with credit
pub(crate) fn check_scheme(config: &SwitchConfig) -> Result<(), Error> {
    if config.shaped.is_some() || config.trim.is_some() {
        return Err(Error::ReceiverDriven);
    }
    if config.path.reads_loads() {
        return Err(Error::PathByLoad);
    }
    if let Some(why) = config.link.not_carried() {
        return Err(Error::NeedsMoreThanFrames(why));
    }
    match config
        .declarations()
        .find(|scheme| scheme.has(Property::NoOverflow))
    {
        Some(scheme) => Err(Error::NeedsCredit(scheme.name())),
        None => Ok(()),
    }
}

/// Returns the configuration with the 8 traffic classes and the pause times of real traffic.
// WSW-11, WSW-22: classes, pause times
fn on_the_wall_clock(config: &SwitchConfig, choices: &Choices) -> SwitchConfig {
    let mut config = config.clone();
    let first = usize::from(DATA_CLASS);
    let of_data = *config.classes.last().expect("there is a class of data");
    let lossless = match choices.lossless {
        Some(priorities) => choices.classes.classes(priorities),
        None => (0..config.classes.len() - first).fold(0, |bits, class| bits | 1 << class),
    };
    let class = |nth: usize| ClassConfig {
        pausable: of_data.pausable && lossless >> nth & 1 != 0,
        ..of_data
    };
    config.classes.truncate(first);
    config.classes.extend((0..TRAFFIC_CLASSES).map(class));
    config.max_frame = config.max_frame.max(choices.mtu + FRAME_BYTES);
    if let Admission::Pfc(pfc) = &mut config.mmu.admission
        && pfc.pause == PauseTime::UntilResumed
    {
        pfc.pause = PAUSE;
    }
    config
}

/// True if packets to endpoint `dst` can leave by this port.
fn leads(routes: &Routes, dst: u32, port: u16) -> bool {
    if routes.is_own(dst) {
        let packet = Packet {
            dst,
            ..Packet::new(Kind::Data, 2, 64)
        };
        return routes.port(&packet, || 0) == Some(port);
    }
    routes.next_hops(dst).contains(&port)
}
