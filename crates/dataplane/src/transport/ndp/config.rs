//! Parameters of NDP, and its requirements on the other parts of a scenario's scheme.

use super::Ndp;
use crate::declaration::Around;
use crate::param::{Conflict, MAX_SIZE_BYTES, Param};
use crate::properties::{Properties, Property, Rule};
use crate::requirements::TrimConfig;
use crate::scheme::Scheme;
use crate::transport::{prompt_replies, timeout, window};
use crate::units::Time;

/// Configuration of NDP's senders, receivers and switches (`specs/ndp.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NdpConfig {
    /// Payload bytes that a flow sends before it receives a pull; `None`: one BDP.
    pub window: Option<u64>,
    /// Time without a reply after which a packet is sent again, in ps.
    pub timeout_ps: Time,
    /// Trimming of packets to headers at switches.
    pub trim: TrimConfig,
}

crate::params! {
    /// Table `[scheme.ndp]` of a scenario.
    #[derive(Debug)]
    pub struct NdpParams {
        /// Maximum number of data packets in the queue of a port and class.
        packets: u16 = Param::count("queue", 2, 10_000)
            .default("8", "PRE-147", "data packets that may wait at a port (NDP paper 3.1)"),
        /// Size of a packet after trimming.
        header_bytes: u16 = Param::size("header", 1, 1_000)
            .default("\"64B\"", "PRE-147", "what trimming leaves (NDP paper 3.1)"),
        /// Maximum bytes of trimmed headers and other control packets at a port; `"data"`: as many
        /// bytes as of data.
        control_bytes: Option<u64> = Param::size("control_queue", 64, MAX_SIZE_BYTES).or(&["data"])
            .default("\"data\"", "PRE-148", "as many bytes for headers as for data, our choice"),
        /// Number of control packets that a port sends per data packet while both wait.
        weight: u16 = Param::count("weight", 1, 60_000)
            .default("10", "PRE-147", "headers for each data packet while both wait (NDP paper 3.1)"),
        /// A switch trims the arriving packet or the last queued packet, at random. If false, it
        /// always trims the arriving packet.
        either: bool = Param::flag("trim_either")
            .default("true", "PRE-147", "the arriving packet or the last one, by chance (NDP paper 3.1)"),
        /// A trimmed header that finds no room in the queue returns to its sender.
        returns: bool = Param::flag("return_to_sender")
            .default("true", "PRE-147", "headers that find no room go back (NDP paper 3.2)"),
        /// Payload bytes that a flow sends before it receives a pull; `"bdp"`: one BDP.
        window: Option<u64> = window("PRE-147", "the first window (NDP paper 3.2)"),
        /// Time without a reply after which a packet is sent again.
        timeout_ps: Time = timeout("\"1ms\"", "PRE-148", "far beyond any queue of eight packets (NDP paper 3.2)"),
    }
}

impl Scheme for Ndp {
    const NAME: &'static str = "ndp";
    const TITLE: &'static str = "NDP";
    const ABOUT: &'static str = "Switches trim what they cannot hold, and receivers pull packets at the pace of their link.";
    // NDP-01, NDP-02, NDP-03, NDP-12
    type Params = NdpParams;
    type Config = NdpConfig;
    const PROVIDES: Properties = Properties::of(&[Property::ChoosesPaths]);

    // NDP-02
    fn rules(_config: &NdpConfig) -> Vec<Rule> {
        let mut rules = crate::rules! {
            wrong ["classify", "control"] without [OneQueue]:
                "NDP trims what finds the one data queue of its port full",
                "set classify = \"fifo\" and schedule = \"fifo\"";
            // CBFC-35: a trimmed packet leaves in another class, so its credits would not return
            wrong ["backpressure", "link", "control"] with [NoOverflow]:
                "ndp's switches cut packets, and with credits no buffer overflows",
                "set backpressure = \"none\" and link = \"none\"";
        };
        rules.extend(prompt_replies(Self::NAME));
        rules
    }

    fn configure(of: NdpParams) -> Result<NdpConfig, Conflict> {
        Ok(NdpConfig {
            window: of.window,
            timeout_ps: of.timeout_ps,
            trim: TrimConfig {
                packets: of.packets,
                header_bytes: of.header_bytes,
                control_bytes: of.control_bytes.unwrap_or(0),
                weight: of.weight,
                either: of.either,
                returns: of.returns,
            },
        })
    }

    /// As much memory for headers as for data, where the scenario does not say how much.
    // NDP-03
    fn complete(mut config: NdpConfig, around: &Around) -> NdpConfig {
        if config.trim.control_bytes == 0 {
            config.trim.control_bytes =
                u64::from(config.trim.packets) * u64::from(around.max_frame);
        }
        config
    }
}
