//! Combines all sources into one sequence of flows, created on demand.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use kernel::{Purpose, Stream};

use crate::arrivals::Clock;
use crate::between::Between;
use crate::error::Error;
use crate::hosts::{Hosts, Scope};
use crate::list::ListedFlow;
use crate::pattern::{Distinct, Incast, Pattern, Receiver, derangement, divided};
use crate::source::{Sizes, SourceSpec};
use crate::{DEFAULT_PORT, Flow, INCAST_PORT};

/// Maximum number of flows of a run. IDs have 32 bits, and the largest ID means "no flow".
pub const MAX_FLOWS: u64 = u32::MAX as u64 - 1;

/// The flows of all sources in the order of start, source, and position in the source. Flows are
/// created on demand, so memory grows with hosts and lists, not with flows. // TRA-15
#[derive(Debug)]
pub struct Feed {
    sources: Vec<Source>,
    /// The next flow of each source, without its id.
    heads: Vec<Option<Flow>>,
    order: BinaryHeap<Reverse<(u64, u16)>>,
    made: u64,
    known_len: Option<u64>,
    error: Option<Error>,
}

impl Feed {
    /// Creates the flows of `sources`. `rack_of` contains the rack of each host.
    ///
    /// The random draws of a source depend only on `seed` and on the index of the source in
    /// `sources`. Adding a source, or changing the scheme, changes no other flow. // TRA-16
    ///
    /// # Errors
    /// A source has invalid settings. The error contains the source and the problem. // TRA-17
    pub fn new(
        seed: u64,
        sources: &[SourceSpec],
        hosts: u32,
        rack_of: &[u32],
    ) -> Result<Self, Error> {
        if rack_of.len() != hosts as usize {
            let what = format!("{hosts} hosts, but racks are given for {}", rack_of.len());
            return Err(Error::new(what));
        }
        if sources.len() > usize::from(u16::MAX) {
            let what = format!(
                "{} sources of traffic; at most {} are possible",
                sources.len(),
                u16::MAX
            );
            return Err(Error::new(what));
        }
        let layout = Arc::new(Hosts::new(rack_of)?);
        for source in sources {
            source.check(&layout)?;
        }
        let expected: f64 = sources
            .iter()
            .map(|source| source.expected_flows(hosts))
            .sum();
        if expected > MAX_FLOWS as f64 {
            return Err(Error::new(format!(
                "about {expected:.3e} flows, but at most {MAX_FLOWS} are possible; shorten the windows, lower the \
                 load or set a limit"
            )));
        }
        let known_len = sources.iter().try_fold(0u64, |sum, source| {
            sum.checked_add(source.known_flows(hosts)?)
        });
        let mut feed = Self {
            sources: Vec::with_capacity(sources.len()),
            heads: Vec::with_capacity(sources.len()),
            order: BinaryHeap::with_capacity(sources.len()),
            made: 0,
            known_len,
            error: None,
        };
        for (index, spec) in (0..).zip(sources) {
            let mut source = Source::new(seed, index, spec, &layout)?;
            let head = source.next();
            if let Some(flow) = &head {
                feed.order.push(Reverse((flow.start_ps, index)));
            }
            feed.heads.push(head);
            feed.sources.push(source);
        }
        Ok(feed)
    }

    /// Number of flows of the whole feed, including flows that were already returned. `None` if the
    /// number depends on random draws.
    #[must_use]
    pub const fn known_len(&self) -> Option<u64> {
        self.known_len
    }

    /// Returns an error if the feed ended because flow IDs were exhausted. Call it after the feed
    /// has ended.
    #[must_use]
    pub const fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }
}

impl Iterator for Feed {
    type Item = Flow;

    fn next(&mut self) -> Option<Flow> {
        let Reverse((_, index)) = self.order.pop()?;
        if self.made == MAX_FLOWS {
            let what = format!(
                "more than {MAX_FLOWS} flows; shorten the windows, lower the load or set a limit"
            );
            self.error = Some(Error::new(what));
            self.order.clear();
            return None;
        }
        let at = usize::from(index);
        let next = self.sources[at].next();
        if let Some(flow) = &next {
            self.order.push(Reverse((flow.start_ps, index)));
        }
        let mut flow = std::mem::replace(&mut self.heads[at], next)?;
        flow.id = self.made as u32;
        self.made += 1;
        Some(flow)
    }
}

/// The arrival times of a source.
#[derive(Debug)]
enum Instants {
    /// One arrival at the start of the window.
    Once(Option<u64>),
    /// Arrival times that `clock` generates. `left` is the maximum number of further arrivals.
    Clocked { clock: Clock, left: u64 },
}

