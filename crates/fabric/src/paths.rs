//! Properties of the paths between two endpoints in an empty network: ideal FCTs, base RTTs,
//! bandwidth-delay products.
//!
//! The data are not stored per pair of hosts. Pairs of switches whose paths have the same links
//! share one path set, which has an index. A row contains the path sets from one group of hosts to
//! all groups. It is computed when the group is first used. In a regular topology the first row is
//! valid for all groups.

mod cores;
mod profile;

use std::sync::Arc;

use dataplane::switch::MixedMap;
use dataplane::units::{Rate, Time};

use crate::ids::{LinkId, NodeId};
use crate::topology::Graph;
use crate::topology::graph::NONE;
use cores::{Core, Cores, HERE};
pub use profile::{FrameSizes, PathProfile};

/// Value instead of the index of a path set, if one link connects the two hosts directly.
const CABLE: u32 = NONE - 1;

fn saturate(time: u128) -> Time {
    Time::try_from(time).unwrap_or(Time::MAX)
}

/// Paths between endpoints. Computed results are cached.
#[derive(Clone, Debug)]
pub struct Paths {
    graph: Arc<Graph>,
    cores: Cores,
    /// Per source group (a switch with its hosts), the indices in `cores` of the path sets to all
    /// destination groups; `None`: not computed yet.
    rows: Vec<Option<Box<[u32]>>>,
    /// Index in `profiles` of the end-to-end paths, by kind of the sender's link, index of the path
    /// set in `cores`, and kind of the receiver's link.
    numbers: MixedMap<(u32, u32, u32), u32>,
    profiles: Vec<Vec<PathProfile>>,
    /// The same network with all links up, for endpoints that have no path while links are down.
    whole: Option<Box<Paths>>,
    /// True if links truncate serialisation times to nanoseconds.
    cut: bool,
}

impl Paths {
    /// Creates the paths, which are computed when they are first needed.
    #[must_use]
    pub fn new(graph: Arc<Graph>) -> Self {
        let rows = vec![None; graph.groups() as usize];
        Self {
            graph,
            cores: Cores::new(),
            rows,
            numbers: MixedMap::default(),
            profiles: Vec::new(),
            whole: None,
            cut: false,
        }
    }

    /// Truncates serialisation times to nanoseconds. // NS3-02
    #[must_use]
    pub fn cut(mut self) -> Self {
        self.cut = true;
        self
    }

    /// Returns the shortest paths from one endpoint to another, without dominated paths. A path is
    /// dominated if another path is at least as good for every flow. A regular network has one
    /// path.
    ///
    /// Panics, like all methods here, if an endpoint does not exist or if the endpoints are in
    /// different planes ([`Graph::plane_of`]).
    pub fn alternatives(&mut self, src: LinkId, dst: LinkId) -> &[PathProfile] {
        let set = match self.graph.is_cable(src) {
            true if self.graph.reverse(src) == dst => CABLE,
            true => NONE,
            false => self.set(self.graph.group_of(src), self.graph.group_of(dst)),
        };
        if set == NONE {
            assert!(
                self.graph.lacks_links() && !self.graph.is_cable(src),
                "endpoints {src} and {dst} lie in different planes"
            );
            return self.in_whole().alternatives(src, dst);
        }
        let first = self.graph.link_kind(src);
        let last = self.graph.link_kind(dst);
        let number = match self.numbers.get(&(first, set, last)) {
            Some(&number) => number,
            None => {
                let number = self.profiles.len() as u32;
                self.profiles.push(self.profiles_of(first, set, last));
                self.numbers.insert((first, set, last), number);
                number
            }
        };
        &self.profiles[number as usize]
    }

    /// Returns true if the link of an endpoint is down.
    #[must_use]
    pub fn is_down(&self, endpoint: LinkId) -> bool {
        self.graph.is_down(endpoint)
    }

    /// Returns the paths of the same network with all links up.
    // LNK-14
    fn in_whole(&mut self) -> &mut Self {
        let (graph, cut) = (&self.graph, self.cut);
        self.whole.get_or_insert_with(|| {
            let mut whole = Self::new(Arc::new(graph.whole()));
            whole.cut = cut;
            Box::new(whole)
        })
    }

