//! Congestion control: how fast, and how much in flight. One file per scheme; this one only
//! dispatches. Nothing here sets a timer: controls that the papers describe with timers (DCQCN)
//! catch up with their ticks when they are asked, which is exact because a rate has no effect
//! before the next packet is sent.

use crate::config::ControlConfig;
use crate::int::IntStack;
use crate::nic::dcqcn::Dcqcn;
use crate::nic::dctcp::Dctcp;
use crate::nic::delay_window::DelayWindow;
use crate::nic::hpcc::Hpcc;
use crate::nic::timely::Timely;
use crate::units::{NEVER, Time};

/// What a flow knows of its path when it starts.
#[derive(Clone, Copy, Debug)]
pub struct PathInfo {
    /// Base round trip T in ps.
    pub base_rtt_ps: Time,
    /// Speed of the sender's port in bits per second.
    pub line_bps: f64,
    /// T · line rate, in bytes: the initial window.
    pub bdp_bytes: f64,
    /// Payload bytes of a full packet.
    pub mtu: u32,
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

/// The state of one flow's congestion control.
#[derive(Clone, Debug)]
pub enum Control {
    /// As fast as the link, no window.
    LineRate,
    /// As fast as the link with a fixed window in bytes.
    FixedWindow(u64),
    /// HPCC.
    Hpcc(Hpcc),
    /// DCQCN.
    Dcqcn(Dcqcn),
    /// TIMELY.
    Timely(Timely),
    /// DCTCP.
    Dctcp(Dctcp),
    /// Delay window.
    DelayWindow(DelayWindow),
}

impl Control {
    /// The control of a flow that starts now. None of the schemes here looks at that time: their
    /// clocks start with the first thing that they hear from the network.
    #[must_use]
    pub fn new(config: &ControlConfig, path: &PathInfo, _now: Time) -> Self {
        match config {
            // A receiver-driven transport asks no control of senders.
            ControlConfig::LineRate
            | ControlConfig::ExpressPass(_)
            | ControlConfig::Ndp(_)
            | ControlConfig::Homa(_) => Self::LineRate,
            ControlConfig::FixedWindow { window } => {
                Self::FixedWindow(window.unwrap_or(path.bdp_bytes as u64).max(1))
            }
            ControlConfig::Hpcc(c) => Self::Hpcc(Hpcc::new(c, path)),
            ControlConfig::Dcqcn(c) => Self::Dcqcn(Dcqcn::new(c, path)),
            ControlConfig::Timely(c) => Self::Timely(Timely::new(c, path)),
            ControlConfig::Dctcp(c) => Self::Dctcp(Dctcp::new(c, path)),
            ControlConfig::DelayWindow(c) => Self::DelayWindow(DelayWindow::new(c, path)),
        }
    }

    /// An acknowledgement came back.
    #[inline]
    pub fn on_ack(&mut self, config: &ControlConfig, path: &PathInfo, ack: &AckInfo<'_>) {
        match (self, config) {
            (Self::Hpcc(x), ControlConfig::Hpcc(c)) => x.on_ack(c, path, ack),
            (Self::Timely(x), ControlConfig::Timely(c)) => x.on_ack(c, path, ack),
            (Self::Dctcp(x), ControlConfig::Dctcp(c)) => x.on_ack(c, path, ack),
            (Self::DelayWindow(x), _) => x.on_ack(path, ack),
            _ => {}
        }
    }

    /// A congestion notification packet came back.
    pub fn on_cnp(&mut self, config: &ControlConfig, path: &PathInfo, now: Time) {
        if let (Self::Dcqcn(x), ControlConfig::Dcqcn(c)) = (self, config) {
            x.on_cnp(c, path, now);
        }
    }

    /// A packet of `bytes` payload bytes starts its transmission.
    #[inline]
    pub fn on_send(&mut self, config: &ControlConfig, path: &PathInfo, now: Time, bytes: u64) {
        if let (Self::Dcqcn(x), ControlConfig::Dcqcn(c)) = (self, config) {
            x.on_send(c, path, now, bytes);
        }
    }

    /// Packets were lost (a NAK or a timeout). `snd_nxt` is the first byte not yet sent, as it was
    /// before the flow goes back. Only DCTCP reacts.
    // HPCC-25, TIMELY-17
    pub fn on_loss(&mut self, config: &ControlConfig, path: &PathInfo, snd_nxt: u64) {
        if let (Self::Dctcp(x), ControlConfig::Dctcp(c)) = (self, config) {
            x.on_loss(c, path, snd_nxt);
        }
    }

    /// Pacing rate at `now` in bits per second; infinity means the port's own speed.
    #[inline]
    pub fn rate_bps(&mut self, config: &ControlConfig, path: &PathInfo, now: Time) -> f64 {
        match (self, config) {
            (Self::Hpcc(x), _) => x.rate_bps(),
            (Self::Dcqcn(x), ControlConfig::Dcqcn(c)) => x.rate_bps(c, path, now),
            (Self::Timely(x), _) => x.rate_bps(),
            (Self::Dctcp(x), _) => x.rate_bps(path),
            _ => f64::INFINITY,
        }
    }

    /// When the window may next grow though nothing comes back; [`NEVER`]: it cannot. As of the last
    /// call that took a time.
    // NIC-08, DCQCN-24
    #[inline]
    #[must_use]
    pub fn rises_ps(&self, config: &ControlConfig, path: &PathInfo) -> Time {
        match (self, config) {
            (Self::Dcqcn(x), ControlConfig::Dcqcn(c)) => x.rises_ps(c, path),
            _ => NEVER,
        }
    }

    /// Most payload bytes in flight at `now`; `u64::MAX` means no limit. A packet may start while
    /// fewer bytes than this are in flight, even if it passes the limit: a window can be smaller
    /// than a packet.
    #[inline]
    pub fn window(&mut self, config: &ControlConfig, path: &PathInfo, now: Time) -> u64 {
        match (self, config) {
            (Self::FixedWindow(bytes), _) => *bytes,
            (Self::Hpcc(x), _) => x.window(),
            (Self::Dcqcn(x), ControlConfig::Dcqcn(c)) => x.window(c, path, now),
            (Self::Timely(x), ControlConfig::Timely(c)) => x.window(c, path),
            (Self::Dctcp(x), ControlConfig::Dctcp(c)) => x.window(c),
            (Self::DelayWindow(x), _) => x.window(),
            _ => u64::MAX,
        }
    }
}
