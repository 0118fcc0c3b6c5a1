//! The sending half of a NIC with a receiver-driven transport. It also replaces the receiving
//! half.

use super::half::{Common, SendingHalf};
use super::reach::OUT_OF_REACH;
use crate::config::NicConfig;
use crate::flow::{FlowStart, Unfinished};
use crate::packet::{Arena, PacketId};
use crate::sink::Sink;
use crate::transport::{Context, Frames, Transport};
use crate::units::{Rate, Time};

/// A receiver-driven transport with its parameters.
#[derive(Debug)]
pub(super) struct Driven<T: Transport> {
    transport: T,
    config: T::Config,
    frames: Frames,
}

impl<T: Transport> Driven<T> {
    pub fn new(own: &T::Config, config: &NicConfig, classes: usize, ports: &[Rate]) -> Self {
        let frames = Frames {
            mtu: config.mtu,
            header: config.header + config.int,
            ack: config.ack,
            ack_class: config.ack_class,
            data_class: config.data_class,
        };
        Self {
            transport: T::new(own, &frames, classes, ports),
            config: own.clone(),
            frames,
        }
    }

    /// Calls the transport, then stores which classes have packets to send.
    fn act<S: Sink, R>(
        &mut self,
        now: Time,
        nic: &mut Common,
        sink: &mut S,
        act: impl FnOnce(&mut T, &mut Context<'_, S, T::Config>) -> R,
    ) -> R {
        let mut cx = Context {
            now,
            config: &self.config,
            frames: &self.frames,
            counters: &mut nic.counters,
            replies: &mut nic.egress.replies,
            sink,
        };
        let result = act(&mut self.transport, &mut cx);
        for port in 0..nic.egress.port_count() {
            let ready = self.transport.ready(&self.frames, now, port);
            nic.egress.set_ready(port, ready);
        }
        result
    }
}

impl<T: Transport> SendingHalf for Driven<T> {
    fn start<S: Sink>(
        &mut self,
        now: Time,
        nic: &mut Common,
        flow: &FlowStart,
        _pair: Option<u32>,
        sink: &mut S,
    ) {
        self.act(now, nic, sink, |t, cx| t.start(cx, flow));
    }

    fn receive<S: Sink>(
        &mut self,
        now: Time,
        nic: &mut Common,
        (port, id): (u16, PacketId),
        arena: &mut Arena,
        sink: &mut S,
    ) {
        self.act(now, nic, sink, |t, cx| t.receive(cx, port, id, arena));
    }

    fn transmit<S: Sink>(
        &mut self,
        now: Time,
        nic: &mut Common,
        port: u16,
        arena: &mut Arena,
        sink: &mut S,
    ) -> Option<PacketId> {
        while let Some(class) = nic.egress.next_class(&nic.config, port) {
            // NIC-02, CBFC-15: control frames for the neighbour are in the reply queue
            let frame = nic.egress.replies.pop(port, class, arena);
            if frame.is_some() {
                return frame;
            }
            let sent = self.act(now, nic, sink, |t, cx| t.send(cx, port, class, arena));
            if sent.is_some() {
                return sent;
            }
        }
        None
    }

    fn timer<S: Sink>(&mut self, now: Time, nic: &mut Common, arena: &mut Arena, sink: &mut S) {
        self.act(now, nic, sink, |t, cx| t.timer(cx, arena));
    }

    fn link<S: Sink>(
        &mut self,
        now: Time,
        nic: &mut Common,
        port: u16,
        _arena: &Arena,
        sink: &mut S,
    ) -> Vec<PacketId> {
        self.act(now, nic, sink, |t, cx| t.link(cx, port));
        Vec::new()
    }

    fn settle<S: Sink>(&mut self, now: Time, nic: &mut Common, sink: &mut S) {
        self.act(now, nic, sink, |t, cx| t.settle(cx));
    }

    fn for_each_flow(&self, nic: &Common, visit: &mut dyn FnMut(&Unfinished)) {
        let mut visit = |start: &FlowStart, mut flow: Unfinished| {
            if nic.egress.cuts(start) {
                flow.why = OUT_OF_REACH; // LNK-13: receiver unreachable
            }
            visit(&flow);
        };
        self.transport.for_each_flow(&self.frames, &mut visit);
    }

    /// Does nothing: flows of a receiver-driven transport wait for the receiver, not for a class.
    fn for_each_unsent(&self, _: &Common, _: u16, _: u8, _: &mut dyn FnMut(&FlowStart)) {}

    fn waiting_credits(&self) -> u64 {
        self.transport.waiting_credits()
    }
}
