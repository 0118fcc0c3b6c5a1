//! Reaction of Floodgate to each step of a packet through the switch and to each control frame.

use super::config::{CreditAt, HoldBy, Release};
use super::credit::Credits;
use super::frames::{Credit, Credits as CreditsFrame, PauseDestination, SwitchSyn};
use super::link::port_of_held;
use super::numbers::Silence;
use super::{Floodgate, Timer};
use crate::event::NodeEvent;
use crate::packet::{Arena, Frame, Kind, Location, Packet, PacketId, flag};
use crate::pipeline::Pipeline;
use crate::pipeline::context::Cx;
use crate::pipeline::place::Place;
use crate::pipeline::steps::Steps;
use crate::sink::Sink;

/// Returns the bytes in the egress queues of a port. Control frames to the neighbour do not count.
fn egress_bytes(core: &Pipeline, port: u16) -> u64 {
    let frames = core.queueing.queue_of(port, 0, 0);
    core.queueing.ports[port as usize].bytes - core.queueing.get(frames).bytes()
}

impl Floodgate {
    /// Counts a packet that arrived from a host. Pauses its destination at this host if the bytes
    /// of host and destination reach the threshold.
    // FGC-36
    fn came_from_host<S: Sink>(&mut self, cx: &mut Cx<'_, S>, packet: &Packet) {
        let Packet {
            ingress, dst, size, ..
        } = *packet;
        if let Some(senders) = &mut self.senders
            && !self.to_switch[ingress as usize]
            && senders.came(ingress, dst, u64::from(size)) >= self.thresholds[ingress as usize].off
        {
            self.pause_destination(cx, ingress, dst);
        }
    }

    /// Counts the departure of a packet that a host has sent. Resumes its destination at this host
    /// if the bytes of host and destination are low enough.
    // FGC-36
    pub(super) fn left_of_host<S: Sink>(&mut self, cx: &mut Cx<'_, S>, packet: &Packet) {
        let port = packet.ingress;
        if let Some(senders) = &mut self.senders
            && !self.to_switch[port as usize]
        {
            let bytes = senders.left(port, packet.dst, u64::from(packet.size));
            if bytes == 0 || bytes <= self.thresholds[port as usize].on {
                self.resume_destination(cx, port, packet.dst);
            }
        }
    }

    /// Charges a packet that joined its egress queue without being parked.
    // FG-04
    pub(super) fn pass<S: Sink>(&mut self, cx: &mut Cx<'_, S>, port: u16, packet: &Packet) {
        if self.senders.is_some() {
            self.came_from_host(cx, packet);
        }
        let is_data = packet.kind() == Kind::Data;
        let way = self.way(packet.dst, &cx.core.routes);
        if is_data && let Some(way) = way {
            self.charge(packet, way);
        }
        self.fill(port, cx.core.queueing.ports[port as usize].bytes);
        if !is_data {
            return;
        }
        if let Some(windows) = self.config.windows()
            && windows.credit.at == CreditAt::Forwarding
        {
            self.earn(cx, packet);
        }
        // FG-45: at the last hop, compare the egress queue with the pause threshold.
        if way.is_none() && matches!(self.config.by, HoldBy::Tags(_)) {
            let over = egress_bytes(cx.core, port) > self.thresholds[port as usize].off;
            if over && self.to_switch[packet.ingress as usize] {
                self.pause_destination(cx, packet.ingress, packet.dst);
            }
        }
    }

