//! Wire formats: the frames on a link as bytes.
//!
//! The lower layer consists of header formats. Each is a type with named fields, a parser and a
//! writer. [`ethernet`], [`ip`], [`pause`], [`roce`] and [`int`] are published formats.
//! [`extension`] and [`neighbour`] are formats of Backwater for fields that no published format
//! has. The upper layer, [`frame`], converts *packet records* (packets of the dataplane in memory)
//! to frames and back.
//!
//! This crate does not allocate memory for a frame, and no input makes it panic. The error is
//! [`Malformed`] for bytes that cannot be parsed, and [`Unfit`] for packet records that cannot be
//! written. docs/wire.md lists all fields with their positions.

mod address;
mod bytes;
pub mod error;
pub mod ethernet;
pub mod extension;
mod flow;
pub mod frame;
pub mod int;
pub mod ip;
pub mod neighbour;
mod network;
pub mod pause;
pub mod roce;

pub use bytes::Writer;
pub use error::{Fault, Malformed, Unfit};
pub use frame::{decode, encode};
pub use network::{Link, Network, Sizes};
