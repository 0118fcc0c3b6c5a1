//! What switches write on packets: ECN and INT.

use super::values::{bytes, parameters};
use super::{EcnProfile, EcnSpec, IntSpec, MAX_BUFFER_BYTES};
use crate::document::{Node, Value};
use crate::reader::{Section, array, boolean, choice, count, fraction, quantity, refuse};
use crate::units::{MAX_RATE_BPS, RATE, SIZE};
use dataplane::config::{Red, Scope};
use dataplane::int::{IntFormat, Layout};

type Signals = (Option<Option<EcnSpec>>, Option<Option<IntSpec>>);

pub(super) fn read_signal(s: &Section<'_>) -> Signals {
    let words = [
        ("none", (false, false)),
        ("ecn", (true, false)),
        ("int", (false, true)),
        ("ecn+int", (true, true)),
    ];
    let word = s.required("signal", "\"ecn\"", |n| choice(n, &words));
    let (ecn_on, int_on) = word.unwrap_or((false, false));
    let ecn = parameters(s, "ecn", ecn_on, "`signal` has no ECN", read_ecn);
    let int = parameters(s, "int", int_on, "`signal` has no INT", read_int);
    if word.is_none() {
        return (None, None);
    }
    (
        if ecn_on { ecn.map(Some) } else { Some(None) },
        if int_on { int.map(Some) } else { Some(None) },
    )
}

fn read_int(t: &Section<'_>) -> Option<IntSpec> {
    let size = t.required("bytes", "\"42B\"", |n| bytes(n, 1, 1_000));
    let words = [("exact", false), ("wire", true)];
    let wire = t.required("format", "\"exact\"", |n| choice(n, &words));
    let pauses = t.required("pauses", "false", boolean);
    let format = if wire == Some(false) {
        let why = "`format` is not \"wire\"";
        t.refuse_useless("multiplier", why);
        t.refuse_useless("qlen_bits", why);
        Some(IntFormat::Exact)
    } else {
        let most = u64::from(Layout::MAX_MULTIPLIER);
        let multiplier = t.required("multiplier", "1", |n| count(n, 1, most));
        let qlen_bits = t.required("qlen_bits", "16", |n| count(n, 16, 17));
        multiplier
            .zip(qlen_bits)
            .map(|(multiplier, bits)| IntFormat::Wire(Layout::new(multiplier as u32, bits as u8)))
    };
    wire?;
    Some(IntSpec {
        bytes: size?,
        format: format?,
        pauses: pauses?,
    })
}

fn read_ecn(t: &Section<'_>) -> Option<EcnSpec> {
    let profiles = if t.has("profiles") {
        for key in ["kmin", "kmax", "pmax", "rate"] {
            t.refuse_useless(key, "`profiles` has the thresholds of each rate");
        }
        read_profiles(t)
    } else {
        read_profile(t).map(|profile| vec![profile])
    };
    let scopes = [("queue", Scope::Queue), ("port", Scope::Port)];
    let scope = t.required("scope", "\"queue\"", |n| choice(n, &scopes));
    let places = [("dequeue", true), ("enqueue", false)];
    let at = t.required("at", "\"dequeue\"", |n| choice(n, &places));
    let draws = [("own", false), ("ns3", true)];
    let replay = t.required("draws", "\"own\"", |n| choice(n, &draws));
    Some(EcnSpec {
        profiles: profiles?,
        scope: scope?,
        at_dequeue: at?,
        replay: replay?,
    })
}

/// Thresholds and the rate that they are for.
fn read_profile(t: &Section<'_>) -> Option<EcnProfile> {
    let kmin = t.required("kmin", "\"100KB\"", |n| {
        quantity(n, &SIZE, 0, MAX_BUFFER_BYTES)
    });
    let kmax = t.required("kmax", "\"400KB\"", |n| {
        quantity(n, &SIZE, 0, MAX_BUFFER_BYTES)
    });
    let pmax = t.required("pmax", "0.2", |n| fraction(n, 0.0, 1.0));
    let rate = t.required("rate", "\"100Gbps\"", |n| {
        quantity(n, &RATE, 1_000_000, MAX_RATE_BPS)
    });
    if let (Some(kmin), Some(kmax)) = (kmin, kmax)
        && kmin > kmax
    {
        let message = format!("kmin {} is above kmax {}", SIZE.show(kmin), SIZE.show(kmax));
        t.complain(
            "kmin",
            message,
            "marking starts at kmin and is certain above kmax",
        );
    }
    Some(EcnProfile {
        rate_bps: rate?,
        red: Red {
            kmin_bytes: kmin?,
            kmax_bytes: kmax?,
            pmax: pmax?,
        },
    })
}

/// A profile for each of several rates, in any order.
fn read_profiles(t: &Section<'_>) -> Option<Vec<EcnProfile>> {
    const EXAMPLE: &str = "[{ rate = \"25Gbps\", kmin = \"100KB\", kmax = \"400KB\", pmax = 0.2 }]";
    let items: Vec<Node> = t.optional("profiles", |n| {
        match array(n, "a list of profiles")?.to_vec() {
            items if items.is_empty() => refuse("there is no profile in it", EXAMPLE),
            items => Ok(items),
        }
    })?;
    let mut profiles: Vec<EcnProfile> = Vec::new();
    let mut good = true;
    for (i, item) in items.iter().enumerate() {
        let path = format!("{}.{i}", t.child("profiles"));
        let Value::Table(table) = &item.value else {
            let message = format!("a profile is a table, not {}", item.kind());
            t.context
                .error(&item.at, &path, message, Some(EXAMPLE.to_owned()));
            return None;
        };
        let inner = Section::new(t.context, table, path, item.at.clone());
        let profile = read_profile(&inner);
        inner.finish();
        let Some(profile) = profile else {
            good = false;
            continue;
        };
        if profiles.iter().any(|p| p.rate_bps == profile.rate_bps) {
            let message = format!("{} has a profile already", RATE.show(profile.rate_bps));
            inner.complain("rate", message, "one profile for each rate");
        }
        profiles.push(profile);
    }
    profiles.sort_by_key(|p| p.rate_bps);
    good.then_some(profiles)
}
