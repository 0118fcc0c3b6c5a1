//! A congestion control that another crate implements, as a trait object.

use std::fmt::Debug;
use std::sync::Arc;

use super::{Control, ControlConfig, Feedback, Listed, Notification, PathInfo, Sent};
use crate::added::AnyEq;
use crate::declaration::Around;
use crate::int::Counter;
use crate::properties::{Properties, Rule};
use crate::scheme::{Configured, Scheme};
use crate::units::Time;

/// A control that can be added: its hooks and its declaration have the same configuration.
pub trait Declared: Control + Scheme<Config = <Self as Configured>::Config> {}

impl<C: Control + Scheme<Config = <C as Configured>::Config>> Declared for C {}

/// The configuration of `C`.
type ConfigOf<C> = <C as Configured>::Config;

/// The configuration of a congestion control from another crate.
#[derive(Clone, Debug)]
pub struct OutsideControl {
    /// Name of the control in messages.
    pub title: &'static str,
    /// Properties of the control that other choices of a scenario depend on.
    pub provides: Properties,
    /// Rules about combinations of the control with other choices of a scenario.
    pub(super) rules: Vec<Rule>,
    /// How receivers notify senders of ECN marks; `None`: receivers send no notification.
    pub notification: Option<Notification>,
    /// True if the control computes with whole bits per second, false if with real numbers; `None`
    /// if the control has no such option.
    pub whole_rates: Option<bool>,
    /// Scenario keys that a finding about whole rates lists.
    pub(super) whole_rates_keys: &'static [&'static str],
    own: Arc<dyn AnyConfig>,
}

impl PartialEq for OutsideControl {
    fn eq(&self, other: &Self) -> bool {
        self.own.is_equal(other.own.as_any())
    }
}

impl OutsideControl {
    pub(super) fn new<C: Declared>(config: ConfigOf<C>) -> Self {
        Self {
            title: C::TITLE,
            provides: C::PROVIDES,
            rules: C::rules(&config),
            notification: C::notification(&config),
            whole_rates: C::whole_rates(&config),
            whole_rates_keys: const { &["nic", "control", C::NAME] },
            own: Arc::new(Own::<C>(Arc::new(config))),
        }
    }

    pub(crate) fn counter(&self) -> Counter {
        self.own.counter()
    }

    pub(super) fn complete(self, around: &Around) -> Self {
        self.own.complete(around)
    }
}

/// Configuration of any congestion control from another crate, used as a trait object.
trait AnyConfig: AnyEq + Debug + Send + Sync {
    fn start(&self, path: &PathInfo, now: Time) -> Box<dyn AnyControl>;
    fn counter(&self) -> Counter;
    fn complete(&self, around: &Around) -> OutsideControl;
}

/// Configuration of the control `C`.
#[derive(Debug)]
struct Own<C: Declared>(Arc<ConfigOf<C>>);

impl<C: Declared> PartialEq for Own<C> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<C: Declared> AnyConfig for Own<C> {
    fn start(&self, path: &PathInfo, now: Time) -> Box<dyn AnyControl> {
        Box::new(Flow {
            control: C::new(&self.0, path, now),
            config: Arc::clone(&self.0),
        })
    }

    fn counter(&self) -> Counter {
        C::counter(&self.0)
    }

    fn complete(&self, around: &Around) -> OutsideControl {
        OutsideControl::new::<C>(C::complete(ConfigOf::<C>::clone(&self.0), around))
    }
}

/// The hooks of [`Control`] as a trait object, for a flow that stores its own configuration.
trait AnyControl: Debug + Send {
    fn on_feedback(&mut self, path: &PathInfo, now: Time, feedback: &Feedback<'_>);
    fn on_send(&mut self, path: &PathInfo, now: Time, bytes: u64);
    fn mark(&mut self, path: &PathInfo, now: Time, sent: &Sent) -> u8;
    fn rate_bps(&mut self, path: &PathInfo, now: Time) -> f64;
    fn window(&mut self, path: &PathInfo, now: Time) -> u64;
    fn rises_ps(&self, path: &PathInfo) -> Time;
}

/// A flow and its configuration.
#[derive(Debug)]
struct Flow<C: Declared> {
    control: C,
    config: Arc<ConfigOf<C>>,
}

impl<C: Declared> AnyControl for Flow<C> {
    fn on_feedback(&mut self, path: &PathInfo, now: Time, feedback: &Feedback<'_>) {
        self.control.on_feedback(&self.config, path, now, feedback);
    }

    fn on_send(&mut self, path: &PathInfo, now: Time, bytes: u64) {
        self.control.on_send(&self.config, path, now, bytes);
    }

    fn mark(&mut self, path: &PathInfo, now: Time, sent: &Sent) -> u8 {
        self.control.mark(&self.config, path, now, sent)
    }

    fn rate_bps(&mut self, path: &PathInfo, now: Time) -> f64 {
        self.control.rate_bps(&self.config, path, now)
    }

    fn window(&mut self, path: &PathInfo, now: Time) -> u64 {
        self.control.window(&self.config, path, now)
    }

    fn rises_ps(&self, path: &PathInfo) -> Time {
        self.control.rises_ps(&self.config, path)
    }
}

/// A flow whose congestion control is from another crate.
#[derive(Debug)]
pub struct OutsideFlow(Box<dyn AnyControl>);

impl Configured for OutsideFlow {
    type Config = OutsideControl;
}

impl Control for OutsideFlow {
    fn new(config: &OutsideControl, path: &PathInfo, now: Time) -> Self {
        Self(config.own.start(path, now))
    }

    fn on_feedback(&mut self, _: &OutsideControl, path: &PathInfo, now: Time, of: &Feedback<'_>) {
        self.0.on_feedback(path, now, of);
    }

    fn on_send(&mut self, _: &OutsideControl, path: &PathInfo, now: Time, bytes: u64) {
        self.0.on_send(path, now, bytes);
    }

    fn mark(&mut self, _: &OutsideControl, path: &PathInfo, now: Time, sent: &Sent) -> u8 {
        self.0.mark(path, now, sent)
    }

    fn rate_bps(&mut self, _: &OutsideControl, path: &PathInfo, now: Time) -> f64 {
        self.0.rate_bps(path, now)
    }

    fn window(&mut self, _: &OutsideControl, path: &PathInfo, now: Time) -> u64 {
        self.0.window(path, now)
    }

    fn rises_ps(&self, _: &OutsideControl, path: &PathInfo) -> Time {
        self.0.rises_ps(path)
    }
}

impl Listed for OutsideFlow {
    fn config(config: &ControlConfig) -> &OutsideControl {
        match config {
            ControlConfig::Outside(config) => config,
            _ => unreachable!("the sender was made for this configuration"),
        }
    }
}
