//! Fuzz target: parses lists of flows, flow-size distributions, and headers of workload files. The
//! first byte selects the parser.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scenario::workload_file::Header;
use traffic::list::parse_flow_csv_bytes;
use traffic::sizes::utf8;
use traffic::{Distribution, Interpolation, KnownHosts, ListedFlow};

/// Number of hosts in the network. They are numbered from 0.
const HOSTS: u32 = 16;

fn flows(bytes: &[u8]) {
    let hosts = KnownHosts {
        count: HOSTS,
        find: &|name| {
            name.strip_prefix("host")?
                .parse()
                .ok()
                .filter(|&n| n < HOSTS)
        },
        max_class: 7,
    };
    if let Ok(file) = parse_flow_csv_bytes(bytes, &hosts) {
        ListedFlow::check_all(&file.flows, HOSTS).expect("accepted flows are valid");
    }
}

/// Checks that samples stay within the sizes of the distribution.
fn sample(distribution: &Distribution) {
    let sizes = distribution.min()..=distribution.max();
    for u in [0.0, 1e-300, 0.25, 0.5, 0.999_999, 1.0 - f64::EPSILON] {
        let size = distribution.sample(u);
        assert!(sizes.contains(&size), "{size} at {u} of {distribution:?}");
    }
    assert!(distribution.mean().is_finite(), "{distribution:?}");
}

fn sizes(text: &str) {
    if let Ok(read) = Distribution::parse(text) {
        sample(&read);
    }
}

fn sizes_csv(text: &str) {
    for interpolation in [Interpolation::Linear, Interpolation::Step] {
        if let Ok((read, _)) = Distribution::parse_csv(text, "fuzz", interpolation) {
            sample(&read);
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&choice, rest)) = data.split_first() else {
        return;
    };
    if choice == b'f' {
        return flows(rest);
    }
    let Ok(text) = utf8(rest) else {
        return;
    };
    match choice {
        b's' => sizes(text),
        b'c' => sizes_csv(text),
        _ => drop(Header::parse(text)),
    }
});
