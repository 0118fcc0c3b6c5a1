//! Traffic from a list of senders to a list of receivers.

use kernel::Stream;

use crate::error::Error;
use crate::hosts::Hosts;

/// Flows from chosen senders to chosen receivers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Between {
    /// The senders; at least one.
    pub senders: Vec<u32>,
    /// The receivers; at least one. No receiver is also a sender.
    pub receivers: Vec<u32>,
    /// True if at each arrival every sender starts a flow to the same receiver. If false, each
    /// arrival is one flow of one sender.
    pub together: bool,
    /// True if all flows of an arrival have the same size, false if each flow draws its own.
    pub one_size: bool,
}

impl Between {
    /// Number of flows per arrival.
    pub(crate) fn flows_per_arrival(&self) -> u64 {
        if self.together {
            self.senders.len() as u64
        } else {
            1
        }
    }

    /// TRA-22: senders and receivers are different hosts
    pub(crate) fn check(&self, hosts: &Hosts) -> Result<(), Error> {
        for (list, what) in [(&self.senders, "sender"), (&self.receivers, "receiver")] {
            if list.is_empty() {
                return Err(Error::new(format!("no {what} is named")));
            }
            if let Some(host) = list.iter().find(|&&host| host >= hosts.count()) {
                let last = hosts.count() - 1;
                return Err(Error::new(format!(
                    "{what} {host} does not exist; hosts are 0 to {last}"
                )));
            }
            let mut sorted = list.clone();
            sorted.sort_unstable();
            if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(Error::new(format!("{what} {} is named twice", pair[0])));
            }
        }
        match self
            .senders
            .iter()
            .find(|host| self.receivers.contains(host))
        {
            Some(host) => Err(Error::new(format!("host {host} would send to itself"))),
            None => Ok(()),
        }
    }

    /// Returns the fraction of the sender-receiver pairs whose hosts are in different racks.
    pub(crate) fn crossing_fraction(&self, hosts: &Hosts) -> f64 {
        let known = |host: &&u32| **host < hosts.count();
        let (mut all, mut across) = (0u64, 0u64);
        for &src in self.senders.iter().filter(known) {
            for &dst in self.receivers.iter().filter(known) {
                all += 1;
                across += u64::from(!hosts.same_rack(src, dst));
            }
        }
        across as f64 / all.max(1) as f64
    }

    /// Draws a receiver.
    pub(crate) fn draw_receiver(&self, stream: &mut Stream) -> u32 {
        one_of(&self.receivers, stream)
    }

    /// Returns the sender of flow `place` (from 0) of an arrival.
    pub(crate) fn sender(&self, place: u64, stream: &mut Stream) -> u32 {
        if self.together {
            self.senders[place as usize]
        } else {
            one_of(&self.senders, stream)
        }
    }
}

/// Draws an element of a list evenly. A list of one element uses no random number.
fn one_of(list: &[u32], stream: &mut Stream) -> u32 {
    match list {
        [only] => *only,
        _ => list[stream.below(list.len() as u64) as usize],
    }
}
