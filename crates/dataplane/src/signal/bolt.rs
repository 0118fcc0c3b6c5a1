//! Bolt at a switch (Arslan et al., NSDI 2023). The switch sends notices of congestion to senders.
//! A data packet that may raise the window of its flow needs a token at each port; without a token
//! it loses this permission. The rules are in `specs/bolt.md`.

use super::{Joined, Notifier};
use crate::packet::{Cold, Notice, Packet, ramp};
use crate::param::{Conflict, Field, Kind, MAX_SIZE_BYTES, Param, Value};
use crate::scheme::Scheme;
use crate::units::{Rate, Time};

/// A number of bytes, or of full packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// A number of bytes.
    Bytes(u64),
    /// A number of full packets.
    Packets(u64),
}

impl Amount {
    /// Kinds of scenario values that this type accepts.
    const KINDS: &'static [Kind] = &[
        Kind::Size {
            min: 0,
            max: MAX_SIZE_BYTES,
        },
        Kind::Counted {
            noun: "packets",
            min: 0,
            max: 100_000,
        },
    ];

    const fn bytes(self, packet_bytes: u16) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Packets(packets) => packets * packet_bytes as u64,
        }
    }
}

impl Field for Amount {
    fn of(value: Option<&Value>) -> Self {
        match value {
            Some(Value::Counted(packets)) => Self::Packets(*packets),
            bytes => Self::Bytes(u64::of(bytes)),
        }
    }
}

crate::params! {
    /// Parameters of Bolt at a switch.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct BoltConfig {
        /// Queue length at which an arriving packet causes a notice to its sender.
        pub threshold: Amount = Param::either("threshold", Amount::KINDS)
            .default("\"62KB\"", "PRE-220", "the default of the authors' code"),
        /// Maximum number of ramp-up tokens of a port. Packets of a flow's last window add tokens,
        /// and packets that raise windows use tokens.
        pub ramp_up_tokens: u16 = Param::count("ramp_up_tokens", 0, u16::MAX as u64)
            .default("256", "PRE-220", "the default of the authors' code"),
        /// Maximum spare capacity that a port accumulates for increases of windows. Below one
        /// packet, spare capacity permits no increase.
        pub supply: Amount = Param::either("supply", Amount::KINDS)
            .default("\"30KB\"", "PRE-220", "the default of the authors' code"),
        /// Size of a notice packet to the sender.
        pub notice_bytes: u16 = Param::size("notice", 1, 1_000)
            .default("\"64B\"", "PRE-220", "a smallest frame, our choice"),
    }
}

/// Tokens and spare capacity of one egress port.
#[derive(Clone, Copy, Debug)]
struct Port {
    rate: Rate,
    /// Ramp-up tokens: one for each packet of a flow's last window.
    ramp_up: u16,
    /// Spare capacity of the link in bytes; negative while the port is overloaded.
    supply: i64,
    /// Time at which the last data packet joined a queue.
    last_ps: Time,
}

/// Bolt state of a switch.
#[derive(Debug)]
pub struct Bolt {
    config: BoltConfig,
    threshold_bytes: u64,
    /// Maximum spare capacity of a port in bytes.
    supply_bytes: i64,
    /// Size of a full packet in bytes. An increase by spare capacity uses this amount.
    packet_bytes: u16,
    ports: Vec<Port>,
}

impl Scheme for Bolt {
    const NAME: &'static str = "bolt";
    const TABLE: &'static str = "bolt-switch";
    type Params = BoltConfig;
    type Config = BoltConfig;

    fn configure(config: BoltConfig) -> Result<BoltConfig, Conflict> {
        Ok(config)
    }
}

impl Port {
    /// Adds the bytes that the link could send since the last packet to the spare capacity, and
    /// subtracts the size of this packet.
    // BOLT-04: spare capacity
    fn update_supply(&mut self, now: Time, size: u16, most: i64) {
        debug_assert!(now >= self.last_ps, "time goes forward");
        let earned = self.rate.bytes_in(now - self.last_ps);
        let earned = i64::try_from(earned).unwrap_or(i64::MAX);
        let supply = self.supply.saturating_add(earned) - i64::from(size);
        self.supply = supply.min(most);
        self.last_ps = now;
    }

    /// Uses a ramp-up token or, if there is none, spare capacity of one packet. Returns false if
    /// the port has neither.
    // BOLT-05: tokens of a port
    fn take_token(&mut self, packet_bytes: u16) -> bool {
        if self.ramp_up > 0 {
            self.ramp_up -= 1;
            return true;
        }
        let has_supply = self.supply >= packet_bytes.into();
        if has_supply {
            self.supply -= i64::from(packet_bytes);
        }
        has_supply
    }
}

impl Notifier for Bolt {
    fn new(config: &BoltConfig, packet_bytes: u16, ports: &[(Rate, Time)]) -> Self {
        let port = |&(rate, _): &(Rate, Time)| Port {
            rate,
            ramp_up: 0,
            supply: 0,
            last_ps: 0,
        };
        Self {
            config: *config,
            threshold_bytes: config.threshold.bytes(packet_bytes),
            supply_bytes: config.supply.bytes(packet_bytes).cast_signed(),
            packet_bytes,
            ports: ports.iter().map(port).collect(),
        }
    }

    fn notice_bytes(config: &BoltConfig) -> u16 {
        config.notice_bytes
    }

