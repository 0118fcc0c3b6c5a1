//! Finds flows that were slow although no other flow was in the network.

use fabric::record::{Counters, FlowRecord};

/// A flow is slow only if its slowdown (FCT / ideal FCT) is larger than this value.
const SLOW: f64 = 2.0;
/// A flow is slow only if its FCT exceeds the ideal FCT by more than this number of ACK delays. The
/// delay of a flow's last ACK is about half of the RTT. The limit exists because some congestion
/// controls need a few RTTs to start.
const ACK_DELAYS: u64 = 20;

/// Finds slow flows that shared the network with no other flow. Records must be added in the order
/// of the table.
// AUD-11
#[derive(Debug, Default)]
pub(crate) struct LoneFlows {
    /// Latest arrival of a flow's last ACK at its sender, over all flows so far.
    last_end_ps: u64,
    /// Slow flows that overlap in time with no flow so far, by ascending end time. At most one of
    /// them has not ended.
    slow: Vec<FlowRecord>,
}

impl LoneFlows {
    /// Adds the next flow record.
    pub fn add(&mut self, record: &FlowRecord) {
        let start_ps = record.flow.start_ps;
        let overlaps = |other: &FlowRecord| other.acked_ps.is_none_or(|end_ps| end_ps > start_ps);
        while self.slow.last().is_some_and(overlaps) {
            self.slow.pop();
        }
        if start_ps >= self.last_end_ps && record.acked_ps.is_none_or(|end| is_slow(record, end)) {
            self.slow.push(*record);
        }
        self.last_end_ps = self.last_end_ps.max(record.acked_ps.unwrap_or(u64::MAX));
    }

    /// Returns a warning with the slowest flow that was alone in the network. Returns `None` if
    /// there is none, or if dropped frames, changes of links or processing delays of hosts can
    /// explain the long FCT.
    pub fn warning(
        &self,
        counters: &Counters,
        run_end_ps: u64,
        hosts_take_time: bool,
    ) -> Option<String> {
        let excused =
            hosts_take_time || counters.link_changes > 0 || counters.drops.iter().any(|&n| n > 0);
        let end_of = |record: &FlowRecord| record.acked_ps.unwrap_or(run_end_ps);
        let slow = self
            .slow
            .iter()
            .filter(|record| is_slow(record, end_of(record)));
        let slow: Vec<&FlowRecord> = slow.filter(|_| !excused).collect();
        let slowdown = |record: &FlowRecord| slowdown(record, end_of(record));
        let worst = slow
            .iter()
            .max_by(|a, b| slowdown(a).total_cmp(&slowdown(b)))?;
        let (verb, least) = match worst.acked_ps {
            Some(_) => ("took", ""),
            None => ("has not ended after", "at least "),
        };
        Some(format!(
            "flow {} of {} bytes had the network to itself and {verb} {least}{:.1} times the time that it needs \
             ({} such flows): see what the control waits for (record.blame), and compare its delay targets, \
             windows and timeouts with the base round trip",
            worst.flow.id,
            worst.flow.bytes,
            slowdown(worst),
            slow.len()
        ))
    }
}

fn slowdown(record: &FlowRecord, end_ps: u64) -> f64 {
    let took_ps = end_ps.saturating_sub(record.flow.start_ps);
    took_ps as f64 / record.ideal_acked_ps.max(1) as f64
}

fn is_slow(record: &FlowRecord, end_ps: u64) -> bool {
    let took_ps = end_ps.saturating_sub(record.flow.start_ps);
    let beyond_ps = took_ps.saturating_sub(record.ideal_acked_ps);
    let ack_delay_ps = record
        .ideal_acked_ps
        .saturating_sub(record.ideal_received_ps);
    slowdown(record, end_ps) > SLOW && beyond_ps > ack_delay_ps.saturating_mul(ACK_DELAYS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use traffic::Flow;

    /// Creates a flow whose ideal FCT is 1 ms, which includes 5 µs for the delay of its last ACK.
    fn record(id: u32, start_us: u64, end_us: Option<u64>) -> FlowRecord {
        const US: u64 = 1_000_000;
        FlowRecord {
            flow: Flow {
                id,
                src: 0,
                dst: 1,
                bytes: 12_500_000,
                start_ps: start_us * US,
                class: 0,
                source: 0,
                incast: false,
                port: traffic::DEFAULT_PORT,
                src_port: None,
            },
            received_ps: end_us.map(|end_us| (end_us - 5) * US),
            acked_ps: end_us.map(|end_us| end_us * US),
            ideal_received_ps: 995 * US,
            ideal_acked_ps: 1000 * US,
            retransmitted: 0,
        }
    }

    fn warning(rows: &[FlowRecord], change: impl FnOnce(&mut Counters)) -> Option<String> {
        let mut lone = LoneFlows::default();
        rows.iter().for_each(|row| lone.add(row));
        let mut counters = Counters::default();
        change(&mut counters);
        lone.warning(&counters, 1_000_000_000_000, false)
    }

    // AUD-11
    #[test]
    fn the_warning_names_a_slow_flow_that_was_alone_in_the_network() {
        let same = |_: &mut Counters| {};
        let two = [record(0, 0, Some(1100)), record(1, 1100, Some(9100))];
        let said = warning(&two, same).expect("flow 1 takes 8 ms");
        assert!(said.starts_with("flow 1 of 12500000 bytes") && said.contains("took 8.0 times"));
        assert!(warning(&two[..1], same).is_none(), "1.1 times is not slow");
        // Another flow overlaps the start of the slow flow, and then its end.
        let beside = [record(2, 1000, Some(1200)), two[1]];
        assert!(warning(&beside, same).is_none());
        let beside = [two[1], record(2, 9000, Some(9300))];
        assert!(warning(&beside, same).is_none());
        // The slow flow has not finished when the run ends after 1 s.
        let said = warning(&[two[0], record(1, 1100, None)], same).expect("it is alone");
        assert!(
            said.contains("has not ended after at least 998.9 times"),
            "{said}"
        );
        let both = [record(1, 1100, None), record(2, 1100, None)];
        assert!(warning(&both, same).is_none());
        // Drops or link changes can explain a slow flow, so there is no warning.
        assert!(warning(&two, |counters| counters.drops[3] = 1).is_none());
        assert!(warning(&two, |counters| counters.link_changes = 1).is_none());
    }
}
