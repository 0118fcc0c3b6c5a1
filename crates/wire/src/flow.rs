//! Frames of the packets of flows: IP, UDP, INT if used, and RoCEv2 with the extension header (or
//! only the extension header). docs/wire.md has tables of the fields.

use dataplane::classes::{CONTROL_CLASS, DATA_CLASS, traffic_class};
use dataplane::ids::FlowSlot;
use dataplane::int::{IntFormat, IntStack};
use dataplane::packet::{Arena, Cold, Kind, Location, Packet, PacketId, Stamp, flag};
use dataplane::units::NEVER;

use crate::address::{endpoints, ends};
use crate::bytes::{Reader, Writer};
use crate::error::{Fault, Malformed, Unfit};
use crate::ethernet::{Ethernet, SHORTEST, Tag};
use crate::extension::{Extension, HEADER, MESSAGE_PORT};
use crate::int::{self, MD_PORT, PAPER_PORT};
use crate::ip::{Ends, Ip, UDP, UDP_BYTES, Udp, ecn};
use crate::network::{Link, Network};
use crate::roce::{self, Aeth, Bth, CNP_BYTES, ICRC_BYTES, LARGEST_24, Reth, icrc, opcode};

/// Initial TTL or hop limit. The switches of the dataplane do not decrement it.
const HOPS: u8 = 64;
/// Partition key of all queue pairs: the default key.
const PARTITION: u16 = 0xffff;
/// Largest payload that fits a datagram together with all possible headers.
const MOST_PAYLOAD: u16 = 65_000;
/// DSCP of the control class. No traffic class has this DSCP. Its upper three bits are the highest
/// priority.
const CONTROL_DSCP: u8 = 57;

/// Layout of the bytes after the UDP header and INT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// RoCEv2 data packet, complete or trimmed.
    Data,
    /// RoCEv2 without payload: ACK, NAK or CNP.
    Answer,
    /// Only the extension header.
    Message,
}

const fn form_of(kind: Kind) -> Form {
    match kind {
        Kind::Ack | Kind::Nak | Kind::Cnp => Form::Answer,
        Kind::Grant | Kind::Request | Kind::Notice => Form::Message,
        _ => Form::Data,
    }
}

/// Returns true if payload follows the headers. A trimmed packet has no payload.
const fn has_payload(kind: Kind) -> bool {
    matches!(kind, Kind::Data)
}

/// Returns true if packets of this kind echo the ECN mark of the packet that they answer.
const fn has_echo(kind: Kind) -> bool {
    matches!(kind, Kind::Ack | Kind::Nak)
}

/// Returns the DSCP of a class: eight times the traffic class of the scenario. The upper three bits
/// equal the priority in the 802.1Q tag.
// SW-03: frames carry the traffic classes of the scenario
fn dscp_of(class: u8) -> u8 {
    traffic_class(class).map_or(CONTROL_DSCP, |traffic| traffic << 3)
}

/// Returns the class of packets with this DSCP.
const fn class_of(dscp: u8) -> u8 {
    match dscp {
        CONTROL_DSCP => CONTROL_CLASS,
        _ => DATA_CLASS + (dscp >> 3),
    }
}

