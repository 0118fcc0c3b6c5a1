//! The sending half of a NIC with a control of senders: windows and pace decide when a flow sends, and
//! acknowledgements, timeouts and notices move it on.

use super::egress::{AlarmKind, Flow, State};
use super::flow::{FlowStart, Unfinished};
use super::half::{Common, SendingHalf};
use super::pairs::{Alone, Beside, Pairing};
use super::recovery::Reply;
use super::wait::Wait;
use crate::cc::{Ack, Control, Feedback, Listed, Loss, Mixed, PerClass};
use crate::config::{NicConfig, Sending};
use crate::ids::FlowSlot;
use crate::packet::{Arena, Cold, Kind, Packet, PacketId, Stamp, flag};
use crate::prefetch::prefetch_whole;
use crate::sink::Sink;
use crate::units::{NEVER, Time};

/// A control that a NIC can be compiled for.
pub(crate) trait Chosen: Control {
    /// Its parameters in the configuration of a NIC that was made for it.
    fn parameters(config: &NicConfig) -> &Self::Config;
}

impl<C: Listed> Chosen for C {
    #[inline]
    fn parameters(config: &NicConfig) -> &Self::Config {
        match &config.control {
            Sending::Control(control) => C::config(control),
            _ => unreachable!("the NIC was made for one control"),
        }
    }
}

impl Chosen for Mixed {
    #[inline]
    fn parameters(config: &NicConfig) -> &PerClass {
        match &config.control {
            Sending::PerClass(controls) | Sending::Paired(controls) => controls,
            _ => unreachable!("the NIC was made for several controls"),
        }
    }
}

/// The controls of flows; each has the slot of its flow in [`Egress`](super::egress::Egress), or the
/// place of its queue pair where flows share them.
#[derive(Debug)]
pub(super) struct Sender<C, P = Alone> {
    controls: Vec<C>,
    pairs: P,
}

/// NIC-04, NIC-09: its window lets the flow send, or no acknowledgement would come that could open it.
#[inline]
fn may_send<C: Chosen>(
    flow: &Flow,
    control: &mut C,
    config: &NicConfig,
    parameters: &C::Config,
    beside: Beside,
    now: Time,
) -> bool {
    fits(flow, control, config, parameters, beside, now) || config.ack_every > 1 && flow.must_ask()
}

/// NIC-04: something unsent, and less in flight than the window.
#[inline]
fn fits<C: Chosen>(
    flow: &Flow,
    control: &mut C,
    config: &NicConfig,
    parameters: &C::Config,
    beside: Beside,
    now: Time,
) -> bool {
    // REC-14, REC-31: a lost packet has its place in the window already.
    if let Some(repair) = &flow.repair
        && repair.lost(flow.acked).is_some()
    {
        return true;
    }
    if flow.next >= flow.packets {
        return false;
    }
    let own = flow.start.bytes_below(flow.next, config.mtu)
        - flow.start.bytes_below(flow.acked, config.mtu);
    let mut in_flight = own + beside.in_flight; // NIC-51
    let mut window = control.window(parameters, &flow.start.path, now);
    if let Some(repair) = &flow.repair {
        (in_flight, window) = repair.flight(&config.recovery, &flow.start.path, in_flight, window);
    }
    in_flight < window
}

/// What an ACK or NAK says of single packets. Returns the bytes that are newly known to have arrived,
/// `newly` of them by the cumulative acknowledgement.
fn read_reply<C: Chosen>(
    flow: &mut Flow,
    control: &mut C,
    config: &NicConfig,
    beside: Beside,
    (nak, cold): (bool, &Cold),
    now: Time,
    newly: u64,
) -> u64 {
    let at = flow.progress(config.mtu);
    // REC-11: the bytes left in the flow name the packet that is answered.
    let left = cold.remaining.div_ceil(u64::from(config.mtu)) as u32;
    let reply = Reply {
        beyond_gap: nak.then_some(flow.packets - left),
        sent_ps: cold.sent_ps,
        newly,
    };
    let Some(repair) = &mut flow.repair else {
        return newly;
    };
    let news = repair.replied(&at, &reply);
    if news.loss {
        lost_something(flow, control, config, beside, now, false);
    }
    news.newly
}

