//! Schemes from other crates.
//!
//! A program adds its schemes before it reads a scenario. From then on a scenario can name them
//! like the schemes of this crate, with a table of parameters of their own. `examples/outside` has
//! a complete program.
//!
//! A scheme from another crate implements the same traits as the schemes here. Each call of its
//! hooks goes through a trait object. Other schemes do not pay for that.

pub use crate::cc::add as add_control;
pub use crate::hop::{FRAME_NUMBERS, add as add_hop};