    /// Parks an admitted packet in the VOQ of its destination.
    // FG-04, FG-12
    pub(super) fn park<S: Sink>(&mut self, cx: &mut Cx<'_, S>, port: u16, id: PacketId) {
        let packet = *cx.arena.hot(id);
        if self.senders.is_some() {
            self.came_from_host(cx, &packet);
        }
        let Some(way) = self.way(packet.dst, &cx.core.routes) else {
            return;
        };
        let queued_bytes = cx.core.queueing.ports[port as usize].bytes;
        self.put_in_voq(port, id, way, queued_bytes, cx.arena);
        if self.config.ecn_sees_held {
            cx.core.queueing.ports[port as usize].telemetry.voq_bytes += u64::from(packet.size); // FG-50
        }
        if let Some(bytes) = &mut cx.core.voq_bytes {
            *bytes += u64::from(packet.size); // FG-51: bytes for INT
        }
        let bytes = self.pool.bytes_of(packet.dst);
        let off = match (self.to_switch[packet.ingress as usize], self.config.by) {
            (false, _) if self.config.host_pause.is_some() && self.senders.is_none() => {
                self.thresholds[packet.ingress as usize].off // FG-40: dstPause of a host
            }
            (true, HoldBy::Tags(_)) => self.held_thresholds.off, // FG-45: pause of a switch
            _ => u64::MAX,
        };
        if bytes > off {
            self.pause_destination(cx, packet.ingress, packet.dst);
        }
        if self.config.vup_ps.is_some() || self.config.release == Release::Behind {
            // FG-15, FG-61: the packet may leave its VOQ immediately. It joined only to keep the
            // order.
            self.ready.clear();
            self.ready
                .extend(self.pool.held(packet.dst).map(|held| held.voq));
            self.release_ready(cx);
        }
    }

    /// Releases packets from the VOQs in `ready` in round robin, one packet each, until no packet
    /// may leave.
    // FG-13
    pub(super) fn release_ready<S: Sink>(&mut self, cx: &mut Cx<'_, S>) {
        self.take_turns();
        let mut ready = std::mem::take(&mut self.ready);
        let mut turn = 0;
        while let Some(&voq) = ready.get(turn) {
            if self.release_one(cx, voq) {
                turn += 1;
            } else {
                ready.remove(turn);
            }
            if turn >= ready.len() {
                turn = 0;
            }
        }
        self.ready = ready;
    }

    fn release_one<S: Sink>(&mut self, cx: &mut Cx<'_, S>, voq: u32) -> bool {
        if self.is_occupied(cx.core, voq, cx.arena) {
            return false;
        }
        let Some((id, left, way)) = self.release(voq, &cx.core.routes, cx.arena) else {
            return false;
        };
        let packet = *cx.arena.hot(id);
        let held_for = packet.location.voq_egress();
        if self.config.ecn_sees_held {
            cx.core.queueing.ports[held_for as usize]
                .telemetry
                .voq_bytes -= u64::from(packet.size);
        }
        if let Some(bytes) = &mut cx.core.voq_bytes {
            debug_assert!(*bytes >= u64::from(packet.size), "bytes in VOQs");
            *bytes -= u64::from(packet.size);
        }
        let size = u64::from(packet.size);
        let port = match port_of_held(cx.core, held_for, id, cx.arena) {
            Ok(port) => port,
            Err(cause) => {
                if left.is_gone() && self.config.vup_ps.is_none() {
                    self.pool.leave(packet.dst);
                }
                self.drop_held(cx, (held_for, cause), id);
                self.held_less(cx, packet.dst, left.bytes, size);
                return true;
            }
        };
        self.charge(&packet, way);
        if left.is_gone() && self.config.vup_ps.is_none() {
            self.pool.leave(packet.dst);
        }
        if let Some(vup_ps) = self.config.vup_ps
            && !self.vup_set
        {
            self.vup_set = true;
            self.set_timer((cx.now / vup_ps + 1) * vup_ps, Timer::Vup, cx.sink);
        }
        let place = match self.config.release {
            Release::Behind => Place::at(cx.core.queueing.behind(port, packet.class())), // FG-15
            _ => cx.classify(port, &packet),
        };
        cx.enqueue(port, place, id, &packet);
        cx.sink.event(NodeEvent::Released { id });
        if self.departing != Some(port) {
            cx.sink.kick(port);
        }
        self.fill(port, cx.core.queueing.ports[port as usize].bytes);
        if let Some(windows) = self.config.windows()
            && windows.credit.at != CreditAt::Departure
        {
            self.earn(cx, &packet);
        }
        self.held_less(cx, packet.dst, left.bytes, size);
        true
    }

