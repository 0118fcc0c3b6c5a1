//! The sending half of a NIC whose senders have a congestion control. A flow sends when its window
//! and its pacing rate permit it. ACKs, NAKs, CNPs, timeouts and notifications of switches change
//! window and rate.

use super::flow::State;
use super::half::{Common, SendingHalf};
use super::pairs::Pairs;
use super::queue_pair::{Active, Chosen};
use super::timers::TimerKind;
use crate::cc::{Ack, Feedback};
use crate::flow::{FlowStart, Unfinished};
use crate::ids::FlowSlot;
use crate::packet::{Arena, Cold, Kind, Notice, Packet, PacketId, flag};
use crate::prefetch::prefetch_whole;
use crate::sink::Sink;
use crate::units::{NEVER, Time};
use crate::wait::Wait;

/// The congestion controls of queue pairs, by the index of the queue pair.
#[derive(Debug)]
pub(super) struct Sender<C> {
    controls: Vec<C>,
    pairs: Pairs,
}

impl<C: Chosen> Sender<C> {
    /// Creates a sender without flows. `shared` is true if messages can share a queue pair.
    pub fn new(shared: bool) -> Self {
        Self {
            controls: Vec::new(),
            pairs: Pairs::new(shared),
        }
    }

    /// Adds a new flow, on the shared queue pair with the ID `number` or on its own queue pair.
    /// Creates the congestion control of a new queue pair. The flow is blocked until `join`.
    fn begin<S: Sink>(
        &mut self,
        now: Time,
        nic: &mut Common,
        start: &FlowStart,
        number: Option<u32>,
        sink: &mut S,
    ) -> FlowSlot {
        let config = &*nic.config;
        let slot = nic.egress.start(now, config, start, sink);
        let flow = &mut nic.egress.flows[slot.index()];
        if self.pairs.begin(flow, slot, number) {
            let control = C::new(C::parameters(config), &start.path, now);
            match self.controls.get_mut(flow.pair as usize) {
                Some(place) => *place = control,
                None => self.controls.push(control),
            }
        }
        slot
    }

    /// Starts the next message of a queue pair after the flow in `slot` has sent all packets.
    /// Returns the port of that message if it may send by `by_ps` and is in the send ring.
    // NIC-50
    fn begin_next<S: Sink>(
        &mut self,
        (now, by_ps): (Time, Time),
        nic: &mut Common,
        slot: FlowSlot,
        sink: &mut S,
    ) -> Option<u16> {
        let (flow, pair) = self.pairs.next(&nic.egress.flows, slot)?;
        let next = self.begin(now, nic, &flow, Some(pair), sink);
        sink.flow_waits(&flow, Wait::Window); // until it can send, see `join`
        let ready = self.join(now, by_ps, nic, next, sink);
        if ready {
            sink.flow_waits(&flow, Wait::Pair(by_ps));
        }
        ready.then_some(flow.port)
    }

    /// Calls `revive` for all flows of the queue pair of the flow in `slot`: they share a window.
    // NIC-51
    #[inline]
    fn revive_pair<S: Sink>(&mut self, now: Time, nic: &mut Common, slot: FlowSlot, sink: &mut S) {
        if !self.pairs.are_shared() {
            return self.revive(now, nic, slot, sink);
        }
        let mut at = 0;
        while let Some(open) = (self.pairs).nth(&nic.egress.flows[slot.index()], at) {
            self.revive(now, nic, open, sink);
            at += 1;
        }
    }

    /// Moves a blocked flow that may send to the send ring, or lets it wait for its pacing time.
    #[inline]
    fn revive<S: Sink>(&mut self, now: Time, nic: &mut Common, slot: FlowSlot, sink: &mut S) {
        let is_blocked = nic.egress.flows[slot.index()].state == State::Blocked;
        if is_blocked && self.join(now, now, nic, slot, sink) {
            sink.kick(nic.egress.flows[slot.index()].start.port);
        }
    }

    /// Moves a blocked flow that may send again to the send ring, or lets it wait for its pacing
    /// time. Returns true if the flow is now in the ring: its pacing time is at most `by_ps`.
    fn join<S: Sink>(
        &mut self,
        now: Time,
        by_ps: Time,
        nic: &mut Common,
        slot: FlowSlot,
        sink: &mut S,
    ) -> bool {
        debug_assert_eq!(nic.egress.flows[slot.index()].state, State::Blocked);
        if !self.active(nic, slot).may_send(now) {
            self.await_rise(nic, slot, sink);
            return false;
        }
        let flow = &mut nic.egress.flows[slot.index()];
        flow.next_ps = flow.next_ps.max(self.pairs.next_ps(flow)); // NIC-51
        if flow.next_ps > by_ps {
            self.wait_for_pace(nic, slot, sink);
            return false;
        }
        nic.egress.enter_ring(slot, sink);
        true
    }

