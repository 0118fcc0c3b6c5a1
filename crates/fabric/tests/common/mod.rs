//! Networks, presets and recorders for the engine's tests. A preset here is the smallest
//! configuration with a mechanism; the presets for users are in the crate `scenario`.
#![allow(dead_code)]

#[path = "../../../dataplane/tests/sets/mod.rs"]
pub mod sets;

use dataplane::hop::bfc::BfcConfig;
use dataplane::hop::{HopConfig, Scheme};
use dataplane::link::LinkConfig;
use dataplane::link::cbfc::CbfcConfig;
use dataplane::packet::SchemeSet;
use std::sync::Arc;

use dataplane::cc::bolt::SenderConfig;
use dataplane::cc::dcqcn::DcqcnConfig;
use dataplane::cc::dctcp::DctcpConfig;
use dataplane::cc::fixed_window::FixedWindowConfig;
use dataplane::cc::hpcc::HpccConfig;
use dataplane::cc::line_rate::LineRateConfig;
use dataplane::cc::powertcp::{PowerConfig, PowerTcpConfig};
use dataplane::cc::swift::SwiftConfig;
use dataplane::cc::timely::TimelyConfig;
use dataplane::config::{
    Accounting, Admission, Alpha, AssignConfig, BaseRtt, ClassConfig, Classify, ControlConfig,
    EcnConfig, FlowOrder, HostConfig, IntConfig, MmuConfig, NicConfig, PathChoice, PauseTime, Pfc,
    PfcThreshold, Recovery, Red, Schedule, Scope, Sending, SprayConfig, TransportConfig,
};
use dataplane::paths::{BitmapConfig, ObliviousConfig, RepsConfig};
use dataplane::signal::{Amount, BoltConfig, NotifierConfig};
use dataplane::switch::{Pairs, SwitchConfig};
use dataplane::transport::homa::HomaConfig;
use dataplane::units::{MS, Rate, Time, US};
use fabric::engine::{Clock, OnDeadlock, Plan, Simulation, SwitchesAt, Threads};
use fabric::link_failures::LinkFailures;
use fabric::measure::{
    BlameHopRecord, BlameLossRecord, BlameRecord, CauseRecord, DelayBin, HeldFlowRecord,
    IngressSample, QueueBin, QueueSample, RecordSpec, RttBin, ThroughputRecord, UtilisationRecord,
    WaitingRecord,
};
use fabric::record::{BufferSample, FlowRecord, Outcome, PauseRecord, Recorder, Row, Rows};
use fabric::routing::routes;
use fabric::topology::{LinkSpec, Loss, TopologySpec};
use kernel::random::{Purpose, Stream};
use sets::{DcqcnSets, DctcpSets, HpccSets, TimelySets};
use traffic::Flow;

pub const GBPS_100: Rate = Rate::from_gbps(100);
pub const LINK: LinkSpec = LinkSpec {
    rate: GBPS_100,
    delay_ps: US,
    loss: Loss::NONE,
};

/// A recorder that stores all rows in memory.
#[derive(Debug, Default)]
pub struct Keep {
    pub flows: Vec<FlowRecord>,
    pub buffers: Vec<BufferSample>,
    pub pauses: Vec<PauseRecord>,
    pub throughput: Vec<ThroughputRecord>,
    pub utilisation: Vec<UtilisationRecord>,
    pub port_queues: Vec<QueueSample>,
    pub ingress: Vec<IngressSample>,
    pub histogram: Vec<QueueBin>,
    pub rtt: Vec<RttBin>,
    pub delays: Vec<DelayBin>,
    pub causes: Vec<CauseRecord>,
    pub held_flows: Vec<HeldFlowRecord>,
    pub waiting: Vec<WaitingRecord>,
    pub blame: Vec<BlameRecord>,
    pub hops: Vec<BlameHopRecord>,
    pub losses: Vec<BlameLossRecord>,
}

