//! Conversion of packet records to frames and back.
//!
//! A frame carries the fields that the node at the other end of the link reads. The other fields of
//! a record are local to the node that stores it. docs/wire.md has tables of both. Payloads are
//! zeros, because the dataplane has no contents.

use core::net::{Ipv4Addr, Ipv6Addr};
use dataplane::classes::{CONTROL_CLASS, DATA_CLASS, traffic_class};

use dataplane::ids::FlowSlot;
use dataplane::int::IntFormat;
use dataplane::packet::{Arena, Cold, Kind, Location, Packet, PacketId, Stamp, flag};
use dataplane::units::NEVER;

use crate::bytes::{Reader, Writer};
use crate::error::{Fault, Malformed, Unfit};
use crate::ethernet::{Ethernet, Mac, SHORTEST, Tag, ether_type};
use crate::extension::{Extension, MESSAGE_PORT, Message};
use crate::int::{self, MD_PORT, PAPER_PORT};
use crate::ip::{Ends, Ip, UDP, UDP_BYTES, Udp, ecn};
use crate::neighbour::{self, pfc};
use crate::pause::Pause;
use crate::roce::{self, Aeth, Bth, CNP_BYTES, ICRC_BYTES, LARGEST_24, Reth, icrc, opcode};

/// Initial TTL or hop limit. The switches of the dataplane do not decrement it.
const HOPS: u8 = 64;
/// Partition key of all queue pairs: the default key.
const PARTITION: u16 = 0xffff;
/// Number of endpoints with distinct IPv4 addresses: those in 10.0.0.0/8.
pub const V4_ENDPOINTS: u32 = 1 << 24;
/// Prefix of the IPv6 addresses of endpoints. The last 32 bits are the number of the endpoint.
const V6_PREFIX: [u8; 12] = [0xfd, 0x42, 0x57, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Largest payload that fits a datagram together with all possible headers.
const MOST_PAYLOAD: u16 = 65_000;

/// Size of a buffer that any frame fits.
pub const MOST_BYTES: usize = 1 << 17;

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

/// Returns the MAC address of a port: a locally administered address that contains both numbers.
#[must_use]
pub const fn mac(node: u32, port: u16) -> Mac {
    let (node, port) = (node.to_be_bytes(), port.to_be_bytes());
    [0x02, node[1], node[2], node[3], port[0], port[1]]
}

/// Writes the frame of a packet into `buffer` (see [`MOST_BYTES`]). Returns the length of the frame
/// in bytes, without the frame check sequence.
///
/// # Errors
/// The buffer is too small, a value does not fit its field, or the frame between neighbours has no
/// format.
pub fn encode(
    link: &Link<'_>,
    arena: &Arena,
    id: PacketId,
    buffer: &mut [u8],
) -> Result<usize, Unfit> {
    let mut out = Writer::new(buffer);
    let packet = arena.hot(id);
    if !packet.is_frame() {
        encode_flow(link, arena, id, &mut out)?;
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

/// Parses a frame and allocates its record. The record depends only on the frame and on the
/// configuration of the network.
///
/// # Errors
/// The bytes are not a frame that [`encode`] writes. No record is allocated then.
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
        ether_type => decode_flow(network, ether_type, body, arena),
    }
}

// --- Packets of flows ---

/// Layout of the bytes after the UDP header, not counting telemetry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// RoCEv2 with payload, complete or trimmed.
    Data,
    /// RoCEv2 without payload.
    Answer,
    /// Only the extension header.
    Message,
}

/// DSCP of the control class. No traffic class has this DSCP. Its upper three bits are the highest
/// priority.
const CONTROL_DSCP: u8 = 57;

/// Returns the DSCP of a class: eight times the traffic class of the scenario. The upper three bits
/// are the priority of the tag.
// SW-03: frames carry the traffic classes of the scenario
fn dscp_of(class: u8) -> u8 {
    traffic_class(class).map_or(CONTROL_DSCP, |traffic| traffic << 3)
}

/// Returns the class of a DSCP.
const fn class_of(dscp: u8) -> u8 {
    match dscp {
        CONTROL_DSCP => CONTROL_CLASS,
        _ => DATA_CLASS + (dscp >> 3),
    }
}

