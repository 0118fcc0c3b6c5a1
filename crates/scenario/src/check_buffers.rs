//! Checks of the buffers of switches: reserved bytes, PFC and ECN thresholds, headroom.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use dataplane::config::{Admission, PauseTime, Pfc, PfcThreshold};
use dataplane::pause_time::QUANTUM_BYTES;
use dataplane::switch::{SwitchConfig, division, headroom_of, pausable_classes};
use dataplane::units::{Rate, Time};
use fabric::topology::{Graph, NodeKind};

use crate::findings::Findings;
use crate::scheme::SchemeConfig;
use crate::thresholds::together;
use crate::units::show_size;

/// Checks the buffers of each kind of switch (switches with equal ports are one kind).
pub(crate) fn buffers(graph: &Graph, config: &SchemeConfig, findings: &mut Findings<'_>) {
    let mut seen = BTreeSet::new();
    for node in graph.switch_ids() {
        if graph.kind(node) != NodeKind::Switch {
            continue;
        }
        let ports = graph.rates_and_delays(node);
        // Switches with the same ports are checked once.
        let mut kinds: Vec<(u64, Time)> = ports.iter().map(|p| (p.0.bps(), p.1)).collect();
        kinds.sort_unstable();
        if seen.insert((kinds, config.switch_at.kind(node))) {
            one_buffer(&graph.name(node), config.switch_of(node), &ports, findings);
        }
    }
}

/// Keys that set apart bytes of a buffer, outside the shared pool.
const APART: [&str; 4] = [
    "switch.buffer",
    "switch.reserved",
    "scheme.pfc.headroom",
    "topology",
];

fn one_buffer(
    name: &str,
    config: &SwitchConfig,
    ports: &[(Rate, Time)],
    findings: &mut Findings<'_>,
) {
    let buffer = config.mmu.buffer_bytes;
    if config.mmu.admission == Admission::Unlimited {
        return;
    }
    let (reserved, headroom, shared) = division(config, ports);
    if shared < i64::from(config.max_frame) {
        let message = format!(
            "the buffer of {name}, {}, is smaller than what is set apart in it: {} of headroom and {} reserved \
             for {} ports, and one frame of the shared pool",
            show_size(buffer),
            show_size(headroom),
            show_size(reserved),
            ports.len()
        );
        findings.error(
            &APART,
            message,
            "raise switch.buffer, lower switch.reserved or scheme.pfc.headroom, or let ports share headroom \
             (scheme.pfc.headroom_pool)",
        );
        return;
    }
    promised(name, config, ports, findings);
    if let Admission::Pfc(pfc) = &config.mmu.admission {
        pausing(name, config, (pfc, shared as u64), ports, findings);
    }
}

/// Checks the PFC thresholds of a shared pool, and the headroom for packets that arrive after a
/// pause.
fn pausing(
    name: &str,
    config: &SwitchConfig,
    (pfc, shared): (&Pfc, u64),
    ports: &[(Rate, Time)],
    findings: &mut Findings<'_>,
) {
    // SW-18: bytes at the end of the pool for frames that arrive at the threshold
    let pausable = config.classes.iter().filter(|c| c.pausable && c.buffered);
    let frames = pausable.count() as u64 * ports.len() as u64 * u64::from(config.max_frame);
    if shared < 2 * frames {
        let message = format!(
            "the shared pool of {name}, {}, has no room for two frames of every port and class, {}: \
             everyone would be paused at once",
            show_size(shared),
            show_size(2 * frames)
        );
        findings.error(&APART, message, "raise switch.buffer");
        return;
    }
    let threshold = match pfc.threshold {
        PfcThreshold::Static(bytes) => bytes,
        PfcThreshold::Dynamic(alpha) => together(alpha, shared, 1),
        PfcThreshold::Equal => config.mmu.buffer_bytes / ports.len().max(1) as u64,
    };
    thresholds(name, config, (pfc, threshold, shared), findings);
    shared_headroom(name, config, pfc, ports, findings);
    room_after_pauses(name, config, pfc, ports, findings);
    marks_before_pauses(name, config, ports, threshold, findings);
    lasting(config, pfc, findings);
}

/// Reports PFC thresholds that pause too late or too early, or that leave no margin for a resume.
fn thresholds(
    name: &str,
    config: &SwitchConfig,
    (pfc, threshold, shared): (&Pfc, u64, u64),
    findings: &mut Findings<'_>,
) {
    if threshold > shared {
        let message = format!(
            "PFC of {name} pauses at {}, but its shared pool has only {}: it is full before anyone is told to stop",
            show_size(threshold),
            show_size(shared)
        );
        findings.warn(
            &["scheme.pfc.xoff", "switch.buffer"],
            message,
            "lower scheme.pfc.xoff",
        );
    }
    if threshold < u64::from(config.max_frame) {
        let message = format!(
            "PFC of {name} pauses at {} of an empty pool, less than one frame",
            show_size(threshold)
        );
        findings.warn(
            &["scheme.pfc.xoff", "switch.buffer"],
            message,
            "raise scheme.pfc.xoff or switch.buffer",
        );
    }
    if threshold <= pfc.xon_offset {
        let message = format!(
            "PFC of {name} resumes {} below a threshold of {}: only when the ingress is empty",
            show_size(pfc.xon_offset),
            show_size(threshold)
        );
        findings.warn(
            &["scheme.pfc.xon_offset", "switch.buffer"],
            message,
            "lower scheme.pfc.xon_offset",
        );
    }
}

