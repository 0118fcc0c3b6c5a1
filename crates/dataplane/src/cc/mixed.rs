//! Several congestion controls at one NIC: the traffic class of a flow selects its control.
//!
//! A NIC with one control for all flows does not use this file: it is compiled for this control, so
//! its flows need less memory.

use super::{Control, ControlConfig, Feedback, OutsideFlow, PathInfo, Sent, controls};
use crate::scheme::Configured;
use crate::units::Time;

/// The congestion control of each traffic class. Classes beyond the last entry use the last entry.
#[derive(Clone, Debug, PartialEq)]
pub struct PerClass(Box<[ControlConfig]>);

impl PerClass {
    /// Creates the list from the controls of traffic classes 0, 1, ….
    ///
    /// # Panics
    ///
    /// If `controls` is empty.
    #[must_use]
    pub fn new(controls: &[ControlConfig]) -> Self {
        assert!(!controls.is_empty(), "traffic has at least one class");
        Self(controls.into())
    }

    /// Returns the control of a traffic class.
    #[inline]
    #[must_use]
    pub fn of(&self, class: u8) -> &ControlConfig {
        &self.0[usize::from(class).min(self.0.len() - 1)]
    }

    /// Returns the controls, from traffic class 0 on.
    #[must_use]
    pub fn all(&self) -> &[ControlConfig] {
        &self.0
    }
}

macro_rules! define {
    ($($name:ident($module:ident),)*) => {
        /// The control of one flow at a NIC whose flows have different controls.
        #[derive(Debug)]
        pub enum Mixed {
            $(
                #[doc = concat!("[`", stringify!($name), "`](super::", stringify!($module), "::", stringify!($name), ").")]
                $name(super::$module::$name),
            )*
            /// A control from another crate.
            Outside(OutsideFlow),
        }

        /// Calls a hook of the flow's control with the parameters of that control.
        macro_rules! each {
            ($self:expr, $config:expr, $path:expr, ($control:ident, $own:ident) => $call:expr) => {
                match ($self, $config.of($path.class)) {
                    $((Mixed::$name($control), ControlConfig::$name($own)) => $call,)*
                    (Mixed::Outside($control), ControlConfig::Outside($own)) => $call,
                    _ => unreachable!("a flow keeps its class"),
                }
            };
        }

        impl Configured for Mixed {
            type Config = PerClass;
        }

        impl Control for Mixed {
            fn new(config: &PerClass, path: &PathInfo, now: Time) -> Self {
                match config.of(path.class) {
                    $(ControlConfig::$name(own) => {
                        Self::$name(super::$module::$name::new(own, path, now))
                    })*
                    ControlConfig::Outside(own) => Self::Outside(OutsideFlow::new(own, path, now)),
                }
            }

            fn on_feedback(
                &mut self,
                config: &PerClass,
                path: &PathInfo,
                now: Time,
                feedback: &Feedback<'_>,
            ) {
                each!(self, config, path, (control, own) => {
                    control.on_feedback(own, path, now, feedback);
                });
            }

            fn on_send(&mut self, config: &PerClass, path: &PathInfo, now: Time, bytes: u64) {
                each!(self, config, path, (control, own) => control.on_send(own, path, now, bytes));
            }

            fn mark(&mut self, config: &PerClass, path: &PathInfo, now: Time, sent: &Sent) -> u8 {
                each!(self, config, path, (control, own) => control.mark(own, path, now, sent))
            }

            fn rate_bps(&mut self, config: &PerClass, path: &PathInfo, now: Time) -> f64 {
                each!(self, config, path, (control, own) => control.rate_bps(own, path, now))
            }

            fn window(&mut self, config: &PerClass, path: &PathInfo, now: Time) -> u64 {
                each!(self, config, path, (control, own) => control.window(own, path, now))
            }

            fn rises_ps(&self, config: &PerClass, path: &PathInfo) -> Time {
                each!(self, config, path, (control, own) => control.rises_ps(own, path))
            }
        }
    };
}
controls! { define }
