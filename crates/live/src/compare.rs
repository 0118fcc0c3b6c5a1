//! Finds the first frame that differs between a lockstep run and a simulator run of a scenario.

use std::fmt;

use dataplane::packet::{Arena, Packet, flag};
use fabric::engine::lockstep;
use fabric::engine::{self, Plan};
use fabric::measure::{CaptureSpec, CapturedFrame, RecordSpec};
use fabric::record::{Recorder, Rows};
use fabric::topology::Graph;
use scenario::{BuildError, Scenario};
use wire::frame::MOST_BYTES;
use wire::{Network, decode};

use crate::lockstep::{Carriers, LockstepError, carriers_of, veth_carriers};
use crate::network::Failure;

/// Result of simulating a scenario that also ran in lockstep on real frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// Digest of the simulator run.
    pub digest: String,
    /// The first difference, or `None` if the digests are equal.
    pub difference: Option<Difference>,
}

/// Runs a scenario in the simulator, and compares its digest with the digest of a lockstep run. If
/// the digests differ, both are run again to find the first difference.
///
/// # Errors
/// The errors of [`first_difference`].
// LIV-11: comparison with the simulator
pub fn compare(scenario: &Scenario, live_digest: &str) -> Result<Compared, LockstepError> {
    let digest = simulated_digest(scenario).map_err(LockstepError::Build)?;
    let difference = match digest == live_digest {
        true => None,
        false => first_difference(scenario, veth_carriers)?,
    };
    Ok(Compared { digest, difference })
}

/// Returns the digest of a simulator run of a scenario.
///
/// # Errors
/// The scenario cannot be built.
pub fn simulated_digest(scenario: &Scenario) -> Result<String, BuildError> {
    let plan = scenario.build()?.plan;
    let outcome = engine::run(plan, &mut Frames::default(), &mut |_| true);
    Ok(format!("{:016x}", outcome.digest))
}

/// The first frame that differs between the two runs, or that only one run sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Start of the frame's transmission, in ps of simulated time.
    pub at_ps: u64,
    /// The link, as `from->to` with the names of both nodes.
    pub link: String,
    /// Description of the frame that the simulator sent on this link at this time, if any.
    pub simulated: Option<String>,
    /// Description of the frame that the lockstep run sent, if any.
    pub live: Option<String>,
    /// Index of the first byte that differs, if both runs sent a frame.
    pub byte: Option<usize>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at_ps, link, .. } = self;
        let frame = |frame: &Option<String>| frame.clone().unwrap_or_else(|| "no frame".to_owned());
        write!(
            f,
            "at {at_ps} ps on {link} the simulator sends {}; the run in lockstep sends {}",
            frame(&self.simulated),
            frame(&self.live)
        )?;
        match self.byte {
            Some(byte) => write!(f, " (first different byte: {byte})"),
            None => Ok(()),
        }
    }
}

/// Runs a scenario in lockstep and in the simulator, and compares all frames, sorted by time and
/// link. Returns `None` if all frames are equal. The frames of both runs are stored in memory.
///
/// # Errors
/// The scenario cannot be built, or cannot be run in lockstep.
// LIV-11: comparison with the simulator
pub fn first_difference(
    scenario: &Scenario,
    carriers: impl FnOnce(&Graph) -> Result<Carriers, Failure>,
) -> Result<Option<Difference>, LockstepError> {
    let plan = || {
        let built = scenario.build().map_err(LockstepError::Build)?;
        Ok::<_, LockstepError>(captured(built.plan))
    };
    let (live, simulated) = (plan()?, plan()?);
    let network = lockstep::network(&live);
    let graph = live.graph.clone();
    let carriers = carriers_of(&live, carriers)?;
    let mut of_live = Frames::default();
    // If the run fails, the frames sent before the failure are still compared.
    let failure = lockstep::run(live, carriers, &mut of_live, &mut |_| true).err();
    let mut of_simulator = Frames::default();
    engine::run(simulated, &mut of_simulator, &mut |_| true);
    let (one, other) = (&of_simulator.0, &of_live.0);
    let at = one.iter().zip(other).position(|(a, b)| a != b);
    let at = at.unwrap_or(one.len().min(other.len()));
    let (a, b) = (one.get(at), other.get(at));
    let key = |frame: &&CapturedFrame| (frame.at_ps, frame.link);
    let first = a.into_iter().chain(b).min_by_key(key);
    let difference = first.map(|first| {
        let here = |frame: &&CapturedFrame| key(frame) == key(&first);
        let (a, b) = (a.filter(here), b.filter(here));
        Difference {
            at_ps: first.at_ps,
            link: graph.port_name(first.link),
            simulated: a.map(|frame| describe(&network, frame)),
            live: b.map(|frame| describe(&network, frame)),
            byte: a.zip(b).and_then(|(a, b)| first_byte(&a.kept, &b.kept)),
        }
    });
    match (difference, failure) {
        (None, Some(failure)) => Err(LockstepError::Run(failure)),
        (difference, _) => Ok(difference),
    }
}

/// Changes a plan so that it records all frames, and no other data.
fn captured(plan: Plan) -> Plan {
    let graph = &plan.graph;
    let ports = graph
        .node_ids()
        .flat_map(|node| (0..graph.ports(node)).map(move |port| (node, port)));
    let capture = CaptureSpec {
        links: ports.collect(),
        from_ps: 0,
        until_ps: u64::MAX,
        snaplen: MOST_BYTES as u32,
        limit_bytes: u64::MAX,
        files: 1,
    };
    Plan {
        record: RecordSpec {
            capture: Some(capture),
            ..RecordSpec::default()
        },
        ..plan
    }
}

/// A recorder that keeps all captured frames.
#[derive(Default)]
struct Frames(Vec<CapturedFrame>);

impl Recorder for Frames {
    fn rows(&mut self, rows: &dyn Rows) {
        self.0.extend_from_slice(rows.of().unwrap_or_default());
    }
}

/// Returns the index of the first byte in which two frames differ.
fn first_byte(a: &[u8], b: &[u8]) -> Option<usize> {
    let common = a.iter().zip(b).position(|(a, b)| a != b);
    common.or((a.len() != b.len()).then_some(a.len().min(b.len())))
}

/// Describes a frame for an error message.
fn describe(network: &Network, frame: &CapturedFrame) -> String {
    let mut arena = Arena::new();
    match decode(network, &frame.kept, &mut arena) {
        Ok(id) => {
            let packet = arena.hot(id);
            let Packet {
                flow, psn, size, ..
            } = *packet;
            let marked = if packet.has(flag::CE) { ", marked" } else { "" };
            let kind = packet.kind();
            format!("{kind:?} of flow {flow}, number {psn}, {size} bytes{marked}")
        }
        Err(error) => format!("a malformed frame: {error}"),
    }
}
