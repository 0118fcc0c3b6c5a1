//! Conversion of packet records (packets of the dataplane in memory) to frames and back.
//!
//! A frame carries the fields that the node at the other end of the link reads. The other fields of
//! a packet record are local to the node that stores it. docs/wire.md has tables of both kinds of
//! fields. Payloads are zeros, because the dataplane does not store payload bytes.

use dataplane::packet::{Arena, Cold, PacketId};

pub use crate::address::V4_ENDPOINTS;
use crate::bytes::Writer;
use crate::error::{Malformed, Unfit};
use crate::ethernet::{Ethernet, Mac, SHORTEST, ether_type};
use crate::flow;
use crate::neighbour::{self, pfc};
use crate::network::{Link, Network};
use crate::pause::Pause;

/// Size of a buffer in bytes that is sufficient for every frame.
pub const MOST_BYTES: usize = 1 << 17;

/// Returns the MAC address of a port: a locally administered address that contains the node ID and
/// the port number.
#[must_use]
pub const fn mac(node: u32, port: u16) -> Mac {
    let (node, port) = (node.to_be_bytes(), port.to_be_bytes());
    [0x02, node[1], node[2], node[3], port[0], port[1]]
}

/// Writes the frame of a packet into `buffer` (see [`MOST_BYTES`]). Returns the length of the frame
/// in bytes, without the frame check sequence.
///
/// # Errors
/// The buffer is too small, a value does not fit its field, or a control frame between neighbours
/// has no wire format.
pub fn encode(
    link: &Link<'_>,
    arena: &Arena,
    id: PacketId,
    buffer: &mut [u8],
) -> Result<usize, Unfit> {
    let mut out = Writer::new(buffer);
    let packet = arena.hot(id);
    if !packet.is_frame() {
        flow::encode(link, arena, id, &mut out)?;
    } else if let Some(pause) = pfc::frame_of(packet) {
        pause.emit(link.from, &mut out)?;
    } else {
        let header = Ethernet {
            to: link.to,
            from: link.from,
            tag: None,
            ether_type: ether_type::OURS,
        };
        header.emit(&mut out)?;
        let list: &[u32] = if packet.has_list() {
            arena.list(id)
        } else {
            &[]
        };
        neighbour::emit(packet, list, &mut out)?;
        out.pad_to(SHORTEST)?;
    }
    Ok(out.written())
}

/// Parses a frame and stores the packet in the arena. The packet depends only on the frame and on
/// the configuration of the network.
///
/// # Errors
/// The bytes are not a frame that [`encode`] writes. No packet is stored then.
pub fn decode(network: &Network, frame: &[u8], arena: &mut Arena) -> Result<PacketId, Malformed> {
    let (ethernet, body) = Ethernet::parse(frame)?;
    match ethernet.ether_type {
        ether_type::CONTROL => {
            let pause = Pause::parse(body)?;
            let packet = pfc::record_of(&pause, network.timed_pauses, network.sizes.pause)?;
            Ok(arena.alloc(packet, Cold::default()))
        }
        ether_type::OURS => {
            let (packet, list) = neighbour::parse(body)?;
            let id = arena.alloc(packet, Cold::default());
            if packet.has_list() {
                list.read(arena.new_list(id));
            }
            Ok(id)
        }
        ether_type => flow::decode(network, ether_type, body, arena),
    }
}
