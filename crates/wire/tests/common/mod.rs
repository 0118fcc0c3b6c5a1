//! Random packets of every kind, and random errors in frames.

use dataplane::classes::{CONTROL_CLASS, ClassSet, DATA_CLASS};
use dataplane::hop::bfc::{Bitmap, PauseFlow, PauseQueue};
use dataplane::hop::floodgate::{Credit, Credits, PauseDestination, SwitchSyn};
use dataplane::hop::pfc::{PauseClasses, PauseFor};
use dataplane::ids::FlowSlot;
use dataplane::int::{IntFormat, IntHop, Layout};
use dataplane::link::cbfc::{CreditsConsumed, CreditsFreed};
use dataplane::link::llr::{Ack, Nack};
use dataplane::packet::{Arena, Cold, Frame, Kind, Location, Packet, PacketId, Stamp, flag};
use dataplane::units::NEVER;
use wire::frame::mac;
use wire::{Link, Network, Sizes};

/// A reproducible random number generator (xorshift64*).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Draws a number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub fn flip(&mut self) -> bool {
        self.next() >> 63 != 0
    }

    /// Draws a number of at most `bits` bits. Its magnitude is random, often 0 or the maximum.
    pub fn some(&mut self, bits: u32) -> u64 {
        match self.below(8) {
            0 => 0,
            1 => u64::MAX >> (64 - bits),
            _ => self.next() >> (64 - 1 - self.below(bits.into()) as u32),
        }
    }
}

pub const KINDS: [Kind; 9] = [
    Kind::Data,
    Kind::Ack,
    Kind::Nak,
    Kind::Cnp,
    Kind::Header,
    Kind::Returned,
    Kind::Grant,
    Kind::Request,
    Kind::Notice,
];

/// Number of types of control frames that `neighbour` creates.
pub const FRAMES: u64 = 13;

pub const SIZES: Sizes = Sizes {
    data_header: 48,
    reply: 60,
    notification: 61,
    trimmed: 62,
    grant: 84,
    request: 63,
    notice: 65,
    pause: 64,
};

pub fn network(random: &mut Random) -> Network {
    Network {
        v6: random.flip(),
        telemetry: match random.below(3) {
            0 => IntFormat::Exact,
            1 => IntFormat::Wire(Layout::new(1, 16)),
            _ => IntFormat::Wire(Layout::new(4, 17)),
        },
        link_numbers: random.flip(),
        trails: random.below(4) == 0,
        timed_pauses: random.flip(),
        sizes: SIZES,
    }
}

pub fn link(network: &Network) -> Link<'_> {
    Link {
        network,
        from: mac(300, 2),
        to: mac(7, 65_535),
    }
}

/// Creates a packet of a flow as the sender of a link encodes it. Fields that are local to a node
/// also have random values, which must not affect the frame.
pub fn flow_packet(
    random: &mut Random,
    network: &Network,
    kind: Kind,
    arena: &mut Arena,
) -> PacketId {
    let end = if network.v6 { 32 } else { 24 };
    let payload = random.below(1501) as u16;
    let data = matches!(kind, Kind::Data | Kind::Header | Kind::Returned);
    let answer = matches!(kind, Kind::Ack | Kind::Nak | Kind::Cnp);
    let size = match kind {
        Kind::Ack | Kind::Nak => SIZES.reply,
        Kind::Cnp => SIZES.notification,
        Kind::Header | Kind::Returned => SIZES.trimmed,
        Kind::Grant => SIZES.grant,
        Kind::Request => SIZES.request,
        Kind::Notice => SIZES.notice,
        _ => SIZES.data_header + payload,
    };
    let mut flags = 0;
    for (bit, possible) in [
        (flag::CE, true),
        (flag::ASKS, data),
        (flag::RETRANSMITTED, true),
        (flag::INCAST, true),
    ] {
        if possible && random.flip() {
            flags |= bit;
        }
    }
    let hot = Packet {
        flow: random.some(32) as u32,
        psn: random.some(32) as u32,
        hash: random.some(32) as u32,
        dst: random.some(end) as u32,
        next: random.next() as u32,
        location: Location::on_link(random.some(32) as u32),
        ingress: random.next() as u16,
        upstream_queue: random.some(16) as u16,
        flags,
        ..Packet::new(kind, CONTROL_CLASS + random.below(9) as u8, size)
    };
    let done_ps = match random.below(3) {
        0 => NEVER,
        1 => 0,
        _ => random.some(64),
    };
    let cold = Cold {
        sent_ps: random.some(64),
        stamp: Stamp::completion(done_ps),
        remote_host_ps: random.next(),
        local_host_ps: random.some(64),
        src: random.some(end) as u32,
        slot: FlowSlot::from_bits(random.some(32) as u32),
        remaining: random.some(64),
        arrived_below: random.some(32) as u32,
        payload,
        level: random.some(16) as u16,
        credit: random.some(32) as u32,
        cookie: 7,
    };
    let id = arena.alloc(hot, cold);
    if (data || (answer && kind != Kind::Cnp)) && random.flip() {
        let hops: Vec<IntHop> = (0..random.below(9))
            .map(|_| int_hop(random, network.telemetry))
            .collect();
        let path = random.next() as u16;
        let bits = match network.telemetry {
            IntFormat::Exact => u16::MAX,
            IntFormat::Wire(_) => 0xfff,
        };
        arena.set_stack(id, path & bits, &hops);
    }
    if data || (answer && kind != Kind::Cnp) {
        arena.set_marks(id, random.below(256) as u8);
    }
    let trail = arena.trail_mut(id);
    trail.clear();
    for _ in 0..random.below(17) {
        trail.push(random.next() as u16);
    }
    id
}

