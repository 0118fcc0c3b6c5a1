//! A driver behind a trait object, for hop schemes from other crates.

use crate::classes::ClassSet;
use crate::flow::FlowEnd;
use crate::ids::QueueId;
use crate::packet::{Packet, PacketId};
use crate::sink::{DropCause, Level, Sink};
use crate::units::Time;

/// Makes the methods of [`Sink`] without generic arguments callable through a trait object.
macro_rules! forward {
    ($($name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        /// Methods of [`Sink`] that a switch calls, without generic arguments.
        pub(super) trait DynSink {
            $(fn $name(&mut self, $($arg: $type),*) $(-> $result)?;)*
            fn pfc_sent(&mut self, port: u16, class: u8, frame: PacketId, level: &dyn Fn() -> Level);
        }

        impl<S: Sink> DynSink for S {
            $(fn $name(&mut self, $($arg: $type),*) $(-> $result)? {
                Sink::$name(self, $($arg),*)
            })*

            fn pfc_sent(&mut self, port: u16, class: u8, frame: PacketId, level: &dyn Fn() -> Level) {
                Sink::pfc_sent(self, port, class, frame, level);
            }
        }

        impl Sink for AnySink<'_> {
            $(fn $name(&mut self, $($arg: $type),*) $(-> $result)? {
                self.0.$name($($arg),*)
            })*

            fn pfc_sent(&mut self, port: u16, class: u8, frame: PacketId, level: impl FnOnce() -> Level) {
                let level = level();
                self.0.pfc_sent(port, class, frame, &|| level);
            }
        }
    };
}

/// A driver of any type.
pub struct AnySink<'a>(pub(super) &'a mut dyn DynSink);

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
    pfc_refresh_sent(port: u16, class: u8, frame: PacketId);
    pfc_resume_sent(port: u16, class: u8, frame: PacketId);
    hold_sent(frame: PacketId, egress: u16, queue: QueueId);
    hold_received(port: u16, number: u32, on: bool);
    released(id: PacketId);
    finished(end: FlowEnd);
}
