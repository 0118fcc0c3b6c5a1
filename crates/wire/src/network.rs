//! Configuration of the frame formats of a network, and MAC addresses of a link.

use dataplane::int::IntFormat;
use dataplane::packet::Kind;

use crate::ethernet::Mac;

/// Configuration of the frame formats. It must be the same at both ends of all links of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// True if endpoints have IPv6 addresses, false for IPv4.
    pub v6: bool,
    /// Format of in-band telemetry (INT) in frames.
    pub telemetry: IntFormat,
    /// True if data packets carry a sequence number that the sender of the link assigned.
    pub link_numbers: bool,
    /// True if packets carry the ingress ports on their path, so that ACKs return on this path.
    pub trails: bool,
    /// True if PFC pauses expire after their pause time.
    pub timed_pauses: bool,
    /// Sizes of packets on a link.
    pub sizes: Sizes,
}

/// Sizes of packets on a link, in bytes, that nodes use to count bytes and to compute times. An
/// encoded frame may be shorter or longer. Control frames between neighbours, except PFC, carry
/// their own size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Size of the headers of data packets, including INT.
    pub data_header: u16,
    /// Size of ACKs and NAKs.
    pub reply: u16,
    /// Size of CNPs.
    pub notification: u16,
    /// Size of trimmed packets.
    pub trimmed: u16,
    /// Size of credits, grants and pulls.
    pub grant: u16,
    /// Size of requests of receiver-driven transports.
    pub request: u16,
    /// Size of congestion notifications from switches.
    pub notice: u16,
    /// Size of PFC pause frames.
    pub pause: u16,
}

impl Sizes {
    /// Returns the size of a packet on a link in bytes. `payload` is the number of payload bytes of
    /// a data packet.
    pub(crate) const fn of(&self, kind: Kind, payload: u16) -> u16 {
        match kind {
            Kind::Ack | Kind::Nak => self.reply,
            Kind::Cnp => self.notification,
            Kind::Header | Kind::Returned => self.trimmed,
            Kind::Grant => self.grant,
            Kind::Request => self.request,
            Kind::Notice => self.notice,
            _ => self.data_header.saturating_add(payload),
        }
    }
}

/// One direction of a link: the frame formats and the MAC addresses.
#[derive(Clone, Copy, Debug)]
pub struct Link<'a> {
    /// Configuration of the frame formats.
    pub network: &'a Network,
    /// MAC address of the sending port.
    pub from: Mac,
    /// MAC address of the receiving port.
    pub to: Mac,
}
