//! Description of a host on the wall clock.

use std::ops::Range;

use dataplane::nic::{FlowStart, Nic};
use dataplane::units::Time;
use traffic::Flow;
use wire::ethernet::Mac;

use crate::Error;
use crate::wall::NodeDescription;

/// Function that returns the start parameters of a flow for the NIC. It also returns the time in ps
/// until the last ACK at the sender, if the flow were alone in the network. The number is the
/// cookie with which the NIC reports the flow.
pub type StartFlow = Box<dyn FnMut(&Flow, u32) -> (FlowStart, Time) + Send>;

/// A host with everything that it needs from its network.
pub struct HostDescription {
    /// The node and its links.
    pub node: NodeDescription,
    /// Number of the host in the network.
    pub host: u32,
    /// The state machine.
    pub nic: Nic,
    /// Parameters of the flows that the host starts.
    pub start_flow: StartFlow,
    /// The flows of all hosts, in the order of their start.
    pub feed: Box<dyn Iterator<Item = Flow> + Send>,
    /// Endpoints of the host, one per port.
    pub own: Range<u32>,
    /// Payload of a full packet, bytes.
    pub mtu: u16,
    /// The host of each endpoint, and the address to which frames for the endpoint are sent.
    pub ends: Vec<(u32, Mac)>,
    /// Names of all hosts.
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
    /// Sets the address to which frames for a host are sent.
    ///
    /// # Errors
    /// The network has no host of this name.
    // HST-03: the user may give the address of a peer
    pub fn set_address(&mut self, name: &str, address: Mac) -> Result<(), Error> {
        let host = self.names.iter().position(|known| known == name);
        let host = host.ok_or_else(|| unknown_host(name, &self.names))?;
        let of_host = self.ends.iter_mut().filter(|end| end.0 as usize == host);
        of_host.for_each(|end| end.1 = address);
        Ok(())
    }
}

/// Returns the error that the network has no host of this name. `known` are the names of all hosts.
pub(crate) fn unknown_host(name: &str, known: &[String]) -> Error {
    let name_at = |at: Option<&String>| at.cloned().unwrap_or_default();
    Error::UnknownHost {
        name: name.to_owned(),
        first: name_at(known.first()),
        last: name_at(known.last()),
    }
}
