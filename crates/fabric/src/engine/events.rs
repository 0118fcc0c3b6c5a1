//! Handles the events of the calendar in order, instant by instant.

use dataplane::hop::pfc;
use dataplane::packet::PacketId;
use dataplane::sink::{DropCause, Sink};
use dataplane::units::{NEVER, Time};
use kernel::calendar::{Calendar, Event, phase};
use kernel::digest::fold;

use super::link_changes::Lost;
use super::measure;
use super::node::{Core, NodeSink};
use super::partition::Partition;
use crate::ids::{LinkId, LocalNode};

impl<C: Calendar> Partition<C> {
    /// Handles every event before `limit`, instant by instant.
    pub(super) fn run_before(&mut self, limit: Time) {
        if C::IN_ORDER_OF_SCHEDULING {
            self.run_in_order(limit);
        } else if self.core.calendar.count() == 1 {
            self.run_lane(limit);
        } else {
            self.run_lanes(limit);
        }
    }

    /// Runs events like [`Partition::run_before`], window by window and, in each window, lane by
    /// lane.
    // PAR-10
    fn run_lanes(&mut self, limit: Time) {
        let mut last_ps = self.core.now;
        while let Some(window_ps) = self.core.calendar.window(limit) {
            for lane in 0..self.core.calendar.count() {
                if self.core.calendar.turn_to(lane) {
                    self.run_lane(window_ps);
                    last_ps = last_ps.max(self.core.now);
                }
            }
        }
        self.core.now = last_ps;
    }

    /// Handles every event before `limit` of the current lane (a group of nodes that the thread
    /// simulates in turn).
    fn run_lane(&mut self, limit: Time) {
        if self.measures.is_some() || self.prefetching.on || self.settings.pause_response_ps > 0 {
            self.run_instants::<true>(limit);
        } else {
            self.run_instants::<false>(limit);
        }
    }

