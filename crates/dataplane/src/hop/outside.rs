//! A hop scheme from another crate, as a trait object.

use std::fmt::Debug;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::any_sink::AnySink;
use super::{CreditSums, Cx, HopScheme, Outcome, Pipeline, Site, Step, Steps, Topology};
use crate::added::AnyEq;
use crate::declaration::Declaration;
use crate::packet::{Arena, Packet, PacketId, SchemeNumber};
use crate::sink::Sink;

/// Configuration of a hop scheme from another crate.
#[derive(Clone, Debug)]
pub struct OutsideHopConfig(Arc<dyn AnyConfig>);

impl PartialEq for OutsideHopConfig {
    fn eq(&self, other: &Self) -> bool {
        self.0.is_equal(other.0.as_any())
    }
}

impl OutsideHopConfig {
    pub(super) fn new<H: HopScheme>(config: H::Config) -> Self {
        Self(Arc::new(Own::<H>(config)))
    }

    /// Returns the declaration of the scheme.
    #[must_use]
    pub fn declaration(&self) -> &dyn Declaration {
        self.0.declaration()
    }

    pub(crate) fn state(&self, site: &Site<'_>) -> OutsideHop {
        OutsideHop(self.0.state(site))
    }
}

/// Configuration of any hop scheme, as a trait object.
trait AnyConfig: AnyEq + Debug + Send + Sync {
    fn declaration(&self) -> &dyn Declaration;
    fn state(&self, site: &Site<'_>) -> Box<dyn AnyHop>;
}

/// Configuration of one hop scheme.
#[derive(Debug)]
struct Own<H: HopScheme>(H::Config);

impl<H: HopScheme> PartialEq for Own<H> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<H: HopScheme> AnyConfig for Own<H> {
    fn declaration(&self) -> &dyn Declaration {
        &self.0
    }

    fn state(&self, site: &Site<'_>) -> Box<dyn AnyHop> {
        Box::new(H::new(&self.0, site))
    }
}

/// Methods of [`HopScheme`] for a simulation engine of any type.
pub(crate) trait AnyHop: Debug + Send {
    fn number(&self) -> SchemeNumber;
    fn watches(&self) -> Steps;
    fn counted(&self, core: &Pipeline) -> Vec<(&'static str, u64)>;
    fn on_step(&mut self, cx: &mut Cx<'_, AnySink<'_>>, step: Step<'_>) -> Outcome;
    fn on_link(&mut self, cx: &mut Cx<'_, AnySink<'_>>, port: u16);
    fn learn(&mut self, core: &Pipeline, fact: Topology<'_>);
    fn is_at_rest(&self) -> bool;
    fn pauses_upstream(&self) -> bool;
    fn explain_stall(&self, say: &mut dyn FnMut(String));
    fn audit(&self, core: &Pipeline, arena: &Arena) -> Vec<String>;
    fn pauses_by_name(&self, packet: &Packet) -> Option<u32>;
    fn credit_sums(&self) -> Option<CreditSums>;
    fn voq_bytes(&self, port: u16) -> Option<(u64, u64)>;
    fn voq_of(&self, dst: u32) -> Option<(u32, u32)>;
    fn for_each_parked(&self, arena: &Arena, visit: &mut dyn FnMut(PacketId));
}

impl<H: HopScheme> AnyHop for H {
    fn number(&self) -> SchemeNumber {
        H::NUMBER
    }

    fn watches(&self) -> Steps {
        H::WATCHES
    }

    fn counted(&self, core: &Pipeline) -> Vec<(&'static str, u64)> {
        let mut values = vec![0; H::COUNTERS.len()];
        H::count(Some(self), core, &mut values);
        let names = H::COUNTERS.iter().map(|counter| counter.name);
        names.zip(values).collect()
    }

    fn on_step(&mut self, cx: &mut Cx<'_, AnySink<'_>>, step: Step<'_>) -> Outcome {
        self.step(cx, step)
    }

    fn on_link(&mut self, cx: &mut Cx<'_, AnySink<'_>>, port: u16) {
        self.link(cx, port);
    }

    fn learn(&mut self, core: &Pipeline, fact: Topology<'_>) {
        H::learn(self, core, fact);
    }

    fn is_at_rest(&self) -> bool {
        H::is_at_rest(self)
    }

    fn pauses_upstream(&self) -> bool {
        H::pauses_upstream(self)
    }

    fn explain_stall(&self, say: &mut dyn FnMut(String)) {
        H::explain_stall(self, say);
    }

    fn audit(&self, core: &Pipeline, arena: &Arena) -> Vec<String> {
        H::audit(self, core, arena)
    }

    fn pauses_by_name(&self, packet: &Packet) -> Option<u32> {
        H::pauses_by_name(self, packet)
    }

    fn credit_sums(&self) -> Option<CreditSums> {
        H::credit_sums(self)
    }

    fn voq_bytes(&self, port: u16) -> Option<(u64, u64)> {
        H::voq_bytes(self, port)
    }

    fn voq_of(&self, dst: u32) -> Option<(u32, u32)> {
        H::voq_of(self, dst)
    }

    fn for_each_parked(&self, arena: &Arena, visit: &mut dyn FnMut(PacketId)) {
        H::for_each_parked(self, arena, visit);
    }
}

/// Calls a function with the same context and the engine as a trait object.
fn with_any_sink<S: Sink, R>(
    cx: &mut Cx<'_, S>,
    call: impl FnOnce(&mut Cx<'_, AnySink<'_>>) -> R,
) -> R {
    call(&mut Cx {
        now: cx.now,
        steps: cx.steps,
        core: &mut *cx.core,
        arena: &mut *cx.arena,
        sink: &mut AnySink(&mut *cx.sink),
    })
}

/// State of a hop scheme from another crate.
#[derive(Debug)]
pub(crate) struct OutsideHop(Box<dyn AnyHop>);

impl OutsideHop {
    pub fn step<S: Sink>(&mut self, cx: &mut Cx<'_, S>, step: Step<'_>) -> Outcome {
        with_any_sink(cx, |cx| self.0.on_step(cx, step))
    }

    pub fn link<S: Sink>(&mut self, cx: &mut Cx<'_, S>, port: u16) {
        with_any_sink(cx, |cx| self.0.on_link(cx, port));
    }
}

impl Deref for OutsideHop {
    type Target = dyn AnyHop;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl DerefMut for OutsideHop {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.0
    }
}
