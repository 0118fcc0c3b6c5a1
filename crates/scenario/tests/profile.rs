//! The profile `ns3` as a layer on presets, and its smallest runs with times computed by hand.

use std::path::Path;

use dataplane::config::{
    Accounting, Admission, Arbiter, BaseRtt, ControlConfig, PathChoice, Recovery, Scope, Sending,
};
use dataplane::int::{IntFormat, Layout};
use dataplane::reliability::GoBackNConfig;
use dataplane::units::{NEVER, NS, US};
use fabric::engine;
use fabric::record::{FlowRecord, Recorder, Rows};
use scenario::{Changes, Scenario, ScenarioError, surroundings};

const STAR: &str = "name = \"x\"\ntopology = { kind = \"star\", hosts = 3, link = { rate = \"100Gbps\", delay = \"1us\" } }\n";

fn one_flow(bytes: &str) -> String {
    one_flow_on(STAR, bytes)
}

fn one_flow_on(network: &str, bytes: &str) -> String {
    format!(
        "{network}[[traffic]]\nname = \"t\"\npattern = \"list\"\nflows = [{{ src = 0, dst = 1, bytes = \"{bytes}\" }}]\n"
    )
}

fn load(text: &str, scheme: &str, set: &[&str]) -> Result<Scenario, ScenarioError> {
    let changes = Changes {
        scheme: Some(scheme.to_owned()),
        set: set.iter().map(|s| (*s).to_owned()).collect(),
        profile: Some("ns3".to_owned()),
        ..Changes::default()
    };
    Scenario::parse(text, "x.toml", Path::new("."), &changes)
}

#[derive(Default)]
struct Flows(Vec<FlowRecord>);

impl Recorder for Flows {
    fn rows(&mut self, rows: &dyn Rows) {
        self.0.extend_from_slice(rows.of().unwrap_or_default());
    }
}

/// Returns the completion time of a single flow at its sender, in ns.
fn took(bytes: &str, scheme: &str) -> u64 {
    took_on(STAR, bytes, scheme)
}

