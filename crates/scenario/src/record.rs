//! `[record]`: what is recorded besides what every run tells.

use dataplane::units::Time;
use fabric::measure::{
    DelayHistogram, PauseRecording, QueueHistogram, QueueSeries, RecordSpec, RecordedPorts,
    RttHistogram, Throughput, Waiting,
};
use fabric::topology::{Graph, NodeKind};

use crate::document::{Node, Value};
use crate::load::RunSpec;
use crate::problem::{Code, nearest};
use crate::reader::{
    Read, Section, array, boolean, quantity, refuse, refuse_as, string, time_window,
};
use crate::run::last_arrival_ps;
use crate::traffic_spec::TrafficSpec;
use crate::units::{MAX_SIZE_BYTES, MAX_TIME_PS, SIZE, TIME};

/// Shortest time between two samples: a nanosecond.
const MIN_EVERY_PS: Time = 1_000;
/// Between the two ends of a link in the name of a port.
const ARROW: &str = "->";

/// Reads `[record]`; without it nothing is recorded.
// RCD-01
pub(crate) fn read(
    root: &Section<'_>,
    graph: Option<&Graph>,
    traffic: &[TrafficSpec],
    run: Option<&RunSpec>,
) -> Option<RecordSpec> {
    if !root.has("record") {
        return Some(RecordSpec::default());
    }
    let s = root.section("record")?;
    let measured = run.map(|run| measured(traffic, run));
    let throughput = part(&s, "throughput", |t| {
        let every_ps = every(t, "\"10us\"")?;
        Some(Throughput { every_ps })
    });
    let queues = part(&s, "queues", |t| queues(t, graph));
    let histogram = part(&s, "histogram", |t| histogram(t, measured));
    let rtt = part(&s, "rtt", |t| rtt(t, measured));
    let delay = part(&s, "delay", |t| delay(t, measured));
    let pauses = part(&s, "pauses", pauses);
    // RCD-11
    let waiting = part(&s, "waiting", |t| {
        let window_ps = window_or(t, measured)?;
        Some(Waiting { window_ps })
    });
    s.finish();
    Some(RecordSpec {
        throughput: throughput?,
        queues: queues?,
        histogram: histogram?,
        rtt: rtt?,
        delay: delay?,
        pauses: pauses?,
        waiting: waiting?,
    })
}