fn int_hop(random: &mut Random, telemetry: IntFormat) -> IntHop {
    let hop = IntHop {
        ts_ps: random.some(64),
        tx_bytes: random.some(64),
        qlen_bytes: random.some(32) as u32,
        rate_mbps: 100_000,
    };
    match telemetry {
        IntFormat::Exact => hop,
        IntFormat::Wire(layout) => layout.decode(layout.encode(&hop)),
    }
}

/// Creates a control frame between neighbours with random content. `which` selects the type.
pub fn neighbour(
    random: &mut Random,
    which: u64,
    network: &Network,
    arena: &mut Arena,
) -> PacketId {
    let (on, size) = (random.flip(), random.some(16) as u16);
    let (a, b, c) = (random.next(), random.next() as u32, random.next() as u32);
    let (short, class) = (a as u16, DATA_CLASS + (a & 7) as u8);
    let packet = match which {
        10 if network.timed_pauses => PauseFor {
            quanta: b as u16 | 1,
            classes: ClassSet::from(a as u8 | 1) << DATA_CLASS,
        }
        .packet(SIZES.pause),
        0 | 10 => PauseClasses {
            on: on && !network.timed_pauses,
            classes: ClassSet::from(a as u8 | 1) << DATA_CLASS,
        }
        .packet(SIZES.pause),
        1 => PauseQueue { on, queue: short }.packet(size),
        2 => PauseFlow {
            on,
            flow: b,
            queue: short,
        }
        .packet(size),
        3 => Bitmap.packet(size),
        4 => Credit {
            dst: a as u32,
            units: b,
            number: c,
        }
        .packet(size),
        5 => Credits.packet(size),
        6 => SwitchSyn {
            dst: a as u32,
            number: b,
        }
        .packet(size),
        7 => PauseDestination { on, dst: b }.packet(size),
        8 => CreditsFreed {
            class,
            credits: b & 0xf_ffff,
        }
        .packet(size),
        9 => CreditsConsumed {
            class,
            credits: b & 0xf_ffff,
        }
        .packet(size),
        11 => Ack { number: b }.packet(size),
        _ => Nack { number: b }.packet(size),
    };
    let id = arena.alloc(packet, Cold::default());
    if which == 3 {
        let mut queues: Vec<u32> = (0..random.below(60))
            .map(|_| random.some(16) as u32)
            .collect();
        queues.sort_unstable();
        queues.dedup();
        arena.set_list(id, &queues);
    } else if which == 5 {
        let words: Vec<u32> = (0..3 * random.below(70))
            .map(|_| random.next() as u32)
            .collect();
        arena.set_list(id, &words);
    }
    id
}

/// Creates a packet or frame of a random type.
pub fn any(random: &mut Random, network: &Network, arena: &mut Arena) -> PacketId {
    match random.below(KINDS.len() as u64 + FRAMES) {
        nth if (nth as usize) < KINDS.len() => {
            flow_packet(random, network, KINDS[nth as usize], arena)
        }
        nth => neighbour(random, nth - KINDS.len() as u64, network, arena),
    }
}

/// Changes random bits, bytes and words of a frame of `bytes` bytes, and its length. Returns the
/// new length.
pub fn mutate(random: &mut Random, frame: &mut [u8], bytes: usize) -> usize {
    let mut end = bytes;
    for _ in 0..=random.below(3) {
        let at = random.below(end.max(1) as u64) as usize;
        match random.below(6) {
            0 | 1 => frame[at] ^= 1 << random.below(8),
            2 => frame[at] = random.next() as u8,
            3 => frame[at] = [0, 0xff, 0x7f, 0x80][random.below(4) as usize],
            4 => end = at,
            _ => {
                let from = random.below(end.max(1) as u64) as usize;
                let count = 4.min(end.saturating_sub(at.max(from)));
                frame.copy_within(from..from + count, at);
            }
        }
    }
    end
}

/// Corrects the checksums of a frame if its headers are still valid, so that the decoder also
/// reaches errors in later headers.
pub fn repair(frame: &mut [u8]) {
    let ip_at = if frame.get(12..14) == Some(&[0x81, 0]) {
        18
    } else {
        14
    };
    let ip_bytes = match frame.get(ip_at) {
        Some(0x45) => 20,
        Some(first) if first >> 4 == 6 => 40,
        _ => return,
    };
    let (udp_at, transport_at) = (ip_at + ip_bytes, ip_at + ip_bytes + 8);
    if frame.len() < transport_at {
        return;
    }
    let length = |at: usize| usize::from(frame[at]) << 8 | usize::from(frame[at + 1]);
    let end = ip_at
        + if ip_bytes == 20 {
            length(ip_at + 2)
        } else {
            40 + length(ip_at + 4)
        };
    if ip_bytes == 20 {
        frame[ip_at + 10..ip_at + 12].fill(0);
        let words = frame[ip_at..udp_at].chunks_exact(2);
        let sum: u32 = words.map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
        let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
        frame[ip_at + 10..ip_at + 12].copy_from_slice(&sum.to_be_bytes());
    }
    frame[udp_at + 6..udp_at + 8].fill(0);
    let icrc_at = end.saturating_sub(4);
    if icrc_at < transport_at || end > frame.len() {
        return;
    }
    let (headers, transport) = frame[..icrc_at].split_at(transport_at);
    let udp = headers[udp_at..].first_chunk().expect("it has 8 bytes");
    let crc = wire::roce::icrc(&headers[ip_at..udp_at], udp, transport);
    frame[icrc_at..end].copy_from_slice(&crc.to_le_bytes());
}