/// The first byte of the flow's queue pair that has not been sent.
// NIC-52
#[inline]
fn first_unsent(flow: &Flow, config: &NicConfig, beside: Beside) -> u64 {
    beside.before + flow.start.bytes_below(flow.next, config.mtu) + beside.after
}

/// The control hears of a loss: when, and whether by a timeout.
fn lost_something<C: Chosen>(
    flow: &mut Flow,
    control: &mut C,
    config: &NicConfig,
    beside: Beside,
    now: Time,
    timeout: bool,
) {
    flow.asked_ps = NEVER; // NIC-09: what asked may be what was lost.
    let loss = Feedback::Loss(Loss {
        snd_nxt: first_unsent(flow, config, beside),
        timeout,
    });
    control.on_feedback(C::parameters(config), &flow.start.path, now, &loss);
}

/// NIC-20, NIC-21: send again from the first packet that is not acknowledged.
fn go_back<C: Chosen>(
    flow: &mut Flow,
    control: &mut C,
    config: &NicConfig,
    beside: Beside,
    now: Time,
    timeout: bool,
) {
    lost_something(flow, control, config, beside, now, timeout);
    flow.next = flow.acked;
}

impl<C: Chosen, P: Pairing> Sender<C, P> {
    /// Without flows.
    pub fn new() -> Self {
        Self {
            controls: Vec::new(),
            pairs: P::new(),
        }
    }

    /// A flow begins, on a queue pair that is its own or has this number.
    fn begin<S: Sink>(
        &mut self,
        now: Time,
        nic: &mut Common,
        flow: &FlowStart,
        pair: Option<u32>,
        sink: &mut S,
    ) -> FlowSlot {
        let config = &*nic.config;
        let slot = nic.egress.start(now, config, flow, sink);
        let is_new = (self.pairs).begin(&mut nic.egress.flows[slot.index()], slot, pair);
        if is_new {
            let control = C::new(C::parameters(config), &flow.path, now);
            match self.controls.get_mut(self.pairs.place(slot)) {
                Some(place) => *place = control,
                None => self.controls.push(control),
            }
        }
        slot
    }