/// The table under a key, if it is there: `Some(None)` without it, `None` where it is wrong.
fn part<T>(
    s: &Section<'_>,
    key: &'static str,
    read: impl FnOnce(&Section<'_>) -> Option<T>,
) -> Option<Option<T>> {
    if !s.has(key) {
        return Some(None);
    }
    let inner = s.section(key)?;
    let value = read(&inner);
    inner.finish();
    value.map(Some)
}

/// The measured time, as the summary of a run has it. // RCD-08
fn measured(traffic: &[TrafficSpec], run: &RunSpec) -> (Time, Time) {
    let end = last_arrival_ps(traffic).map_or(run.until_ps, |to| to.min(run.until_ps));
    (run.warmup_ps, end)
}

fn every(s: &Section<'_>, example: &str) -> Option<Time> {
    s.required("every", example, |n| {
        quantity(n, &TIME, MIN_EVERY_PS, MAX_TIME_PS)
    })
}

fn queues(s: &Section<'_>, graph: Option<&Graph>) -> Option<QueueSeries> {
    let every = every(s, "\"1us\"");
    let ports = s.required("ports", "\"switches\"", |n| ports(n, graph));
    Some(QueueSeries {
        every_ps: every?,
        ports: ports?,
    })
}

fn histogram(s: &Section<'_>, measured: Option<(Time, Time)>) -> Option<QueueHistogram> {
    let every = every(s, "\"100ns\"");
    let bin = s.required("bin", "\"1KB\"", |n| quantity(n, &SIZE, 1, MAX_SIZE_BYTES));
    let window = window_or(s, measured);
    Some(QueueHistogram {
        every_ps: every?,
        bin_bytes: bin?,
        window_ps: window?,
    })
}

fn rtt(s: &Section<'_>, measured: Option<(Time, Time)>) -> Option<RttHistogram> {
    let bin = s.required("bin", "\"100ns\"", |n| quantity(n, &TIME, 1, MAX_TIME_PS));
    let window = window_or(s, measured);
    Some(RttHistogram {
        bin_ps: bin?,
        window_ps: window?,
    })
}

fn delay(s: &Section<'_>, measured: Option<(Time, Time)>) -> Option<DelayHistogram> {
    let bin = s.required("bin", "\"100ns\"", |n| quantity(n, &TIME, 1, MAX_TIME_PS));
    let window = window_or(s, measured);
    Some(DelayHistogram {
        bin_ps: bin?,
        window_ps: window?,
    })
}

/// Single pauses.
// SPFC-40
fn pauses(s: &Section<'_>) -> Option<PauseRecording> {
    let flows = s.required("flows", "true", boolean);
    Some(PauseRecording { flows: flows? })
}

/// The window that is given, else the measured time.
fn window_or(s: &Section<'_>, measured: Option<(Time, Time)>) -> Option<(Time, Time)> {
    if s.has("window") {
        return s.optional("window", |n| time_window(n, MAX_TIME_PS));
    }
    let (from, to) = measured?;
    let text = format!("[\"{}\", \"{}\"]", TIME.show(from), TIME.show(to));
    s.context
        .compute(&s.path, "window", text, "default: the measured time");
    Some((from, to))
}

/// All ports of switches, or those that are named.
fn ports(node: &Node, graph: Option<&Graph>) -> Read<RecordedPorts> {
    let example = "\"switches\" for all of them, or a list such as [\"switch0->host3\"]";
    if let Value::String(word) = &node.value {
        return match word.as_str() {
            "switches" => Ok(RecordedPorts::Switches),
            _ => refuse(format!("there is no \"{word}\""), example),
        };
    }
    let items = array(node, example)?;
    if items.is_empty() {
        return refuse("no port is named", example);
    }
    let Some(graph) = graph else {
        // What is wrong with the topology has been said; no port can be looked up.
        return Ok(RecordedPorts::Listed(Vec::new()));
    };
    let mut listed: Vec<(u32, u16)> = items
        .iter()
        .map(|item| port(&string(item)?, graph))
        .collect::<Read<_>>()?;
    listed.sort_unstable();
    listed.dedup();
    Ok(RecordedPorts::Listed(listed))
}

/// The port of a switch that is named by both ends of its link.
fn port(text: &str, graph: &Graph) -> Read<(u32, u16)> {
    let Some((from, to)) = text.split_once(ARROW) else {
        return refuse(
            format!("\"{text}\" names no port"),
            "write the switch and its neighbour, such as \"switch0->host3\"",
        );
    };
    let (from, to) = (find(from.trim(), graph)?, find(to.trim(), graph)?);
    if graph.kind(from) == NodeKind::Host {
        return refuse(
            format!(
                "{} is a host, and only switches have queues",
                graph.name(from)
            ),
            format!(
                "the other direction is \"{}{ARROW}{}\"",
                graph.name(to),
                graph.name(from)
            ),
        );
    }
    let ports = (0..).zip(graph.port_range(from));
    let mut found = ports.filter(|&(_, index)| graph.port(index).peer == to);
    match found.next() {
        Some((port, _)) => Ok((from, port)),
        None => {
            let near: Vec<String> = graph
                .port_range(from)
                .take(5)
                .map(|index| graph.name(graph.port(index).peer))
                .collect();
            refuse(
                format!("no link joins {} and {}", graph.name(from), graph.name(to)),
                format!("{} is linked to {}, ..", graph.name(from), near.join(", ")),
            )
        }
    }
}

/// The node with this name.
pub(crate) fn find(name: &str, graph: &Graph) -> Read<u32> {
    if let Some(node) = graph.find(name) {
        return Ok(node);
    }
    let names: Vec<String> = (0..graph.nodes()).map(|node| graph.name(node)).collect();
    let hint = match nearest(name, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!(
            "nodes are called \"{}\", \"{}\", ..",
            names[0],
            names[names.len() - 1]
        ),
    };
    refuse_as(
        Code::UnknownName,
        format!("there is no node \"{name}\""),
        hint,
    )
}
