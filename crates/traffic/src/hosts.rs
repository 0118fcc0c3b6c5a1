//! The hosts of the traffic, by index and rack.

use kernel::Stream;

use crate::error::Error;

/// The pairs of hosts that may exchange flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All pairs of different hosts.
    Any,
    /// Only pairs of hosts in different racks.
    InterRack,
}

/// Hosts grouped into racks. Drawing pairs needs constant memory per host.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// All hosts, sorted by rack.
    grouped: Vec<u32>,
    /// Index of each host in `grouped`.
    position: Vec<u32>,
    /// Rack of each host as an index in `racks`.
    rack_of: Vec<u32>,
    racks: Vec<Rack>,
}

/// One rack: the range of its hosts in `grouped`, and two sums over earlier racks: the number of
/// ordered pairs from one of their hosts to another rack, and within their rack.
#[derive(Clone, Copy, Debug)]
struct Rack {
    from: u32,
    to: u32,
    pairs_before: u64,
    inside_before: u64,
}

impl Rack {
    const fn size(&self) -> u32 {
        self.to - self.from
    }

    /// Number of ordered pairs of hosts within the rack.
    fn pairs_inside(&self) -> u64 {
        u64::from(self.size()) * u64::from(self.size() - 1)
    }
}

impl Hosts {
    /// Creates hosts `0..rack_of.len()`. Hosts with the same number in `rack_of` share a rack.
    ///
    /// # Errors
    /// There are no hosts, or their number exceeds `u32`.
    pub fn new(rack_of: &[u32]) -> Result<Self, Error> {
        let count =
            u32::try_from(rack_of.len()).map_err(|_| Error::new("more than 2^32 - 1 hosts"))?;
        if count == 0 {
            return Err(Error::new("there are no hosts"));
        }
        let mut grouped: Vec<u32> = (0..count).collect();
        grouped.sort_by_key(|&host| (rack_of[host as usize], host));
        let mut position = vec![0; rack_of.len()];
        let mut dense = vec![0; rack_of.len()];
        let mut racks: Vec<Rack> = Vec::new();
        let mut last = None;
        for (at, &host) in (0..).zip(&grouped) {
            let rack = rack_of[host as usize];
            if last != Some(rack) {
                racks.push(Rack {
                    from: at,
                    to: at,
                    pairs_before: 0,
                    inside_before: 0,
                });
                last = Some(rack);
            }
            let index = racks.len() - 1;
            racks[index].to = at + 1;
            position[host as usize] = at;
            dense[host as usize] = index as u32;
        }
        let (mut pairs, mut inside) = (0, 0);
        for rack in &mut racks {
            (rack.pairs_before, rack.inside_before) = (pairs, inside);
            pairs += u64::from(rack.size()) * u64::from(count - rack.size());
            inside += rack.pairs_inside();
        }
        Ok(Self {
            grouped,
            position,
            rack_of: dense,
            racks,
        })
    }