    /// Returns the flow in `slot` with its control and the state of the other messages of its queue
    /// pair.
    #[inline(always)]
    fn active<'a>(&'a mut self, nic: &'a mut Common, slot: FlowSlot) -> Active<'a, C> {
        let (config, flows) = (&*nic.config, &mut nic.egress.flows);
        let beside = self.pairs.beside(flows, slot, config.mtu);
        let flow = &mut flows[slot.index()];
        Active {
            control: &mut self.controls[flow.pair as usize],
            flow,
            beside,
            parameters: C::parameters(config),
            config,
        }
    }

    /// Sets a timer for a flow that is blocked by its window, if its control can increase the
    /// window without feedback.
    // NIC-08
    #[inline]
    fn await_rise<S: Sink>(&mut self, nic: &mut Common, slot: FlowSlot, sink: &mut S) {
        let flow = &mut nic.egress.flows[slot.index()];
        let control = &self.controls[flow.pair as usize];
        let at = control.rises_ps(C::parameters(&nic.config), &flow.start.path);
        if at == NEVER || flow.rising || flow.next >= flow.packets {
            return;
        }
        flow.rising = true;
        nic.egress.set_timer(at, TimerKind::Rise, slot, sink);
    }

    /// Lets a flow wait until its pacing time (`next_ps`).
    #[inline]
    fn wait_for_pace<S: Sink>(&self, nic: &mut Common, slot: FlowSlot, sink: &mut S) {
        let flow = &mut nic.egress.flows[slot.index()];
        flow.state = State::Paced;
        let at = flow.next_ps;
        sink.flow_waits(&flow.start, Wait::Pace(at));
        nic.egress.set_timer(at, TimerKind::Pace, slot, sink);
    }

    /// Sends a packet of the first flow in the send ring that may send, and returns the packet.
    // NIC-03
    fn send<S: Sink>(
        &mut self,
        now: Time,
        nic: &mut Common,
        (port, class): (u16, u8),
        arena: &mut Arena,
        sink: &mut S,
    ) -> Option<PacketId> {
        while let Some(slot) = nic.egress.leave_ring(port, class) {
            let egress = &mut nic.egress;
            let cut = egress.reach.is_some() && egress.is_cut(slot);
            let flow = &mut egress.flows[slot.index()];
            let queue = &mut egress.ports[port as usize].queues[flow.queue as usize];
            if flow.state == State::Leaving {
                egress.release(slot);
            } else if cut {
                flow.state = State::Cut; // LNK-13: receiver unreachable
                sink.flow_waits(&flow.start, Wait::Reach);
            } else if egress.gate.is_destination_paused(port, flow.start.dst) {
                flow.state = State::Waiting;
                sink.flow_waits(&flow.start, Wait::Destination);
                flow.link = egress.gate.wait_for_destination(port, flow.start.dst, slot);
            } else if queue.paused || egress.gate.is_flow_paused(port, flow.start.flow) {
                flow.state = State::Parked;
                let by_queue = queue.paused.then_some(flow.queue.into());
                let number = by_queue.unwrap_or(flow.start.flow);
                sink.flow_waits(&flow.start, Wait::Paused(number));
                flow.link = queue.parked;
                queue.parked = slot;
            } else if self.pairs.next_ps(flow) > now {
                flow.next_ps = self.pairs.next_ps(flow); // NIC-51: pacing of the queue pair
                self.wait_for_pace(nic, slot, sink);
            } else {
                let mut active = self.active(nic, slot);
                if active.may_send(now) {
                    return Some(self.send_one(now, nic, slot, arena, sink));
                }
                let flow = active.flow;
                flow.state = State::Blocked;
                sink.flow_waits(&flow.start, flow.blocked_by());
                self.await_rise(nic, slot, sink);
            }
        }
        None
    }

    /// Sends the next packet of a flow. Then puts the flow into the send ring, or lets it wait.
    fn send_one<S: Sink>(
        &mut self,
        now: Time,
        nic: &mut Common,
        slot: FlowSlot,
        arena: &mut Arena,
        sink: &mut S,
    ) -> PacketId {
        let port = nic.egress.flows[slot.index()].start.port;
        let rate = nic.egress.ports[usize::from(port)].rate;
        let mut active = self.active(nic, slot);
        let (mut hot, cold) = active.next_packet(now, slot, &mut || sink.draw());
        let marks = active.mark(now, &cold);
        // NIC-05: the present rate determines the earliest start of the next packet.
        let on_wire = rate.serialisation_ps(u64::from(hot.size));
        let apart = active.gap_ps(now, &hot, &cold);
        let next_ps = now + (on_wire as i64).max(apart as i64) as Time;
        active.flow.next_ps = next_ps;
        let fits = active.fits(now);
        if !fits {
            active.ask(now, &mut hot);
        }
        let int = active.config.int > 0;
        nic.counters.count_sent(&hot, cold.payload);
        self.pairs.sent(&nic.egress.flows[slot.index()], next_ps);
        if !fits {
            let flow = &mut nic.egress.flows[slot.index()];
            flow.state = State::Blocked;
            sink.flow_waits(&flow.start, flow.blocked_by());
            self.await_rise(nic, slot, sink);
        } else if next_ps <= now + on_wire {
            nic.egress.enter_ring(slot, sink);
        } else {
            self.wait_for_pace(nic, slot, sink);
        }
        if self.pairs.are_shared() && nic.egress.flows[slot.index()].has_sent_all() {
            self.begin_next((now, now + on_wire), nic, slot, sink);
        }
        let id = arena.alloc(hot, cold);
        if int {
            arena.attach_stack(id);
        }
        if marks != 0 {
            arena.set_marks(id, marks);
        }
        id
    }

