//! Sentences about effects that the simulation of a run omits, for the end of the run's report.

use dataplane::config::{Admission, PauseTime};
use fabric::LinkId;
use fabric::topology::Loss;

use crate::spec::Scenario;

/// Returns sentences about the most important effects that this run omits. docs/NOT-MODELLED.md
/// contains the complete list.
///
/// A sentence is included only if it is true for the configuration of the run.
// PRE-290: omitted effects
pub(crate) fn not_modelled(scenario: &Scenario) -> Vec<String> {
    let scheme = &scenario.spec.scheme;
    let graph = &scenario.graph;
    let mut sentences = vec!["Switches forward a packet without processing delay."];
    match scheme.nic.host.processing {
        None => sentences.extend([
            "Hosts process a packet without delay.",
            "Host software, the memory bus and PCIe set no limit.",
        ]),
        Some(_) => sentences.extend([
            "The processing delay of hosts (`nic.host_delay`, `nic.host_rate`) does not vary.",
            "The memory bus and PCIe set no limit.",
        ]),
    }
    sentences.push(
        "Frames have no preamble, inter-frame gap or FCS, except for what `scheme.header` includes.",
    );
    let is_lossy = |link: LinkId| graph.loss(link) != Loss::NONE;
    sentences.push(match graph.link_ids().any(is_lossy) {
        true => "Links lose each frame independently (`loss`); errors do not come in bursts.",
        false => "Links that are up lose no frames.",
    });
    sentences.push("Flows need no connection set-up.");
    if let Admission::Pfc(pfc) = &scheme.switch.mmu.admission
        && pfc.pause == PauseTime::UntilResumed
    {
        sentences.push("PFC pauses do not expire: without a watchdog a port is paused until XON.");
    }
    sentences.into_iter().map(str::to_owned).collect()
}
