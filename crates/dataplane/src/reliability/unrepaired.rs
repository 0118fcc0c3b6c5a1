//! No recovery, for networks without losses. The receiver counts packets and accepts them in any
//! order.

use super::arrivals::Arrivals;
use super::{Answer, Data, Lost, News, Progress, Received, Reliability, Reply};
use crate::cc::PathInfo;
use crate::param::Conflict;
use crate::properties::{Properties, Property, Rule};
use crate::scheme::Scheme;

crate::params! {
    /// Parameters of a scheme without recovery: none.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct UnrepairedConfig;
}

/// Sender state of a scheme without recovery: empty.
#[derive(Clone, Copy, Debug)]
pub struct Unrepaired;

impl Scheme for Unrepaired {
    const NAME: &'static str = "none";
    type Params = UnrepairedConfig;
    type Config = UnrepairedConfig;
    const PROVIDES: Properties = Properties::of(&[Property::AnyOrder]);

    fn configure(config: UnrepairedConfig) -> Result<UnrepairedConfig, Conflict> {
        Ok(config)
    }

    fn rules(_config: &UnrepairedConfig) -> Vec<Rule> {
        crate::rules! {
            wrong ["recovery", "admission"] with [MayDrop] without [NoOverflow]:
                "packets can be dropped under this `admission`, and nothing would send them again",
                "set recovery = \"go-back-n\", \"irn\" or \"ideal\", or admission to \"pfc\" or \"unlimited\"";
            wrong ["guard", "recovery"] with [Guard]:
                "a guard can drop packets, and nothing would send them again",
                "set recovery = \"go-back-n\" or \"irn\", or guard = \"none\"";
        }
    }
}

impl Reliability for Unrepaired {
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