impl Recorder for Keep {
    fn rows(&mut self, rows: &dyn Rows) {
        fn keep<R: Row>(rows: &dyn Rows, all: &mut Vec<R>) {
            all.extend_from_slice(rows.of().unwrap_or_default());
        }
        keep(rows, &mut self.flows);
        keep(rows, &mut self.buffers);
        keep(rows, &mut self.pauses);
        keep(rows, &mut self.throughput);
        keep(rows, &mut self.utilisation);
        keep(rows, &mut self.port_queues);
        keep(rows, &mut self.ingress);
        keep(rows, &mut self.histogram);
        keep(rows, &mut self.rtt);
        keep(rows, &mut self.delays);
        keep(rows, &mut self.causes);
        keep(rows, &mut self.held_flows);
        keep(rows, &mut self.waiting);
        keep(rows, &mut self.blame);
        keep(rows, &mut self.hops);
        keep(rows, &mut self.losses);
    }
}

impl Keep {
    /// Returns the FCT of a flow, given by its ID, to the receiver's last byte.
    pub fn fct(&self, id: u32) -> Time {
        let record = self
            .flows
            .iter()
            .find(|r| r.flow.id == id)
            .expect("the flow is recorded");
        record.received_ps.expect("the flow finished") - record.flow.start_ps
    }
}

#[derive(Clone, Debug)]
pub struct Setup {
    pub topology: TopologySpec,
    pub switch: SwitchConfig,
    pub switch_at: SwitchesAt,
    pub nic: NicConfig,
    pub base_rtt: BaseRtt,
    pub flows: Vec<Flow>,
    pub seed: u64,
    pub until_ps: Time,
    pub backpressure: Option<Vec<Pairs>>,
    pub link_failures: Option<LinkFailures>,
    pub on_deadlock: OnDeadlock,
    pub elide: bool,
    pub threads: Threads,
    pub lanes: Option<u32>,
    pub clock: Clock,
    pub in_order: bool,
    pub starts_first: bool,
    pub probe_ps: Time,
    pub record: RecordSpec,
}

pub fn flow(id: u32, start_ps: Time, src: u32, dst: u32, bytes: u64) -> Flow {
    Flow {
        id,
        start_ps,
        src,
        dst,
        bytes,
        class: 0,
        source: 0,
        incast: false,
        port: traffic::DEFAULT_PORT,
        src_port: None,
    }
}

/// Returns random flows between `hosts` hosts, many of them with equal start times, and an incast
/// to host 0.
pub fn flows(seed: u64, hosts: u32, many: u32) -> Vec<Flow> {
    let mut random = Stream::new(seed, 0, Purpose::Test);
    let mut flows: Vec<Flow> = (0..many)
        .map(|_| {
            let src = random.below(u64::from(hosts)) as u32;
            let dst = (src + 1 + random.below(u64::from(hosts) - 1) as u32) % hosts;
            let bytes = 1 + random.below(40_000);
            flow(0, random.below(40) * US, src, dst, bytes)
        })
        .collect();
    flows.extend((1..hosts).map(|src| Flow {
        incast: true,
        ..flow(0, 20 * US, src, 0, 60_000)
    }));
    flows.sort_by_key(|f| f.start_ps);
    for (id, f) in (0..).zip(&mut flows) {
        f.id = id;
    }
    flows
}

/// Requests this number of threads, even if there are fewer processors or one thread would be
/// faster.
pub const fn forced(asked: u32) -> Threads {
    Threads {
        asked,
        forced: true,
    }
}

pub fn star(hosts: u32) -> TopologySpec {
    TopologySpec::Star { hosts, link: LINK }
}

pub fn leaf_spine(leaves: u32, spines: u32, hosts_per_leaf: u32) -> TopologySpec {
    TopologySpec::LeafSpine {
        leaves,
        spines,
        hosts_per_leaf,
        link: LINK,
        uplink: LINK,
    }
}

/// A leaf-spine network in which every link loses frames with this probability.
pub fn lossy_leaf_spine(
    leaves: u32,
    spines: u32,
    hosts_per_leaf: u32,
    chance: f64,
) -> TopologySpec {
    let link = LinkSpec {
        loss: Loss::of(chance),
        ..LINK
    };
    TopologySpec::LeafSpine {
        leaves,
        spines,
        hosts_per_leaf,
        link,
        uplink: link,
    }
}