    fn profiles_of(&self, first: u32, set: u32, last: u32) -> Vec<PathProfile> {
        let end = |kind| {
            let link = self.graph.link_spec(kind);
            (link.rate, link.delay_ps)
        };
        let of_kind =
            |(rate, delay_ps): (Rate, Time)| (if self.cut { rate.cut() } else { rate }, delay_ps);
        if set == CABLE {
            let hops = vec![of_kind(end(first))];
            return vec![PathProfile { hops }];
        }
        let profile = |path: &Core| {
            let core = path
                .iter()
                .map(|&(bps, delay_ps)| (Rate::from_bps(bps), delay_ps));
            let hops = std::iter::once(end(first))
                .chain(core)
                .chain(std::iter::once(end(last)));
            PathProfile {
                hops: hops.map(of_kind).collect(),
            }
        };
        self.cores.sets[set as usize].iter().map(profile).collect()
    }

    /// Returns the index of the path set from one group of hosts to another. A regular topology
    /// needs a single row.
    // TOP-17
    fn set(&mut self, from: u32, to: u32) -> u32 {
        let (from, to) = match self.graph.like_pair(from, to) {
            Some(like) => (0, like),
            None => (from, to),
        };
        if let Some(row) = &self.rows[from as usize] {
            return row[to as usize];
        }
        let row = self.find_row(from);
        let set = row[to as usize];
        self.rows[from as usize] = Some(row);
        set
    }

    /// Returns the path sets from one group of hosts to all groups. The result is not cached,
    /// because all rows together can need too much memory.
    fn whole_row(&mut self, from: u32) -> Box<[u32]> {
        if self.graph.is_regular() {
            return (0..self.graph.groups())
                .map(|to| self.set(from, to))
                .collect();
        }
        match &self.rows[from as usize] {
            Some(row) => row.clone(),
            None => self.find_row(from),
        }
    }

    /// Computes the path sets from one group of hosts to all groups by a breadth-first search over
    /// the switches. The search leaves a switch only when all shortest paths to it are known.
    fn find_row(&mut self, from: u32) -> Box<[u32]> {
        let graph = &self.graph;
        let cores = &mut self.cores;
        let switches = graph.switches() as usize;
        let mut distance = vec![NONE; switches];
        let mut sets = vec![NONE; switches];
        let start = graph.group_switch(from);
        distance[start as usize] = 0;
        sets[start as usize] = HERE;
        let mut queue = Vec::with_capacity(switches);
        queue.push(start);
        let mut next = 0;
        // Caches the last extension of a path set by a link, because the next extension is usually
        // the same.
        let mut last = (NONE, NONE, NONE);
        while next < queue.len() {
            let switch = queue[next] as usize;
            next += 1;
            for index in graph.live_links(switch as u32) {
                let peer = graph.fabric_peer(index) as usize;
                if distance[peer] == NONE {
                    distance[peer] = distance[switch] + 1;
                    queue.push(peer as u32);
                } else if distance[peer] != distance[switch] + 1 {
                    continue;
                }
                let kind = graph.link_kind(index);
                if (last.0, last.1) != (sets[switch], kind) {
                    last = (sets[switch], kind, cores.extend(graph, sets[switch], kind));
                }
                sets[peer] = if sets[peer] == NONE {
                    last.2
                } else {
                    cores.join(sets[peer], last.2)
                };
            }
        }
        (0..graph.groups())
            .map(|group| sets[graph.group_switch(group) as usize])
            .collect()
    }

    /// Returns the ideal FCT: the time until the receiver has the last byte of a flow that is alone
    /// in the network, on the fastest shortest path; see [`PathProfile::ideal_received_ps`]. //
    /// TOP-14
    pub fn ideal_received_ps(
        &mut self,
        src: LinkId,
        dst: LinkId,
        bytes: u64,
        frames: FrameSizes,
    ) -> Time {
        least(self.alternatives(src, dst), |path| {
            path.ideal_received_ps(bytes, frames.mtu, frames.header)
        })
    }

