//! The tests of frame formats, in one program.

mod common;
mod frames;
mod round_trip;