const fn form_of(kind: Kind) -> Form {
    match kind {
        Kind::Ack | Kind::Nak | Kind::Cnp => Form::Answer,
        Kind::Grant | Kind::Request | Kind::Notice => Form::Message,
        _ => Form::Data,
    }
}

/// True if payload follows the headers. A trimmed packet has none.
const fn has_payload(kind: Kind) -> bool {
    matches!(kind, Kind::Data)
}

fn encode_flow(
    link: &Link<'_>,
    arena: &Arena,
    id: PacketId,
    out: &mut Writer<'_>,
) -> Result<(), Unfit> {
    let (packet, cold) = (arena.hot(id), arena.cold(id));
    let network = link.network;
    let kind = packet.kind();
    let form = form_of(kind);
    let marked = packet.has(flag::CE);
    let echoes = matches!(kind, Kind::Ack | Kind::Nak);
    let mut ip = Ip {
        ends: ends(network, cold.src, packet.dst)?,
        dscp: dscp_of(packet.class()),
        ecn: match form {
            _ if marked && !echoes => ecn::CONGESTION,
            Form::Data => ecn::CAPABLE,
            _ => ecn::NOT_CAPABLE,
        },
        hops: HOPS,
        protocol: UDP,
        payload_bytes: 0,
    };
    let ethernet = Ethernet {
        to: link.to,
        from: link.from,
        tag: Some(Tag {
            priority: dscp_of(packet.class()) >> 3,
            drop_eligible: false,
            vlan: 0,
        }),
        ether_type: ip.ether_type(),
    };
    ethernet.emit(out)?;

    let start = out.written();
    out.reserve(ip.header_bytes() + UDP_BYTES)?;
    let telemetry = out.written();
    let plain_port = match form {
        Form::Message => MESSAGE_PORT,
        _ => roce::PORT,
    };
    let mut port = plain_port;
    if let Some(stack) = arena.stack(id) {
        port = match network.telemetry {
            IntFormat::Wire(layout) if form != Form::Message => {
                int::emit_paper(layout, &stack, out)?;
                PAPER_PORT
            }
            _ => {
                int::emit_md(plain_port, kind == Kind::Data, &stack, out)?;
                MD_PORT
            }
        };
    }
    let transport = out.written();
    let extension = extension_of(network, arena, id);
    match form {
        Form::Message => extension.emit(out)?,
        Form::Answer => {
            answer_header(kind, marked, packet, cold).emit(out)?;
            match kind {
                Kind::Cnp => out.zeros(CNP_BYTES)?,
                _ => aeth(kind, packet).emit(out)?,
            }
            extension.emit(out)?;
        }
        Form::Data => {
            let (bth, reth) = data_headers(packet, cold);
            bth.emit(out)?;
            if let Some(reth) = reth {
                reth.emit(out)?;
            }
            extension.emit(out)?;
            if has_payload(kind) {
                Unfit::check("the payload", cold.payload.into(), MOST_PAYLOAD.into())?;
                out.zeros(usize::from(cold.payload) + usize::from(bth.pad))?;
            }
        }
    }

    let mut udp = Udp {
        from: 0xc000 | packet.hash as u16 & 0x3fff,
        to: plain_port,
        bytes: 0,
        checksum: 0,
    };
    if form != Form::Message {
        // The iCRC does not cover telemetry, because the receiver removes telemetry before it
        // checks.
        udp.bytes = datagram(out.written() - transport + UDP_BYTES + ICRC_BYTES)?;
        ip.payload_bytes = udp.bytes;
        let mut plain = [0; 40];
        let mut header = Writer::new(&mut plain);
        ip.emit(&mut header)?;
        let bytes = header.written();
        let crc = icrc(&plain[..bytes], &udp.to_bytes(), out.since(transport));
        out.put(&crc.to_le_bytes())?;
    }
    udp.bytes = datagram(out.written() - telemetry + UDP_BYTES)?;
    ip.payload_bytes = udp.bytes;
    udp.to = port;
    if form == Form::Message || network.v6 {
        udp.checksum = udp.checksum_of(&ip, out.since(telemetry)).unwrap_or(0);
    }
    let mut headers = Writer::new(out.since(start));
    ip.emit(&mut headers)?;
    headers.put(&udp.to_bytes())?;
    out.pad_to(SHORTEST)
}