    /// Returns the ideal FCT until the last ACK: the time until the sender of a flow that is alone
    /// in the network has the last ACK. It is the ideal FCT plus the return time of one ACK of
    /// `frames.ack` bytes. // TOP-15
    pub fn ideal_acked_ps(
        &mut self,
        src: LinkId,
        dst: LinkId,
        bytes: u64,
        frames: FrameSizes,
    ) -> Time {
        let FrameSizes { mtu, header, ack } = frames;
        let paths = self.alternatives(src, dst);
        least(paths, |path| path.ideal_received_ps(bytes, mtu, header))
            .saturating_add(least(paths, |path| path.one_way_ps(ack)))
    }

    /// Returns the RTT of a frame of `frame_bytes` and its ACK of `ack_bytes` in an empty network.
    // TOP-10
    pub fn base_rtt_ps(
        &mut self,
        src: LinkId,
        dst: LinkId,
        frame_bytes: u16,
        ack_bytes: u16,
    ) -> Time {
        let paths = self.alternatives(src, dst);
        least(paths, |path| path.one_way_ps(frame_bytes))
            .saturating_add(least(paths, |path| path.one_way_ps(ack_bytes)))
    }

    /// Returns the rate of the slowest link between two endpoints, on the path where this rate is
    /// highest.
    pub fn bottleneck(&mut self, src: LinkId, dst: LinkId) -> Rate {
        let rates = self
            .alternatives(src, dst)
            .iter()
            .filter_map(PathProfile::bottleneck);
        // There is always a rate, because every path has at least one link.
        rates
            .max_by_key(|rate| rate.bps())
            .unwrap_or(Rate::from_bps(1))
    }

    /// Returns the bandwidth-delay product: the bottleneck rate times the base RTT, in bytes,
    /// rounded down.
    // TOP-11
    pub fn bdp_bytes(&mut self, src: LinkId, dst: LinkId, frame_bytes: u16, ack_bytes: u16) -> u64 {
        let rtt_ps = self.base_rtt_ps(src, dst, frame_bytes, ack_bytes);
        self.bottleneck(src, dst).bytes_in(rtt_ps)
    }

    /// Returns the number of links between two endpoints.
    pub fn hops(&mut self, src: LinkId, dst: LinkId) -> usize {
        self.alternatives(src, dst)[0].hops.len()
    }

    /// Returns the pairs of ports of two hosts that flows between these hosts may use: pairs with
    /// the minimum number of hops. The list is empty if no path connects the hosts.
    // ENG-11: use only the nearest pairs of ports
    pub fn nearest_endpoints(&mut self, src: NodeId, dst: NodeId) -> Vec<(LinkId, LinkId)> {
        let (from, to) = (self.graph.links_of(src), self.graph.links_of(dst));
        if from.len() == 1 && to.len() == 1 && !self.graph.has_cables() {
            return vec![(self.graph.first_link(src), self.graph.first_link(dst))];
        }
        let mut pairs = Vec::with_capacity(from.len() * to.len());
        for (src, dst) in from.flat_map(|src| to.clone().map(move |dst| (src, dst))) {
            if self.graph.plane_of(src) == self.graph.plane_of(dst) {
                // LNK-15: ports whose link is down during the whole run come last.
                let down = [src, dst].map(|end| usize::from(self.is_down(end)));
                // TOP-24: with equal numbers of hops, ports to the server's scale-up switch come
                // first.
                let is_outside = !self.graph.is_scale_up(src);
                let rank = (down[0] + down[1], self.hops(src, dst), is_outside);
                pairs.push((rank, (src, dst)));
            }
        }
        let nearest = pairs.iter().map(|pair| pair.0).min();
        pairs.retain(|pair| Some(pair.0) == nearest);
        pairs.into_iter().map(|(_, pair)| pair).collect()
    }

