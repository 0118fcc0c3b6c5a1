//! Patterns: sources and destinations of flows.

use std::sync::Arc;

use kernel::Stream;

use crate::between::Between;
use crate::error::Error;
use crate::hosts::{Hosts, Scope};
use crate::list::ListedFlow;

/// The receiver of an incast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Receiver {
    /// A random host for each event.
    Random,
    /// Always the same host.
    Host(u32),
    /// A list of hosts that are receivers in turn, one per event. // TRA-24
    InTurn(Arc<[u32]>),
}

impl Receiver {
    /// Returns, for each host, the expected fraction of the events in which the host is the
    /// receiver.
    fn shares(&self, hosts: u32) -> Vec<f64> {
        let mut shares = vec![0.0; hosts as usize];
        match self {
            Self::Random => shares.fill(1.0 / f64::from(hosts)),
            Self::Host(host) => shares[*host as usize] = 1.0,
            Self::InTurn(list) => {
                for &host in list.iter() {
                    shares[host as usize] += 1.0 / list.len() as f64;
                }
            }
        }
        shares
    }
}

/// An incast: many senders send to one receiver at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incast {
    /// Number of flows per event.
    pub degree: u32,
    /// Total bytes of the flows of one event. If the division by `degree` has a remainder r, the
    /// first r senders each send one byte more. `None`: the source's `sizes` define the size of
    /// each flow.
    pub total_bytes: Option<u64>,
    /// The receiver of each event.
    pub receiver: Receiver,
    /// True if a host may be drawn as a sender more than once in an event.
    pub with_replacement: bool,
    /// Hosts that may send to the receiver.
    pub scope: Scope,
}

/// A pattern: sources and destinations of flows.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Each arrival is one flow between a pair of hosts, drawn evenly from all pairs of the scope.
    Uniform {
        /// Pairs that may exchange flows.
        scope: Scope,
    },
    /// Like [`Pattern::Uniform`], but some hosts are excluded. // TRA-23
    Among {
        /// Pairs that may exchange flows.
        scope: Scope,
        /// Hosts that neither send nor receive, in ascending order.
        excluded: Arc<[u32]>,
    },
    /// Each arrival is one flow, between racks with probability `crossing`, else within a rack. In
    /// both cases the pair of hosts is drawn evenly.
    Local {
        /// Fraction of the flows that are between racks.
        crossing: f64,
    },
    /// The hosts, in the order of their numbers, are divided among sites of the same size. Each
    /// arrival is one flow between a pair of hosts drawn evenly from all pairs within a site.
    Sites {
        /// Number of sites.
        sites: u32,
    },
    /// Each host sends to one partner and receives from one partner, drawn once. Without arrivals
    /// every host sends one flow at the start of the time window. With arrivals, each arrival is
    /// one flow of a host drawn evenly.
    Permutation,
    /// Every host sends one flow to every other host: once at the start of the time window, or at
    /// each arrival.
    AllToAll,
    /// Each arrival is one incast event. Without arrivals there is one event at the start of the
    /// time window.
    Incast(Incast),
    /// Flows from chosen senders to chosen receivers: at each arrival, or once at the start of the
    /// time window.
    Between(Between),
    /// A list of flows. It needs no sizes and no arrivals.
    List(Vec<ListedFlow>),
}