    /// The flow in a slot has sent everything: the next message of its queue pair begins. Returns its
    /// port where it stands in the ring then, as flows do that may send by `by_ps`.
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
        let ready = self.join(now, by_ps, nic, next, sink);
        ready.then_some(flow.port)
    }

    /// The same for all flows of the queue pair of a slot: they share a window.
    // NIC-51
    #[inline]
    fn revive_pair<S: Sink>(&mut self, now: Time, nic: &mut Common, slot: FlowSlot, sink: &mut S) {
        if !P::SHARED {
            return self.revive(now, nic, slot, sink);
        }
        let mut at = 0;
        while let Some(open) = self.pairs.nth(slot, at) {
            self.revive(now, nic, open, sink);
            at += 1;
        }
    }

    /// Puts a blocked flow where it belongs, if it may send again.
    #[inline]
    fn revive<S: Sink>(&mut self, now: Time, nic: &mut Common, slot: FlowSlot, sink: &mut S) {
        if self.join(now, now, nic, slot, sink) {
            sink.kick(nic.egress.flows[slot.index()].start.port);
        }
    }

    /// The same; whether it stands in the ring then, as flows do whose pace lets them send by `by_ps`.
    fn join<S: Sink>(
        &mut self,
        now: Time,
        by_ps: Time,
        nic: &mut Common,
        slot: FlowSlot,
        sink: &mut S,
    ) -> bool {
        if nic.egress.flows[slot.index()].state != State::Blocked {
            return false;
        }
        let beside = self.beside(nic, slot);
        let flow = &mut nic.egress.flows[slot.index()];
        let control = &mut self.controls[self.pairs.place(slot)];
        let parameters = C::parameters(&nic.config);
        if !may_send(flow, control, &nic.config, parameters, beside, now) {
            self.await_rise(nic, slot, sink);
            return false;
        }
        flow.next_ps = flow.next_ps.max(self.pairs.next_ps(slot)); // NIC-51
        if flow.next_ps > by_ps {
            self.wait_for_pace(nic, slot, sink);
            return false;
        }
        nic.egress.enter_ring(slot, sink);
        true
    }

    /// What else the queue pair of a flow has.
    #[inline]
    fn beside(&self, nic: &Common, slot: FlowSlot) -> Beside {
        (self.pairs).beside(&nic.egress.flows, slot, nic.config.mtu)
    }

    /// A flow that its window holds back looks again when its control's timer may have opened it.
    // NIC-08
    #[inline]
    fn await_rise<S: Sink>(&mut self, nic: &mut Common, slot: FlowSlot, sink: &mut S) {
        let flow = &mut nic.egress.flows[slot.index()];
        let control = &self.controls[self.pairs.place(slot)];
        let at = control.rises_ps(C::parameters(&nic.config), &flow.start.path);
        if at == NEVER || flow.rising || flow.next >= flow.packets {
            return;
        }
        flow.rising = true;
        nic.egress.alarm(at, AlarmKind::Rise, slot, sink);
    }

    /// A flow waits until its pace lets it send.
    #[inline]
    fn wait_for_pace<S: Sink>(&self, nic: &mut Common, slot: FlowSlot, sink: &mut S) {
        let flow = &mut nic.egress.flows[slot.index()];
        flow.state = State::Paced;
        let at = flow.next_ps;
        sink.flow_waits(&flow.start, Wait::Pace(at));
        nic.egress.alarm(at, AlarmKind::Pace, slot, sink);
    }

    /// NIC-03: the next packet of the first flow in the ring that may send.
    fn send<S: Sink>(
        &mut self,
        now: Time,
        nic: &mut Common,
        port: u16,
        class: u8,
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
                flow.state = State::Cut; // LNK-13
                sink.flow_waits(&flow.start, Wait::Reach);
            } else if egress.destinations.is_paused(port, flow.start.dst) {
                flow.state = State::Waiting;
                sink.flow_waits(&flow.start, Wait::Destination);
                flow.link = egress.destinations.wait(port, flow.start.dst, slot);
            } else if queue.paused
                || !egress.held.is_empty() && egress.held.contains_key(&flow.start.flow)
            {
                flow.state = State::Parked;
                let by_queue = queue.paused.then_some(flow.queue.into());
                let number = by_queue.unwrap_or(flow.start.flow);
                sink.flow_waits(&flow.start, Wait::Paused(number));
                flow.link = queue.parked;
                queue.parked = slot;
            } else if self.pairs.next_ps(slot) > now {
                flow.next_ps = self.pairs.next_ps(slot); // NIC-51
                self.wait_for_pace(nic, slot, sink);
            } else {
                let beside = self.beside(nic, slot);
                let flow = &mut nic.egress.flows[slot.index()];
                let control = &mut self.controls[self.pairs.place(slot)];
                let parameters = C::parameters(&nic.config);
                if may_send(flow, control, &nic.config, parameters, beside, now) {
                    return Some(self.send_one(now, nic, port, slot, arena, sink));
                }
                flow.state = State::Blocked;
                sink.flow_waits(&flow.start, flow.blocked_by());
                self.await_rise(nic, slot, sink);
            }
        }
        None
    }

    fn send_one<S: Sink>(
        &mut self,
        now: Time,
        nic: &mut Common,
        port: u16,
        slot: FlowSlot,
        arena: &mut Arena,
        sink: &mut S,
    ) -> PacketId {
        let beside = self.beside(nic, slot);
        let config = &*nic.config;
        let parameters = C::parameters(config);
        let rate = nic.egress.ports[port as usize].rate;
        let flow = &mut nic.egress.flows[slot.index()];
        let control = &mut self.controls[self.pairs.place(slot)];
        if flow.next == flow.acked {
            flow.progress_ps = now;
        }
        let psn = flow.take_number(now);
        let before = flow.start.bytes_below(psn, config.mtu);
        let payload = (flow.start.bytes - before).min(u64::from(config.mtu)) as u16;
        let size = config.data_bytes(payload);
        let mut flags = if flow.start.incast { flag::INCAST } else { 0 };
        nic.counters.data_packets += 1;
        if psn < flow.reached {
            flags |= flag::RETRANSMITTED;
            flow.retransmitted += 1;
            nic.counters.retransmissions += 1;
        } else {
            flow.reached = flow.next;
            nic.counters.payload_bytes += u64::from(payload);
        }
        let mut hot = Packet {
            flow: flow.start.flow,
            psn,
            hash: flow.start.hash,
            dst: flow.start.dst,
            upstream_queue: flow.queue,
            flags,
            ..Packet::new(Kind::Data, flow.class, size)
        };
        let cold = Cold {
            sent_ps: now,
            stamp: Stamp::default(),
            src: flow.start.src,
            slot,
            cookie: flow.start.cookie,
            remaining: flow.start.bytes - before,
            payload,
            ..Cold::default()
        };
        let path = &flow.start.path;
        control.on_send(parameters, path, now, u64::from(payload));
        // NIC-05: the rate of this moment sets the earliest start of the next packet.
        let on_wire = rate.serialisation_ps(u64::from(size));
        let paced = control.rate_bps(parameters, path, now);
        let apart = f64::from(size) * 8e12 / paced;
        flow.next_ps = now + (on_wire as i64).max(apart as i64) as Time;
        self.pairs.sent(slot, flow.next_ps);
        let int = config.int > 0;
        if !fits(flow, control, config, parameters, beside, now) {
            if config.ack_every > 1 {
                // NIC-09
                hot.flags |= flag::ASKS;
                flow.asked_ps = now;
            }
            flow.state = State::Blocked;
            sink.flow_waits(&flow.start, flow.blocked_by());
            self.await_rise(nic, slot, sink);
        } else if flow.next_ps <= now + on_wire {
            nic.egress.enter_ring(slot, sink);
        } else {
            self.wait_for_pace(nic, slot, sink);
        }
        if P::SHARED && nic.egress.flows[slot.index()].has_sent_all() {
            self.begin_next((now, now + on_wire), nic, slot, sink);
        }
        let id = arena.alloc(hot, cold);
        if int {
            arena.attach_stack(id);
        }
        id
    }

    /// An ACK or NAK came back.
    fn acknowledged<S: Sink>(
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
        let beside = self.beside(nic, slot);
        let config = &*nic.config;
        let flow = &mut nic.egress.flows[slot.index()];
        let control = &mut self.controls[self.pairs.place(slot)];
        let parameters = C::parameters(config);
        let had = flow.start.bytes_below(flow.acked, config.mtu);
        if cold.sent_ps >= flow.asked_ps {
            flow.asked_ps = NEVER; // NIC-09: this answers the packet that asked, or a later one.
        }
        debug_assert!(
            packet.psn <= flow.packets,
            "flow {} has {} packets, and {} are acknowledged",
            packet.flow,
            flow.packets,
            packet.psn
        );
        if packet.psn > flow.acked {
            flow.acked = packet.psn;
            flow.next = flow.next.max(flow.acked);
            flow.progress_ps = now;
        }
        let seq = flow.start.bytes_below(flow.acked, config.mtu);
        let nak = packet.kind() == Kind::Nak;
        let newly = match flow.repair {
            None => seq - had,
            Some(_) => {
                let reply = (nak, cold);
                read_reply(flow, control, config, beside, reply, now, seq - had)
            }
        };
        if nak && flow.repair.is_none() {
            // NIC-20
            if packet.psn >= flow.acked && flow.next > flow.acked {
                go_back(flow, control, config, beside, now, false);
            }
        } else {
            // REC-19
            let mut room = None;
            let int = arena.telemetry(id, &mut room);
            let ack = Feedback::Ack(Ack {
                seq: self.pairs.acknowledged(slot, beside.before + seq),
                newly,
                snd_nxt: first_unsent(flow, config, beside),
                marked: packet.has(flag::CE),
                rtt_ps: now - cold.sent_ps,
                remote_host_ps: cold.remote_host_ps,
                local_host_ps: cold.local_host_ps,
                int,
            });
            control.on_feedback(parameters, &flow.start.path, now, &ack);
        }
        if config.host.cnp_on_ack && packet.has(flag::CE) {
            // NS3-23
            control.on_feedback(parameters, &flow.start.path, now, &Feedback::Cnp);
        }
        // NIC-20, REC-11: acknowledged packets were sent, and sent packets exist.
        debug_assert!(flow.acked <= flow.next && flow.next <= flow.packets);
        if flow.acked == flow.packets {
            let end = flow
                .start
                .end(cold.stamp.completion_ps(), now, flow.retransmitted);
            sink.finished(end);
            nic.egress.finish(slot);
            if P::SHARED {
                self.pairs.end(slot);
                if let Some(port) = self.begin_next((now, now), nic, slot, sink) {
                    sink.kick(port);
                }
                self.revive_pair(now, nic, slot, sink);
            }
        } else {
            self.revive_pair(now, nic, slot, sink);
        }
    }

    /// A CNP came back.
    fn notified(&mut self, now: Time, nic: &mut Common, number: u32, slot: FlowSlot) {
        let flow = &nic.egress.flows[slot.index()];
        if flow.is_open(number) {
            let parameters = C::parameters(&nic.config);
            let control = &mut self.controls[self.pairs.place(slot)];
            control.on_feedback(parameters, &flow.start.path, now, &Feedback::Cnp);
        }
    }

    /// NIC-21: nothing moved for the whole timeout though something is in flight.
    fn timeout<S: Sink>(&mut self, now: Time, nic: &mut Common, slot: FlowSlot, sink: &mut S) {
        let beside = self.beside(nic, slot);
        let config = &*nic.config;
        let flow = &mut nic.egress.flows[slot.index()];
        let recovery = &config.recovery;
        let (Some(timeout_ps), Some(shortest_ps)) = (
            recovery.timeout_ps(flow.next - flow.acked),
            recovery.shortest_timeout_ps(),
        ) else {
            return;
        };
        let in_flight = flow.next > flow.acked;
        let deadline = flow.progress_ps + timeout_ps;
        if !in_flight || now < deadline {
            // REC-16: with fewer packets in flight the deadline may come nearer meanwhile.
            let again = if in_flight {
                deadline.min(now + shortest_ps)
            } else {
                now + shortest_ps
            };
            nic.egress.alarm(again, AlarmKind::Timeout, slot, sink);
            return;
        }
        nic.counters.timeouts += 1;
        sink.flow_waits(&flow.start, Wait::TimedOut);
        flow.progress_ps = now;
        let at = flow.progress(config.mtu);
        let control = &mut self.controls[self.pairs.place(slot)];
        match &mut flow.repair {
            Some(repair) => {
                repair.timed_out(&at);
                lost_something(flow, control, config, beside, now, true);
            }
            None => go_back(flow, control, config, beside, now, true),
        }
        let again = now + shortest_ps;
        nic.egress.alarm(again, AlarmKind::Timeout, slot, sink);
        self.revive_pair(now, nic, slot, sink);
    }
}