    /// Returns the largest base RTT between endpoints of any two different hosts. The value is
    /// exact: an RTT is the sum of the RTTs of the host links and of the links between switches, so
    /// only the two slowest hosts of each switch matter. // TOP-10
    pub fn max_base_rtt_ps(&mut self, frame_bytes: u16, ack_bytes: u16) -> Time {
        let groups = self.graph.groups();
        let ends: Vec<SlowestHosts> = (0..groups)
            .map(|g| SlowestHosts::of(&self.graph, g, frame_bytes, ack_bytes))
            .collect();
        // In a regular topology all racks are equivalent, except in a dumbbell, whose two racks can
        // have different numbers of hosts. // TOP-17
        let sources = if self.graph.is_regular() {
            groups.min(2)
        } else {
            groups
        };
        let mut core_ps: Vec<Option<u128>> = Vec::new();
        let mut longest = 0;
        for from in 0..sources {
            let row = self.whole_row(from);
            for to in 0..groups {
                let Some(ends_ps) = ends[from as usize].with(&ends[to as usize], from == to) else {
                    continue;
                };
                if row[to as usize] == NONE {
                    continue; // LNK-14: unreachable group
                }
                let set = row[to as usize] as usize;
                core_ps.resize(self.cores.sets.len(), None);
                let paths = &self.cores.sets[set];
                let between =
                    *core_ps[set].get_or_insert_with(|| round_trip(paths, frame_bytes, ack_bytes));
                longest = longest.max(ends_ps + between);
            }
        }
        for index in self
            .graph
            .endpoint_ids()
            .filter(|&end| self.graph.is_cable(end))
        {
            let port = self.graph.port(index);
            let time = link_round_trip(port.rate, port.delay_ps, frame_bytes, ack_bytes);
            longest = longest.max(time);
        }
        saturate(longest)
    }
}

fn least(paths: &[PathProfile], time: impl Fn(&PathProfile) -> Time) -> Time {
    paths.iter().map(time).min().unwrap_or(Time::MAX)
}

/// Returns the contribution of one link to the RTT: a frame in one direction and its ACK in the
/// other direction.
fn link_round_trip(rate: Rate, delay_ps: Time, frame_bytes: u16, ack_bytes: u16) -> u128 {
    u128::from(rate.serialisation_ps(frame_bytes.into()))
        + u128::from(rate.serialisation_ps(ack_bytes.into()))
        + 2 * u128::from(delay_ps)
}

/// Returns the RTT of a frame and its ACK between two switches. Frame and ACK each use the path
/// that is fastest for their size.
fn round_trip(paths: &[Core], frame_bytes: u16, ack_bytes: u16) -> u128 {
    let one_way = |path: &Core, bytes: u64| -> u128 {
        let links = path.iter().map(|&(bps, delay_ps)| {
            u128::from(Rate::from_bps(bps).serialisation_ps(bytes)) + u128::from(delay_ps)
        });
        links.sum()
    };
    let least = |bytes: u64| {
        paths
            .iter()
            .map(|path| one_way(path, bytes))
            .min()
            .unwrap_or(0)
    };
    least(frame_bytes.into()) + least(ack_bytes.into())
}

/// The two hosts of a switch with the largest RTTs of the host link, and these RTTs.
struct SlowestHosts {
    first: (NodeId, u128),
    second: Option<(NodeId, u128)>,
}

impl SlowestHosts {
    fn of(graph: &Graph, group: u32, frame_bytes: u16, ack_bytes: u16) -> Self {
        let mut slowest = Self {
            first: (NodeId::NONE, 0),
            second: None,
        };
        for endpoint in graph.endpoints_on(graph.group_switch(group)) {
            let port = graph.port(endpoint);
            let time = link_round_trip(port.rate, port.delay_ps, frame_bytes, ack_bytes);
            slowest.add(graph.host_of(endpoint), time);
        }
        slowest
    }

    fn add(&mut self, host: NodeId, time: u128) {
        if self.first.0 == NodeId::NONE || self.first.0 == host {
            self.first = (host, time.max(self.first.1));
        } else if time > self.first.1 {
            self.second = Some(self.first);
            self.first = (host, time);
        } else if self.second.is_none_or(|second| time > second.1) {
            self.second = Some((host, time));
        }
    }

    /// Returns the largest sum of the host-link RTTs of two different hosts, one at each switch;
    /// `None` if there are no such hosts.
    fn with(&self, other: &Self, same_switch: bool) -> Option<u128> {
        if same_switch {
            return self.second.map(|second| self.first.1 + second.1);
        }
        if self.first.0 != other.first.0 {
            return Some(self.first.1 + other.first.1);
        }
        let a = other.second.map(|second| self.first.1 + second.1);
        let b = self.second.map(|second| second.1 + other.first.1);
        a.max(b)
    }
}