/// Checks a UDP length. It must also fit the total length of an IPv4 datagram.
fn datagram(bytes: usize) -> Result<u16, Unfit> {
    let most = u64::from(u16::MAX) - 20;
    Unfit::check("the length of the datagram", bytes as u64, most).map(|bytes| bytes as u16)
}

/// Returns the headers of data. A trimmed packet looks like the middle of a write without payload.
fn data_headers(packet: &Packet, cold: &Cold) -> (Bth, Option<Reth>) {
    let whole = has_payload(packet.kind());
    let first = whole && packet.psn == 0;
    let last = whole && cold.remaining <= cold.payload.into();
    let padding = (cold.payload.wrapping_neg() & 3) as u8;
    let bth = Bth {
        opcode: match (first, last) {
            (true, true) => opcode::WRITE_ONLY,
            (true, false) => opcode::WRITE_FIRST,
            (false, true) => opcode::WRITE_LAST,
            (false, false) => opcode::WRITE_MIDDLE,
        },
        pad: if whole { padding } else { 0 },
        partition: PARTITION,
        queue_pair: packet.flow & LARGEST_24,
        ack_requested: packet.has(flag::ASKS),
        psn: packet.psn & LARGEST_24,
        ..Bth::default()
    };
    let reth = first.then(|| Reth {
        address: 0,
        key: packet.flow,
        length: u32::try_from(cold.remaining).unwrap_or(u32::MAX),
    });
    (bth, reth)
}

fn answer_header(kind: Kind, marked: bool, packet: &Packet, cold: &Cold) -> Bth {
    Bth {
        opcode: match kind {
            Kind::Cnp => opcode::CNP,
            _ => opcode::ACKNOWLEDGE,
        },
        partition: PARTITION,
        backward: marked || kind == Kind::Cnp,
        queue_pair: cold.slot.bits() & LARGEST_24,
        psn: packet.psn & LARGEST_24,
        ..Bth::default()
    }
}

fn aeth(kind: Kind, packet: &Packet) -> Aeth {
    Aeth {
        syndrome: match kind {
            Kind::Nak => Aeth::NAK_SEQUENCE,
            _ => Aeth::ACK,
        },
        message: packet.flow & LARGEST_24,
    }
}

/// Returns the extension header of a packet.
fn extension_of(network: &Network, arena: &Arena, id: PacketId) -> Extension {
    let (packet, cold) = (arena.hot(id), arena.cold(id));
    let kind = packet.kind();
    let form = form_of(kind);
    let (data, reply) = (form == Form::Data, matches!(kind, Kind::Ack | Kind::Nak));
    let (grant, request) = (kind == Kind::Grant, kind == Kind::Request);
    let notice = kind == Kind::Notice;
    let if_any = |holds: bool, value: u64| if holds { value } else { 0 };
    Extension {
        message: match kind {
            Kind::Ack => Message::Ack,
            Kind::Nak => Message::Nak,
            Kind::Cnp => Message::Cnp,
            Kind::Header => Message::Trimmed,
            Kind::Returned => Message::Returned,
            Kind::Grant => Message::Grant,
            Kind::Request => Message::Request,
            Kind::Notice => Message::Notice,
            _ => Message::Data,
        },
        retransmitted: packet.has(flag::RETRANSMITTED),
        incast: packet.has(flag::INCAST),
        flow: packet.flow,
        number: packet.psn,
        hash: packet.hash,
        slot: cold.slot.bits(),
        queue: packet.upstream_queue,
        level: if_any(grant || request, cold.level.into()) as u16,
        link_number: (network.link_numbers && data).then_some(packet.location.link_number()),
        credit: if_any(data || request || notice, cold.credit.into()) as u32,
        sent_ps: if_any(data || reply || grant || notice, cold.sent_ps),
        remaining: if_any(data || reply || request || notice, cold.remaining),
        arrived_below: if_any(reply || grant, cold.arrived_below.into()) as u32,
        done_ps: match form {
            Form::Data => Some(cold.stamp.credit_sent_ps()).filter(|&sent_ps| sent_ps != 0),
            _ => Some(cold.stamp.completion_ps()).filter(|&ps| reply && ps != NEVER),
        },
        host_ps: if_any(reply, cold.local_host_ps),
        trail: network.trails.then(|| arena.trail(id)),
        marks: if_any(data || reply, arena.marks(id).into()) as u8,
    }
}