/// Senders at line rate, without congestion control, over lossless FIFO switches.
pub fn line_rate(topology: TopologySpec, flows: Vec<Flow>) -> Setup {
    let control = ClassConfig {
        pausable: false,
        buffered: false,
        ecn: false,
        int: false,
    };
    let data = ClassConfig {
        pausable: true,
        buffered: true,
        ecn: true,
        int: true,
    };
    let pfc = Pfc {
        accounting: Accounting::Pool,
        threshold: PfcThreshold::Dynamic(Alpha::new(0.11)),
        xon_offset: 3000,
        frame_bytes: 64,
        headroom: None,
        response_ps: 0,
        pause: PauseTime::UntilResumed,
        headroom_pool: None,
        headroom_beside: false,
        victims: None,
    };
    let switch = SwitchConfig {
        classes: vec![control, control, data],
        classify: Classify::Fifo,
        assign: AssignConfig::PAPER,
        schedule: Schedule::Fifo,
        mmu: MmuConfig {
            buffer_bytes: 12_000_000,
            reserved_bytes: 4000,
            admission: Admission::Pfc(pfc),
        },
        ecn: None,
        int: None,
        hop: HopConfig::None,
        link: LinkConfig::default(),
        path: PathChoice::Flow,
        shaped: None,
        trim: None,
        notifier: None,
        guard: None,
        acks_return: false,
        max_frame: 1048,
    };
    let nic = NicConfig {
        mtu: 1000,
        header: 48,
        int: 0,
        ack: 60,
        cnp: 64,
        ack_class: 1,
        cnp_class: 1,
        data_class: 2,
        ack_every: 1,
        cnp_interval_ps: None,
        cnp_classes: u16::MAX,
        control: Sending::Control(ControlConfig::LineRate(LineRateConfig)),
        recovery: Recovery::go_back_n(4 * MS),
        host: HostConfig::default(),
        queues: 1,
        order: FlowOrder::Ring,
        spray: None,
        reorders: false,
        obeys: SchemeSet::ALL.without(Scheme::Bfc.number()),
    };
    Setup {
        topology,
        switch,
        nic,
        base_rtt: BaseRtt::Pair,
        flows,
        seed: 1,
        until_ps: 1000 * MS,
        backpressure: None,
        link_failures: None,
        on_deadlock: OnDeadlock::GoOn,
        elide: true,
        threads: Threads::ONE,
        lanes: None,
        switch_at: SwitchesAt::default(),
        clock: Clock::Exact,
        in_order: false,
        starts_first: false,
        probe_ps: 10 * US,
        record: RecordSpec::default(),
    }
}

pub fn hpcc(topology: TopologySpec, flows: Vec<Flow>) -> Setup {
    let mut s = line_rate(topology, flows);
    s.nic.ack_class = 2;
    s.nic.int = 42;
    s.switch.int = Some(IntConfig::default());
    s.switch.max_frame = 1090;
    s.base_rtt = BaseRtt::Network;
    s.nic.control = Sending::Control(ControlConfig::Hpcc(HpccConfig::paper(1e11)));
    s
}

pub fn red(kmin_bytes: u64, kmax_bytes: u64, pmax: f64) -> EcnConfig {
    let red = Red {
        kmin_bytes,
        kmax_bytes,
        pmax,
    };
    EcnConfig {
        profiles: vec![(GBPS_100, red)],
        scope: Scope::Queue,
        at_dequeue: true,
        replay: false,
    }
}

pub fn dcqcn(topology: TopologySpec, flows: Vec<Flow>) -> Setup {
    let mut s = line_rate(topology, flows);
    s.switch.ecn = Some(red(100_000, 400_000, 0.2));
    s.nic.cnp_interval_ps = Some(US);
    s.nic.control = Sending::Control(ControlConfig::Dcqcn(DcqcnConfig::vendor(1e11)));
    s
}

pub fn dctcp(topology: TopologySpec, flows: Vec<Flow>) -> Setup {
    let mut s = line_rate(topology, flows);
    s.switch.ecn = Some(red(100_000, 400_000, 1.0));
    s.nic.control = Sending::Control(ControlConfig::Dctcp(DctcpConfig::line_rate_start()));
    s
}

pub fn timely(topology: TopologySpec, flows: Vec<Flow>) -> Setup {
    let mut s = line_rate(topology, flows);
    s.nic.control = Sending::Control(ControlConfig::Timely(TimelyConfig::hpcc_comparison(1e11)));
    s
}

