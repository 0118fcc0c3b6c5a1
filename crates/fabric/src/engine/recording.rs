//! Connects a partition with what it records.

use dataplane::hop::pfc::PauseClasses;
use dataplane::packet::{Frame, PacketId};
use dataplane::units::Time;

use super::measure::{Recording, View};
use super::merge::Merged;
use super::partition::Partition;

impl<C> Partition<C> {
    /// Calls `with` with what is recorded, if anything is, and all that it may look at.
    fn with_view<T>(&mut self, with: impl FnOnce(&mut Recording, &View<'_>) -> T) -> Option<T> {
        let recording = self.recording.as_mut()?;
        let view = View {
            graph: &self.graph,
            links: &self.core.links,
            nodes: &self.core.nodes,
            nics: &self.nics,
            switches: &self.switches,
            flows: &self.flows.live,
            arena: &self.arena,
        };
        Some(with(recording, &view))
    }

    /// Handles the pauses and resumes that switches have queued in this event.
    #[cold]
    pub(super) fn follow_pauses_sent(&mut self) {
        let now = self.core.now;
        let mut all = std::mem::take(&mut self.core.pauses_sent);
        for sent in all.drain(..) {
            let carried = self.with_view(|recording, view| recording.pfc_sent(now, &sent, view));
            if let Some(cold) = carried.flatten() {
                *self.arena.cold_mut(sent.frame) = cold;
            }
        }
        self.core.pauses_sent = all;
    }

    /// A frame is about to be read; it may be a pause or resume.
    pub(super) fn read_pause(&mut self, node: u32, port: u16, id: PacketId) {
        self.core.reading = None;
        if PauseClasses::read(self.arena.hot(id)).is_some() {
            let now = self.core.now;
            let number = self
                .with_view(|recording, view| recording.pfc_arrives(now, (node, port), id, view));
            self.core.reading = number.flatten();
        }
    }

    /// Hands over the rows that are complete when everything up to and with `at_ps` has happened.
    pub(super) fn record_probe(&mut self, at_ps: Time, out: &mut Merged) {
        self.with_view(|recording, _| recording.probe(at_ps, out));
    }

    /// The run ended at `end_ps`: hands over all other rows.
    pub(super) fn record_end(&mut self, end_ps: Time, out: &mut Merged) {
        self.with_view(|recording, view| recording.finish(end_ps, view, out));
    }
}