    /// Handles an ACK or NAK.
    fn replied<S: Sink>(
        &mut self,
        now: Time,
        nic: &mut Common,
        id: PacketId,
        arena: &Arena,
        sink: &mut S,
    ) {
        let (packet, cold) = (arena.hot(id), arena.cold(id));
        let slot = cold.slot;
        if !nic.egress.flows[slot.index()].is_open(packet.flow) {
            return; // NIC-22: the flow has finished; this is an echo of a packet that was sent twice.
        }
        let mut active = self.active(nic, slot);
        let news = active.read(now, packet, cold);
        active.lose(now, news.lost, false);
        let seq = active.acked_bytes_of_pair();
        if news.acknowledges {
            let mut room = None;
            let ack = Ack {
                seq,
                newly: news.newly,
                snd_nxt: active.first_unsent(),
                marked: packet.has(flag::CE),
                rtt_ps: now - cold.sent_ps,
                remote_host_ps: cold.remote_host_ps,
                local_host_ps: cold.local_host_ps,
                int: arena.telemetry(id, &mut room),
                marks: arena.marks(id),
            };
            active.inform(now, &Feedback::Ack(ack));
        }
        if active.config.host.cnp_on_ack && packet.has(flag::CE) {
            active.inform(now, &Feedback::Cnp); // NS3-23: a marked ACK is also a CNP
        }
        if news.acknowledges {
            (self.pairs).acknowledged(&nic.egress.flows[slot.index()], seq);
        }
        let flow = &nic.egress.flows[slot.index()];
        // NIC-20, REC-11: acknowledged packets were sent, and sent packets exist.
        debug_assert!(flow.acked <= flow.next && flow.next <= flow.packets);
        if flow.acked < flow.packets {
            return self.revive_pair(now, nic, slot, sink);
        }
        let done_ps = cold.stamp.completion_ps();
        sink.finished(flow.start.end(done_ps, now, flow.retransmitted));
        nic.egress.finish(slot);
        if self.pairs.are_shared() {
            self.pairs.end(&nic.egress.flows[slot.index()], slot);
            if let Some(port) = self.begin_next((now, now), nic, slot, sink) {
                sink.kick(port);
            }
            self.revive_pair(now, nic, slot, sink);
        }
    }

    /// Handles a CNP or a congestion notification from a switch.
    fn notified(&mut self, now: Time, nic: &mut Common, id: PacketId, arena: &Arena) {
        let (packet, cold) = (arena.hot(id), arena.cold(id));
        if nic.egress.flows[cold.slot.index()].is_open(packet.flow) {
            let notice = Notice::read(packet, cold).map(Feedback::Notice);
            let feedback = notice.unwrap_or(Feedback::Cnp);
            self.active(nic, cold.slot).inform(now, &feedback);
        }
    }

    /// Handles the retransmission timer of a flow. If the flow made no progress for the whole
    /// timeout although packets are in flight, these packets count as lost.
    // NIC-21
    fn timeout<S: Sink>(&mut self, now: Time, nic: &mut Common, slot: FlowSlot, sink: &mut S) {
        let active = self.active(nic, slot);
        let (flow, recovery) = (active.flow, &active.config.recovery);
        let (Some(timeout_ps), Some(shortest_ps)) = (
            recovery.timeout_ps(flow.next - flow.acked),
            recovery.shortest_timeout_ps(),
        ) else {
            return;
        };
        let in_flight = flow.next > flow.acked;
        let deadline = flow.progress_ps + timeout_ps;
        if !in_flight || now < deadline {
            // REC-16: fewer packets in flight have a shorter timeout, so check again by then.
            let again = if in_flight {
                deadline.min(now + shortest_ps)
            } else {
                now + shortest_ps
            };
            nic.egress.set_timer(again, TimerKind::Timeout, slot, sink);
            return;
        }
        sink.flow_waits(&flow.start, Wait::TimedOut);
        flow.progress_ps = now;
        let mut active = self.active(nic, slot);
        let at = active.flow.progress(active.config.mtu);
        let lost = active.flow.repair.on_timeout(&at);
        if let Some(spray) = &mut active.flow.spray {
            spray.timed_out(now, at.acked);
        }
        active.lose(now, lost, true);
        nic.counters.timeouts += 1;
        let again = now + shortest_ps;
        nic.egress.set_timer(again, TimerKind::Timeout, slot, sink);
        self.revive_pair(now, nic, slot, sink);
    }
}

