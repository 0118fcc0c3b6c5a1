//! IP addresses of endpoints.

use core::net::{Ipv4Addr, Ipv6Addr};

use crate::error::Unfit;
use crate::ip::Ends;

/// Maximum number of endpoints with IPv4 addresses, which are in 10.0.0.0/8.
pub const V4_ENDPOINTS: u32 = 1 << 24;
/// Prefix of the IPv6 addresses of endpoints. The last 32 bits are the index of the endpoint.
const V6_PREFIX: [u8; 12] = [0xfd, 0x42, 0x57, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Returns the IP addresses of source and destination. `src` and `dst` are endpoint indices.
pub(crate) fn ends(is_v6: bool, src: u32, dst: u32) -> Result<Ends, Unfit> {
    if is_v6 {
        return Ok(Ends::V6 {
            from: v6(src),
            to: v6(dst),
        });
    }
    let v4 = |endpoint: u32| {
        let most = u64::from(V4_ENDPOINTS - 1);
        let endpoint = Unfit::check("an endpoint with IPv4", endpoint.into(), most)? as u32;
        Ok(Ipv4Addr::from(10 << 24 | endpoint))
    };
    Ok(Ends::V4 {
        from: v4(src)?,
        to: v4(dst)?,
    })
}

fn v6(endpoint: u32) -> Ipv6Addr {
    let mut octets = [0; 16];
    octets[..12].copy_from_slice(&V6_PREFIX);
    octets[12..].copy_from_slice(&endpoint.to_be_bytes());
    octets.into()
}

/// Returns the endpoint indices of source and destination addresses, or `None` if an address does
/// not belong to an endpoint.
pub(crate) fn endpoints(ends: &Ends) -> Option<(u32, u32)> {
    match ends {
        Ends::V4 { from, to } => {
            let number = |address: &Ipv4Addr| {
                let bits = u32::from(*address);
                (bits >> 24 == 10).then_some(bits & (V4_ENDPOINTS - 1))
            };
            Some((number(from)?, number(to)?))
        }
        Ends::V6 { from, to } => {
            let number = |address: &Ipv6Addr| {
                let octets = address.octets();
                let (prefix, number) = octets.split_last_chunk::<4>()?;
                (prefix == V6_PREFIX).then_some(u32::from_be_bytes(*number))
            };
            Some((number(from)?, number(to)?))
        }
    }
}
