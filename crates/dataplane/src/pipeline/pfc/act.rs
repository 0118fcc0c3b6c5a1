//! PFC in a switch: sends the frames that pause and resume classes of upstream neighbours.

use super::said;
use crate::classes::classes_of;
use crate::event::{NodeEvent, PauseFrame, PauseSent};
use crate::packet::{Packet, PacketId, flag};
use crate::pipeline::Pipeline;
use crate::pipeline::context::Cx;
use crate::sink::{DropCause, Sink};
use crate::space::Excess;

impl<S: Sink> Cx<'_, S> {
    /// Pauses the upstream neighbour at the ingress port of a packet that entered the buffer, if
    /// the ingress exceeds its threshold.
    #[inline(always)]
    pub(crate) fn pause_if_over(&mut self, port: u16, class: u8, excess: Excess) {
        let core = &mut *self.core;
        if core.pfc.entered(self.now, &core.mmu, port, class, excess) {
            self.reborrow().send_pause(port, class, true);
        }
    }

    /// Releases the buffer space of a packet, if it has any. Resumes the upstream neighbour if the
    /// ingress is below its threshold again.
    pub(crate) fn release_buffer(&mut self, id: PacketId) {
        let packet = *self.arena.hot(id);
        self.arena.hot_mut(id).flags &= !flag::BUFFERED;
        if self.leave_buffer(&packet) {
            self.send_pause(packet.ingress, packet.class(), false);
        }
    }

    /// Drops a packet that occupies buffer space but is in no queue.
    pub(crate) fn discard(&mut self, port: u16, id: PacketId, cause: DropCause) {
        self.release_buffer(id);
        self.drop(Some(port), id, cause);
    }

    /// Sends a pause or resume of a class to the upstream neighbour at a port. Not inlined, because
    /// few packets cause one.
    // SW-41
    #[inline(never)]
    pub(crate) fn send_pause(&mut self, port: u16, class: u8, xoff: bool) {
        if self.core.is_dead(port) {
            return; // LNK-21: no frames on a link that is down
        }
        if xoff && let Some(paused) = self.take_resume_back(port, class) {
            return self.go_on(port, class, paused);
        }
        let pfc = &mut self.core.pfc;
        if xoff {
            pfc.pauses += 1;
        } else {
            pfc.resumes += 1;
        }
        if self
            .core
            .marker
            .as_ref()
            .is_some_and(|marker| marker.replay)
        {
            self.sink.unit(); // NS3-17: each pause frame draws a number
        }
        let pfc = &mut self.core.pfc;
        let frame = pfc.frame(class, xoff);
        if let Some(refresh) = &mut pfc.refresh {
            if xoff {
                self.sink.wake(refresh.sent(self.now, port, class));
            } else {
                refresh.stop(port, 1 << class); // QNT-06: a resume ends the repetition
            }
        }
        let frame = self.emit(port, frame);
        self.report_frame(port, class, frame, |core| match xoff {
            true => PauseFrame::Xoff(core.pfc.thresholds.level(&core.mmu, port, class)),
            false => PauseFrame::Xon,
        });
    }

    /// Removes a resume frame of this class that is still queued at the port, so that the earlier
    /// pause continues. Returns `None` if no resume frame is queued, else whether the pause frame
    /// is also still queued.
    // SW-44
    fn take_resume_back(&mut self, port: u16, class: u8) -> Option<bool> {
        if !self.core.pfc.takes_back {
            return None;
        }
        let of_class = |frame: &Packet| said(frame).filter(|said| said.1 == 1 << class);
        let mut paused = false;
        let is_resume = |frame: &Packet| {
            let on = of_class(frame).map(|said| said.0);
            paused |= on == Some(true);
            on == Some(false)
        };
        let queueing = &mut self.core.queueing;
        let frame = queueing.take_frame(port, self.arena, is_resume)?;
        self.core.frame_withdrawn(port, self.arena.hot(frame));
        self.arena.free(frame);
        let resumes = &mut self.core.pfc.resumes;
        debug_assert!(*resumes > 0, "the resume was counted when it was sent");
        *resumes -= 1;
        Some(paused)
    }

    /// Continues a pause whose resume frame was removed. If pauses have a duration, sends the pause
    /// frame again unless it is still queued.
    // SW-44
    fn go_on(&mut self, port: u16, class: u8, paused: bool) {
        let Some(refresh) = &mut self.core.pfc.refresh else {
            return;
        };
        self.sink.wake(refresh.sent(self.now, port, class));
        if !paused {
            refresh.frames += 1;
            self.repeat_pause(port, class);
        }
    }

    /// Sends the pause frame of a class again.
    fn repeat_pause(&mut self, port: u16, class: u8) {
        let frame = self.core.pfc.frame(class, true);
        let frame = self.emit(port, frame);
        self.report_frame(port, class, frame, |_| PauseFrame::Refresh);
    }

    /// Reports that a PFC frame was queued for the upstream neighbour at a port, if the simulation
    /// records these frames.
    // SPFC-40: a pause is recorded with the buffer level that caused it
    #[inline]
    fn report_frame(
        &mut self,
        port: u16,
        class: u8,
        frame: PacketId,
        pause: impl FnOnce(&Pipeline) -> PauseFrame,
    ) {
        if self.sink.wants(NodeEvent::PAUSE_SENT) {
            let pause = pause(self.core);
            self.sink.event(NodeEvent::PauseSent(PauseSent {
                port,
                class,
                frame,
                pause,
            }));
        }
    }

    /// Sends the pause frames again whose repetition is due, and schedules the next call.
    // QNT-05
    pub(crate) fn repeat_pauses(&mut self) {
        while let Some((port, class)) = self.core.pfc.repeats(self.now) {
            self.repeat_pause(port, class);
        }
        let refresh = self.core.pfc.refresh.as_mut();
        if let Some(next) = refresh.and_then(|refresh| refresh.next()) {
            self.sink.wake(next);
        }
    }

    /// Resets the sent pauses at a port whose link has failed or recovered.
    // LNK-21
    pub(crate) fn forget_pauses(&mut self, port: u16) {
        self.core.pfc.forget(self.now, port);
    }

    /// Pauses again the classes at a port that still exceed their threshold after the link
    /// recovered.
    // LNK-22
    pub(crate) fn pause_again(&mut self, port: u16) {
        let core = &mut *self.core;
        let classes = core.pfc.pause_again(self.now, &core.mmu, port);
        for class in classes_of(classes) {
            self.send_pause(port, class, true);
        }
    }
}
