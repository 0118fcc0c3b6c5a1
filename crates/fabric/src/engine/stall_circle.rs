//! Who waits for whom in a run that has come to a stand: the circle of egress ports, if there is
//! one.

use std::collections::BTreeSet;

use dataplane::packet::flag;
use kernel::calendar::Calendar;

use super::Simulation;

/// One port of a switch waits for others: it has packets, none of which its neighbour lets go.
struct Waiting {
    /// Global number of the port.
    link: u32,
    /// Ports of the neighbour whose packets hold it, as indices of the list of those that wait.
    for_: Vec<usize>,
}

impl<C: Calendar + Send> Simulation<C> {
    /// AUD-09: the ports that wait for each other in a circle, each for the next and the last for
    /// the first; empty where there is no such circle.
    pub(super) fn find_deadlock(&self) -> Vec<u32> {
        circle(&self.waiting_ports())
    }

    /// AUD-09: the circle as a sentence.
    pub(super) fn explain_deadlock(&self) -> Option<String> {
        let circle = self.find_deadlock();
        let graph = &self.net.graph;
        let name = |&link: &u32| {
            let to = graph.port(link as usize).peer;
            format!("{}->{}", graph.name(self.net.node_of(link)), graph.name(to))
        };
        let first = circle.first().map(name)?;
        let names: Vec<String> = circle.iter().map(name).collect();
        Some(format!(
            "deadlock: {} waits for {first} again",
            names.join(" waits for ")
        ))
    }

    /// All ports of switches at which packets are stuck, in order.
    fn waiting_ports(&self) -> Vec<Waiting> {
        let hosts = self.net.graph.hosts();
        let is_stuck = |&link: &u32| {
            let node = self.net.node_of(link);
            let port = link as usize - self.net.graph.port_index(node, 0);
            node >= hosts && self.net.switch(node).0.is_stuck(port as u16)
        };
        let links = 0..self.net.graph.port_count();
        let stuck: Vec<u32> = links.filter(is_stuck).collect();
        let waiting = |&link: &u32| Waiting {
            link,
            for_: self
                .held_by(link)
                .into_iter()
                .filter_map(|link| stuck.binary_search(&link).ok())
                .collect(),
        };
        stuck.iter().map(waiting).collect()
    }

    /// Ports of the neighbour at which packets wait that hold a port.
    fn held_by(&self, link: u32) -> BTreeSet<u32> {
        let graph = &self.net.graph;
        let end = graph.port(link as usize);
        let mut ports = BTreeSet::new();
        if end.peer < graph.hosts() {
            return ports; // a host holds nobody
        }
        let (switch, arena) = self.net.switch(end.peer);
        let base = graph.port_index(end.peer, 0) as u32;
        for egress in 0..graph.ports(end.peer) {
            switch.for_each_queued(egress, arena, |id| {
                let packet = arena.hot(id);
                // With BFC a packet over the threshold, with PFC each packet in the buffer.
                let holds = packet.has(flag::HOP_A) || self.lossless && packet.has(flag::BUFFERED);
                if packet.ingress == end.peer_port && holds && !packet.is_frame() {
                    ports.insert(base + u32::from(egress));
                }
            });
        }
        ports
    }
}

/// The ports of a circle among those that wait, found from the first port that stands in one.
fn circle(waiting: &[Waiting]) -> Vec<u32> {
    const NEW: u8 = 0;
    const OPEN: u8 = 1;
    const DONE: u8 = 2;
    let mut state = vec![NEW; waiting.len()];
    for start in 0..waiting.len() {
        if state[start] != NEW {
            continue;
        }
        // A depth-first search; the path holds (port, which of those it waits for comes next).
        let mut path = vec![(start, 0)];
        state[start] = OPEN;
        while let Some(top) = path.last_mut() {
            let (at, next) = *top;
            top.1 += 1;
            match waiting[at].for_.get(next) {
                None => {
                    state[at] = DONE;
                    path.pop();
                }
                Some(&to) if state[to] == OPEN => {
                    let from = path.iter().position(|&(port, _)| port == to).unwrap_or(0);
                    return path[from..].iter().map(|&(i, _)| waiting[i].link).collect();
                }
                Some(&to) if state[to] == NEW => {
                    state[to] = OPEN;
                    path.push((to, 0));
                }
                Some(_) => {}
            }
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    // AUD-09
    #[test]
    fn a_circle_is_found_and_a_tree_is_none() {
        let waiting = |edges: &[&[usize]]| -> Vec<Waiting> {
            let each = edges.iter().enumerate();
            each.map(|(i, for_)| Waiting {
                link: 10 + i as u32,
                for_: for_.to_vec(),
            })
            .collect()
        };
        assert!(circle(&waiting(&[&[1, 2], &[2], &[]])).is_empty());
        assert_eq!(circle(&waiting(&[&[1], &[2, 3], &[], &[1]])), [11, 13]);
        assert_eq!(circle(&waiting(&[&[0]])), [10]);
    }
}