/// Warns if the shared headroom is smaller or larger than the total that all ports and classes can
/// use.
// SW-56: headroom in one pool
fn shared_headroom(
    name: &str,
    config: &SwitchConfig,
    pfc: &Pfc,
    ports: &[(Rate, Time)],
    findings: &mut Findings<'_>,
) {
    let Some(pool) = pfc.headroom_pool else {
        return;
    };
    let of_ports = ports.iter().map(|&link| headroom_of(config, pfc, link));
    let all = of_ports.sum::<u64>() * pausable_classes(config) as u64;
    let (share, use_of_all) = (show_size(pool), show_size(all));
    let (message, hint) = match pool.cmp(&all) {
        Ordering::Equal => return,
        Ordering::Greater => (
            format!(
                "the ports of {name} share {share} of headroom, and can use {use_of_all} at most: the rest of the \
                 buffer is smaller by the difference"
            ),
            format!("lower it to {use_of_all}"),
        ),
        Ordering::Less => (
            format!(
                "the ports of {name} share {share} of headroom, and may use {use_of_all} together ({:.1} times as \
                 much): packets can be dropped if many are paused at once",
                all as f64 / pool as f64
            ),
            "run.on_loss = \"warn\" reports drops without ending as an error".to_owned(),
        ),
    };
    findings.warn(&["scheme.pfc.headroom_pool"], message, &hint);
}

/// Reports a headroom that is smaller than the bytes that can arrive after a pause.
fn room_after_pauses(
    name: &str,
    config: &SwitchConfig,
    pfc: &Pfc,
    ports: &[(Rate, Time)],
    findings: &mut Findings<'_>,
) {
    let needed: u64 = ports
        .iter()
        .map(|&(rate, delay)| {
            let classes = pausable_classes(config);
            dataplane::switch::headroom_bytes(rate, delay, config.max_frame, classes, pfc)
        })
        .max()
        .unwrap_or(0);
    if let Some(given) = pfc.headroom
        && given < needed
    {
        let message = format!(
            "a headroom of {} per port is below the {} that a link of {name} needs",
            show_size(given),
            show_size(needed)
        );
        findings.warn(
            &["scheme.pfc.headroom"],
            message,
            "packets can be dropped; \"formula\" gives what is needed",
        );
    }
}

/// Reports a pause timer that expires before the next pause frame arrives.
// QNT-05: refresh of pauses
fn lasting(config: &SwitchConfig, pfc: &Pfc, findings: &mut Findings<'_>) {
    let PauseTime::Quanta { quanta, refresh } = pfc.pause else {
        return;
    };
    let pauses = pausable_classes(config) as u64 * u64::from(pfc.frame_bytes);
    let late = u64::from(config.max_frame) + pauses;
    let left = u64::from(quanta - refresh) * QUANTUM_BYTES;
    if left < late {
        let message = format!(
            "a pause of {quanta} quanta is repeated after {refresh}: that leaves the time of {} until it runs out, \
             and the frame that repeats it may wait for {}",
            show_size(left),
            show_size(late)
        );
        findings.error(
            &[
                "scheme.pfc.refresh",
                "scheme.pfc.quanta",
                "scheme.pfc.pause",
            ],
            message,
            "raise scheme.pfc.quanta, or lower scheme.pfc.refresh",
        );
    }
}

/// Reports ECN thresholds above the PFC threshold: ECN then marks only after PFC pauses.
fn marks_before_pauses(
    name: &str,
    config: &SwitchConfig,
    ports: &[(Rate, Time)],
    threshold: u64,
    findings: &mut Findings<'_>,
) {
    let Some(ecn) = &config.ecn else { return };
    let lowest = ports.iter().map(|(rate, _)| ecn.at(*rate).kmin_bytes).min();
    if let Some(kmin) = lowest
        && kmin > threshold
    {
        let message = format!(
            "at {name} PFC pauses a single ingress at {}, before ECN starts to mark at {}",
            show_size(threshold),
            show_size(kmin)
        );
        findings.warn(
            &["scheme.ecn.kmin", "scheme.pfc.xoff"],
            message,
            "lower scheme.ecn.kmin or raise scheme.pfc.xoff",
        );
    }
}

/// Checks that the buffer is large enough for the bytes that the hop-by-hop scheme allows the
/// neighbours to send.
fn promised(
    name: &str,
    config: &SwitchConfig,
    ports: &[(Rate, Time)],
    findings: &mut Findings<'_>,
) {
    let buffer = config.mmu.buffer_bytes;
    for scheme in config.declarations() {
        let promised = scheme.promised_bytes(ports, config.max_frame, config.classes.len());
        if promised <= buffer {
            continue;
        }
        findings.error(
            &[
                "switch.buffer",
                "scheme.backpressure",
                "scheme.link",
                "scheme.preset",
            ],
            format!(
                "{} promises the neighbours of {name} {} of buffer, and there are {}",
                scheme.name(),
                show_size(promised),
                show_size(buffer)
            ),
            "raise switch.buffer, or lower the limit of each port",
        );
    }
}
