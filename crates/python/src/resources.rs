//! Memory and operations that schemes need in switches and NICs, as JSON.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use scenario::Scenario;
use scenario::resources::{RECIRCULATED_BYTES, RECIRCULATION_LIMIT};
use serde_json::{Value, json};

/// Returns the state that the schemes of the papers need in each kind of switch, and the cost of
/// BFC and Floodgate.
pub fn resources(
    scenario: &Scenario,
    packet_bytes: Option<f64>,
    destinations: Option<u64>,
) -> PyResult<Value> {
    let mix = scenario.packet_mix();
    let full_bytes = f64::from(scenario.full_packet_bytes());
    let mean_bytes = packet_bytes.unwrap_or(mix.map_or(full_bytes, |mix| mix.mean_bytes));
    if mean_bytes.is_nan() || mean_bytes < 1.0 {
        let message = "packet_bytes: expected at least 1 byte";
        return Err(PyValueError::new_err(message));
    }
    let switches: Vec<Value> = scenario
        .resources(mean_bytes)
        .iter()
        .map(|r| {
            json!({
                "name": r.name, "count": r.count, "ports": r.ports,
                "capacity_bps": r.capacity_bps,
                "table_entries": r.table_entries, "entry_bits": r.entry_bits,
                "table_bytes": r.table_bytes,
                "counters": r.counters, "counter_bytes": r.counter_bytes,
                "hrtt_ps": r.hrtt_ps, "sticky_ps": r.sticky_ps,
                "thresholds": r.thresholds.iter().map(|&(bps, bytes)| {
                    json!({ "rate_bps": bps, "bytes": bytes })
                }).collect::<Vec<_>>(),
                "packets_per_s": r.packets_per_s,
                "recirculated_per_s": r.recirculated_per_s,
                "recirculated_share": r.recirculated_share,
                "fits": r.fits(),
            })
        })
        .collect();
    Ok(json!({
        "packet_bytes": mean_bytes,
        "of_traffic": packet_bytes.is_none() && mix.is_some(),
        "short_share": mix.filter(|_| packet_bytes.is_none()).map(|mix| mix.short_share),
        "header_bytes": RECIRCULATED_BYTES,
        "limit": RECIRCULATION_LIMIT,
        "switches": switches,
        "floodgate": floodgate(scenario, destinations),
        "systems": switch_states(scenario, destinations),
        "nic": scenario.nic_state().map(|nic| json!({
            "epsilon": nic.epsilon, "entries": nic.entries, "table_bits": nic.table_bits,
            "flows": nic.flows, "sender_bits": nic.sender_bits,
            "scheduler_bits": nic.scheduler_bits,
        })),
    }))
}

fn switch_states(scenario: &Scenario, destinations: Option<u64>) -> Value {
    let of = |one: &scenario::switch_state::SwitchState| {
        json!({
            "name": one.name, "count": one.count, "ports": one.ports,
            "counters": one.counters, "registers": one.registers, "bits": one.bits,
        })
    };
    let found = scenario.switch_states(destinations);
    let systems = found.iter().map(|state| {
        let switches: Vec<Value> = state.switches.iter().map(of).collect();
        (state.system.to_owned(), json!(switches))
    });
    Value::Object(systems.collect())
}

/// Returns the resources that Floodgate needs in each kind of switch, or null if the scheme has no
/// Floodgate.
fn floodgate(scenario: &Scenario, destinations: Option<u64>) -> Option<Value> {
    let found = scenario.floodgate_resources(destinations)?;
    let switches: Vec<Value> = found
        .iter()
        .map(|r| {
            json!({
                "name": r.name, "count": r.count,
                "host_ports": r.host_ports, "switch_ports": r.switch_ports,
                "windows": r.windows, "window_bytes": r.window_bits.div_ceil(8),
                "voqs": r.voqs, "voq_bytes": r.voq_bits.div_ceil(8),
                "credit_counters": r.credit_counters, "credit_bytes": r.credit_bits.div_ceil(8),
                "number_bytes": r.number_bits.div_ceil(8), "pause_bytes": r.pause_bits.div_ceil(8),
                "bytes": r.bits().div_ceil(8),
            })
        })
        .collect();
    let all = destinations.unwrap_or_else(|| u64::from(scenario.graph.endpoints()));
    Some(json!({ "destinations": all, "switches": switches }))
}