    /// Number of hosts.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.grouped.len() as u32
    }

    /// True if two hosts are in the same rack. Both hosts must exist.
    #[must_use]
    pub fn same_rack(&self, a: u32, b: u32) -> bool {
        self.rack_of[a as usize] == self.rack_of[b as usize]
    }

    /// Number of ordered pairs of hosts in different racks.
    fn pairs_across(&self) -> u64 {
        self.racks.last().map_or(0, |rack| {
            rack.pairs_before + u64::from(rack.size()) * u64::from(self.count() - rack.size())
        })
    }

    /// Number of ordered pairs of different hosts.
    fn pairs(&self) -> u64 {
        u64::from(self.count()) * (u64::from(self.count()) - 1)
    }

    /// Number of ordered pairs of different hosts in one rack.
    #[must_use]
    pub fn pairs_inside(&self) -> u64 {
        self.pairs() - self.pairs_across()
    }

    /// Number of ordered pairs in `scope`.
    #[must_use]
    pub fn pairs_in(&self, scope: Scope) -> u64 {
        match scope {
            Scope::Any => self.pairs(),
            Scope::InterRack => self.pairs_across(),
        }
    }

    /// Returns the fraction of the pairs in `scope` whose hosts are in different racks, or 0 if
    /// there is no pair.
    #[must_use]
    pub fn crossing_fraction(&self, scope: Scope) -> f64 {
        match self.pairs_in(scope) {
            0 => 0.0,
            pairs => self.pairs_across() as f64 / pairs as f64,
        }
    }

    /// Returns the fraction of the peers of an existing host that are in another rack.
    #[must_use]
    pub fn crossing_fraction_to(&self, host: u32, scope: Scope) -> f64 {
        let outside = f64::from(self.peers(host, Scope::InterRack));
        match self.peers(host, scope) {
            0 => 0.0,
            peers => outside / f64::from(peers),
        }
    }

    /// Returns the range of indices in `grouped` that are not peers of `host`.
    fn excluded(&self, host: u32, scope: Scope) -> (u32, u32) {
        let at = self.position[host as usize];
        match scope {
            Scope::Any => (at, at + 1),
            Scope::InterRack => {
                let rack = self.racks[self.rack_of[host as usize] as usize];
                (rack.from, rack.to)
            }
        }
    }

    /// Number of hosts that an existing host may exchange flows with in `scope`.
    #[must_use]
    pub fn peers(&self, host: u32, scope: Scope) -> u32 {
        let (from, to) = self.excluded(host, scope);
        self.count() - (to - from)
    }

    /// Minimum of [`Hosts::peers`] over all hosts.
    #[must_use]
    pub fn fewest_peers(&self, scope: Scope) -> u32 {
        match scope {
            Scope::Any => self.count() - 1,
            Scope::InterRack => self.count() - self.racks.iter().map(Rack::size).max().unwrap_or(0),
        }
    }

    /// Returns peer `index` of `host`. The index must be below [`Hosts::peers`].
    #[must_use]
    pub fn peer(&self, host: u32, scope: Scope, index: u32) -> u32 {
        let (from, to) = self.excluded(host, scope);
        let at = if index < from {
            index
        } else {
            index + (to - from)
        };
        self.grouped[at as usize]
    }

    /// Draws a pair of the scope evenly. The scope must have a pair. // TRA-09
    pub(crate) fn draw_pair(&self, scope: Scope, stream: &mut Stream) -> (u32, u32) {
        let pair = stream.below(self.pairs_in(scope));
        let (src, index) = match scope {
            Scope::Any => {
                let peers = u64::from(self.count()) - 1;
                ((pair / peers) as u32, (pair % peers) as u32)
            }
            Scope::InterRack => {
                let rack =
                    self.racks[self.racks.partition_point(|rack| rack.pairs_before <= pair) - 1];
                let peers = u64::from(self.count() - rack.size());
                let within = pair - rack.pairs_before;
                (
                    self.grouped[(u64::from(rack.from) + within / peers) as usize],
                    (within % peers) as u32,
                )
            }
        };
        (src, self.peer(src, scope, index))
    }

    /// Number of ordered pairs in `scope` without the `excluded` hosts, which must exist and be in
    /// ascending order.
    #[must_use]
    pub fn pairs_without(&self, scope: Scope, excluded: &[u32]) -> u64 {
        let (all, inside) = self.counts_without(excluded);
        match scope {
            Scope::Any => all,
            Scope::InterRack => all - inside,
        }
    }

    /// Number of ordered pairs without the excluded hosts, in total and within racks.
    fn counts_without(&self, excluded: &[u32]) -> (u64, u64) {
        let pairs = |count: u64| count * count.saturating_sub(1);
        let mut left: Vec<u64> = self.racks.iter().map(|r| u64::from(r.size())).collect();
        for &host in excluded {
            left[self.rack_of[host as usize] as usize] -= 1;
        }
        (pairs(left.iter().sum()), left.into_iter().map(pairs).sum())
    }

    /// Like [`Hosts::crossing_fraction`], but without the `excluded` hosts.
    #[must_use]
    pub fn crossing_fraction_without(&self, scope: Scope, excluded: &[u32]) -> f64 {
        let (all, inside) = self.counts_without(excluded);
        match self.pairs_without(scope, excluded) {
            0 => 0.0,
            pairs => (all - inside) as f64 / pairs as f64,
        }
    }

    /// Draws a pair of the scope evenly, without the excluded hosts. Repeats the draw until neither
    /// host is excluded. // TRA-23
    pub(crate) fn draw_pair_without(
        &self,
        scope: Scope,
        excluded: &[u32],
        stream: &mut Stream,
    ) -> (u32, u32) {
        let out = |host: u32| excluded.binary_search(&host).is_ok();
        loop {
            let (src, dst) = self.draw_pair(scope, stream);
            if !out(src) && !out(dst) {
                return (src, dst);
            }
        }
    }

    /// Draws a pair within a rack evenly. There must be such a pair. // TRA-20
    pub(crate) fn draw_pair_inside(&self, stream: &mut Stream) -> (u32, u32) {
        let pair = stream.below(self.pairs_inside());
        let rack = self.racks[self
            .racks
            .partition_point(|rack| rack.inside_before <= pair)
            - 1];
        let within = pair - rack.inside_before;
        let peers = u64::from(rack.size()) - 1;
        let (src, other) = ((within / peers) as u32, (within % peers) as u32);
        let dst = other + u32::from(other >= src);
        let host = |place: u32| self.grouped[(rack.from + place) as usize];
        (host(src), host(dst))
    }

    /// Returns the number of hosts per site, if the hosts are divided among `sites` sites of equal
    /// size.
    fn per_site(&self, sites: u32) -> u32 {
        self.count() / sites
    }

    /// Draws a pair within a site evenly. // TRA-21
    pub(crate) fn draw_pair_of_site(&self, sites: u32, stream: &mut Stream) -> (u32, u32) {
        let peers = self.per_site(sites) - 1;
        let pair = stream.below(u64::from(self.count()) * u64::from(peers));
        let src = (pair / u64::from(peers)) as u32;
        let first = src - src % self.per_site(sites);
        let other = first + (pair % u64::from(peers)) as u32;
        (src, other + u32::from(other >= src))
    }

    /// Returns the fraction of the pairs within sites whose hosts are in different racks.
    pub(crate) fn crossing_fraction_of_sites(&self, sites: u32) -> f64 {
        let size = self.per_site(sites);
        let mut inside = 0;
        for site in 0..sites {
            let hosts = site * size..(site + 1) * size;
            let mut racks: Vec<u32> = hosts.map(|host| self.rack_of[host as usize]).collect();
            racks.sort_unstable();
            let same = |group: &[u32]| group.len() as u64 * (group.len() as u64 - 1);
            inside += racks.chunk_by(|a, b| a == b).map(same).sum::<u64>();
        }
        let all = u64::from(self.count()) * u64::from(size - 1);
        (all - inside) as f64 / all as f64
    }
}