pub fn bfc(topology: TopologySpec, flows: Vec<Flow>) -> Setup {
    let mut s = line_rate(topology, flows);
    s.switch.classify = Classify::Dynamic {
        queues: 31,
        table: 3200,
        sticky_ps: 4 * US,
    };
    s.switch.schedule = Schedule::Drr { quantum: 1048 };
    s.switch.mmu.admission = Admission::SharedPool;
    s.switch.mmu.reserved_bytes = 0;
    s.switch.hop = HopConfig::Bfc(BfcConfig {
        upstream_queues: 256,
        ..BfcConfig::PAPER
    });
    s.nic.queues = 256;
    s.nic.obeys = SchemeSet::ALL;
    s
}

/// Replaces pauses by credits on each link (CBFC), with enough credits for a full link.
pub fn cbfc(setup: Setup) -> Setup {
    with_credits(setup, CbfcConfig::STANDARD)
}

pub fn with_credits(mut setup: Setup, config: CbfcConfig) -> Setup {
    setup.switch.link.credit = Some(config);
    setup.switch.mmu.admission = Admission::SharedPool;
    setup.switch.mmu.reserved_bytes = 0;
    for class in &mut setup.switch.classes {
        class.pausable = false;
    }
    setup
}

pub fn ideal_fq(topology: TopologySpec, flows: Vec<Flow>) -> Setup {
    let mut s = line_rate(topology, flows);
    s.switch.classify = Classify::PerFlow;
    s.switch.schedule = Schedule::Drr { quantum: 1048 };
    s.switch.mmu.admission = Admission::Unlimited;
    s.nic.control = Sending::Control(ControlConfig::FixedWindow(FixedWindowConfig {
        window: None,
    }));
    s
}

/// ExpressPass as in its paper, with frames of 1538 bytes.
pub fn expresspass(topology: TopologySpec, flows: Vec<Flow>) -> Setup {
    let mut s = line_rate(topology, flows);
    let config = sets::expresspass(1538);
    (s.nic.mtu, s.nic.header, s.nic.ack) = (1460, 78, 84);
    s.nic.ack_class = 2;
    s.nic.control = Sending::Transport(TransportConfig::ExpressPass(config));
    s.nic.recovery = Recovery::Own;
    s.switch.path = PathChoice::Symmetric;
    s.switch.shaped = Some(config.queue);
    s.switch.mmu.admission = Admission::PerPort { bytes: 75_000_000 };
    s.switch.max_frame = 1538;
    s
}

/// NDP as in its paper, with frames of 1500 bytes.
pub fn ndp(topology: TopologySpec, flows: Vec<Flow>) -> Setup {
    let mut s = line_rate(topology, flows);
    let config = sets::ndp(1500);
    (s.nic.mtu, s.nic.ack) = (1452, 64);
    s.nic.control = Sending::Transport(TransportConfig::Ndp(config));
    s.nic.recovery = Recovery::Own;
    s.switch.path = PathChoice::Label;
    s.switch.trim = Some(config.trim);
    s.switch.mmu.admission = Admission::Unlimited;
    s.switch.max_frame = 1500;
    s
}

/// Homa with 8 priority levels, of which 3 are for unscheduled packets.
pub fn homa(topology: TopologySpec, flows: Vec<Flow>) -> Setup {
    let mut s = line_rate(topology, flows);
    let mut cutoffs = [u32::MAX; 32];
    cutoffs[..2].copy_from_slice(&[2_000, 30_000]);
    s.nic.control = Sending::Transport(TransportConfig::Homa(HomaConfig {
        levels: 8,
        unscheduled: 3,
        cutoffs,
        overcommitment: 5,
        window: None,
        timeout_ps: MS,
    }));
    s.nic.recovery = Recovery::Own;
    s.switch.path = PathChoice::Packet;
    s.switch.classify = Classify::Priority { levels: 8 };
    s.switch.schedule = Schedule::Strict;
    s.switch.mmu.admission = Admission::Unlimited;
    s
}

/// Swift, on hosts with a processing delay.
pub fn swift(topology: TopologySpec, flows: Vec<Flow>) -> Setup {
    let mut s = line_rate(topology, flows);
    s.nic.control = Sending::Control(ControlConfig::Swift(SwiftConfig::default()));
    s
}