    /// Returns true if packets wait at the egress port of the first packet of a VOQ (PFC with tag).
    // FG-47
    #[inline]
    fn is_occupied(&self, core: &Pipeline, voq: u32, arena: &Arena) -> bool {
        self.windows.is_none()
            && self.pool.head(voq).is_some_and(|id| {
                let port = arena.hot(id).location.voq_egress();
                egress_bytes(core, port) > 0
            })
    }

    /// Reacts to a decrease of the parked bytes of a destination. Resumes hosts and upstream
    /// switches, and sends credits that are no longer withheld.
    // FG-26, FG-27, FG-40, FG-46
    fn held_less<S: Sink>(&mut self, cx: &mut Cx<'_, S>, dst: u32, bytes: u64, released: u64) {
        if self.told.any(dst) && self.senders.is_none() {
            for port in 0..self.links.len() as u16 {
                let of_port = self.thresholds[port as usize];
                let of_switch = self.held_thresholds;
                let thresholds = if self.to_switch[port as usize] {
                    of_switch
                } else {
                    of_port
                };
                if thresholds.resumes(bytes) {
                    self.resume_destination(cx, port, dst);
                }
            }
        }
        let crosses = bytes <= self.delay_bytes && bytes + released > self.delay_bytes;
        if self.delay_bytes == u64::MAX || !crosses {
            return;
        }
        for port in 0..self.links.len() as u16 {
            let Some(credits) = &self.credits else { return };
            if credits.owes(port, dst) {
                self.send_or_wait(cx, port);
            }
        }
    }

    /// Adds the credit for a data packet that arrived through `packet.ingress`.
    // FG-20, FG-21
    #[inline]
    pub(super) fn earn<S: Sink>(&mut self, cx: &mut Cx<'_, S>, packet: &Packet) {
        let port = packet.ingress;
        if !self.to_switch[port as usize] {
            return;
        }
        let units = (self.units(packet), u32::from(packet.size));
        let withheld = self.withholds(packet.dst);
        let numbered = self.numbers.is_some();
        let Some(credits) = &mut self.credits else {
            return;
        };
        if credits.earn(port, packet.dst, units, numbered, withheld) {
            self.send_or_wait(cx, port);
        } else if !withheld && let Some(at) = credits.start_timer(port, cx.now) {
            self.set_timer(at, Timer::Credits(port), cx.sink);
        }
    }

    /// Sends the credits of a port if they are for enough bytes. Otherwise sets the timer of the
    /// port.
    // FG-22, FG-24, FG-27
    fn send_or_wait<S: Sink>(&mut self, cx: &mut Cx<'_, S>, port: u16) {
        let (pool, delay_bytes) = (&self.pool, self.delay_bytes);
        let Some(credits) = &mut self.credits else {
            return;
        };
        if credits.has_enough(port, |dst| pool.bytes_of(dst) > delay_bytes) {
            let by_bytes = self
                .config
                .windows()
                .is_some_and(|w| w.credit.aggregation.is_some());
            self.counters.credit_frames_by_bytes += u64::from(by_bytes);
            self.send_credits(cx, port);
        } else if let Some(at) = credits.start_timer(port, cx.now) {
            self.set_timer(at, Timer::Credits(port), cx.sink);
        }
    }

    /// Sends all credits of a port that are not withheld.
    fn send_credits<S: Sink>(&mut self, cx: &mut Cx<'_, S>, port: u16) {
        let (pool, delay_bytes) = (&self.pool, self.delay_bytes);
        let mut collected = std::mem::take(&mut self.collected);
        collected.clear();
        if let Some(credits) = &mut self.credits {
            let withheld = |dst| pool.bytes_of(dst) > delay_bytes;
            credits.collect(port, cx.now, withheld, &mut collected);
        }
        for frame in Credits::frames(&collected) {
            self.emit_credits(cx, port, frame);
        }
        self.collected = collected;
    }

    /// Sends one credit frame.
    // FG-25
    fn emit_credits<S: Sink>(&mut self, cx: &mut Cx<'_, S>, port: u16, credits: &[Credit]) {
        if cx.core.is_dead(port) {
            return; // LNK-27: no frame over a failed link
        }
        let bytes = self
            .credits
            .as_ref()
            .map_or(0, |c| c.frame_bytes(credits.len()));
        self.counters.credit_frames += 1;
        self.counters.credit_bytes += u64::from(bytes);
        if let [one] = credits {
            cx.emit(port, one.packet(bytes));
            return;
        }
        let id = cx.emit(port, CreditsFrame.packet(bytes));
        self.words.clear();
        self.words.extend(CreditsFrame::list(credits));
        cx.arena.set_list(id, &self.words);
    }

