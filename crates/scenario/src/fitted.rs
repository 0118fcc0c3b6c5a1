//! Adapts defaults to the network, as the declarations of parameters define ([`InNetwork`]).

use dataplane::param::{
    InNetwork, MAX_RATE_BPS, MAX_TIME_PS, Param, TIMEOUT_ROUND_TRIPS, Value, Values,
};
use dataplane::units::US;

use crate::reader::{Context, NetworkFacts, Noted, Origin, Section};
use crate::units::{RATE, TIME, show_rate, show_rounded};

/// Returns the value of a parameter, with its default adapted to the network. Records the value for
/// checks after the scenario is read.
pub(crate) fn fitted(
    s: &Section<'_>,
    param: &'static Param,
    value: Value,
    declared: impl FnOnce() -> Option<Value>,
    others: &Values,
) -> Value {
    if param.network == InNetwork::Independent {
        return value;
    }
    let is_given = s.context.is_given(&s.child(param.key));
    let is_default = !is_given && declared().as_ref() == Some(&value);
    let adapted = match s.context.network.get() {
        Some(network) if is_default => adapted(s, param, &value, network, others),
        _ => None,
    };
    let value = adapted.unwrap_or(value);
    s.context.noted.borrow_mut().push(Noted {
        table: s.path.clone(),
        param,
        value: value.clone(),
        is_default,
    });
    value
}

/// Returns the default of a parameter in this network, if it differs from the declared default.
fn adapted(
    s: &Section<'_>,
    param: &Param,
    declared: &Value,
    network: NetworkFacts,
    others: &Values,
) -> Option<Value> {
    match (param.network, declared) {
        // PRE-270: at least three base round trips
        (InNetwork::Timeout, &Value::Time(declared_ps)) => {
            let rtt_ps = network.base_rtt_ps.saturating_add(network.hosts_ps);
            let least_ps = rtt_ps.saturating_mul(TIMEOUT_ROUND_TRIPS);
            let least_ps = least_ps.div_ceil(US).saturating_mul(US);
            let least_ps = least_ps.min(MAX_TIME_PS);
            if declared_ps >= least_ps {
                return None;
            }
            let why = format!(
                "default: PRE-270, {TIMEOUT_ROUND_TRIPS} of the largest base round trip, {}",
                show_rounded(rtt_ps)
            );
            rewrite(s, param.key, TIME.show(least_ps), why);
            Some(Value::Time(least_ps))
        }
        // PRE-274: scale in proportion to the host rate
        (InNetwork::AtRate(at_bps), &Value::Rate(bps)) => {
            let host_bps = network.host_bps.filter(|&host_bps| host_bps != at_bps)?;
            let scaled = u128::from(bps) * u128::from(host_bps) / u128::from(at_bps);
            let scaled = u64::try_from(scaled).ok()?.clamp(1, MAX_RATE_BPS);
            let why = format!(
                "default: PRE-274, {} at {}, scaled to the hosts",
                show_rate(bps),
                show_rate(at_bps)
            );
            rewrite(s, param.key, RATE.show(scaled), why);
            Some(Value::Rate(scaled))
        }
        // PRE-271: in a lossy network, the default retransmits lost frames
        (InNetwork::RepairsLosses { word, unless }, _) if network.loses_frames => {
            if others.is(unless.0, unless.1) {
                return None;
            }
            let why = "default: PRE-271, links can lose frames or fail".to_owned();
            rewrite(s, param.key, word.to_owned(), why);
            Some(Value::Word(word))
        }
        _ => None,
    }
}

/// Records a default for `resolved.toml` that replaces the declared default.
fn rewrite(s: &Section<'_>, key: &str, text: String, why: String) {
    let path = s.child(key);
    s.context.rewritten.borrow_mut().insert(path.clone(), text);
    let origins = &mut s.context.origins.borrow_mut();
    origins.insert(path, Origin::BuiltIn(why));
}

impl Context {
    /// True if the scenario or the command line sets the parameter at this path.
    fn is_given(&self, path: &str) -> bool {
        let origins = self.origins.borrow();
        matches!(origins.get(path), Some(Origin::Scenario | Origin::Override))
    }
}
