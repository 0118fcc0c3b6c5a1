//! Congestion control of a sender: how fast, and how much in flight. One file for each scheme; here is
//! what they share, the trait that they implement, and the list of all.
//!
//! Nothing here sets a timer: controls that the papers describe with timers (DCQCN) replay the ticks
//! that have passed whenever they are called, which is exact because a rate has no effect before the
//! next packet is sent.

pub mod dcqcn;
pub mod dctcp;
pub mod delay_window;
pub mod fixed_window;
pub mod hpcc;
pub mod line_rate;
mod mixed;
pub mod timely;

use std::fmt::Debug;

use crate::int::IntStack;
use crate::units::{NEVER, Time};
pub use mixed::{Mixed, PerClass};

/// The list of all controls, handed to the macro `$then`: the name of the type, and its module. A new
/// control is a module and a line here.
macro_rules! controls {
    ($then:ident) => {
        $then! {
            LineRate(line_rate),
            FixedWindow(fixed_window),
            Hpcc(hpcc),
            Dcqcn(dcqcn),
            Timely(timely),
            Dctcp(dctcp),
            DelayWindow(delay_window),
        }
    };
}
pub(crate) use controls;

/// The control of one flow. A hook that a scheme has no use for is empty there: none has a default, so
/// that none is forgotten.
pub trait Control: Debug + Sized {
    /// The parameters of the scheme.
    type Config: Clone + Debug + PartialEq;

    /// The control of a flow that starts at `now`. The clocks of all schemes here start with the first
    /// thing that they hear from the network.
    fn new(config: &Self::Config, path: &PathInfo, now: Time) -> Self;

    /// An acknowledgement came back.
    fn on_ack(&mut self, config: &Self::Config, path: &PathInfo, ack: &AckInfo<'_>);

    /// A congestion notification packet came back.
    fn on_cnp(&mut self, config: &Self::Config, path: &PathInfo, now: Time);

    /// A packet of `bytes` payload bytes starts its transmission.
    fn on_send(&mut self, config: &Self::Config, path: &PathInfo, now: Time, bytes: u64);

    /// Packets were lost (a NAK or a timeout). `snd_nxt` is the first byte not yet sent, as it was
    /// before the flow goes back.
    fn on_loss(&mut self, config: &Self::Config, path: &PathInfo, snd_nxt: u64);

    /// Pacing rate at `now` in bits per second; infinity means the port's own speed.
    fn rate_bps(&mut self, config: &Self::Config, path: &PathInfo, now: Time) -> f64;

    /// Most payload bytes in flight at `now`; `u64::MAX` means no limit. A packet may start while
    /// fewer bytes than this are in flight, even if it passes the limit: a window can be smaller
    /// than a packet.
    fn window(&mut self, config: &Self::Config, path: &PathInfo, now: Time) -> u64;

    /// When the window may next grow though nothing comes back; [`NEVER`]: it cannot. As of the last
    /// call that took a time. Most schemes change their windows on acknowledgements only.
    // NIC-08, DCQCN-24
    #[inline]
    #[must_use]
    fn rises_ps(&self, _config: &Self::Config, _path: &PathInfo) -> Time {
        NEVER
    }
}

/// What a flow knows of its path when it starts.
#[derive(Clone, Copy, Debug, Default)]
pub struct PathInfo {
    /// Base round trip T in ps.
    pub base_rtt_ps: Time,
    /// Speed of the sender's port in bits per second.
    pub line_bps: f64,
    /// T · line rate, in bytes: the initial window.
    pub bdp_bytes: f64,
    /// Payload bytes of a full packet.
    pub mtu: u32,
    /// Traffic class of the flow.
    pub class: u8,
}

impl PathInfo {
    /// The window with which a flow can start at line rate, at least one byte.
    #[inline]
    #[must_use]
    pub fn initial_window_bytes(&self) -> f64 {
        self.bdp_bytes.max(1.0)
    }

    /// Bytes that `rate_bps` sends in a base round trip.
    #[inline]
    #[must_use]
    pub fn bytes_per_rtt(&self, rate_bps: f64) -> f64 {
        rate_bps * self.base_rtt_ps.max(1) as f64 / BITS_PS_PER_BYTE_S
    }

    /// The rate in bits per second that sends `bytes` in a base round trip.
    #[inline]
    #[must_use]
    pub fn rate_of_bytes(&self, bytes: f64) -> f64 {
        bytes * BITS_PS_PER_BYTE_S / self.base_rtt_ps.max(1) as f64
    }

    /// The rate in bits per second that a window of `window_bytes` reaches in a base round trip,
    /// the line's at most.
    #[inline]
    #[must_use]
    pub fn rate_of_window(&self, window_bytes: f64) -> f64 {
        self.rate_of_bytes(window_bytes).min(self.line_bps)
    }
}

/// Bits in a byte times picoseconds in a second.
const BITS_PS_PER_BYTE_S: f64 = 8e12;

/// A window in whole bytes, at least one: with it a flow whose bytes are all acknowledged can
/// always send a packet.
#[inline]
pub(crate) fn floor_window(bytes: f64) -> u64 {
    (bytes as u64).max(1)
}

/// What an acknowledgement says. Sequence numbers are in payload bytes.
#[derive(Clone, Copy, Debug)]
pub struct AckInfo<'a> {
    /// When it arrived at the sender.
    pub now: Time,
    /// Everything below is acknowledged.
    pub seq: u64,
    /// Bytes that this ACK acknowledges first.
    pub newly: u64,
    /// First byte not yet sent.
    pub snd_nxt: u64,
    /// The acknowledged packet carried congestion experienced.
    pub marked: bool,
    /// From the start of the packet's transmission to the arrival of its ACK, in ps.
    pub rtt_ps: Time,
    /// Telemetry of the packet as the receiver returned it, if there is any (HPCC-04).
    pub int: Option<&'a IntStack>,
}

macro_rules! define {
    ($($name:ident($module:ident),)*) => {
        /// The configuration of one of the controls.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum ControlConfig {
            $(
                #[doc = concat!("Of [`", stringify!($name), "`](", stringify!($module), "::", stringify!($name), ").")]
                $name(<$module::$name as Control>::Config),
            )*
        }

        $(
            impl Listed for $module::$name {
                #[inline]
                fn config(config: &ControlConfig) -> &Self::Config {
                    match config {
                        ControlConfig::$name(config) => config,
                        _ => unreachable!("the sender was made for this configuration"),
                    }
                }
            }
        )*
    };
}
controls!(define);

/// A control of the list.
pub(crate) trait Listed: Control {
    /// Its parameters.
    fn config(config: &ControlConfig) -> &Self::Config;
}

/// Refuses a value outside of `low..=high`, NaN included.
pub(crate) fn within(what: &str, value: f64, low: f64, high: f64) -> Result<(), String> {
    if value >= low && value <= high {
        Ok(())
    } else {
        Err(format!(
            "{what} is {value}; expected a value from {low} to {high}"
        ))
    }
}

/// As [`within`], but 0 (off) is fine too.
pub(crate) fn within_or_zero(what: &str, value: f64, low: f64, high: f64) -> Result<(), String> {
    if value == 0.0 {
        Ok(())
    } else {
        within(what, value, low, high).map_err(|error| format!("{error}, or 0"))
    }
}
