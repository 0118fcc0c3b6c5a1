//! The classes that are the same in every network.

/// First class that carries data; below it, classes have one FIFO queue per port.
// SW-03
pub const DATA_CLASS: u8 = 2;

/// The class of control that a preset gives priority.
pub const CONTROL_CLASS: u8 = 1;