    /// Processes credits that arrived from the next hop at `port`, and releases packets.
    // FG-13, FG-31
    pub(super) fn take_credits<S: Sink>(
        &mut self,
        cx: &mut Cx<'_, S>,
        port: u16,
        credits: impl Iterator<Item = Credit>,
    ) {
        self.ready.clear();
        for credit in credits {
            self.take_one(cx, port, credit);
        }
        if self.windows.as_ref().is_some_and(|w| w.is_hashed()) {
            // FG-06: several destinations may share the window.
            self.ready.clear();
            self.ready.extend(self.pool.occupied());
        }
        self.release_ready(cx);
    }

    fn take_one<S: Sink>(&mut self, cx: &mut Cx<'_, S>, port: u16, credit: Credit) {
        let Some(way) = self.way(credit.dst, &cx.core.routes) else {
            return;
        };
        let units = match &mut self.numbers {
            None => credit.units,
            Some(numbers) => {
                let units = numbers.credited(cx.now, port, credit.dst, credit.number);
                self.counters.repaired += u64::from(units.saturating_sub(credit.units));
                units
            }
        };
        if let Some(windows) = &mut self.windows {
            windows.refund(credit.dst, way, units);
            self.taken += u64::from(units);
            self.clear_later(cx.now, cx.sink);
        }
        self.ready
            .extend(self.pool.held(credit.dst).map(|held| held.voq));
    }

    /// Answers the switchSYN of an upstream switch that has received no credit for its timeout.
    // FG-33
    pub(super) fn answer_syn<S: Sink>(&mut self, cx: &mut Cx<'_, S>, port: u16, syn: SwitchSyn) {
        let withheld = self.withholds(syn.dst);
        let Some(credits) = &mut self.credits else {
            return;
        };
        credits.asked(port, syn.dst, syn.number);
        let credit = credits.answer(port, syn.dst, withheld);
        self.emit_credits(cx, port, &[credit]);
    }

    /// Pauses or resumes a destination, as the next hop at `port` requires.
    // FG-45
    pub(super) fn obey_destination<S: Sink>(
        &mut self,
        cx: &mut Cx<'_, S>,
        port: u16,
        frame: PauseDestination,
    ) {
        let news = if frame.on {
            self.paused_by.add(port, frame.dst)
        } else {
            self.paused_by.remove(port, frame.dst)
        };
        cx.core.counters.repeated_pauses += u64::from(!news);
        if !self.is_paused(frame.dst, &cx.core.routes) {
            self.ready.clear();
            self.ready
                .extend(self.pool.held(frame.dst).map(|held| held.voq));
            self.release_ready(cx);
        }
    }

    fn pause_destination<S: Sink>(&mut self, cx: &mut Cx<'_, S>, port: u16, dst: u32) {
        // LNK-27: send no pause over a failed link.
        if !cx.core.is_dead(port) && self.told.add(port, dst) {
            self.counters.dst_pauses += 1;
            self.tell_destination(cx, port, dst, true);
        }
    }

    fn resume_destination<S: Sink>(&mut self, cx: &mut Cx<'_, S>, port: u16, dst: u32) {
        if self.told.remove(port, dst) {
            self.counters.dst_resumes += 1;
            self.tell_destination(cx, port, dst, false);
        }
    }

    fn tell_destination<S: Sink>(&mut self, cx: &mut Cx<'_, S>, port: u16, dst: u32, pause: bool) {
        let frame = PauseDestination { on: pause, dst };
        cx.emit(port, frame.packet(self.config.frame_bytes));
    }