/// PowerTCP with the telemetry (INT) of HPCC.
pub fn powertcp(topology: TopologySpec, flows: Vec<Flow>) -> Setup {
    let mut s = hpcc(topology, flows);
    s.nic.control = Sending::Control(ControlConfig::PowerTcp(PowerTcpConfig::paper(1e11)));
    s
}

pub fn theta_powertcp(topology: TopologySpec, flows: Vec<Flow>) -> Setup {
    let mut s = line_rate(topology, flows);
    s.nic.control = Sending::Control(ControlConfig::ThetaPowerTcp(PowerConfig::paper(1e11)));
    s
}

/// Bolt with the thresholds of its authors' experiments.
pub fn bolt(topology: TopologySpec, flows: Vec<Flow>) -> Setup {
    let mut s = line_rate(topology, flows);
    s.nic.control = Sending::Control(ControlConfig::Bolt(SenderConfig::default()));
    s.switch.notifier = Some(NotifierConfig::Bolt(BoltConfig {
        threshold: Amount::Packets(3),
        ramp_up_tokens: 256,
        supply: Amount::Packets(1),
        notice_bytes: 64,
    }));
    s
}

/// Oblivious spraying over all 2^16 entropy values.
pub const OBLIVIOUS: SprayConfig = SprayConfig::Oblivious(ObliviousConfig { values: 1 << 16 });
/// REPS, which freezes for one millisecond after a timeout.
pub const REPS: SprayConfig = SprayConfig::Reps(RepsConfig {
    values: 1 << 16,
    ring: 8,
    freeze_ps: MS,
});
/// The bitmap path policy with the penalty points of its model.
pub const BITMAP: SprayConfig = SprayConfig::Bitmap(BitmapConfig {
    values: 64,
    mark: 1,
    loss: 4,
    timeout: 15,
});

/// Function that creates the setup of a preset from a topology and flows.
pub type Preset = fn(TopologySpec, Vec<Flow>) -> Setup;

/// Every preset in which senders set their rates or windows.
pub const PRESETS: [(&str, Preset); 10] = [
    ("line-rate", line_rate),
    ("hpcc", hpcc),
    ("dcqcn", dcqcn),
    ("dctcp", dctcp),
    ("timely", timely),
    ("bfc", bfc),
    ("ideal-fq", ideal_fq),
    ("swift", swift),
    ("powertcp", powertcp),
    ("theta-powertcp", theta_powertcp),
];

/// All receiver-driven transports.
pub const DRIVEN: [(&str, Preset); 3] =
    [("expresspass", expresspass), ("ndp", ndp), ("homa", homa)];

impl Setup {
    pub fn plan(self) -> Plan {
        let graph = Arc::new(self.topology.build().expect("a sound topology"));
        let down = self
            .link_failures
            .as_ref()
            .map_or(&[][..], LinkFailures::initial);
        let known = graph.without(down);
        let routes = routes(&known, self.seed, self.switch.path).expect("a connected network");
        Plan {
            graph,
            routes,
            switch: self.switch,
            switch_at: self.switch_at,
            nic: self.nic,
            base_rtt: self.base_rtt,
            flows: Some(self.flows.len() as u64),
            jobs: Default::default(),
            feed: Box::new(self.flows.into_iter()),
            seed: self.seed,
            until_ps: self.until_ps,
            probe_ps: self.probe_ps,
            backpressure: self.backpressure,
            link_failures: self.link_failures.map(Arc::new),
            on_deadlock: self.on_deadlock,
            clock: self.clock,
            in_order: self.in_order,
            starts_first: self.starts_first,
            record: self.record,
            elide: self.elide,
            threads: self.threads,
            lanes: self.lanes,
        }
    }

    /// Runs the setup without checks of the outcome.
    pub fn run_raw(self) -> (Outcome, Keep) {
        let mut keep = Keep::default();
        let outcome = Simulation::new(self.plan()).run(&mut keep, &mut |_| true);
        (outcome, keep)
    }

    /// Runs the setup and checks that every audit holds.
    pub fn run(self) -> (Outcome, Keep) {
        let (outcome, keep) = self.run_raw();
        assert_eq!(outcome.violations, [], "all audits hold");
        (outcome, keep)
    }
}
