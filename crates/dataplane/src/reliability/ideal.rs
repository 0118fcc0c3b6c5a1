//! Ideal retransmission: the node that drops a packet notifies the sender, which sends only this
//! packet again. The receiver counts packets and accepts them in any order.

use std::collections::VecDeque;

use super::arrivals::Arrivals;
use super::{Answer, Data, Lost, News, Progress, Received, Reliability, Reply};
use crate::cc::PathInfo;
use crate::param::{Conflict, Param};
use crate::properties::{Properties, Property};
use crate::scheme::Scheme;
use crate::units::Time;

crate::params! {
    /// Parameters of ideal retransmission.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct IdealConfig {
        /// Time between a drop and its notice at the sender; `"path"`: propagation delay of the
        /// path back.
        pub delay_ps: Option<Time> = Param::time("delay", 0).or(&["path"])
            .default("\"path\"", "PRE-61", "the news comes back at the speed of light, our choice"),
    }
}

/// Packets that are lost and have not been sent again yet.
#[derive(Clone, Debug, Default)]
pub struct Ideal {
    /// Packet number and payload bytes of each lost packet, in the order of the drop notices.
    lost: VecDeque<(u32, u64)>,
    bytes: u64,
}

impl Scheme for Ideal {
    const NAME: &'static str = "ideal";
    type Params = IdealConfig;
    type Config = IdealConfig;
    const PROVIDES: Properties = Properties::of(&[
        Property::Repairs,
        Property::AnyOrder,
        Property::Selective,
        Property::AnnouncesDrops,
    ]);

    fn configure(config: IdealConfig) -> Result<IdealConfig, Conflict> {
        Ok(config)
    }
}

impl Reliability for Ideal {
    fn new(_config: &IdealConfig, _path: &PathInfo) -> Self {
        Self::default()
    }

    #[inline]
    fn on_reply(&mut self, _at: &Progress, reply: &Reply) -> News {
        News::acknowledged(reply.newly)
    }

    fn on_timeout(&mut self, _at: &Progress) -> Lost {
        Lost::Nothing
    }

    // REC-30
    fn on_drop_notice(&mut self, psn: u32, payload: u64) -> Lost {
        self.lost.push_back((psn, payload));
        self.bytes += payload;
        Lost::Some
    }

    fn next_lost(&self, _acked: u32) -> Option<u32> {
        self.lost.front().map(|&(psn, _)| psn)
    }

    fn sent_again(&mut self, _now: Time, _psn: u32) {
        if let Some((_, payload)) = self.lost.pop_front() {
            debug_assert!(self.bytes >= payload, "lost bytes");
            self.bytes -= payload;
        }
    }

    // REC-32: lost packets are not in flight.
    fn flight(&self, in_flight: u64, window: u64) -> (u64, u64) {
        (in_flight.saturating_sub(self.bytes), window)
    }

    // NIC-12: no packet arrives twice, so the receiver only counts.
    #[inline]
    fn on_data(
        _config: &IdealConfig,
        flow: &mut Received,
        _arrivals: &mut Arrivals,
        data: &Data<'_>,
    ) -> Answer {
        flow.accept(data)
    }
}
