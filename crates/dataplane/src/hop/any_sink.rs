//! The simulation engine as a trait object, for hop schemes from other crates.

use crate::classes::ClassSet;
use crate::event::{EventSet, NodeEvent};
use crate::flow::FlowEnd;
use crate::packet::{Packet, PacketId};
use crate::sink::{DropCause, Sink};
use crate::units::Time;

/// A simulation engine ([`Sink`]) of any type.
pub struct AnySink<'a>(pub(super) &'a mut dyn Sink);

/// Forwards methods of [`Sink`] to the simulation engine.
macro_rules! forward {
    ($($name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        impl Sink for AnySink<'_> {
            $(fn $name(&mut self, $($arg: $type),*) $(-> $result)? {
                self.0.$name($($arg),*)
            })*

            fn wants(&self, kinds: EventSet) -> bool {
                self.0.wants(kinds)
            }
        }
    };
}

forward! {
    kick(port: u16);
    wake(at: Time);
    dropped(packet: &Packet, port: Option<u16>, cause: DropCause);
    call(at: Time, what: u32);
    keep(id: PacketId, cause: DropCause) -> bool;
    draw() -> u64;
    unit() -> f64;
    pfc_received(port: u16, before: ClassSet, after: ClassSet);
    pfc_frame_received(port: u16, on: bool);
    event(event: NodeEvent);
    finished(end: FlowEnd);
}
