//! Description of a host that runs on the wall clock.

use std::ops::Range;

use dataplane::nic::{FlowStart, Nic};
use dataplane::units::Time;
use traffic::Flow;
use wire::ethernet::Mac;

use crate::Error;
use crate::wall::NodeDescription;

/// Function that returns the start parameters of a flow for the NIC, and the ideal FCT in ps (until
/// the last ACK, alone in the network). The second argument is the cookie with which the NIC
/// identifies the flow.
pub type StartFlow = Box<dyn FnMut(&Flow, u32) -> (FlowStart, Time) + Send>;

/// The configuration of a host, and the properties of the network that the host needs.
pub struct HostDescription {
    /// The node and its links.
    pub node: NodeDescription,
    /// Index of the host in the network.
    pub host: u32,
    /// The NIC of the dataplane, without clock and sockets.
    pub nic: Nic,
    /// Function that returns the start parameters of the host's flows.
    pub start_flow: StartFlow,
    /// The flows of all hosts, in the order of their starts.
    pub feed: Box<dyn Iterator<Item = Flow> + Send>,
    /// Range of the host's endpoints; each port is one endpoint.
    pub own: Range<u32>,
    /// Payload of a full packet, bytes.
    pub mtu: u16,
    /// For each endpoint of the network: its host, and the MAC address to which frames are sent.
    pub ends: Vec<(u32, Mac)>,
    /// Names of all hosts in the network.
    pub names: Vec<String>,
}

impl std::fmt::Debug for HostDescription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostDescription")
            .field("node", &self.node)
            .field("own", &self.own)
            .finish_non_exhaustive()
    }
}

impl HostDescription {
    /// Sets the MAC address to which frames for a host are sent.
    ///
    /// # Errors
    /// The network has no host of this name.
    // HST-03: the user may set the address of a peer
    pub fn set_address(&mut self, name: &str, address: Mac) -> Result<(), Error> {
        let host = self.names.iter().position(|known| known == name);
        let host = host.ok_or_else(|| unknown_host(name, &self.names))?;
        let of_host = self.ends.iter_mut().filter(|end| end.0 as usize == host);
        of_host.for_each(|end| end.1 = address);
        Ok(())
    }
}

/// Creates the error for an unknown host name. `known` contains the names of all hosts.
pub(crate) fn unknown_host(name: &str, known: &[String]) -> Error {
    let name_at = |at: Option<&String>| at.cloned().unwrap_or_default();
    Error::UnknownHost {
        name: name.to_owned(),
        first: name_at(known.first()),
        last: name_at(known.last()),
    }
}
