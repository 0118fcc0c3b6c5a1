//! The tests of frame formats as one program.

mod common;
mod frames;
mod round_trip;