fn decode_flow(
    network: &Network,
    ether_type: u16,
    body: &[u8],
    arena: &mut Arena,
) -> Result<PacketId, Malformed> {
    let (ip, datagram) = Ip::parse(ether_type, body)?;
    let wrong = |header, at, field, found, expected| Malformed {
        header,
        at,
        fault: Fault::Value {
            field,
            found,
            expected,
        },
    };
    if ip.protocol != UDP {
        let found = ip.protocol.into();
        return Err(wrong("IP header", 9, "protocol", found, "17 (UDP)"));
    }
    if matches!(ip.ends, Ends::V6 { .. }) != network.v6 {
        let (found, expected) = if network.v6 { (4, "6") } else { (6, "4") };
        return Err(wrong("IP header", 0, "version", found, expected));
    }
    let (src, dst) = endpoints(&ip.ends).ok_or_else(|| {
        wrong(
            "IP header",
            12,
            "address",
            0,
            "10.0.0.0/8, or fd42:5700::/96",
        )
    })?;
    let (udp, payload) = Udp::parse(&ip, datagram)?;

    let (mut paper, mut md) = (None, None);
    let (plain_port, transport) = match udp.to {
        PAPER_PORT => {
            let IntFormat::Wire(layout) = network.telemetry else {
                let found = udp.to.into();
                return Err(wrong(
                    "UDP header",
                    2,
                    "port",
                    found,
                    "another port, because the network has no INT of 8 bytes per hop",
                ));
            };
            let (stack, rest) = int::parse_paper(layout, payload)?;
            paper = Some(stack);
            (roce::PORT, rest)
        }
        MD_PORT => {
            if network.telemetry != IntFormat::Exact {
                let found = udp.to.into();
                return Err(wrong(
                    "UDP header",
                    2,
                    "port",
                    found,
                    "another port, because the network has no INT-MD",
                ));
            }
            let (stack, rest) = int::parse_md(payload)?;
            let port = stack.port;
            md = Some(stack);
            (port, rest)
        }
        port => (port, payload),
    };
    let telemetry = payload.len() - transport.len();
    let cut = udp.is_cut(payload);
    let found = match plain_port {
        roce::PORT => {
            let crc_covers = match transport.len().checked_sub(ICRC_BYTES) {
                Some(covered) if !cut => {
                    let (covered, crc) = transport.split_at(covered);
                    check_icrc(&ip, body, &udp, telemetry, covered, crc)?;
                    covered
                }
                _ => transport,
            };
            parse_roce(crc_covers, cut)?
        }
        MESSAGE_PORT => parse_message(transport)?,
        port => {
            let expected = "4791, 49790, 49791 or 49792";
            return Err(wrong("UDP header", 2, "port", port.into(), expected));
        }
    };
    let class = class_of(ip.dscp);
    let kind = found.kind;
    let congested = ip.ecn == ecn::CONGESTION;
    let marked = match kind {
        Kind::Ack | Kind::Nak => found.backward,
        _ => congested,
    };
    let bit = |holds: bool, bit: u8| if holds { bit } else { 0 };
    let header = found.extension;
    let sizes = &network.sizes;
    let packet = Packet {
        flow: header.flow,
        psn: header.number,
        hash: header.hash,
        dst,
        location: Location::on_link(header.link_number.unwrap_or(0)),
        upstream_queue: header.queue,
        flags: bit(marked, flag::CE)
            | bit(found.ack_requested, flag::ASKS)
            | bit(header.retransmitted, flag::RETRANSMITTED)
            | bit(header.incast, flag::INCAST),
        ..Packet::new(kind, class, sizes.of(kind, found.payload))
    };
    let cold = Cold {
        sent_ps: header.sent_ps,
        stamp: match kind {
            Kind::Ack | Kind::Nak => Stamp::completion(header.done_ps.unwrap_or(NEVER)),
            _ => Stamp::credit(header.done_ps.unwrap_or(0)),
        },
        remote_host_ps: 0,
        local_host_ps: header.host_ps,
        src,
        slot: FlowSlot::from_bits(header.slot),
        remaining: header.remaining,
        arrived_below: header.arrived_below,
        payload: found.payload,
        level: header.level,
        credit: header.credit,
        cookie: 0,
    };
    let id = arena.alloc(packet, cold);
    if let Some(stack) = paper {
        arena.set_stack(id, stack.path(), stack.hops());
    } else if let Some(stack) = md {
        arena.set_stack(id, stack.path, stack.hops());
    }
    arena.set_marks(id, header.marks);
    if let Some(trail) = header.trail {
        *arena.trail_mut(id) = trail;
    }
    // Reject blocks that such a packet does not have in this network. The message type may differ:
    // if a foreign switch trimmed the packet, the header still has the type of data.
    let own = extension_of(network, arena, id);
    let message = own.message;
    if own != (Extension { message, ..header }) {
        arena.free(id);
        let expected = "the blocks of such a packet in this network";
        return Err(wrong(
            "extension header",
            4,
            "blocks",
            header.blocks().into(),
            expected,
        ));
    }
    Ok(id)
}