fn took_on(network: &str, bytes: &str, scheme: &str) -> u64 {
    let scenario =
        load(&one_flow_on(network, bytes), scheme, &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut flows = Flows::default();
    let outcome = engine::run(scenario.build().unwrap().plan, &mut flows, &mut |_| true);
    assert_eq!(outcome.violations, []);
    let record = flows.0[0];
    let took_ps = record.acked_ps.unwrap() - record.flow.start_ps;
    assert!(record.ideal_acked_ps <= took_ps);
    took_ps / NS
}

// NS3-01, NS3-02, NS3-04, NS3-06: four link delays of 1 µs, and two transmissions each of the
// packet and of the ACK.
#[test]
fn a_single_packet() {
    assert_eq!(took("1000B", "dcqcn"), 4000 + 2 * 83 + 2 * 4);
    assert_eq!(took("1000B", "timely"), 4000 + 2 * 84 + 2 * 4);
    assert_eq!(took("1000B", "hpcc"), 4000 + 2 * 87 + 2 * 7);
}

// NS3-01: link delays are truncated to nanoseconds.
#[test]
fn a_delay_with_a_fraction() {
    let network = STAR.replace("1us", "1172.72ns");
    let ns = took_on(&network, "1000B", "dcqcn");
    assert_eq!(ns, 4 * 1172 + 2 * 83 + 2 * 4);
}

// NS3-01, NS3-32: 9999 additional packets, each 83 ns after the previous one.
#[test]
fn a_long_flow() {
    assert_eq!(took("10MB", "dcqcn"), 4174 + 9999 * 83);
}

// NS3-61, and all other settings of the profile, for each congestion control.
#[test]
fn what_it_sets() {
    let of = |scheme| {
        let scenario = load(&one_flow("1MB"), scheme, &[]).unwrap_or_else(|e| panic!("{e}"));
        let around = surroundings(&scenario.spec, &scenario.graph);
        assert_eq!(around.nic_bps, 100_000_000_000);
        scenario.spec.scheme.configure(&around)
    };
    let hpcc = of("hpcc");
    let Sending::Control(ControlConfig::Hpcc(c)) = &hpcc.nic.control else {
        panic!("{:?}", hpcc.nic.control)
    };
    assert_eq!(
        (c.max_stage, c.wai.rate_bps(), c.min_rate_bps),
        (0, Some(5e7), 1e9)
    );
    // NS3-19: format of INT records
    assert_eq!(c.format, IntFormat::Wire(Layout::new(4, 17)));
    assert!(hpcc.switch.classes[0].int, "pause frames count");
    assert_eq!(
        (hpcc.nic.data_bytes(1000), hpcc.nic.ack_bytes()),
        (1090, 88)
    );
    // NS3-21, NS3-22: ACKs, go-back-N
    assert!(hpcc.nic.host.ack_pausable);
    let go_back_n = GoBackNConfig {
        timeout_ps: NEVER,
        nak_interval_ps: Some(500 * US),
        acknowledges_repeats: false,
    };
    assert_eq!(hpcc.nic.recovery, Recovery::GoBackN(go_back_n));
    assert_eq!(hpcc.nic.host.arbiter, Arbiter::Scan);
    assert!(hpcc.nic.host.ports_in_hash && hpcc.switch.path == PathChoice::Tuple);
    assert_eq!(hpcc.base_rtt, BaseRtt::Ns3Network);
    // NS3-10, NS3-14: PFC
    let Admission::Pfc(pfc) = hpcc.switch.mmu.admission else {
        panic!("{:?}", hpcc.switch.mmu.admission)
    };
    let accounting = Accounting::Ns3 {
        shift: 3,
        nic_bps: 100_000_000_000,
        headroom_delays: 3,
    };
    assert_eq!(
        (pfc.accounting, pfc.xon_offset, pfc.frame_bytes),
        (accounting, 3072, 43)
    );
    let dcqcn = of("dcqcn");
    // NS3-23, NS3-15: CNPs as flags of ACKs
    assert!(dcqcn.nic.host.cnp_on_ack && dcqcn.nic.cnp_interval_ps.is_none());
    assert!(!dcqcn.nic.host.ack_pausable);
    let ecn = dcqcn.switch.ecn.as_ref().unwrap();
    assert!(ecn.replay && ecn.at_dequeue && ecn.scope == Scope::Queue);
    assert_eq!(of("timely").nic.data_bytes(1000), 1056);
    let Sending::Control(ControlConfig::Dctcp(c)) = of("dctcp").nic.control else {
        panic!("no DCTCP")
    };
    assert_eq!((c.ai_bps, c.min_rate_bps), (Some(615e6), Some(1e9)));
}

#[test]
fn the_scenario_has_the_last_word_and_the_resolved_one_says_who_spoke() {
    let scenario = load(
        &one_flow("1MB"),
        "dcqcn",
        &["scheme.pfc.frame=64B", "scheme.dcqcn.min_rate=2Gbps"],
    )
    .unwrap();
    let text = &scenario.resolved;
    for line in [
        "profile = \"ns3\"  # --set",
        "clock = \"ns\"  # NS3-01",
        "frame = \"64B\"  # --set",
        "min_rate = \"2Gbps\"  # --set",
        "accounting = \"ns3\"  # NS3-12",
        "cnp = \"on-ack\"  # NS3-23",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    // `resolved.toml` is a scenario with the same values.
    let again = Scenario::parse(text, "r.toml", Path::new("."), &Changes::default()).unwrap();
    assert_eq!(again.spec, scenario.spec);
    // The key `profile` in the scenario has the same effect as the option `--profile`.
    let word = format!(
        "{}[scheme]\npreset = \"dcqcn\"\nprofile = \"ns3\"\n",
        one_flow("1MB")
    );
    let by_word = Scenario::parse(&word, "x.toml", Path::new("."), &Changes::default()).unwrap();
    let plain = load(&one_flow("1MB"), "dcqcn", &[]).unwrap();
    assert_eq!(by_word.spec, plain.spec);
    let changes = Changes {
        profile: Some("ns4".to_owned()),
        ..Changes::default()
    };
    let error = Scenario::parse(&one_flow("1B"), "x.toml", Path::new("."), &changes).unwrap_err();
    assert!(error.to_string().contains("ns3"), "{error}");
}

// NS3-60: invalid combinations
#[test]
fn what_cannot_go_together_is_said() {
    let says = |scheme: &str, set: &[&str], part: &str| {
        let error = load(&one_flow("1MB"), scheme, set).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    says(
        "hpcc",
        &["scheme.nic.arbiter=ring"],
        "whole rates, and only it does",
    );
    says(
        "dcqcn",
        &["scheme.dcqcn.arithmetic=real"],
        "whole rates, and only it does",
    );
    says("dcqcn", &["scheme.clock=exact"], "whole nanoseconds");
    says(
        "bfc",
        &["scheme.nic.obeys=[\"bfc\"]"],
        "no queues that BFC could pause",
    );
    says("dcqcn", &["scheme.dcqcn.byte_counter=1MB"], "timers only");
    says(
        "dcqcn",
        &["scheme.dcqcn.cnp_interval=1us"],
        "would do nothing",
    );
    says(
        "dctcp",
        &["scheme.dctcp.slow_start=true"],
        "starts at line rate",
    );
    says(
        "hpcc",
        &["scheme.hpcc.reaction=per-ack"],
        "whole rates reacts",
    );
    says("hpcc", &["scheme.recovery=irn"], "goes back");
    says("hpcc+sfq", &[], "in the place of the hash");
    says("hpcc", &["scheme.pfc.xoff=11%"], "by halving");
    says(
        "timely",
        &["scheme.timely.gradient=patched"],
        "original band",
    );
}

// NS3-11: thresholds depend on the link rate of the first host.
#[test]
fn the_nics_rate_is_that_of_the_host_with_the_lowest_number() {
    let text = "name = \"x\"\n[topology]\nkind = \"links\"\nhosts = [\"5\", \"2\"]\nswitches = [\"9\"]\nlinks = [\n\
                { a = \"5\", b = \"9\", rate = \"100Gbps\", delay = \"1us\" },\n\
                { a = \"2\", b = \"9\", rate = \"25Gbps\", delay = \"1us\" }]\n\
                [[traffic]]\nname = \"t\"\npattern = \"list\"\nflows = [{ src = \"5\", dst = \"2\", bytes = \"1MB\" }]\n";
    let scenario = load(text, "hpcc", &[]).unwrap();
    let around = surroundings(&scenario.spec, &scenario.graph);
    assert_eq!(around.nic_bps, 25_000_000_000);
}