/// Returns the extension header of a packet.
fn extension_of(network: &Network, arena: &Arena, id: PacketId) -> Extension {
    let (packet, cold) = (arena.hot(id), arena.cold(id));
    let kind = packet.kind();
    let form = form_of(kind);
    let (data, reply) = (form == Form::Data, has_echo(kind));
    let (grant, request) = (kind == Kind::Grant, kind == Kind::Request);
    let notice = kind == Kind::Notice;
    let if_any = |holds: bool, value: u64| if holds { value } else { 0 };
    Extension {
        kind,
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

// --- Encoding ---

/// Writes the frame of a packet.
pub(crate) fn encode(
    link: &Link<'_>,
    arena: &Arena,
    id: PacketId,
    out: &mut Writer<'_>,
) -> Result<(), Unfit> {
    let (packet, cold) = (arena.hot(id), arena.cold(id));
    let network = link.network;
    let form = form_of(packet.kind());
    let dscp = dscp_of(packet.class());
    let mut ip = Ip {
        ends: ends(network.v6, cold.src, packet.dst)?,
        dscp,
        ecn: match form {
            _ if packet.has(flag::CE) && !has_echo(packet.kind()) => ecn::CONGESTION,
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
            priority: dscp >> 3,
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
    let port = emit_telemetry(network, plain_port, arena, id, out)?;
    let transport = out.written();
    emit_transport(network, arena, id, out)?;

    let mut udp = Udp {
        from: 0xc000 | packet.hash as u16 & 0x3fff,
        to: plain_port,
        bytes: 0,
        checksum: 0,
    };
    if form != Form::Message {
        // The iCRC does not cover INT, because the receiver removes INT before it checks the iCRC.
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

/// Checks a UDP length and returns it. With the IPv4 header it must fit the 16-bit total length.
fn datagram(bytes: usize) -> Result<u16, Unfit> {
    let most = u64::from(u16::MAX) - 20;
    Unfit::check("the length of the datagram", bytes as u64, most).map(|bytes| bytes as u16)
}

/// Writes the INT stack of a packet, if it has one. Returns the UDP port of the frame. `plain_port`
/// is the UDP port of a packet without INT.
fn emit_telemetry(
    network: &Network,
    plain_port: u16,
    arena: &Arena,
    id: PacketId,
    out: &mut Writer<'_>,
) -> Result<u16, Unfit> {
    let Some(stack) = arena.stack(id) else {
        return Ok(plain_port);
    };
    if let IntFormat::Wire(layout) = network.telemetry
        && plain_port == roce::PORT
    {
        int::emit_paper(layout, &stack, out)?;
        return Ok(PAPER_PORT);
    }
    let is_growing = arena.hot(id).kind() == Kind::Data;
    int::emit_md(plain_port, is_growing, &stack, out)?;
    Ok(MD_PORT)
}

/// Writes the headers that follow UDP and INT, and then the payload.
fn emit_transport(
    network: &Network,
    arena: &Arena,
    id: PacketId,
    out: &mut Writer<'_>,
) -> Result<(), Unfit> {
    let (packet, cold) = (arena.hot(id), arena.cold(id));
    let kind = packet.kind();
    let mut padding = 0;
    match form_of(kind) {
        Form::Message => {}
        Form::Answer => {
            answer_header(packet, cold).emit(out)?;
            match kind {
                Kind::Cnp => out.zeros(CNP_BYTES)?,
                _ => aeth(packet).emit(out)?,
            }
        }
        Form::Data => {
            let (bth, reth) = data_headers(packet, cold);
            bth.emit(out)?;
            if let Some(reth) = reth {
                reth.emit(out)?;
            }
            padding = usize::from(bth.pad);
        }
    }
    extension_of(network, arena, id).emit(out)?;
    if has_payload(kind) {
        Unfit::check("the payload", cold.payload.into(), MOST_PAYLOAD.into())?;
        out.zeros(usize::from(cold.payload) + padding)?;
    }
    Ok(())
}

/// Returns the RoCEv2 headers of a data packet. A trimmed packet is encoded as a middle packet of
/// an RDMA write, without payload.
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

fn answer_header(packet: &Packet, cold: &Cold) -> Bth {
    let is_cnp = packet.kind() == Kind::Cnp;
    Bth {
        opcode: match is_cnp {
            true => opcode::CNP,
            false => opcode::ACKNOWLEDGE,
        },
        partition: PARTITION,
        backward: packet.has(flag::CE) || is_cnp,
        queue_pair: cold.slot.bits() & LARGEST_24,
        psn: packet.psn & LARGEST_24,
        ..Bth::default()
    }
}

fn aeth(packet: &Packet) -> Aeth {
    Aeth {
        syndrome: match packet.kind() {
            Kind::Nak => Aeth::NAK_SEQUENCE,
            _ => Aeth::ACK,
        },
        message: packet.flow & LARGEST_24,
    }
}

// --- Decoding ---

/// Parses the bytes after the Ethernet header and stores the packet in the arena.
pub(crate) fn decode(
    network: &Network,
    ether_type: u16,
    body: &[u8],
    arena: &mut Arena,
) -> Result<PacketId, Malformed> {
    let (ip, datagram) = Ip::parse(ether_type, body)?;
    let (src, dst) = check_ip(network, &ip)?;
    let (udp, payload) = Udp::parse(&ip, datagram)?;
    let (stack, plain_port, transport) = parse_telemetry(network, udp.to, payload)?;
    let cut = udp.is_cut(payload);
    let found = match plain_port {
        roce::PORT => {
            let covered = match transport.len().checked_sub(ICRC_BYTES) {
                Some(covered) if !cut => {
                    let (covered, crc) = transport.split_at(covered);
                    let telemetry = payload.len() - transport.len();
                    check_icrc(&ip, body, &udp, telemetry, covered, crc)?;
                    covered
                }
                _ => transport,
            };
            parse_roce(covered, cut)?
        }
        MESSAGE_PORT => parse_message(transport)?,
        port => {
            let expected = "4791, 49790, 49791 or 49792";
            return Err(Malformed::value("UDP header", 2, "port", port, expected));
        }
    };
    let (packet, cold) = found.record(network, &ip, src, dst);
    let header = found.extension;
    let id = arena.alloc(packet, cold);
    if let Some(stack) = stack {
        arena.set_stack(id, stack.path(), stack.hops());
    }
    arena.set_marks(id, header.marks);
    if let Some(trail) = header.trail {
        *arena.trail_mut(id) = trail;
    }
    // Reject optional blocks that such a packet does not have in this network. The kind may differ:
    // if a foreign switch trimmed the packet, its extension header still contains `Kind::Data`.
    let own = extension_of(network, arena, id);
    if header
        != (Extension {
            kind: header.kind,
            ..own
        })
    {
        arena.free(id);
        let expected = "the blocks of such a packet in this network";
        let found = header.blocks();
        return Err(Malformed::value(HEADER, 4, "blocks", found, expected));
    }
    Ok(id)
}

/// Checks the protocol and the addresses. Returns the endpoint indices of source and destination.
fn check_ip(network: &Network, ip: &Ip) -> Result<(u32, u32), Malformed> {
    let wrong =
        |at, field, found: u8, expected| Malformed::value("IP header", at, field, found, expected);
    if ip.protocol != UDP {
        return Err(wrong(9, "protocol", ip.protocol, "17 (UDP)"));
    }
    if matches!(ip.ends, Ends::V6 { .. }) != network.v6 {
        let (found, expected) = if network.v6 { (4, "6") } else { (6, "4") };
        return Err(wrong(0, "version", found, expected));
    }
    let expected = "10.0.0.0/8, or fd42:5700::/96";
    endpoints(&ip.ends).ok_or_else(|| wrong(12, "address", 0, expected))
}

/// Parses the INT of a datagram with this UDP port. Returns the INT stack if there is one, the
/// original UDP port, and the bytes after INT.
fn parse_telemetry<'a>(
    network: &Network,
    port: u16,
    payload: &'a [u8],
) -> Result<(Option<IntStack>, u16, &'a [u8]), Malformed> {
    let wrong = |expected| Err(Malformed::value("UDP header", 2, "port", port, expected));
    match (port, network.telemetry) {
        (PAPER_PORT, IntFormat::Wire(layout)) => {
            let (stack, rest) = int::parse_paper(layout, payload)?;
            Ok((Some(stack), roce::PORT, rest))
        }
        (PAPER_PORT, _) => wrong("another port, because the network has no INT of 8 bytes per hop"),
        (MD_PORT, IntFormat::Exact) => {
            let (plain_port, stack, rest) = int::parse_md(payload)?;
            Ok((Some(stack), plain_port, rest))
        }
        (MD_PORT, _) => wrong("another port, because the network has no INT-MD"),
        _ => Ok((None, port, payload)),
    }
}

/// Checks the iCRC of a packet whose INT has `telemetry` bytes.
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

/// Parsed headers after UDP and INT.
struct Found {
    kind: Kind,
    /// BECN bit of the BTH (backward congestion notification).
    backward: bool,
    ack_requested: bool,
    payload: u16,
    extension: Extension,
}

impl Found {
    /// Returns the packet in the form that the arena stores.
    fn record(&self, network: &Network, ip: &Ip, src: u32, dst: u32) -> (Packet, Cold) {
        let (kind, header) = (self.kind, &self.extension);
        let marked = match has_echo(kind) {
            true => self.backward,
            false => ip.ecn == ecn::CONGESTION,
        };
        let bit = |holds: bool, bit: u8| if holds { bit } else { 0 };
        let size = network.sizes.of(kind, self.payload);
        let packet = Packet {
            flow: header.flow,
            psn: header.number,
            hash: header.hash,
            dst,
            location: Location::on_link(header.link_number.unwrap_or(0)),
            upstream_queue: header.queue,
            flags: bit(marked, flag::CE)
                | bit(self.ack_requested, flag::ASKS)
                | bit(header.retransmitted, flag::RETRANSMITTED)
                | bit(header.incast, flag::INCAST),
            ..Packet::new(kind, class_of(ip.dscp), size)
        };
        let cold = Cold {
            sent_ps: header.sent_ps,
            stamp: match has_echo(kind) {
                true => Stamp::completion(header.done_ps.unwrap_or(NEVER)),
                false => Stamp::credit(header.done_ps.unwrap_or(0)),
            },
            remote_host_ps: 0,
            local_host_ps: header.host_ps,
            src,
            slot: FlowSlot::from_bits(header.slot),
            remaining: header.remaining,
            arrived_below: header.arrived_below,
            payload: self.payload,
            level: header.level,
            credit: header.credit,
            cookie: 0,
        };
        (packet, cold)
    }
}

/// Parses a RoCEv2 packet without its iCRC. `cut` is true if a foreign switch has trimmed it.
fn parse_roce(bytes: &[u8], cut: bool) -> Result<Found, Malformed> {
    let (bth, rest) = Bth::parse(bytes)?;
    let wrong = |field, found, expected| Err(Malformed::value("BTH", 0, field, found, expected));
    let (kind, payload, extension) = match bth.opcode {
        opcode::ACKNOWLEDGE | opcode::CNP if cut => {
            let expected = "data, because a switch has cut the packet";
            return wrong("opcode", bth.opcode.into(), expected);
        }
        opcode::ACKNOWLEDGE => {
            let (aeth, rest) = Aeth::parse(rest)?;
            let (extension, _) = Extension::parse(rest)?;
            match (aeth.syndrome, extension.kind) {
                (Aeth::ACK, Kind::Ack) | (Aeth::NAK_SEQUENCE, Kind::Nak) => {}
                _ => {
                    let expected = "the syndrome of the message in the extension header";
                    return wrong("syndrome", aeth.syndrome.into(), expected);
                }
            }
            (extension.kind, 0, extension)
        }
        opcode::CNP => {
            let mut reader = Reader::new("CNP", rest);
            reader.bytes(CNP_BYTES)?;
            let (extension, _) = Extension::parse(reader.rest())?;
            if extension.kind != Kind::Cnp {
                return wrong("message", extension.kind as u64, "a notification");
            }
            (Kind::Cnp, 0, extension)
        }
        opcode::WRITE_FIRST | opcode::WRITE_MIDDLE | opcode::WRITE_LAST | opcode::WRITE_ONLY => {
            let has_reth = matches!(bth.opcode, opcode::WRITE_FIRST | opcode::WRITE_ONLY);
            let rest = if has_reth { Reth::parse(rest)?.1 } else { rest };
            parse_write(&bth, rest, cut)?
        }
        other => {
            return wrong(
                "opcode",
                other.into(),
                "a write, an acknowledgement or a CNP",
            );
        }
    };
    Ok(Found {
        kind,
        backward: bth.backward,
        ack_requested: bth.ack_requested && form_of(kind) == Form::Data,
        payload,
        extension,
    })
}

/// Parses the bytes of an RDMA write after the RoCEv2 headers. `cut` is true if a foreign switch
/// has trimmed the packet.
fn parse_write(bth: &Bth, rest: &[u8], cut: bool) -> Result<(Kind, u16, Extension), Malformed> {
    let wrong = |field, found, expected| Err(Malformed::value("BTH", 0, field, found, expected));
    let (extension, payload) = Extension::parse(rest)?;
    let kind = match extension.kind {
        Kind::Data if cut => Kind::Header,
        kind @ (Kind::Data | Kind::Header | Kind::Returned) => kind,
        kind => return wrong("message", kind as u64, "data"),
    };
    if !has_payload(kind) {
        return Ok((kind, 0, extension));
    }
    let Some(bytes) = payload.len().checked_sub(bth.pad.into()) else {
        return wrong("padding", bth.pad.into(), "no more than the payload");
    };
    if bytes > usize::from(MOST_PAYLOAD) {
        return wrong("payload", bytes as u64, "65000 bytes or fewer");
    }
    Ok((kind, bytes as u16, extension))
}

/// Parses a message of a receiver-driven transport, or a congestion notification from a switch.
fn parse_message(bytes: &[u8]) -> Result<Found, Malformed> {
    let (extension, _) = Extension::parse(bytes)?;
    let kind = extension.kind;
    if form_of(kind) != Form::Message {
        let expected = "a grant, a request or a notice";
        return Err(Malformed::value(HEADER, 2, "message", kind as u8, expected));
    }
    Ok(Found {
        kind,
        backward: false,
        ack_requested: false,
        payload: 0,
        extension,
    })
}