/// Contents found after the UDP header.
struct Found {
    kind: Kind,
    backward: bool,
    ack_requested: bool,
    payload: u16,
    extension: Extension,
}

/// Checks the iCRC of a packet whose telemetry has `telemetry` bytes.
fn check_icrc(
    ip: &Ip,
    header: &[u8],
    udp: &Udp,
    telemetry: usize,
    covered: &[u8],
    crc: &[u8],
) -> Result<(), Malformed> {
    let bytes = ip.header_bytes();
    let mut plain = [0; 40];
    plain[..bytes].copy_from_slice(&header[..bytes]);
    let payload = (usize::from(ip.payload_bytes) - telemetry) as u16;
    match ip.ends {
        Ends::V4 { .. } => plain[2..4].copy_from_slice(&(payload + bytes as u16).to_be_bytes()),
        Ends::V6 { .. } => plain[4..6].copy_from_slice(&payload.to_be_bytes()),
    }
    let udp = Udp {
        to: roce::PORT,
        bytes: udp.bytes - telemetry as u16,
        ..*udp
    };
    let expected = icrc(&plain[..bytes], &udp.to_bytes(), covered);
    let found = u32::from_le_bytes(*crc.first_chunk().unwrap_or(&[0; 4]));
    if found == expected {
        return Ok(());
    }
    Err(Malformed {
        header: "iCRC",
        at: 0,
        fault: Fault::Checksum { found, expected },
    })
}