impl<C: Chosen> SendingHalf for Sender<C> {
    fn start<S: Sink>(
        &mut self,
        now: Time,
        nic: &mut Common,
        flow: &FlowStart,
        pair: Option<u32>,
        sink: &mut S,
    ) {
        if self.pairs.admit(&nic.egress.flows, flow, pair) {
            let slot = self.begin(now, nic, flow, pair, sink);
            self.revive(now, nic, slot, sink);
        } else {
            sink.flow_waits(flow, Wait::Pair(NEVER));
        }
    }

    #[inline]
    fn receive<S: Sink>(
        &mut self,
        now: Time,
        nic: &mut Common,
        (_port, id): (u16, PacketId),
        arena: &mut Arena,
        sink: &mut S,
    ) {
        match arena.hot(id).kind() {
            Kind::Ack | Kind::Nak => {
                self.replied(now, nic, id, arena, sink);
                arena.free(id);
            }
            Kind::Cnp | Kind::Notice => {
                self.notified(now, nic, id, arena);
                arena.free(id);
            }
            // Only receiver-driven transports use the other kinds of frames.
            _ => arena.free(id),
        }
    }

    #[inline]
    fn transmit<S: Sink>(
        &mut self,
        now: Time,
        nic: &mut Common,
        port: u16,
        arena: &mut Arena,
        sink: &mut S,
    ) -> Option<PacketId> {
        // NIC-02: lower classes strictly first; in a class replies before data.
        while let Some(class) = nic.egress.next_class(&nic.config, port) {
            let reply = nic.egress.replies.pop(port, class, arena);
            if reply.is_some() {
                return reply;
            }
            let sent = self.send(now, nic, (port, class), arena, sink);
            if sent.is_some() {
                return sent;
            }
        }
        None
    }

    fn timer<S: Sink>(&mut self, now: Time, nic: &mut Common, _arena: &mut Arena, sink: &mut S) {
        while let Some(timer) = nic.egress.due_timer(now, sink) {
            match timer.kind {
                TimerKind::Pace => nic.egress.pace(now, timer.slot, sink),
                TimerKind::Timeout => self.timeout(now, nic, timer.slot, sink),
                TimerKind::Rise => {
                    nic.egress.flows[timer.slot.index()].rising = false;
                    self.revive(now, nic, timer.slot, sink);
                }
            }
        }
    }

    fn dropped<S: Sink>(
        &mut self,
        now: Time,
        nic: &mut Common,
        packet: &Packet,
        cold: &Cold,
        sink: &mut S,
    ) {
        if !nic.egress.flows[cold.slot.index()].is_open(packet.flow) {
            return;
        }
        let mut active = self.active(nic, cold.slot);
        let payload = u64::from(cold.payload);
        let lost = active.flow.repair.on_drop_notice(packet.psn, payload);
        active.lose(now, lost, false);
        self.revive_pair(now, nic, cold.slot, sink);
    }

    fn reach_changed<S: Sink>(&mut self, now: Time, nic: &mut Common, sink: &mut S) {
        for slot in (0..nic.egress.flows.len()).map(FlowSlot::new) {
            if nic.egress.rejoin(slot) {
                self.revive(now, nic, slot, sink);
            }
        }
    }

    #[inline]
    fn prefetch(&self, nic: &Common, slot: FlowSlot) {
        nic.egress.prefetch(slot);
        if self.pairs.are_shared() {
            return;
        }
        if let Some(control) = self.controls.get(slot.index()) {
            prefetch_whole(control);
        }
    }

    fn for_each_flow(&self, nic: &Common, visit: &mut dyn FnMut(&Unfinished)) {
        nic.egress.for_each_flow(nic.config.mtu, &mut *visit);
        (self.pairs).for_each_waiting(|start, why| visit(&start.unfinished(0, 0, why)));
    }

    fn for_each_unsent(
        &self,
        nic: &Common,
        port: u16,
        class: u8,
        visit: &mut dyn FnMut(&FlowStart),
    ) {
        nic.egress.for_each_unsent(port, class, &mut *visit);
        self.pairs.for_each_waiting(|start, _| {
            if start.port == port && nic.config.data_class + start.class == class {
                visit(start);
            }
        });
    }
}
