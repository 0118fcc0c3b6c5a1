//! Ethernet II headers with at most one 802.1Q tag.

use etherparse::{
    EtherType, Ethernet2Header, SingleVlanHeader, SingleVlanHeaderSlice, VlanId, VlanPcp,
};

use crate::bytes::{Reader, Writer};
use crate::error::{Malformed, Unfit};

/// MAC address of a port.
pub type Mac = [u8; 6];

/// EtherTypes that Backwater uses.
pub mod ether_type {
    /// IPv4.
    pub const IPV4: u16 = 0x0800;
    /// 802.1Q tag.
    pub const VLAN: u16 = 0x8100;
    /// IPv6.
    pub const IPV6: u16 = 0x86dd;
    /// MAC control: pause frames.
    pub const CONTROL: u16 = 0x8808;
    /// Local experimental EtherType 1 (IEEE 802): control frames of Backwater between neighbours.
    pub const OURS: u16 = 0x88b5;
}

/// Minimum length of a frame in bytes, without the frame check sequence of 4 bytes.
pub const SHORTEST: usize = 60;

/// An 802.1Q tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Priority (PCP), 0 to 7, which equals the traffic class.
    pub priority: u8,
    /// True if the frame may be dropped first (DEI).
    pub drop_eligible: bool,
    /// VLAN ID, 0 to 4095. With 0 the tag carries only the priority.
    pub vlan: u16,
}

/// The Ethernet header of a frame, with an optional 802.1Q tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ethernet {
    /// Destination address.
    pub to: Mac,
    /// Source address.
    pub from: Mac,
    /// The 802.1Q tag, if any.
    pub tag: Option<Tag>,
    /// Type of the payload; see [`ether_type`].
    pub ether_type: u16,
}

impl Ethernet {
    /// Parses the header. Also returns the bytes after the header, including padding.
    ///
    /// # Errors
    /// The frame is shorter than its header.
    pub fn parse(frame: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let mut reader = Reader::new("Ethernet header", frame);
        let outer = Ethernet2Header::from_bytes(reader.take()?);
        let mut header = Self {
            to: outer.destination,
            from: outer.source,
            tag: None,
            ether_type: outer.ether_type.0,
        };
        if header.ether_type == ether_type::VLAN {
            let tag = reader.bytes(4)?;
            let tag = SingleVlanHeaderSlice::from_slice(tag)
                .expect("it has four bytes")
                .to_header();
            header.ether_type = tag.ether_type.0;
            header.tag = Some(Tag {
                priority: tag.pcp.value(),
                drop_eligible: tag.drop_eligible_indicator,
                vlan: tag.vlan_id.value(),
            });
        }
        Ok((header, reader.rest()))
    }

    /// Writes the header.
    ///
    /// # Errors
    /// The buffer is too small, or the priority or VLAN is too large.
    pub fn emit(&self, out: &mut Writer<'_>) -> Result<(), Unfit> {
        let header = Ethernet2Header {
            source: self.from,
            destination: self.to,
            ether_type: EtherType(self.tag.map_or(self.ether_type, |_| ether_type::VLAN)),
        };
        out.put(&header.to_bytes())?;
        let Some(tag) = self.tag else {
            return Ok(());
        };
        let priority = Unfit::check("the traffic class", tag.priority.into(), 7)? as u8;
        let vlan = Unfit::check("the VLAN", tag.vlan.into(), 4095)? as u16;
        let header = SingleVlanHeader {
            pcp: VlanPcp::try_new(priority).expect("the priority is at most 7"),
            drop_eligible_indicator: tag.drop_eligible,
            vlan_id: VlanId::try_new(vlan).expect("the VLAN is at most 4095"),
            ether_type: EtherType(self.ether_type),
        };
        out.put(&header.to_bytes())
    }
}
