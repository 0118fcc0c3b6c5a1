//! Servers with GPUs: each GPU is a host with one port to the scale-up switch of its server, and
//! one or several NIC ports.

use super::plan::{Edge, Names, Plan, check_counts, check_delays, check_size};
use super::{LinkSpec, TopologyError};

/// Rule that selects the leaves to which the NICs are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wiring {
    /// GPU i of each server is connected to the leaves of rail i.
    Rails,
    /// All GPUs of a server are connected to the same leaves.
    Racks,
}

impl Wiring {
    /// Returns the name of the topology in scenarios.
    #[must_use]
    pub const fn shape(self) -> &'static str {
        match self {
            Self::Rails => "rail-optimised",
            Self::Racks => "gpu-racks",
        }
    }
}

/// Servers with GPUs below leaves and spines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Servers {
    /// The leaves to which the GPUs of a server are connected.
    pub wiring: Wiring,
    /// Number of servers.
    pub servers: u32,
    /// Number of GPUs per server.
    pub gpus_per_server: u32,
    /// Number of servers per segment. Each segment has its own leaves. The last segment may have
    /// fewer servers.
    pub servers_per_segment: u32,
    /// Number of ports of a GPU's NIC. Each port is linked to a different leaf.
    pub nic_ports: u32,
    /// Number of planes: 1, or as many as `nic_ports`. With several planes, leaves of different
    /// ports share no spine.
    pub planes: u32,
    /// Number of spines per plane.
    pub spines: u32,
    /// Links between a GPU and the scale-up switch of its server.
    pub scale_up: LinkSpec,
    /// Links between a port of a NIC and its leaf.
    pub link: LinkSpec,
    /// Leaf-spine links.
    pub uplink: LinkSpec,
}

impl Servers {
    /// Returns the number of GPUs.
    #[must_use]
    pub fn gpus(&self) -> u64 {
        u64::from(self.servers) * u64::from(self.gpus_per_server)
    }

    /// Returns the number of leaves of a segment.
    #[must_use]
    pub fn leaves_per_segment(&self) -> u64 {
        let rails = match self.wiring {
            Wiring::Rails => self.gpus_per_server,
            Wiring::Racks => 1,
        };
        u64::from(rails) * u64::from(self.nic_ports)
    }

    /// Returns the number of all leaves.
    #[must_use]
    pub fn leaves(&self) -> u64 {
        u64::from(self.servers.div_ceil(self.servers_per_segment)) * self.leaves_per_segment()
    }

    /// Returns the number of all links.
    #[must_use]
    pub fn links(&self) -> u64 {
        self.gpus() * (1 + u64::from(self.nic_ports)) + self.leaves() * u64::from(self.spines)
    }

    /// Returns the maximum number of GPUs per leaf.
    #[must_use]
    pub fn gpus_per_leaf(&self) -> u64 {
        let servers = u64::from(self.servers_per_segment.min(self.servers));
        match self.wiring {
            Wiring::Rails => servers,
            Wiring::Racks => servers * u64::from(self.gpus_per_server),
        }
    }

    /// Returns true if the number of planes is 1 or equal to the number of ports of a NIC.
    #[must_use]
    pub const fn planes_fit(&self) -> bool {
        self.planes == 1 || self.planes == self.nic_ports
    }

    /// Lays out the servers. Switches have node IDs in this order: the scale-up switches of
    /// servers; the leaves by segment, rail and port; the spines by plane. // TOP-23
    pub(super) fn plan(&self) -> Result<Plan, TopologyError> {
        let shape = self.wiring.shape();
        let counts = [
            ("servers", self.servers),
            ("gpus_per_server", self.gpus_per_server),
            ("servers_per_segment", self.servers_per_segment),
            ("nic_ports", self.nic_ports),
            ("planes", self.planes),
            ("spines", self.spines),
        ];
        check_counts(shape, &counts)?;
        if !self.planes_fit() {
            return Err(TopologyError::UnevenPlanes {
                planes: self.planes,
                nic_ports: self.nic_ports,
            });
        }
        let spines = u64::from(self.planes) * u64::from(self.spines);
        let switches = u64::from(self.servers) + self.leaves() + spines;
        let links = self.links();
        let (hosts, switches) = check_size(self.gpus().into(), switches.into(), links.into())?;
        check_delays(&[self.scale_up, self.link, self.uplink])?;
        let leaves = self.leaves() as u32;
        let first_leaf = hosts + self.servers;
        let first_spine = first_leaf + leaves;
        let mut edges = Vec::with_capacity(links as usize);
        for gpu in 0..hosts {
            let server = gpu / self.gpus_per_server;
            edges.push(Edge::new(gpu, hosts + server, 0));
            let first = first_leaf + self.first_leaf_of(gpu);
            edges.extend(Edge::to_each(gpu, first..first + self.nic_ports, 1));
        }
        for leaf in 0..leaves {
            let plane = leaf % self.nic_ports % self.planes;
            let own = first_spine + plane * self.spines;
            edges.extend(Edge::to_each(first_leaf + leaf, own..own + self.spines, 2));
        }
        Ok(Plan {
            shape,
            hosts,
            switches,
            edges,
            links: vec![self.scale_up, self.link, self.uplink],
            names: Names::Runs(vec![
                ("gpu", hosts),
                ("nvswitch", self.servers),
                ("leaf", leaves),
                ("spine", spines as u32),
            ]),
            pod_racks: None,
            scale_up: (0..self.servers).collect(),
        })
    }

    /// Returns the leaf of the first port of a GPU's NIC. The leaves of the other ports follow.
    fn first_leaf_of(&self, gpu: u32) -> u32 {
        let (server, place) = (gpu / self.gpus_per_server, gpu % self.gpus_per_server);
        let segment = server / self.servers_per_segment;
        let (rails, rail) = match self.wiring {
            Wiring::Rails => (self.gpus_per_server, place),
            Wiring::Racks => (1, 0),
        };
        (segment * rails + rail) * self.nic_ports
    }
}
