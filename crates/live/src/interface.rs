//! Network interfaces in the network namespace of the calling thread.

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::LinkAddr;
use wire::ethernet::Mac;

/// State of a network interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// MAC address.
    pub address: Mac,
    /// True if the interface is up and its link carries frames.
    pub up: bool,
    /// Address to which a raw socket is bound.
    pub link: LinkAddr,
}

/// Looks up an interface by name.
///
/// # Errors
/// `ENODEV` if the interface does not exist or is not Ethernet.
pub fn look_up(name: &str) -> Result<Interface, Errno> {
    let own = getifaddrs()?.filter(|of| of.interface_name == name);
    let mut links = own.filter_map(|of| Some((of.flags, *of.address?.as_link_addr()?)));
    let (flags, link) = links.next().ok_or(Errno::ENODEV)?;
    if flags.contains(InterfaceFlags::IFF_LOOPBACK) {
        return Err(Errno::ENODEV); // a loopback interface would return frames to their sender
    }
    Ok(Interface {
        address: link.addr().ok_or(Errno::ENODEV)?,
        up: flags.contains(InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING),
        link,
    })
}