impl Iterator for Instants {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        match self {
            Self::Once(instant) => instant.take(),
            Self::Clocked { clock, left } => {
                *left = left.checked_sub(1)?;
                clock.next()
            }
        }
    }
}

/// The state of a pattern, from which the source and destination of each flow are drawn.
#[derive(Debug)]
enum Draw {
    Uniform(Scope),
    /// All pairs of a scope, without the excluded hosts in the list.
    Among(Scope, Arc<[u32]>),
    /// The probability that a flow is between racks.
    Local(f64),
    /// Number of sites.
    Sites(u32),
    /// The partner of each host.
    Permutation {
        partners: Vec<u32>,
        arrivals: bool,
    },
    AllToAll,
    Incast {
        incast: Incast,
        receiver: u32,
        /// Number of incast events so far.
        events: usize,
        senders: Distinct,
    },
    Between {
        between: Between,
        receiver: u32,
        /// Size of the flows of this arrival, if all have the same size.
        bytes: Option<u64>,
    },
    /// Listed flows in the order of their starts.
    List(Vec<ListedFlow>),
}

/// The state of one source.
#[derive(Debug)]
struct Source {
    index: u16,
    class: u8,
    hosts: Arc<Hosts>,
    sizes: Option<Sizes>,
    size_stream: Stream,
    pair_stream: Stream,
    instants: Instants,
    draw: Draw,
    flows_per_arrival: u64,
    /// Time of the current arrival.
    start_ps: u64,
    /// Number of flows of the current arrival that have been created so far.
    place: u64,
}

impl Source {
    fn new(seed: u64, index: u16, spec: &SourceSpec, hosts: &Arc<Hosts>) -> Result<Self, Error> {
        let stream = |purpose| Stream::new(seed, u64::from(index), purpose);
        let mut pair_stream = stream(Purpose::Pairs);
        let instants = match &spec.arrivals {
            None => Instants::Once(Some(spec.window_from_ps)),
            Some(arrivals) => Instants::Clocked {
                clock: Clock::new(
                    arrivals,
                    spec.window_from_ps,
                    spec.window_to_ps,
                    stream(Purpose::Arrivals),
                )?,
                left: spec.limit.unwrap_or(u64::MAX),
            },
        };
        let draw = match &spec.pattern {
            Pattern::Uniform { scope } => Draw::Uniform(*scope),
            Pattern::Among { scope, excluded } => Draw::Among(*scope, Arc::clone(excluded)),
            Pattern::Local { crossing } => Draw::Local(*crossing),
            Pattern::Sites { sites } => Draw::Sites(*sites),
            Pattern::Permutation => Draw::Permutation {
                partners: derangement(hosts.count(), &mut pair_stream),
                arrivals: spec.arrivals.is_some(),
            },
            Pattern::AllToAll => Draw::AllToAll,
            Pattern::Incast(incast) => Draw::Incast {
                incast: incast.clone(),
                receiver: 0,
                events: 0,
                senders: Distinct::new(if incast.with_replacement {
                    0
                } else {
                    hosts.count()
                }),
            },
            Pattern::Between(between) => Draw::Between {
                between: between.clone(),
                receiver: 0,
                bytes: None,
            },
            Pattern::List(flows) => {
                let mut flows = flows.clone();
                flows.sort_by_key(|flow| flow.start_ps); // stable: the list's order breaks ties
                Draw::List(flows)
            }
        };
        let flows_per_arrival = spec.flows_per_arrival(hosts.count());
        Ok(Self {
            index,
            class: spec.class,
            hosts: Arc::clone(hosts),
            sizes: spec.sizes.clone(),
            size_stream: stream(Purpose::Sizes),
            pair_stream,
            instants,
            draw,
            flows_per_arrival,
            start_ps: 0,
            place: flows_per_arrival,
        })
    }

    /// Draws the receiver, senders or size that all flows of an arrival share.
    fn arrive(&mut self) {
        // TRA-22: one receiver per arrival
        if let Draw::Between {
            between,
            receiver,
            bytes,
        } = &mut self.draw
        {
            *receiver = between.draw_receiver(&mut self.pair_stream);
            *bytes = match &self.sizes {
                Some(Sizes::Dist(sizes)) if between.one_size => {
                    Some(sizes.sample(self.size_stream.unit()))
                }
                _ => None,
            };
        }
        let Draw::Incast {
            incast,
            receiver,
            events,
            senders,
        } = &mut self.draw
        else {
            return;
        };
        *receiver = match &incast.receiver {
            Receiver::Host(host) => *host,
            Receiver::InTurn(all) => all[*events % all.len()], // TRA-24: receivers take turns
            Receiver::Random => self.pair_stream.below(u64::from(self.hosts.count())) as u32,
        };
        *events += 1;
        if !incast.with_replacement {
            let peers = self.hosts.peers(*receiver, incast.scope);
            senders.draw(incast.degree, peers, &mut self.pair_stream);
        }
    }