/// Parses RoCEv2 without its iCRC. `cut` is true if a foreign switch has trimmed the packet.
fn parse_roce(bytes: &[u8], cut: bool) -> Result<Found, Malformed> {
    let (bth, rest) = Bth::parse(bytes)?;
    let wrong = |field, found, expected| Malformed {
        header: "BTH",
        at: 0,
        fault: Fault::Value {
            field,
            found,
            expected,
        },
    };
    let found = |kind, payload, extension| Found {
        kind,
        backward: bth.backward,
        ack_requested: bth.ack_requested && form_of(kind) == Form::Data,
        payload,
        extension,
    };
    match bth.opcode {
        opcode::ACKNOWLEDGE | opcode::CNP if cut => Err(wrong(
            "opcode",
            bth.opcode.into(),
            "data, because a switch has cut the packet",
        )),
        opcode::ACKNOWLEDGE => {
            let (aeth, rest) = Aeth::parse(rest)?;
            let (extension, _) = Extension::parse(rest)?;
            let kind = match (aeth.syndrome, extension.message) {
                (Aeth::ACK, Message::Ack) => Kind::Ack,
                (Aeth::NAK_SEQUENCE, Message::Nak) => Kind::Nak,
                _ => {
                    return Err(wrong(
                        "syndrome",
                        aeth.syndrome.into(),
                        "the syndrome of the message in the extension header",
                    ));
                }
            };
            Ok(found(kind, 0, extension))
        }
        opcode::CNP => {
            let mut reader = Reader::new("CNP", rest);
            reader.bytes(CNP_BYTES)?;
            let (extension, _) = Extension::parse(reader.rest())?;
            if extension.message != Message::Cnp {
                return Err(wrong("message", extension.message as u64, "a notification"));
            }
            Ok(found(Kind::Cnp, 0, extension))
        }
        opcode::WRITE_FIRST | opcode::WRITE_MIDDLE | opcode::WRITE_LAST | opcode::WRITE_ONLY => {
            let has_reth = matches!(bth.opcode, opcode::WRITE_FIRST | opcode::WRITE_ONLY);
            let rest = if has_reth { Reth::parse(rest)?.1 } else { rest };
            let (extension, payload) = Extension::parse(rest)?;
            let kind = match extension.message {
                Message::Data if !cut => Kind::Data,
                Message::Data | Message::Trimmed => Kind::Header,
                Message::Returned => Kind::Returned,
                message => return Err(wrong("message", message as u64, "data")),
            };
            if !has_payload(kind) {
                return Ok(found(kind, 0, extension));
            }
            let Some(bytes) = payload.len().checked_sub(bth.pad.into()) else {
                return Err(wrong("padding", bth.pad.into(), "no more than the payload"));
            };
            if bytes > usize::from(MOST_PAYLOAD) {
                return Err(wrong("payload", bytes as u64, "65000 bytes or fewer"));
            }
            Ok(found(kind, bytes as u16, extension))
        }
        other => Err(wrong(
            "opcode",
            other.into(),
            "a write, an acknowledgement or a CNP",
        )),
    }
}

/// Parses a message of a receiver-driven transport, or a notice from a switch.
fn parse_message(bytes: &[u8]) -> Result<Found, Malformed> {
    let (extension, _) = Extension::parse(bytes)?;
    let kind = match extension.message {
        Message::Grant => Kind::Grant,
        Message::Request => Kind::Request,
        Message::Notice => Kind::Notice,
        message => {
            return Err(Malformed {
                header: "extension header",
                at: 2,
                fault: Fault::Value {
                    field: "message",
                    found: message as u64,
                    expected: "a grant, a request or a notice",
                },
            });
        }
    };
    Ok(Found {
        kind,
        backward: false,
        ack_requested: false,
        payload: 0,
        extension,
    })
}

impl Sizes {
    /// Returns the size of a packet on a link. `payload` is the payload of a data packet.
    const fn of(&self, kind: Kind, payload: u16) -> u16 {
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

// --- Addresses ---

fn ends(network: &Network, src: u32, dst: u32) -> Result<Ends, Unfit> {
    if network.v6 {
        return Ok(Ends::V6 {
            from: v6(src),
            to: v6(dst),
        });
    }
    let v4 = |endpoint: u32| {
        let most = u64::from(V4_ENDPOINTS - 1);
        let endpoint = Unfit::check("an endpoint with IPv4", endpoint.into(), most)? as u32;
        Ok(Ipv4Addr::from(10 << 24 | endpoint))
    };
    Ok(Ends::V4 {
        from: v4(src)?,
        to: v4(dst)?,
    })
}

fn v6(endpoint: u32) -> Ipv6Addr {
    let mut octets = [0; 16];
    octets[..12].copy_from_slice(&V6_PREFIX);
    octets[12..].copy_from_slice(&endpoint.to_be_bytes());
    octets.into()
}

/// Returns the numbers of both endpoints, or `None` if an address does not belong to an endpoint.
fn endpoints(ends: &Ends) -> Option<(u32, u32)> {
    match ends {
        Ends::V4 { from, to } => {
            let number = |address: &Ipv4Addr| {
                let bits = u32::from(*address);
                (bits >> 24 == 10).then_some(bits & (V4_ENDPOINTS - 1))
            };
            Some((number(from)?, number(to)?))
        }
        Ends::V6 { from, to } => {
            let number = |address: &Ipv6Addr| {
                let octets = address.octets();
                let (prefix, number) = octets.split_last_chunk::<4>()?;
                (prefix == V6_PREFIX).then_some(u32::from_be_bytes(*number))
            };
            Some((number(from)?, number(to)?))
        }
    }
}