    /// Handles a packet that leaves through `port`.
    // FG-21, FG-30
    #[inline]
    pub(super) fn left<S: Sink>(
        &mut self,
        cx: &mut Cx<'_, S>,
        port: u16,
        id: PacketId,
        packet: &Packet,
    ) {
        let way = self.way(packet.dst, &cx.core.routes);
        if self.senders.is_some() {
            self.left_of_host(cx, packet);
        }
        if self.config.release == Release::Behind
            && packet.has(flag::PARKED)
            && self.pool.left_behind(packet.dst)
            && self.config.vup_ps.is_none()
        {
            self.pool.leave(packet.dst); // FG-15: no packet left there
        }
        let mut astray = false;
        if packet.kind() == Kind::Data {
            let units = self.units(packet);
            if way.is_some() && self.windows.is_some() {
                self.sent += u64::from(units);
                if let Some(numbers) = &mut self.numbers {
                    let (number, timer) = numbers.send(cx.now, port, packet.dst, units);
                    cx.arena.hot_mut(id).location = Location::on_link(number);
                    if let Some((at, stream)) = timer {
                        self.set_timer(at, Timer::Silence(stream), cx.sink);
                    }
                }
                let routes = &cx.core.routes;
                astray = cx.steps.has(Steps::LINKS) && self.forget_astray(port, packet.dst, routes);
            }
            let at = self.config.windows().map(|w| w.credit.at);
            let direct = at == Some(CreditAt::Voq) && !packet.has(flag::PARKED);
            if at == Some(CreditAt::Departure) || direct {
                self.earn(cx, packet);
            }
        }
        // FG-47, LNK-27: VOQs may release packets because the port is idle or windows were
        // refunded.
        let idle = self.windows.is_none() && egress_bytes(cx.core, port) == 0;
        if (idle || astray) && self.pool.counts.in_use > 0 {
            // The port selects its next packet after the current one anyway, so no event is needed.
            self.departing = Some(port);
            self.release_all(cx);
            self.departing = None;
        }
        if way.is_none() {
            self.queue_less(cx, port, packet.dst);
        }
    }

    /// Resumes paused upstream switches at the last hop if the egress queue has become short
    /// enough.
    // FG-45, FG-46
    pub(super) fn queue_less<S: Sink>(&mut self, cx: &mut Cx<'_, S>, port: u16, dst: u32) {
        if !self.told.any(dst) || !matches!(self.config.by, HoldBy::Tags(_)) {
            return;
        }
        if self.thresholds[port as usize].resumes(egress_bytes(cx.core, port)) {
            for upstream in 0..self.links.len() as u16 {
                self.resume_destination(cx, upstream, dst);
            }
        }
    }

    /// Runs all timers that have expired.
    pub(super) fn serve_timers<S: Sink>(&mut self, cx: &mut Cx<'_, S>) {
        while let Some(timer) = self.timers.due(cx.now, cx.sink) {
            self.expire(cx, timer);
        }
    }

    /// Handles a timer that has expired.
    fn expire<S: Sink>(&mut self, cx: &mut Cx<'_, S>, timer: Timer) {
        match timer {
            Timer::Credits(port) => {
                let ended = |c: &mut Credits| c.timer_ended(port, cx.now);
                if self.credits.as_mut().is_some_and(ended) {
                    self.send_credits(cx, port);
                }
            }
            Timer::Silence(stream) => {
                let Some(numbers) = &mut self.numbers else {
                    return;
                };
                match numbers.silence(cx.now, stream) {
                    Silence::Over => {}
                    Silence::Until(at) => self.set_timer(at, Timer::Silence(stream), cx.sink),
                    Silence::Ask(port, dst, number, at) => {
                        self.counters.syns += 1;
                        let frame = SwitchSyn { dst, number };
                        cx.emit(port, frame.packet(self.config.frame_bytes));
                        self.set_timer(at, Timer::Silence(stream), cx.sink);
                    }
                }
            }
            Timer::Vup => {
                // FG-61: empty VOQs become free
                self.vup_set = false;
                self.pool
                    .drained()
                    .into_iter()
                    .for_each(|dst| self.pool.leave(dst));
            }
            Timer::Clear => {
                // FG-07: remove entries of full windows
                self.clear_set = false;
                if let Some(windows) = &mut self.windows {
                    windows.clear();
                }
            }
        }
    }
}
