//! Ethernet II with at most one tag of 802.1Q.

use etherparse::{
    EtherType, Ethernet2Header, SingleVlanHeader, SingleVlanHeaderSlice, VlanId, VlanPcp,
};

use crate::bytes::{Reader, Writer};
use crate::error::{Malformed, Unfit};

/// An address of a port.
pub type Mac = [u8; 6];

/// Types of frames.
pub mod ether_type {
    /// IPv4.
    pub const IPV4: u16 = 0x0800;
    /// A tag of 802.1Q.
    pub const VLAN: u16 = 0x8100;
    /// IPv6.
    pub const IPV6: u16 = 0x86dd;
    /// Control of the link: pauses.
    pub const CONTROL: u16 = 0x8808;
    /// Experiments (IEEE 802, local experimental 1): our frames between neighbours.
    pub const OURS: u16 = 0x88b5;
}

/// Bytes of the shortest frame, without its checksum of 4 bytes.
pub const SHORTEST: usize = 60;

/// A tag of 802.1Q.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Priority (PCP), 0 to 7: the traffic class.
    pub priority: u8,
    /// It may be dropped first (DEI).
    pub drop_eligible: bool,
    /// VLAN, 0 to 4095; 0: the tag says nothing but the priority.
    pub vlan: u16,
}

/// The header of a frame, with its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ethernet {
    /// Whom it is for.
    pub to: Mac,
    /// Whose it is.
    pub from: Mac,
    /// Its tag, if it has one.
    pub tag: Option<Tag>,
    /// What follows, see [`ether_type`].
    pub ether_type: u16,
}

impl Ethernet {
    /// Reads a frame. Returns what stands behind the header, padding included.
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

    /// Writes it.
    ///
    /// # Errors
    /// There is no room, or priority or VLAN are too large.
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
            pcp: VlanPcp::try_new(priority).expect("it was checked"),
            drop_eligible_indicator: tag.drop_eligible,
            vlan_id: VlanId::try_new(vlan).expect("it was checked"),
            ether_type: EtherType(self.ether_type),
        };
        out.put(&header.to_bytes())
    }
}