    /// Returns the source and destination host of flow `place` (from 0) of the current arrival.
    fn pair(&mut self, place: u64) -> (u32, u32) {
        let count = u64::from(self.hosts.count());
        match &self.draw {
            Draw::Uniform(scope) => self.hosts.draw_pair(*scope, &mut self.pair_stream),
            Draw::Among(scope, excluded) => {
                let stream = &mut self.pair_stream;
                self.hosts.draw_pair_without(*scope, excluded, stream)
            }
            // TRA-20: choose between racks or within a rack
            Draw::Local(crossing) => {
                if self.pair_stream.unit() < *crossing {
                    self.hosts
                        .draw_pair(Scope::InterRack, &mut self.pair_stream)
                } else {
                    self.hosts.draw_pair_inside(&mut self.pair_stream)
                }
            }
            Draw::Sites(sites) => self.hosts.draw_pair_of_site(*sites, &mut self.pair_stream),
            Draw::Permutation { partners, arrivals } => {
                let src = if *arrivals {
                    self.pair_stream.below(count)
                } else {
                    place
                };
                (src as u32, partners[src as usize])
            }
            // TRA-11: flows are ordered by distance (destination − source), so that hosts start
            // with different receivers
            Draw::AllToAll => {
                let (distance, src) = (place / count + 1, place % count);
                (src as u32, ((src + distance) % count) as u32)
            }
            Draw::Incast {
                incast,
                receiver,
                senders,
                ..
            } => {
                let peer = if incast.with_replacement {
                    let peers = self.hosts.peers(*receiver, incast.scope);
                    self.pair_stream.below(u64::from(peers)) as u32
                } else {
                    senders.chosen()[place as usize]
                };
                (self.hosts.peer(*receiver, incast.scope, peer), *receiver)
            }
            Draw::Between {
                between, receiver, ..
            } => (between.sender(place, &mut self.pair_stream), *receiver),
            Draw::List(flows) => {
                let flow = &flows[place as usize];
                (flow.src, flow.dst)
            }
        }
    }

    fn bytes(&mut self, place: u64) -> u64 {
        match (&self.sizes, &self.draw) {
            (_, Draw::List(flows)) => flows[place as usize].bytes,
            (
                _,
                Draw::Between {
                    bytes: Some(bytes), ..
                },
            ) => *bytes,
            (Some(Sizes::Fixed(bytes)), _) => *bytes,
            (Some(Sizes::Dist(distribution)), _) => distribution.sample(self.size_stream.unit()),
            (None, Draw::Incast { incast, .. }) => {
                divided(incast.total_bytes.unwrap_or(0), incast.degree, place).max(1)
            }
            (None, _) => 1, // refused by SourceSpec::check
        }
    }
}

impl Iterator for Source {
    type Item = Flow;

    fn next(&mut self) -> Option<Flow> {
        if self.place >= self.flows_per_arrival {
            self.start_ps = self.instants.next()?;
            self.place = 0;
            self.arrive();
        }
        let place = self.place;
        if place >= self.flows_per_arrival {
            return None; // the list of flows is empty
        }
        self.place += 1;
        let (src, dst) = self.pair(place);
        let bytes = self.bytes(place);
        let (start_ps, class) = match &self.draw {
            Draw::List(flows) => {
                let flow = &flows[place as usize];
                (flow.start_ps, flow.class.unwrap_or(self.class))
            }
            _ => (self.start_ps, self.class),
        };
        // TRA-19, FGC-30: port numbers of listed flows and of incasts
        let (port, src_port, incast) = match &self.draw {
            Draw::List(flows) => {
                let flow = &flows[place as usize];
                (flow.port, flow.src_port, flow.port == INCAST_PORT)
            }
            Draw::Incast { .. } => (INCAST_PORT, None, true),
            _ => (DEFAULT_PORT, None, false),
        };
        Some(Flow {
            id: 0,
            start_ps,
            src,
            dst,
            bytes,
            class,
            source: self.index,
            incast,
            port,
            src_port,
        })
    }
}