impl Pattern {
    /// Name of the pattern in a scenario.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Uniform { .. } | Self::Among { .. } | Self::Local { .. } | Self::Sites { .. } => {
                "uniform"
            }
            Self::Permutation => "permutation",
            Self::AllToAll => "all-to-all",
            Self::Incast(_) => "incast",
            Self::Between(_) => "between",
            Self::List(_) => "list",
        }
    }

    /// Checks hosts, degrees and sizes of the pattern against the hosts.
    ///
    /// # Errors
    /// The pattern is invalid for these hosts. The error contains the problem.
    pub fn check(&self, hosts: &Hosts) -> Result<(), Error> {
        match self {
            Self::List(flows) => ListedFlow::check_all(flows, hosts.count()),
            Self::Permutation | Self::AllToAll => need_pairs(hosts, Scope::Any),
            Self::Uniform { scope } => need_pairs(hosts, *scope),
            Self::Among { scope, excluded } => check_among(hosts, *scope, excluded),
            Self::Local { crossing } => check_local(hosts, *crossing),
            Self::Sites { sites } => check_sites(hosts, *sites),
            Self::Incast(incast) => incast.check(hosts),
            Self::Between(between) => between.check(hosts),
        }
    }

    /// Calls `visit` with each ordered pair of hosts that may send, and the expected fraction of
    /// the flows that go from the first host to the second. For a list it is the fraction of the
    /// bytes. The fractions add up to 1. The pattern must have passed [`Pattern::check`].
    // TRA-25: expected fraction of the flows per pair
    pub fn for_each_pair(&self, hosts: &Hosts, mut visit: impl FnMut(u32, u32, f64)) {
        let count = hosts.count();
        let even = |pairs: u64| 1.0 / pairs.max(1) as f64;
        let share_of = |scope: Scope, pairs: u64| {
            move |src: u32, dst: u32| {
                let talks = scope == Scope::Any || !hosts.same_rack(src, dst);
                if talks { even(pairs) } else { 0.0 }
            }
        };
        let mut all = |share: &dyn Fn(u32, u32) -> f64| {
            for src in 0..count {
                for dst in (0..count).filter(|&dst| dst != src) {
                    let share = share(src, dst);
                    if share > 0.0 {
                        visit(src, dst, share);
                    }
                }
            }
        };
        match self {
            Self::Uniform { scope } => all(&share_of(*scope, hosts.pairs_in(*scope))),
            Self::Among { scope, excluded } => {
                let share = share_of(*scope, hosts.pairs_without(*scope, excluded));
                let mut takes_part = vec![true; count as usize];
                for &host in excluded.iter() {
                    takes_part[host as usize] = false;
                }
                all(&|src, dst| {
                    let both = takes_part[src as usize] && takes_part[dst as usize];
                    if both { share(src, dst) } else { 0.0 }
                });
            }
            Self::Local { crossing } => {
                let inside = (1.0 - crossing) * even(hosts.pairs_inside());
                let across = crossing * even(hosts.pairs_in(Scope::InterRack));
                let shares = [across, inside];
                all(&|src, dst| shares[usize::from(hosts.same_rack(src, dst))]);
            }
            Self::Sites { sites } => {
                let site = count / sites.max(&1);
                let share = even(u64::from(count) * u64::from(site.saturating_sub(1)));
                all(&|src, dst| if src / site == dst / site { share } else { 0.0 });
            }
            // By symmetry, the partner of a host is any other host with equal probability.
            Self::Permutation | Self::AllToAll => {
                all(&share_of(Scope::Any, hosts.pairs_in(Scope::Any)));
            }
            Self::Incast(incast) => {
                let receives = incast.receiver.shares(count);
                all(&|src, dst| {
                    let share = share_of(incast.scope, hosts.peers(dst, incast.scope).into());
                    receives[dst as usize] * share(src, dst)
                });
            }
            Self::Between(between) => {
                let pairs = between.senders.len() as u64 * between.receivers.len() as u64;
                for &src in &between.senders {
                    for &dst in &between.receivers {
                        visit(src, dst, even(pairs));
                    }
                }
            }
            Self::List(flows) => {
                let bytes: u128 = flows.iter().map(|flow| u128::from(flow.bytes)).sum();
                for flow in flows {
                    visit(flow.src, flow.dst, flow.bytes as f64 / bytes.max(1) as f64);
                }
            }
        }
    }

    /// Returns the expected fraction of the bytes that go from one rack to another.
    #[must_use]
    pub fn crossing_fraction(&self, hosts: &Hosts) -> f64 {
        match self {
            Self::Uniform { scope } => hosts.crossing_fraction(*scope),
            Self::Among { scope, excluded } => hosts.crossing_fraction_without(*scope, excluded),
            Self::Local { crossing } => *crossing,
            Self::Sites { sites } => hosts.crossing_fraction_of_sites(*sites),
            // By symmetry, the partner of a host is any other host with equal probability.
            Self::Permutation | Self::AllToAll => hosts.crossing_fraction(Scope::Any),
            Self::Incast(incast) => match &incast.receiver {
                // If any host may send, all pairs are equally likely. With `InterRack`, all bytes
                // cross.
                Receiver::Random => hosts.crossing_fraction(incast.scope),
                Receiver::Host(host) => crossing_to(hosts, &[*host], incast.scope),
                Receiver::InTurn(all) => crossing_to(hosts, all, incast.scope),
            },
            Self::Between(between) => between.crossing_fraction(hosts),
            Self::List(flows) => {
                let known =
                    |flow: &&ListedFlow| flow.src < hosts.count() && flow.dst < hosts.count();
                let crosses = |flow: &&ListedFlow| !hosts.same_rack(flow.src, flow.dst);
                let bytes = |flow: &ListedFlow| u128::from(flow.bytes);
                let all: u128 = flows.iter().filter(known).map(bytes).sum();
                let across: u128 = flows.iter().filter(known).filter(crosses).map(bytes).sum();
                if all == 0 {
                    0.0
                } else {
                    across as f64 / all as f64
                }
            }
        }
    }
}

