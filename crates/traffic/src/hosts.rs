//! The hosts as traffic sees them: numbered, and grouped into racks.

use kernel::Stream;

use crate::error::Error;

/// Which pairs of hosts may talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Any two different hosts.
    Any,
    /// Only hosts of different racks.
    InterRack,
}

/// Hosts grouped into racks, ready to draw pairs in constant memory per host.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// All hosts, those of one rack side by side.
    grouped: Vec<u32>,
    /// Where each host stands in `grouped`.
    position: Vec<u32>,
    /// Rack of each host: an index of `racks`.
    rack_of: Vec<u32>,
    racks: Vec<Rack>,
}

/// One rack: where its hosts stand, and how many pairs, across racks and inside of one, start in racks before it.
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

    /// Ordered pairs of its hosts.
    fn pairs_inside(&self) -> u64 {
        u64::from(self.size()) * u64::from(self.size() - 1)
    }
}

impl Hosts {
    /// Hosts `0..rack_of.len()`; those with the same number in `rack_of` share a rack.
    ///
    /// # Errors
    /// There are no hosts, or more than a `u32` counts.
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

    /// Whether two hosts, which must exist, share a rack.
    #[must_use]
    pub fn same_rack(&self, a: u32, b: u32) -> bool {
        self.rack_of[a as usize] == self.rack_of[b as usize]
    }

    /// Ordered pairs of different hosts in different racks.
    fn pairs_across(&self) -> u64 {
        self.racks.last().map_or(0, |rack| {
            rack.pairs_before + u64::from(rack.size()) * u64::from(self.count() - rack.size())
        })
    }

    /// Ordered pairs of different hosts.
    fn pairs(&self) -> u64 {
        u64::from(self.count()) * (u64::from(self.count()) - 1)
    }

    /// Ordered pairs of different hosts of one rack.
    #[must_use]
    pub fn pairs_inside(&self) -> u64 {
        self.pairs() - self.pairs_across()
    }

    /// How many ordered pairs `scope` leaves.
    #[must_use]
    pub fn pairs_in(&self, scope: Scope) -> u64 {
        match scope {
            Scope::Any => self.pairs(),
            Scope::InterRack => self.pairs_across(),
        }
    }

    /// The share of the pairs in `scope` whose hosts are in different racks; 0 without any pair.
    #[must_use]
    pub fn crossing_fraction(&self, scope: Scope) -> f64 {
        match self.pairs_in(scope) {
            0 => 0.0,
            pairs => self.pairs_across() as f64 / pairs as f64,
        }
    }

    /// The share of the peers of `host`, which must exist, that is in another rack.
    #[must_use]
    pub fn crossing_fraction_to(&self, host: u32, scope: Scope) -> f64 {
        let outside = f64::from(self.peers(host, Scope::InterRack));
        match self.peers(host, scope) {
            0 => 0.0,
            peers => outside / f64::from(peers),
        }
    }

    /// Positions in `grouped` that are no peers of `host`.
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

    /// How many hosts `host`, which must exist, may talk to.
    #[must_use]
    pub fn peers(&self, host: u32, scope: Scope) -> u32 {
        let (from, to) = self.excluded(host, scope);
        self.count() - (to - from)
    }

    /// The fewest peers that any host has.
    #[must_use]
    pub fn fewest_peers(&self, scope: Scope) -> u32 {
        match scope {
            Scope::Any => self.count() - 1,
            Scope::InterRack => self.count() - self.racks.iter().map(Rack::size).max().unwrap_or(0),
        }
    }

    /// The peer of `host` with number `index`, which must be below its [`Hosts::peers`].
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

    /// A pair, every one of the scope being as likely; there must be one. // TRA-09
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

    /// How many ordered pairs `scope` leaves without these hosts, which must exist and ascend.
    #[must_use]
    pub fn pairs_without(&self, scope: Scope, excluded: &[u32]) -> u64 {
        let (all, inside) = self.counts_without(excluded);
        match scope {
            Scope::Any => all,
            Scope::InterRack => all - inside,
        }
    }

    /// Ordered pairs without these hosts, and those of them within a rack.
    fn counts_without(&self, excluded: &[u32]) -> (u64, u64) {
        let pairs = |count: u64| count * count.saturating_sub(1);
        let mut left: Vec<u64> = self.racks.iter().map(|r| u64::from(r.size())).collect();
        for &host in excluded {
            left[self.rack_of[host as usize] as usize] -= 1;
        }
        (pairs(left.iter().sum()), left.into_iter().map(pairs).sum())
    }

    /// As [`Hosts::crossing_fraction`], without these hosts.
    #[must_use]
    pub fn crossing_fraction_without(&self, scope: Scope, excluded: &[u32]) -> f64 {
        let (all, inside) = self.counts_without(excluded);
        match self.pairs_without(scope, excluded) {
            0 => 0.0,
            pairs => (all - inside) as f64 / pairs as f64,
        }
    }

    /// A pair without these hosts, every one of the scope being as likely: drawn again until it has
    /// none of them. // TRA-23
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

    /// A pair of one rack, every such pair being as likely; there must be one. // TRA-20
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

    /// The hosts of a site, where all hosts in their order are shared out among `sites` of the same size.
    fn per_site(&self, sites: u32) -> u32 {
        self.count() / sites
    }

    /// A pair of one site, every such pair being as likely. // TRA-21
    pub(crate) fn draw_pair_of_site(&self, sites: u32, stream: &mut Stream) -> (u32, u32) {
        let peers = self.per_site(sites) - 1;
        let pair = stream.below(u64::from(self.count()) * u64::from(peers));
        let src = (pair / u64::from(peers)) as u32;
        let first = src - src % self.per_site(sites);
        let other = first + (pair % u64::from(peers)) as u32;
        (src, other + u32::from(other >= src))
    }

    /// The share of the pairs within sites whose hosts are in different racks.
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