    fn joined(&mut self, joined: &Joined<'_>, marks: &mut u8) -> Option<(Packet, Cold)> {
        let config = &self.config;
        let port = &mut self.ports[usize::from(joined.port)];
        port.update_supply(joined.now, joined.packet.size, self.supply_bytes);
        if joined.queue_bytes >= self.threshold_bytes {
            // BOLT-02: all switches together send at most one notice per packet.
            *marks &= !ramp::INCREASE;
            if *marks & ramp::DECREASE != 0 {
                return None;
            }
            *marks |= ramp::DECREASE;
            // BOLT-06: `drain_ps` is the time to send the packets queued before this one.
            let notice = Notice {
                psn: joined.packet.psn,
                sent_ps: joined.cold.sent_ps,
                drain_ps: port.rate.serialisation_ps(joined.queue_bytes),
                rate_mbps: (port.rate.bps() / 1_000_000) as u32,
            };
            return Some(notice.record(joined.packet, joined.cold, config.notice_bytes));
        }
        if *marks & (ramp::LAST | ramp::FIRST) == ramp::LAST {
            port.ramp_up = port.ramp_up.saturating_add(1).min(config.ramp_up_tokens); // BOLT-03
        } else if *marks & ramp::INCREASE != 0 && !port.take_token(self.packet_bytes) {
            *marks &= !ramp::INCREASE; // BOLT-05: no token, no increase
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Kind;
    use crate::units::US;

    const CONFIG: BoltConfig = BoltConfig {
        threshold: Amount::Bytes(10_000),
        ramp_up_tokens: 2,
        supply: Amount::Packets(3),
        notice_bytes: 64,
    };

    /// A switch with one port of 100 Gb/s. Data packets of 1000 B join its queue.
    struct Bench(Bolt);

    impl Bench {
        fn new() -> Self {
            Self(Bolt::new(&CONFIG, 1_000, &[(Rate::from_gbps(100), US)]))
        }

        fn join(&mut self, now: Time, queue_bytes: u64, bits: u8) -> (u8, Option<(Packet, Cold)>) {
            let packet = Packet {
                flow: 7,
                psn: 30,
                dst: 2,
                ..Packet::new(Kind::Data, 2, 1000)
            };
            let cold = Cold {
                src: 1,
                sent_ps: 5 * US,
                ..Cold::default()
            };
            let joined = Joined {
                now,
                port: 0,
                queue_bytes,
                packet: &packet,
                cold: &cold,
            };
            let mut bits = bits;
            let sent = self.0.joined(&joined, &mut bits);
            (bits, sent)
        }
    }

    // BOLT-01, BOLT-02, BOLT-06: notices
    #[test]
    fn a_packet_at_the_threshold_causes_one_notice_to_its_sender() {
        let mut bench = Bench::new();
        assert!(bench.join(0, 9_999, 0).1.is_none());
        let (bits, sent) = bench.join(0, 10_000, ramp::INCREASE | ramp::ADDITIVE);
        assert_eq!(bits, ramp::DECREASE | ramp::ADDITIVE);
        let (packet, cold) = sent.unwrap();
        assert_eq!((packet.dst, packet.flow, packet.size), (1, 7, 64));
        let notice = Notice::read(&packet, &cold).unwrap();
        let expected = Notice {
            psn: 30,
            sent_ps: 5 * US,
            drain_ps: 800_000,
            rate_mbps: 100_000,
        };
        assert_eq!(notice, expected, "10 000 B at 100 Gb/s take 0.8 us");
        let (bits, sent) = bench.join(0, 50_000, bits);
        assert_eq!(
            (bits, sent.is_none()),
            (ramp::DECREASE | ramp::ADDITIVE, true)
        );
    }

    // BOLT-03, BOLT-05: ramp-up tokens
    #[test]
    fn packets_of_last_windows_leave_tokens_for_others() {
        let mut bench = Bench::new();
        for bits in [ramp::LAST, ramp::LAST, ramp::LAST, ramp::LAST | ramp::FIRST] {
            assert_eq!(bench.join(0, 0, bits).0, bits);
        }
        let left: Vec<u8> = (0..3).map(|_| bench.join(0, 0, ramp::INCREASE).0).collect();
        assert_eq!(
            left,
            [ramp::INCREASE, ramp::INCREASE, 0],
            "two of three tokens are kept"
        );
    }

    // BOLT-04, BOLT-05: spare capacity
    #[test]
    fn spare_capacity_lets_windows_grow_by_as_many_packets() {
        let mut bench = Bench::new();
        // In 1 µs, 100 Gb/s are 12 500 B, limited to 3000 B. The packet uses 1000 B of capacity and
        // 1000 B as a token.
        assert_eq!(bench.join(US, 0, ramp::INCREASE).0, ramp::INCREASE);
        let left = bench.join(US, 0, ramp::INCREASE).0;
        assert_eq!(left, ramp::INCREASE, "2000 B less a packet");
        assert_eq!(bench.join(US, 0, ramp::INCREASE).0, 0);
        // The port is overloaded by 1000 B, which the next capacity must compensate first.
        let full_ps = 80_000;
        assert_eq!(bench.join(US + 2 * full_ps, 0, ramp::INCREASE).0, 0);
        assert_eq!(
            bench.join(US + 4 * full_ps, 0, ramp::INCREASE).0,
            ramp::INCREASE
        );
    }
}
