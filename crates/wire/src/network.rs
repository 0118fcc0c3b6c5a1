//! Configuration of a network that both ends of each link have, and addresses of links.

use dataplane::int::IntFormat;
use dataplane::packet::Kind;

use crate::ethernet::Mac;

/// Configuration that all links of a network share, and that both ends of each link have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// True if endpoints have IPv6 addresses, false for IPv4.
    pub v6: bool,
    /// Format in which switches write telemetry.
    pub telemetry: IntFormat,
    /// True if data packets carry a sequence number of the link's sender.
    pub link_numbers: bool,
    /// True if packets carry their trail, so that ACKs return on the path of their packets.
    pub trails: bool,
    /// True if PFC pauses expire after their pause time.
    pub timed_pauses: bool,
    /// Sizes of packets on a link.
    pub sizes: Sizes,
}

/// Sizes of packets on a link in bytes. Nodes use them to count and time packets; a frame may be
/// shorter or longer. Frames between neighbours, except PFC, carry their own size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Headers of data packets, including telemetry.
    pub data_header: u16,
    /// ACKs and NAKs.
    pub reply: u16,
    /// CNPs.
    pub notification: u16,
    /// Trimmed packets.
    pub trimmed: u16,
    /// Credits, grants and pulls.
    pub grant: u16,
    /// Requests.
    pub request: u16,
    /// Notices from switches.
    pub notice: u16,
    /// PFC pause frames.
    pub pause: u16,
}

impl Sizes {
    /// Returns the size of a packet on a link. `payload` is the payload of a data packet.
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

/// One direction of a link.
#[derive(Clone, Copy, Debug)]
pub struct Link<'a> {
    /// Configuration of the network.
    pub network: &'a Network,
    /// Address of the sending port.
    pub from: Mac,
    /// Address of the receiving port.
    pub to: Mac,
}