fn need_pairs(hosts: &Hosts, scope: Scope) -> Result<(), Error> {
    if hosts.count() < 2 {
        return Err(Error::new(
            "there is only one host; traffic needs at least two",
        ));
    }
    if hosts.pairs_in(scope) == 0 {
        return Err(Error::new(
            "all hosts are in one rack; traffic between racks needs at least two racks",
        ));
    }
    Ok(())
}

/// Returns the fraction of an incast's bytes that cross racks, averaged over its receivers.
fn crossing_to(hosts: &Hosts, receivers: &[u32], scope: Scope) -> f64 {
    let known = receivers.iter().filter(|&&host| host < hosts.count());
    let sum: f64 = known
        .map(|&host| hosts.crossing_fraction_to(host, scope))
        .sum();
    sum / receivers.len().max(1) as f64
}

/// TRA-23: enough hosts remain after the exclusion
fn check_among(hosts: &Hosts, scope: Scope, excluded: &[u32]) -> Result<(), Error> {
    if let Some(host) = excluded.iter().find(|&&host| host >= hosts.count()) {
        let last = hosts.count() - 1;
        return Err(Error::new(format!(
            "excluded host {host} does not exist; hosts are 0 to {last}"
        )));
    }
    if hosts.pairs_without(scope, excluded) == 0 {
        return Err(Error::new(
            "without the excluded hosts no pair is left that may talk",
        ));
    }
    Ok(())
}

/// TRA-20: pairs exist within and between racks
fn check_local(hosts: &Hosts, crossing: f64) -> Result<(), Error> {
    if !(0.0..=1.0).contains(&crossing) {
        let what = format!("{crossing} of the flows between racks; expected 0 to 1");
        return Err(Error::new(what));
    }
    if crossing > 0.0 {
        need_pairs(hosts, Scope::InterRack)?;
    }
    if crossing < 1.0 && hosts.pairs_inside() == 0 {
        return Err(Error::new(
            "no rack has two hosts; with `crossing` below 1 there is traffic within racks",
        ));
    }
    Ok(())
}

/// TRA-21: hosts divide evenly among sites
fn check_sites(hosts: &Hosts, sites: u32) -> Result<(), Error> {
    let count = hosts.count();
    if sites == 0 || !count.is_multiple_of(sites) || count / sites < 2 {
        return Err(Error::new(format!(
            "{count} hosts cannot be shared out among {sites} sites of the same size, with two hosts at least"
        )));
    }
    Ok(())
}

impl Incast {
    /// Returns the number of hosts that may send to a receiver in this scope.
    fn peers_of(&self, hosts: &Hosts, receiver: u32) -> Result<u32, Error> {
        if receiver < hosts.count() {
            return Ok(hosts.peers(receiver, self.scope));
        }
        let last = hosts.count() - 1;
        Err(Error::new(format!(
            "receiver {receiver} does not exist; hosts are 0 to {last}"
        )))
    }

