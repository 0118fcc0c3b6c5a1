//! Interfaces of the calling thread's network namespace.

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::LinkAddr;
use wire::ethernet::Mac;

/// An interface as the system shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its address.
    pub address: Mac,
    /// It can carry frames.
    pub up: bool,
    /// What a raw socket is bound to.
    pub link: LinkAddr,
}

/// The interface of this name.
///
/// # Errors
/// `ENODEV`: there is none, or it is no Ethernet.
pub fn look_up(name: &str) -> Result<Interface, Errno> {
    let own = getifaddrs()?.filter(|of| of.interface_name == name);
    let mut links = own.filter_map(|of| Some((of.flags, *of.address?.as_link_addr()?)));
    let (flags, link) = links.next().ok_or(Errno::ENODEV)?;
    if flags.contains(InterfaceFlags::IFF_LOOPBACK) {
        return Err(Errno::ENODEV); // what is sent there comes back to its sender
    }
    Ok(Interface {
        address: link.addr().ok_or(Errno::ENODEV)?,
        up: flags.contains(InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING),
        link,
    })
}