    /// Runs events like [`Partition::run_before`]. `MORE` compiles optional functions in:
    /// prefetching, recording, and the delayed effect of pause frames.
    #[inline(never)]
    fn run_instants<const MORE: bool>(&mut self, limit: Time) {
        while let Some(first) = self.core.calendar.here.pop_before(limit) {
            self.core.now = first.time;
            let mut event = first;
            'instant: loop {
                self.handle::<MORE>(event);
                event = loop {
                    if let Some(next) = self.core.calendar.here.pop_now() {
                        break next;
                    }
                    // ENG-03: ports choose packets after all other events of the instant.
                    if self.core.links.kicks.is_empty() {
                        break 'instant;
                    }
                    self.serve_round::<MORE>();
                };
            }
            if MORE {
                self.emit(measure::Event::InstantOver);
            }
        }
    }

    #[inline(always)]
    pub(super) fn handle<const MORE: bool>(&mut self, event: Event) {
        if MORE && self.prefetching.on {
            self.prefetch();
        } else if let &[.., next] = self.core.calendar.here.upcoming() {
            self.arena.prefetch(next.arg());
            if MORE {
                self.emit(measure::Event::Upcoming { id: next.arg() });
            }
        }
        self.core.events += 1;
        match event.phase() {
            phase::ARRIVAL => self.arrive::<MORE>(LinkId::from_bits(event.id()), event.arg()),
            phase::TIMER if event.arg() != 0 => self.call(event.id(), event.arg()),
            phase::TIMER => self.timer(LocalNode::from_bits(event.id())),
            phase::FLOW_START if C::IN_ORDER_OF_SCHEDULING => self.step_flow_start(event.id()),
            phase::FLOW_START => self.start(event),
            phase::TOPOLOGY => self.change_topology(event.id(), event.arg() != 0),
            _ => {
                let link = LinkId::from_bits(event.id());
                self.core.links.near[link].armed = false;
                self.core.links.kick(link);
            }
        }
        if MORE && !self.core.reported.is_empty() {
            self.emit_reported();
        }
    }

    /// Starts flows, or runs the ranks of a host. The function is separate because most events are
    /// of other kinds.
    #[inline(never)]
    fn start(&mut self, event: Event) {
        if event.arg() != 0 {
            self.ranks_act(LocalNode::from_bits(event.id() - 1));
        } else {
            self.start_flows();
        }
    }

    // ENG-01: the receiver handles the complete frame at its arrival
    #[inline]
    fn arrive<const MORE: bool>(&mut self, link: LinkId, id: PacketId) {
        let now = self.core.now;
        let packet = self.arena.hot(id);
        if packet.is_progress() {
            self.progress_ps = now.max(self.progress_ps);
        }
        let is_frame = packet.is_frame();
        let l = &mut self.core.links.far[link];
        let (how, what) = packet.digest_words();
        l.digest = fold(fold(l.digest, now ^ how), what);
        l.arrived += 1;
        let (node, base, port) = (l.node, l.base, l.port);
        if l.lossy
            && let Some(lost) = self.lost(link, id)
        {
            return self.lose(link, id, lost);
        }
        // SW-45: PFC frames take effect after a response time
        if MORE && is_frame && self.settings.pause_response_ps > 0 && self.put_off(link, id) {
            return;
        }
        self.hand_over::<MORE>((node, port, base), id, is_frame);
    }

    /// Schedules the time at which a PFC frame takes effect at its receiver. Returns false if the
    /// frame is not a PFC frame.
    // SW-45: response time
    #[inline(never)]
    fn put_off(&mut self, link: LinkId, id: PacketId) -> bool {
        let is_pause = pfc::said(self.arena.hot(id)).is_some();
        if is_pause {
            self.core.late_frames += 1;
            let at = self.core.now + self.settings.pause_response_ps;
            let number = self.core.nodes.len() as u32 + link.bits();
            let event = Event::new(at, phase::TIMER, number, id + 1);
            self.core.calendar.here.push(event);
        }
        is_pause
    }

    /// Lets a delayed PFC frame take effect at the receiver of a link, unless the link has failed
    /// since its arrival.
    // SW-45: response time; LNK-21: a failure ends pauses
    fn obey_late(&mut self, link: LinkId, id: PacketId) {
        self.core.late_frames -= 1;
        let arrived_ps = self.core.now - self.settings.pause_response_ps;
        let states = self.faults.states.as_ref();
        if states.is_some_and(|states| states.ends[link].failed_ps > arrived_ps) {
            return self.arena.free(id);
        }
        let far = &self.core.links.far[link];
        self.hand_over::<true>((far.node, far.port, far.base), id, true);
    }

    /// Passes a frame to the node at which it has arrived.
    #[inline(always)]
    fn hand_over<const MORE: bool>(
        &mut self,
        at: (LocalNode, u16, LinkId),
        id: PacketId,
        is_frame: bool,
    ) {
        match MORE && self.wants_arrival(id, is_frame) {
            true => self.hand_over_observed(at, id),
            false => self.receive(at, id),
        }
    }

    /// Passes a frame to the node at which it has arrived, and reports the arrival to the measures.
    /// The function is separate to keep the common case fast.
    #[inline(never)]
    fn hand_over_observed(&mut self, at: (LocalNode, u16, LinkId), id: PacketId) {
        let (node, port, base) = at;
        let packet = self.emit_arriving(node, base.at_port(port), id);
        self.receive(at, id);
        self.emit_arrived(node, base.at_port(port), id, &packet);
    }

    /// Lets a node process a frame that arrived at one of its ports.
    #[inline(always)]
    fn receive(&mut self, (node, port, base): (LocalNode, u16, LinkId), id: PacketId) {
        let now = self.core.now;
        let sink = &mut NodeSink {
            core: &mut self.core,
            node,
            base,
        };
        match node.switch(self.nics.len()) {
            Some(switch) => {
                self.switches[switch].receive(now, port, id, &mut self.arena, sink);
                if !self.core.notices.dropped.is_empty() {
                    self.send_notices();
                }
            }
            None => {
                self.nics[node.index()].receive(now, port, id, &mut self.arena, sink);
                self.note_flows();
            }
        }
    }

    /// Handles a timer event: calls the node, or lets a pause frame take effect after its response
    /// time.
    fn call(&mut self, number: u32, what: u32) {
        if let Some(link) = number.checked_sub(self.core.nodes.len() as u32) {
            return self.obey_late(LinkId::from_bits(link), what - 1);
        }
        let now = self.core.now;
        let node = LocalNode::from_bits(number);
        let sink = &mut NodeSink::of(&mut self.core, node);
        if let Some(nic) = self.nics.get_mut(node.index()) {
            nic.called(now, what, sink);
        }
    }

    /// Sends notices of dropped packets to their senders. They arrive after the timers of their
    /// instant.
    // REC-34
    pub(super) fn send_notices(&mut self) {
        let Core {
            now,
            calendar,
            links,
            nodes,
            notices,
            ..
        } = &mut self.core;
        let id = nodes.len() as u32;
        notices.send(
            *now,
            (&self.graph, &self.switches, links),
            &self.arena,
            |at| calendar.here.push(Event::new(at, phase::TIMER, id, 0)),
        );
    }

    fn deliver_notices(&mut self) {
        let now = self.core.now;
        while let Some((host, port, id)) = self.core.notices.due(now) {
            self.progress_ps = now;
            let node = self.places.of(host).at;
            let sink = &mut NodeSink::of(&mut self.core, node);
            self.nics[node.index()].returned(now, port, id, &mut self.arena, sink);
        }
    }

    /// Handles a frame that is lost or unreadable at the end of its link. A link with replay
    /// retransmits the frame. Otherwise the node that sent it reports the loss to the sender, if
    /// the run announces drops.
    // TOP-20, REC-31, LLR-20
    #[cold]
    fn lose(&mut self, link: LinkId, id: PacketId, lost: Lost) {
        if lost == Lost::Damaged && self.settings.replays {
            return self.hand_over_damaged(link, id);
        }
        let packet = self.arena.hot(id);
        let ends_here = packet.is_frame();
        let links = &self.core.links;
        let (from, to) = (links.near[link].node, links.far[link].node);
        let mut sink = NodeSink::of(&mut self.core, to);
        sink.note_drop(packet, Some(link), DropCause::Link);
        sink.node = from;
        if !ends_here && sink.keep(id, DropCause::Link) {
            self.send_notices();
        } else {
            self.arena.free(id);
        }
    }

    /// Passes a damaged frame to the node at which it has arrived.
    fn hand_over_damaged(&mut self, link: LinkId, id: PacketId) {
        let now = self.core.now;
        let far = &self.core.links.far[link];
        let (node, port, base) = (far.node, far.port, far.base);
        let core = &mut self.core;
        let sink = &mut NodeSink { core, node, base };
        match node.switch(self.nics.len()) {
            Some(switch) => {
                self.switches[switch].receive_damaged(now, port, id, &mut self.arena, sink);
            }
            None => {
                let nic = &mut self.nics[node.index()];
                nic.receive_damaged(now, port, id, &mut self.arena, sink);
            }
        }
    }

    fn timer(&mut self, node: LocalNode) {
        let now = self.core.now;
        if node.index() == self.core.nodes.len() {
            self.deliver_notices();
            return;
        }
        // An old event of a timer that was moved to an earlier time does nothing (KER-06).
        let alarm = &mut self.core.nodes[node];
        if alarm.armed_ps > now {
            return;
        }
        // ENG-09: the timer has expired. Set it to the later time, if any, that an earlier request
        // had set.
        alarm.armed_ps = std::mem::replace(&mut alarm.then_ps, NEVER);
        let over = self.core.pauses.len();
        let sink = &mut NodeSink::of(&mut self.core, node);
        match node.switch(self.nics.len()) {
            Some(switch) => self.switches[switch].timer(now, &mut self.arena, sink),
            None => {
                self.nics[node.index()].timer(now, &mut self.arena, sink);
                // NIC-41: a host may complete a flow later than its last packet arrives
                self.note_flows();
            }
        }
        if self.core.wants.intersects(measure::Event::PAUSE_EXPIRED)
            && self.core.pauses.len() > over
        {
            self.emit_expired(node, over);
        }
    }

    /// Handles the flows that a NIC has completed as sender, and the flows that it has received
    /// completely.
    #[inline(always)]
    fn note_flows(&mut self) {
        if self.core.flows_changed {
            self.core.flows_changed = false;
            self.note_delivered();
            self.note_ends();
        }
    }

    /// Lets all NICs update the counters that they have postponed, when the run ends after all
    /// events of `now`.
    pub(super) fn settle(&mut self, now: Time) {
        for (node, nic) in self.nics.iter_mut().enumerate() {
            let core = &mut self.core;
            nic.settle(now, &mut NodeSink::of(core, LocalNode::new(node)));
        }
    }
}
