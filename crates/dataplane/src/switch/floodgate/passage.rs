//! The way of packets and frames through Floodgate's parts: what follows on what.

use super::config::{CreditAt, HoldBy, Release};
use super::credit::Credits;
use super::numbers::Silence;
use super::{Alarm, Floodgate, HELD};
use crate::hop::floodgate::{Credit, Credits as CreditsFrame, PauseDestination, SwitchSyn};
use crate::packet::{Arena, Frame, Kind, Packet, PacketId};
use crate::sink::Sink;
use crate::switch::Switch;
use crate::switch::classify::Place;
use crate::units::Time;

impl Switch {
    /// Does something with Floodgate's state, which is taken out meanwhile.
    pub(super) fn with_floodgate<R>(
        &mut self,
        what: impl FnOnce(&mut Self, &mut Floodgate) -> R,
    ) -> Option<R> {
        let mut floodgate = self.floodgate.take()?;
        let result = what(self, &mut floodgate);
        self.floodgate = Some(floodgate);
        Some(result)
    }

    /// A packet was admitted that is to leave by `port`: it goes on to `place`, or is held.
    // FG-04, FG-12
    #[allow(clippy::too_many_arguments)]
    pub(in crate::switch) fn pass_or_hold<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        place: Option<Place>,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        self.with_floodgate(|switch, f| {
            if f.senders.is_some() {
                switch.came_from_host(f, id, arena, sink);
            }
            match place {
                None => switch.hold(now, f, port, id, arena, sink),
                Some(place) => switch.pass(now, f, port, place, id, arena, sink),
            }
        });
    }

    /// A packet may be one too many of its host for its destination.
    // FGC-36
    fn came_from_host<S: Sink>(
        &mut self,
        f: &mut Floodgate,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let Packet {
            ingress, dst, size, ..
        } = *arena.hot(id);
        if let Some(senders) = &mut f.senders
            && !f.to_switch[ingress as usize]
            && senders.came(ingress, dst, u64::from(size)) >= f.thresholds[ingress as usize].off
        {
            self.pause_destination(f, ingress, dst, arena, sink);
        }
    }

    /// A packet of a host left.
    // FGC-36
    pub(super) fn left_of_host<S: Sink>(
        &mut self,
        f: &mut Floodgate,
        packet: &Packet,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let port = packet.ingress;
        if let Some(senders) = &mut f.senders
            && !f.to_switch[port as usize]
        {
            let bytes = senders.left(port, packet.dst, u64::from(packet.size));
            if bytes == 0 || bytes <= f.thresholds[port as usize].on {
                self.resume_destination(f, port, packet.dst, arena, sink);
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn pass<S: Sink>(
        &mut self,
        now: Time,
        f: &mut Floodgate,
        port: u16,
        place: Place,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let packet = *arena.hot(id);
        let data = packet.kind() == Kind::Data;
        let way = f.way(packet.dst, &self.routes);
        if data && let Some(way) = way {
            f.charge(&packet, way);
        }
        self.forward(now, port, place, id, arena, sink);
        sink.kick(port);
        f.fill(port, self.queueing.ports[port as usize].bytes);
        if !data {
            return;
        }
        if let Some(windows) = f.config.windows()
            && windows.credit.at == CreditAt::Forwarding
        {
            self.earn(now, f, &packet, arena, sink);
        }
        // FG-45: the egress queue of the last hop.
        if way.is_none() && matches!(f.config.by, HoldBy::Tags(_)) {
            let over = self.egress_bytes(port) > f.thresholds[port as usize].off;
            if over && f.to_switch[packet.ingress as usize] {
                self.pause_destination(f, packet.ingress, packet.dst, arena, sink);
            }
        }
    }

    fn hold<S: Sink>(
        &mut self,
        now: Time,
        f: &mut Floodgate,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let packet = *arena.hot(id);
        let Some(way) = f.way(packet.dst, &self.routes) else {
            return;
        };
        f.hold(
            port,
            id,
            way,
            self.queueing.ports[port as usize].bytes,
            arena,
        );
        if f.config.ecn_sees_held {
            self.queueing.ports[port as usize].telemetry.held_bytes += u64::from(packet.size); // FG-50
        }
        let bytes = f.pool.bytes_of(packet.dst);
        let off = match (f.to_switch[packet.ingress as usize], f.config.by) {
            (false, _) if f.config.host_pause.is_some() && f.senders.is_none() => {
                f.thresholds[packet.ingress as usize].off // FG-40
            }
            (true, HoldBy::Tags(_)) => f.held_thresholds.off, // FG-45
            _ => u64::MAX,
        };
        if bytes > off {
            self.pause_destination(f, packet.ingress, packet.dst, arena, sink);
        }
        if f.config.vup_ps.is_some() || f.config.release == Release::Behind {
            // FG-15, FG-61: it may only pass through.
            f.ready.clear();
            f.ready.extend(f.pool.held(packet.dst).map(|held| held.voq));
            self.release_ready(now, f, arena, sink);
        }
    }

    /// Releases packets of the VOQs in `ready`, one of each in turn, as long as any may go.
    // FG-13
    pub(super) fn release_ready<S: Sink>(
        &mut self,
        now: Time,
        f: &mut Floodgate,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        f.take_turns();
        let mut ready = std::mem::take(&mut f.ready);
        let mut turn = 0;
        while let Some(&voq) = ready.get(turn) {
            if self.release_one(now, f, voq, arena, sink) {
                turn += 1;
            } else {
                ready.remove(turn);
            }
            if turn >= ready.len() {
                turn = 0;
            }
        }
        f.ready = ready;
    }

    fn release_one<S: Sink>(
        &mut self,
        now: Time,
        f: &mut Floodgate,
        voq: u32,
        arena: &mut Arena,
        sink: &mut S,
    ) -> bool {
        if self.is_occupied(f, voq, arena) {
            return false;
        }
        let Some((id, left, way)) = f.release(voq, &self.routes, arena) else {
            return false;
        };
        let packet = *arena.hot(id);
        let held_for = packet.queue as u16;
        if f.config.ecn_sees_held {
            self.queueing.ports[held_for as usize].telemetry.held_bytes -= u64::from(packet.size);
        }
        let size = u64::from(packet.size);
        let port = match self.port_of_held(held_for, id, arena) {
            Ok(port) => port,
            Err(cause) => {
                if left.is_gone() && f.config.vup_ps.is_none() {
                    f.pool.leave(packet.dst);
                }
                self.drop_held(now, f, (held_for, cause), id, arena, sink);
                self.held_less(now, f, packet.dst, left.bytes, size, arena, sink);
                return true;
            }
        };
        f.charge(&packet, way);
        if left.is_gone() && f.config.vup_ps.is_none() {
            f.pool.leave(packet.dst);
        }
        if let Some(vup_ps) = f.config.vup_ps
            && !f.vup_set
        {
            f.vup_set = true;
            f.alarm((now / vup_ps + 1) * vup_ps, Alarm::Vup, sink);
        }
        let place = if f.config.release == Release::Behind {
            Place::at(self.queueing.behind(port, packet.class())) // FG-15
        } else {
            let draw = &mut || sink.draw();
            self.classifier
                .place(now, port, &packet, &self.queueing, draw)
        };
        self.forward(now, port, place, id, arena, sink);
        if f.departing != Some(port) {
            sink.kick(port);
        }
        f.fill(port, self.queueing.ports[port as usize].bytes);
        if let Some(windows) = f.config.windows()
            && windows.credit.at != CreditAt::Departure
        {
            self.earn(now, f, &packet, arena, sink);
        }
        self.held_less(now, f, packet.dst, left.bytes, size, arena, sink);
        true
    }

    /// PFC with tag: whether others wait at the port of the packet that comes next out of a VOQ.
    // FG-47
    #[inline]
    fn is_occupied(&self, f: &Floodgate, voq: u32, arena: &Arena) -> bool {
        f.windows.is_none()
            && f.pool.head(voq).is_some_and(|id| {
                let port = arena.hot(id).queue as u16;
                self.egress_bytes(port) > 0
            })
    }

    /// Less is held of a destination than before: hosts and upstreams may hear of it.
    // FG-26, FG-27, FG-40, FG-46
    #[allow(clippy::too_many_arguments)]
    fn held_less<S: Sink>(
        &mut self,
        now: Time,
        f: &mut Floodgate,
        dst: u32,
        bytes: u64,
        released: u64,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        if f.told.any(dst) && f.senders.is_none() {
            for port in 0..f.links.len() as u16 {
                let of_port = f.thresholds[port as usize];
                let of_switch = f.held_thresholds;
                let thresholds = if f.to_switch[port as usize] {
                    of_switch
                } else {
                    of_port
                };
                if thresholds.resumes(bytes) {
                    self.resume_destination(f, port, dst, arena, sink);
                }
            }
        }
        let crosses = bytes <= f.delay_bytes && bytes + released > f.delay_bytes;
        if f.delay_bytes == u64::MAX || !crosses {
            return;
        }
        for port in 0..f.links.len() as u16 {
            let Some(credits) = &f.credits else { return };
            if credits.owes(port, dst) {
                self.send_or_wait(now, f, port, arena, sink);
            }
        }
    }

    /// A data packet that came by `packet.ingress` earns its credit.
    // FG-20, FG-21
    #[inline]
    pub(super) fn earn<S: Sink>(
        &mut self,
        now: Time,
        f: &mut Floodgate,
        packet: &Packet,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let port = packet.ingress;
        if !f.to_switch[port as usize] {
            return;
        }
        let units = (f.units(packet), u32::from(packet.size));
        let withheld = f.withholds(packet.dst);
        let numbered = f.numbers.is_some();
        let Some(credits) = &mut f.credits else {
            return;
        };
        if credits.earn(port, packet.dst, units, numbered, withheld) {
            self.send_or_wait(now, f, port, arena, sink);
        } else if !withheld && let Some(at) = credits.start_timer(port, now) {
            f.alarm(at, Alarm::Credits(port), sink);
        }
    }

    /// Sends the credits of a port, if there are enough for that, or else waits for its timer.
    // FG-22, FG-24, FG-27
    fn send_or_wait<S: Sink>(
        &mut self,
        now: Time,
        f: &mut Floodgate,
        port: u16,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let (pool, delay_bytes) = (&f.pool, f.delay_bytes);
        let Some(credits) = &mut f.credits else {
            return;
        };
        if credits.has_enough(port, |dst| pool.bytes_of(dst) > delay_bytes) {
            let by_bytes = f
                .config
                .windows()
                .is_some_and(|w| w.credit.aggregation.is_some());
            f.counters.credit_frames_by_bytes += u64::from(by_bytes);
            self.send_credits(now, f, port, arena, sink);
        } else if let Some(at) = credits.start_timer(port, now) {
            f.alarm(at, Alarm::Credits(port), sink);
        }
    }

    /// Sends all credits of a port that are not withheld.
    fn send_credits<S: Sink>(
        &mut self,
        now: Time,
        f: &mut Floodgate,
        port: u16,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let (pool, delay_bytes) = (&f.pool, f.delay_bytes);
        let mut collected = std::mem::take(&mut f.collected);
        collected.clear();
        if let Some(credits) = &mut f.credits {
            let withheld = |dst| pool.bytes_of(dst) > delay_bytes;
            credits.collect(port, now, withheld, &mut collected);
        }
        for frame in Credits::frames(&collected) {
            self.emit_credits(f, port, frame, arena, sink);
        }
        f.collected = collected;
    }

    /// One frame of credits.
    // FG-25
    fn emit_credits<S: Sink>(
        &mut self,
        f: &mut Floodgate,
        port: u16,
        credits: &[Credit],
        arena: &mut Arena,
        sink: &mut S,
    ) {
        if self.is_dead(port) {
            return; // LNK-27
        }
        let bytes = f
            .credits
            .as_ref()
            .map_or(0, |c| c.frame_bytes(credits.len()));
        f.counters.credit_frames += 1;
        f.counters.credit_bytes += u64::from(bytes);
        if let [one] = credits {
            self.emit(port, one.packet(bytes), arena, sink);
            return;
        }
        let id = self.emit(port, CreditsFrame.packet(bytes), arena, sink);
        f.words.clear();
        f.words.extend(CreditsFrame::list(credits));
        arena.set_list(id, &f.words);
    }

    /// Credits came from the next hop at `port`.
    // FG-13, FG-31
    pub(in crate::switch) fn take_credits<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        credits: &[Credit],
        arena: &mut Arena,
        sink: &mut S,
    ) {
        self.with_floodgate(|switch, f| {
            f.ready.clear();
            for &credit in credits {
                switch.take_one(now, f, port, credit, sink);
            }
            if f.windows.as_ref().is_some_and(|w| w.is_hashed()) {
                // FG-06: others may share the window.
                f.ready.clear();
                f.ready.extend(f.pool.occupied());
            }
            switch.release_ready(now, f, arena, sink);
        });
    }

    fn take_one<S: Sink>(
        &mut self,
        now: Time,
        f: &mut Floodgate,
        port: u16,
        credit: Credit,
        sink: &mut S,
    ) {
        let Some(way) = f.way(credit.dst, &self.routes) else {
            return;
        };
        let units = match &mut f.numbers {
            None => credit.units,
            Some(numbers) => {
                let units = numbers.credited(now, port, credit.dst, credit.number);
                f.counters.repaired += u64::from(units.saturating_sub(credit.units));
                units
            }
        };
        if let Some(windows) = &mut f.windows {
            windows.refund(credit.dst, way, units);
            f.taken += u64::from(units);
            f.clear_later(now, sink);
        }
        f.ready.extend(f.pool.held(credit.dst).map(|held| held.voq));
    }

    /// An upstream has heard nothing for long.
    // FG-33
    pub(in crate::switch) fn answer_syn<S: Sink>(
        &mut self,
        port: u16,
        syn: SwitchSyn,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        self.with_floodgate(|switch, f| {
            let withheld = f.withholds(syn.dst);
            let Some(credits) = &mut f.credits else {
                return;
            };
            credits.asked(port, syn.dst, syn.number);
            let credit = credits.answer(port, syn.dst, withheld);
            switch.emit_credits(f, port, &[credit], arena, sink);
        });
    }

    /// The next hop at `port` pauses or resumes a destination.
    // FG-45
    pub(in crate::switch) fn obey_destination<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        frame: PauseDestination,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        self.with_floodgate(|switch, f| {
            let news = if frame.on {
                f.paused_by.add(port, frame.dst)
            } else {
                f.paused_by.remove(port, frame.dst)
            };
            switch.counters.repeated_pauses += u64::from(!news);
            if !f.is_paused(frame.dst, &switch.routes) {
                f.ready.clear();
                f.ready.extend(f.pool.held(frame.dst).map(|held| held.voq));
                switch.release_ready(now, f, arena, sink);
            }
        });
    }

    fn pause_destination<S: Sink>(
        &mut self,
        f: &mut Floodgate,
        port: u16,
        dst: u32,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        // LNK-27
        if !self.is_dead(port) && f.told.add(port, dst) {
            f.counters.dst_pauses += 1;
            self.tell_destination(f, port, dst, true, arena, sink);
        }
    }

    fn resume_destination<S: Sink>(
        &mut self,
        f: &mut Floodgate,
        port: u16,
        dst: u32,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        if f.told.remove(port, dst) {
            f.counters.dst_resumes += 1;
            self.tell_destination(f, port, dst, false, arena, sink);
        }
    }

    fn tell_destination<S: Sink>(
        &mut self,
        f: &Floodgate,
        port: u16,
        dst: u32,
        pause: bool,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let frame = PauseDestination { on: pause, dst };
        self.emit(port, frame.packet(f.config.frame_bytes), arena, sink);
    }

    /// Bytes in the egress queues of a port, frames between neighbours left out.
    fn egress_bytes(&self, port: u16) -> u64 {
        let frames = self.queueing.queue_of(port, 0, 0);
        self.queueing.ports[port as usize].bytes - self.queueing.get(frames).bytes()
    }

    /// A packet leaves by `port`.
    // FG-21, FG-30
    #[inline]
    pub(in crate::switch) fn regulate_departure<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        id: PacketId,
        packet: &Packet,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        self.with_floodgate(|switch, f| {
            let way = f.way(packet.dst, &switch.routes);
            if f.senders.is_some() {
                switch.left_of_host(f, packet, arena, sink);
            }
            if f.config.release == Release::Behind
                && packet.has(HELD)
                && f.pool.left_behind(packet.dst)
                && f.config.vup_ps.is_none()
            {
                f.pool.leave(packet.dst); // FG-15
            }
            let mut astray = false;
            if packet.kind() == Kind::Data {
                let units = f.units(packet);
                if way.is_some() && f.windows.is_some() {
                    f.sent += u64::from(units);
                    if let Some(numbers) = &mut f.numbers {
                        let (number, alarm) = numbers.send(now, port, packet.dst, units);
                        arena.hot_mut(id).queue = number;
                        if let Some((at, stream)) = alarm {
                            f.alarm(at, Alarm::Silence(stream), sink);
                        }
                    }
                    let routes = &switch.routes;
                    astray = switch.has_changed() && f.forget_astray(port, packet.dst, routes);
                }
                let at = f.config.windows().map(|w| w.credit.at);
                let direct = at == Some(CreditAt::Voq) && !packet.has(HELD);
                if at == Some(CreditAt::Departure) || direct {
                    switch.earn(now, f, packet, arena, sink);
                }
            }
            // FG-47, LNK-27
            let idle = f.windows.is_none() && switch.egress_bytes(port) == 0;
            if (idle || astray) && f.pool.counts.in_use > 0 {
                // This very port looks again when the packet has left.
                f.departing = Some(port);
                switch.release_all(now, f, arena, sink);
                f.departing = None;
            }
            if way.is_none() {
                switch.queue_less(f, port, packet.dst, arena, sink);
            }
        });
    }

    /// Less waits at a port of the last hop than before: upstreams that are paused may hear of it.
    // FG-45, FG-46
    pub(super) fn queue_less<S: Sink>(
        &mut self,
        f: &mut Floodgate,
        port: u16,
        dst: u32,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        if !f.told.any(dst) || !matches!(f.config.by, HoldBy::Tags(_)) {
            return;
        }
        if f.thresholds[port as usize].resumes(self.egress_bytes(port)) {
            for upstream in 0..f.links.len() as u16 {
                self.resume_destination(f, upstream, dst, arena, sink);
            }
        }
    }

    /// A packet is dropped here: it is gone, so its upstream gets its credit.
    // FG-34
    #[cold]
    pub(in crate::switch) fn regulate_drop<S: Sink>(
        &mut self,
        now: Time,
        packet: &Packet,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        if packet.kind() == Kind::Data {
            self.with_floodgate(|switch, f| switch.earn(now, f, packet, arena, sink));
        }
    }

    /// Serves the alarms that are due.
    pub(in crate::switch) fn regulate_timer<S: Sink>(
        &mut self,
        now: Time,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        self.with_floodgate(|switch, f| {
            while let Some(&std::cmp::Reverse((at, what))) = f.alarms.peek() {
                if at > now {
                    sink.wake(at);
                    break;
                }
                f.alarms.pop();
                switch.ring(now, f, what, arena, sink);
            }
        });
    }

    fn ring<S: Sink>(
        &mut self,
        now: Time,
        f: &mut Floodgate,
        what: Alarm,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        match what {
            Alarm::Credits(port) => {
                let ended = |c: &mut Credits| c.timer_ended(port, now);
                if f.credits.as_mut().is_some_and(ended) {
                    self.send_credits(now, f, port, arena, sink);
                }
            }
            Alarm::Silence(stream) => {
                let Some(numbers) = &mut f.numbers else {
                    return;
                };
                match numbers.silence(now, stream) {
                    Silence::Over => {}
                    Silence::Until(at) => f.alarm(at, Alarm::Silence(stream), sink),
                    Silence::Ask(port, dst, number, at) => {
                        f.counters.syns += 1;
                        let frame = SwitchSyn { dst, number };
                        self.emit(port, frame.packet(f.config.frame_bytes), arena, sink);
                        f.alarm(at, Alarm::Silence(stream), sink);
                    }
                }
            }
            Alarm::Vup => {
                // FG-61
                f.vup_set = false;
                f.pool
                    .drained()
                    .into_iter()
                    .for_each(|dst| f.pool.leave(dst));
            }
            Alarm::Clear => {
                // FG-07
                f.clear_set = false;
                if let Some(windows) = &mut f.windows {
                    windows.clear();
                }
            }
        }
    }

    /// Commits a packet to its place and lets it join its queue.
    #[inline]
    #[allow(clippy::too_many_arguments)]
    pub(in crate::switch) fn forward<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        place: Place,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let packet = *arena.hot(id);
        let behind = packet.has(HELD) && self.queueing.is_behind(place.queue);
        let (queue, alone) = if behind {
            (place.queue, false)
        } else {
            let counted = self.counted(&packet);
            self.classifier
                .commit(now, port, &packet, place, counted, &mut self.queueing)
        };
        self.enqueue::<false, S>(port, queue, alone, (id, &packet), arena, sink);
    }
}