impl<C: Chosen, P: Pairing> SendingHalf for Sender<C, P> {
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
        }
    }

    #[inline]
    fn receive<S: Sink>(
        &mut self,
        now: Time,
        nic: &mut Common,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        match arena.hot(id).kind() {
            Kind::Data => nic.receive_data(now, port, id, arena, sink),
            Kind::Ack | Kind::Nak => {
                self.acknowledged(now, nic, id, arena, sink);
                arena.free(id);
            }
            Kind::Cnp => {
                let (flow, slot) = (arena.hot(id).flow, arena.cold(id).slot);
                self.notified(now, nic, flow, slot);
                arena.free(id);
            }
            // Only receiver-driven transports have other frames.
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
            let reply = nic.egress.pop_reply(port, class, arena);
            if reply.is_some() {
                return reply;
            }
            let sent = self.send(now, nic, port, class, arena, sink);
            if sent.is_some() {
                return sent;
            }
        }
        None
    }

    fn timer<S: Sink>(&mut self, now: Time, nic: &mut Common, _arena: &mut Arena, sink: &mut S) {
        while let Some(alarm) = nic.egress.due_alarm(now, sink) {
            match alarm.kind {
                AlarmKind::Pace => nic.egress.pace(now, alarm.slot, sink),
                AlarmKind::Timeout => self.timeout(now, nic, alarm.slot, sink),
                AlarmKind::Rise => {
                    nic.egress.flows[alarm.slot.index()].rising = false;
                    self.revive(now, nic, alarm.slot, sink);
                }
            }
        }
    }

    fn told<S: Sink>(
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
        let beside = self.beside(nic, cold.slot);
        let flow = &mut nic.egress.flows[cold.slot.index()];
        if let Some(repair) = &mut flow.repair {
            repair.told(packet.psn, u64::from(cold.payload));
            let control = &mut self.controls[self.pairs.place(cold.slot)];
            lost_something(flow, control, &nic.config, beside, now, false);
            self.revive_pair(now, nic, cold.slot, sink);
        }
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
        if P::SHARED {
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
