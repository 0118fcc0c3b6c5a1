//! No recovery, for networks without losses. The receiver counts packets and accepts them in any
//! order.

use super::arrivals::Arrivals;
use super::{Answer, Data, Lost, News, Progress, Properties, Received, Reliability, Reply};
use crate::cc::PathInfo;
use crate::param::Conflict;

crate::params! {
    /// This scheme has no parameters.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct UnrepairedConfig;
}

/// Sender state of the scheme, which is empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unrepaired;

impl Reliability for Unrepaired {
    type Config = UnrepairedConfig;
    const NAME: &'static str = "none";
    type Params = UnrepairedConfig;
    const PROPERTIES: Properties = Properties {
        repairs: false,
        any_order: true,
        repeats: false,
        selective: false,
    };

    fn configure(config: UnrepairedConfig) -> Result<UnrepairedConfig, Conflict> {
        Ok(config)
    }

    fn new(_config: &UnrepairedConfig, _path: &PathInfo) -> Self {
        Self
    }

    #[inline]
    fn on_reply(&mut self, _at: &Progress, reply: &Reply) -> News {
        News::acknowledged(reply.newly)
    }

    fn on_timeout(&mut self, _at: &Progress) -> Lost {
        Lost::Nothing
    }

    // NIC-12: no packet arrives twice, so the receiver only counts.
    #[inline]
    fn on_data(
        _config: &UnrepairedConfig,
        flow: &mut Received,
        _arrivals: &mut Arrivals,
        data: &Data<'_>,
    ) -> Answer {
        flow.accept(data)
    }
}
