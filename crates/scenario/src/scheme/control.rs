//! Congestion controls of senders, or a receiver-driven transport, with their parameters. Names,
//! tables and parameters come from the lists of the dataplane.

use super::FrameClass;
use crate::document::{Node, Value};
use crate::params;
use crate::problem::Code;
use crate::reader::{Read, Section, choice, refuse, refuse_as};
use dataplane::cc::{self, Notification};
use dataplane::classes::TRAFFIC_CLASSES;
use dataplane::config::{ControlConfig, PerClass, Sending};
use dataplane::param::Values;
use dataplane::transport::TRANSPORTS;
use dataplane::units::Time;

/// Values of `control` and its tables.
pub(super) struct Control {
    pub sending: Sending,
    /// CNPs: interval, bytes, class.
    pub cnp: Option<(Time, u16, FrameClass)>,
    /// An ACK whose packet was marked is a CNP.
    pub cnp_on_ack: bool,
    /// The intervals of CNPs run from a flow's first packet on.
    pub cnp_cycle: bool,
    /// True if the control computes with integer rates; `None`: it has no such option.
    pub whole_rates: Option<bool>,
}

pub(super) fn read_control(s: &Section<'_>) -> Option<Control> {
    let words = s.required("control", "\"line-rate\"", words);
    let chosen = |name: &str| words.iter().flatten().any(|word| *word == name);
    let useless = |name: &str| format!("`control` is not \"{name}\"");
    let mut owns = Vec::new();
    let mut transport = None;
    for declared in cc::all() {
        let why = useless(declared.name);
        let why = (!chosen(declared.name)).then_some(why.as_str());
        if declared.params.is_empty() {
            if why.is_none() {
                let config = (declared.configure)(&Values::default()).ok();
                owns.extend(config.map(|config| (declared.name, config)));
            }
            continue;
        }
        let config = params::table(s, declared.name, declared.params, why, declared.configure);
        owns.extend(config.map(|config| (declared.name, config)));
    }
    for declared in TRANSPORTS {
        let why = useless(declared.name);
        let why = (!chosen(declared.name)).then_some(why.as_str());
        let read = params::table(s, declared.name, declared.params, why, declared.configure);
        transport = transport.or(read);
    }
    if let Some(transport) = transport {
        return Some(Control {
            sending: transport.into(),
            cnp: None,
            cnp_on_ack: false,
            cnp_cycle: false,
            whole_rates: None,
        });
    }
    let find = |word: &&str| owns.iter().find(|(name, _)| name == word);
    let words = words?;
    let each = words
        .iter()
        .map(|word| find(word).map(|(_, config)| config.clone()));
    let controls: Vec<ControlConfig> = each.collect::<Option<_>>()?;
    let notification = controls.iter().find_map(ControlConfig::notification);
    let whole_rates = controls.iter().filter_map(ControlConfig::whole_rates);
    Some(Control {
        sending: match &controls[..] {
            [control] => control.clone().into(),
            _ => Sending::PerClass(PerClass::new(&controls)),
        },
        cnp: match notification {
            Some(Notification::Frames {
                interval_ps,
                bytes,
                control,
                ..
            }) => {
                let class = match control {
                    true => FrameClass::Control,
                    false => FrameClass::Data,
                };
                Some((interval_ps, bytes, class))
            }
            _ => None,
        },
        cnp_on_ack: notification == Some(Notification::OnAck),
        cnp_cycle: matches!(notification, Some(Notification::Frames { cycle: true, .. })),
        whole_rates: whole_rates.reduce(|a, b| a || b),
    })
}

/// Reads one word, or the words of traffic classes 0, 1, …
fn words(node: &Node) -> Read<Vec<&'static str>> {
    let named = |name: &'static str| (name, name);
    let controls: Vec<_> = cc::all().iter().map(|c| named(c.name)).collect();
    let transports = TRANSPORTS.iter().map(|t| named(t.name));
    let Value::Array(items) = &node.value else {
        let all: Vec<_> = controls.into_iter().chain(transports).collect();
        return choice(node, &all).map(|word| vec![word]);
    };
    if items.is_empty() || items.len() > TRAFFIC_CLASSES {
        return refuse_as(
            Code::OutOfRange,
            format!("{} controls, one for each traffic class", items.len()),
            format!("there are 1 to {TRAFFIC_CLASSES} traffic classes"),
        );
    }
    let transports: Vec<_> = transports.collect();
    let one = |item: &Node| match choice(item, &transports) {
        Ok(name) => refuse(
            format!("\"{name}\" serves all traffic classes of a NIC"),
            "give it alone, not in a list",
        ),
        Err(_) => choice(item, &controls),
    };
    items.iter().map(one).collect()
}
