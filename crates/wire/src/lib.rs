//! Frames as bytes: what stands on a link for each packet of the dataplane.
//!
//! The lower half are formats: types with named fields that are parsed from bytes and emitted into bytes,
//! each beside its source. [`ethernet`], [`ip`], [`pause`], [`roce`] and [`int`] are published formats;
//! [`extension`] and [`neighbour`] are our own, for what no published format carries. The upper half,
//! [`frame`], says which fields of a packet's record stand where, and turns records into frames and back.
//!
//! Nothing here allocates for a frame, and no input makes it panic: what cannot be read is [`Malformed`],
//! what cannot be written is [`Unfit`]. docs/wire.md has every field with its place.

mod bytes;
pub mod error;
pub mod ethernet;
pub mod extension;
pub mod frame;
pub mod int;
pub mod ip;
pub mod neighbour;
pub mod pause;
pub mod roce;

pub use bytes::Writer;
pub use error::{Fault, Malformed, Unfit};
pub use frame::{Link, Network, Sizes, decode, encode};