    fn check(&self, hosts: &Hosts) -> Result<(), Error> {
        need_pairs(hosts, self.scope)?;
        if self.degree == 0 {
            return Err(Error::new("incast degree is 0; expected at least 1"));
        }
        let peers = match &self.receiver {
            Receiver::Random => hosts.fewest_peers(self.scope),
            Receiver::Host(host) => self.peers_of(hosts, *host)?,
            Receiver::InTurn(all) => {
                let peers = all.iter().map(|&host| self.peers_of(hosts, host));
                let fewest = peers.collect::<Result<Vec<_>, _>>()?.into_iter().min();
                fewest.ok_or_else(|| Error::new("no receiver is named"))?
            }
        };
        if self.degree > peers && !self.with_replacement {
            return Err(Error::new(format!(
                "incast degree {} needs as many senders, but a receiver has only {peers} hosts that may send to it; \
                 lower the degree, or set `with_replacement = true`",
                self.degree
            )));
        }
        match self.total_bytes {
            Some(total) if total < u64::from(self.degree) => Err(Error::new(format!(
                "{total} bytes over {} senders leave some with 0 bytes; raise the total",
                self.degree
            ))),
            Some(total) if total / u64::from(self.degree) >= crate::sizes::MAX_FLOW_BYTES => {
                Err(Error::new(format!(
                    "{total} bytes over {} senders are more than 2^48 bytes each",
                    self.degree
                )))
            }
            _ => Ok(()),
        }
    }
}

/// Returns the bytes of sender `place` (from 0) if `total` bytes are divided among `degree`
/// senders. // TRA-13
pub(crate) fn divided(total: u64, degree: u32, place: u64) -> u64 {
    let degree = u64::from(degree);
    total / degree + u64::from(place < total % degree)
}

/// Draws a random permutation without a fixed point. All of them are equally likely. // TRA-10
///
/// The function draws permutations until one has no fixed point. About 1 in 2.7 has none, so 1000
/// draws practically never fail. If all fail, it returns a random cycle. `count` must be at least
/// 2.
pub(crate) fn derangement(count: u32, stream: &mut Stream) -> Vec<u32> {
    let mut partner: Vec<u32> = (0..count).collect();
    for _ in 0..1000 {
        shuffle(&mut partner, 1, stream);
        if (0..)
            .zip(&partner)
            .all(|(host, &partner): (u32, _)| host != partner)
        {
            return partner;
        }
    }
    partner = (0..count).collect();
    shuffle(&mut partner, 0, stream);
    partner
}

/// Fisher-Yates shuffle. If `stay` is 0, no element keeps its position (Sattolo's algorithm, one
/// cycle).
fn shuffle(items: &mut [u32], stay: u64, stream: &mut Stream) {
    for last in (1..items.len()).rev() {
        let other = stream.below(last as u64 + stay) as usize;
        items.swap(last, other);
    }
}

/// Draws distinct numbers without allocation or clearing per draw.
#[derive(Clone, Debug)]
pub(crate) struct Distinct {
    /// Numbers from 0. They are in ascending order between two calls of `draw`.
    numbers: Vec<u32>,
    chosen: Vec<u32>,
    swaps: Vec<u32>,
}

impl Distinct {
    pub(crate) fn new(largest_population: u32) -> Self {
        Self {
            numbers: (0..largest_population).collect(),
            chosen: Vec::new(),
            swaps: Vec::new(),
        }
    }

    /// Draws `count` distinct numbers of `0..population` in random order. Every ordered choice is
    /// equally likely. This is the beginning of a shuffle, which is undone afterwards. // TRA-12
    pub(crate) fn draw(&mut self, count: u32, population: u32, stream: &mut Stream) -> &[u32] {
        self.swaps.clear();
        for at in 0..count {
            let other = at + stream.below(u64::from(population - at)) as u32;
            self.numbers.swap(at as usize, other as usize);
            self.swaps.push(other);
        }
        self.chosen.clear();
        self.chosen
            .extend_from_slice(&self.numbers[..count as usize]);
        for (at, &other) in self.swaps.iter().enumerate().rev() {
            self.numbers.swap(at, other as usize);
        }
        &self.chosen
    }

    pub(crate) fn chosen(&self) -> &[u32] {
        &self.chosen
    }
}
