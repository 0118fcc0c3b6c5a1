//! Schemes from other crates.
//!
//! A program adds its schemes before it reads a scenario. A scenario can then select them like the
//! schemes of this crate, and set their parameters. `examples/outside` has a complete program.
//!
//! A scheme from another crate implements the same traits as the schemes of this crate. Each call
//! of its methods goes through a trait object, which takes more time than the call of a scheme of
//! this crate.

use crate::cc;
use crate::declaration::Spec;
pub use crate::hop::FRAME_NUMBERS;
use crate::hop::{self, HopScheme};
use crate::link::ALSO_BACKPRESSURE;
use crate::transport::TRANSPORTS;

/// Adds a congestion control. Scenarios can use its name as value of `scheme.control`.
///
/// # Panics
/// If a scenario was read before, or if another control or a transport has this name.
pub fn add_control<C: cc::Declared>() {
    let is_taken = TRANSPORTS.iter().any(|other| other.name == C::NAME);
    assert!(!is_taken, "there is a transport named {}", C::NAME);
    cc::add::<C>();
}

/// Adds a hop scheme. Scenarios can use its name as value of `scheme.backpressure`.
///
/// # Panics
/// If a scenario was read before, if another scheme has this name or number, or if its number is not
/// one of [`FRAME_NUMBERS`].
pub fn add_hop<S: Spec, H: HopScheme<Config = S::Config>>() {
    let is_taken = ALSO_BACKPRESSURE.contains(&S::NAME) || S::NAME == "none";
    assert!(
        !is_taken,
        "`backpressure` has another meaning of {}",
        S::NAME
    );
    hop::add::<S, H>();
}
