//! Tests of flow-size distributions. Built-in distributions match published numbers, and invalid
//! files are errors.

use std::path::PathBuf;

use proptest::prelude::*;
use traffic::sizes::{Format, all, find};
use traffic::{Distribution, Interpolation};

/// Name, published points (file of the reference data), interpolation, and mean in bytes.
const PUBLISHED: &[(&str, &str, Interpolation, f64)] = &[
    (
        "web-search@hpcc",
        "WebSearch",
        Interpolation::Linear,
        1_711_250.0,
    ),
    (
        "web-search@abm",
        "WebSearch_ABM",
        Interpolation::Linear,
        1_711_222.0,
    ),
    (
        "web-search@conweave",
        "WebSearch_conweave_search",
        Interpolation::Linear,
        1_710_004.0,
    ),
    (
        "web-search@homa",
        "WebSearch_Homa_W5",
        Interpolation::Step,
        2_547_268.0,
    ),
    (
        "web-search@pfabric",
        "WebSearch_pFabric",
        Interpolation::Step,
        2_369_492.0,
    ),
    (
        "fb-hadoop@hpcc",
        "FB_Hadoop",
        Interpolation::Linear,
        120_421.0,
    ),
    (
        "fb-hadoop@homa",
        "FB_Hadoop_Homa_W4",
        Interpolation::Step,
        127_796.6,
    ),
    (
        "fb-hadoop@bfc",
        "BFC_W4_FB_Hadoop",
        Interpolation::Linear,
        121_849.0,
    ),
    (
        "fb-hadoop@abm",
        "FB_Hadoop_ABM",
        Interpolation::Linear,
        3_423_728.0,
    ),
    (
        "fb-hadoop@parsimon",
        "FB_Hadoop_all_parsimon",
        Interpolation::Linear,
        568_755.0,
    ),
    (
        "fb-hadoop-intracluster@parsimon",
        "FB_Hadoop_intracluster_parsimon",
        Interpolation::Linear,
        289_128.0,
    ),
    (
        "fb-hadoop-intrarack@parsimon",
        "FB_Hadoop_intrarack_parsimon",
        Interpolation::Linear,
        3_863_829.0,
    ),
    (
        "google-allrpc@homa",
        "Google_AllRPC",
        Interpolation::Step,
        2_927.354,
    ),
    (
        "google-allrpc@bfc",
        "BFC_W3_Google",
        Interpolation::Linear,
        2_907.0,
    ),
    (
        "google-rpc2008@hpcc",
        "GoogleRPC2008",
        Interpolation::Linear,
        2_892.0,
    ),
    (
        "google-searchrpc@homa",
        "Google_SearchRPC",
        Interpolation::Step,
        440.8,
    ),
    ("memcached@homa", "Memcached", Interpolation::Step, 187.5),
    (
        "fb-keyvalue@hkust",
        "FB_KV_HKUST",
        Interpolation::Linear,
        342.2,
    ),
    (
        "web-server@homa",
        "WebServer",
        Interpolation::Step,
        62_874.27,
    ),
    (
        "web-server@parsimon",
        "WebServer_all_parsimon",
        Interpolation::Linear,
        91_343.0,
    ),
    (
        "web-server@conweave",
        "WebServer_conweave",
        Interpolation::Linear,
        66_121.0,
    ),
    (
        "cache-follower@homa",
        "CacheFollower",
        Interpolation::Step,
        692_975.6,
    ),
    (
        "cache-follower@parsimon",
        "CacheFollower_all_parsimon",
        Interpolation::Linear,
        609_883.0,
    ),
    (
        "cache-follower@conweave",
        "CacheFollower_conweave",
        Interpolation::Linear,
        712_574.0,
    ),
    (
        "alistorage@hpcc",
        "AliStorage2019",
        Interpolation::Linear,
        40_870.0,
    ),
    (
        "solar@alibaba",
        "Solar2022",
        Interpolation::Linear,
        39_424.0,
    ),
    (
        "data-mining@vl2",
        "DataMining",
        Interpolation::Linear,
        12_658_199.0,
    ),
    (
        "data-mining@abm",
        "DataMining_ABM",
        Interpolation::Linear,
        5_036_535.0,
    ),
    (
        "data-mining@conweave",
        "DataMining_conweave",
        Interpolation::Linear,
        7_487_884.0,
    ),
    (
        "data-mining@pfabric",
        "DataMining_pFabric",
        Interpolation::Step,
        13_821_966.0,
    ),
];

/// TRA-02, TRA-18: means
#[test]
fn means_are_the_published_ones() {
    for &(name, _, _, mean) in PUBLISHED {
        let got = find(name).expect(name).mean();
        assert!(
            (got / mean - 1.0).abs() < 0.001,
            "{name}: {got} instead of {mean}"
        );
    }
}

#[test]
fn every_file_is_read_and_tested() {
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/data"))
        .expect("data")
        .count();
    assert_eq!(
        files,
        all().len(),
        "a file does not parse, or is not embedded"
    );
    // One distribution has no published table: `incast-30-40@floodgate`; tests/floodgate.rs tests
    // it.
    assert_eq!(files, PUBLISHED.len() + 1);
    for distribution in all() {
        assert!(
            distribution.points().len() <= 64,
            "{}",
            distribution.full_name()
        );
        assert!(distribution.declared_mean_bytes.is_some() && distribution.source.is_some());
    }
}

/// Returns a quantile of published points. The code is independent of the code under test.
fn published_quantile(points: &[(f64, f64)], mode: Interpolation, u: f64) -> f64 {
    let mut last: Option<(f64, f64)> = None;
    for &(size, cdf) in points {
        if cdf >= u {
            return match (mode, last) {
                (Interpolation::Linear, Some((low, below))) => {
                    low + (size - low) * (u - below) / (cdf - below)
                }
                _ => size,
            };
        }
        last = Some((size, cdf));
    }
    unreachable!("the shares end at 1")
}

/// TRA-01, TRA-18. Skipped if the reference data are not next to the checkout.
#[test]
fn percentiles_are_the_published_ones() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference/cdf");
    if !folder.is_dir() {
        use std::io::Write as _;
        let _ = writeln!(
            std::io::stderr(),
            "skipped: no reference data in {}",
            folder.display()
        );
        return;
    }
    for &(name, file, mode, mean) in PUBLISHED {
        let text = std::fs::read_to_string(folder.join(format!("{file}.csv"))).expect(file);
        let points: Vec<(f64, f64)> = text
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(','))
            .map(|(size, cdf)| {
                (
                    size.trim().parse().expect("size"),
                    cdf.trim().parse().expect("cdf"),
                )
            })
            .collect();
        let ours = find(name).expect(name);
        assert_eq!(
            ours.origin_interpolation.unwrap_or(ours.interpolation),
            mode,
            "{name}"
        );
        for percent in (1..100).map(f64::from).chain([99.9]) {
            let u = percent / 100.0;
            let (want, got) = (published_quantile(&points, mode, u), ours.quantile(u));
            assert!(
                (got - want).abs() <= (0.01 * want).max(1.0),
                "{name} p{percent}: {got} instead of {want}"
            );
        }
        assert_eq!(
            ours.max() as f64,
            points.last().expect("points").0,
            "{name}"
        );
        let of_points: f64 = points.first().map_or(0.0, |&(size, cdf)| size * cdf)
            + points
                .windows(2)
                .map(|pair| {
                    let high = pair[1].0;
                    let size = if mode == Interpolation::Step {
                        high
                    } else {
                        (pair[0].0 + high) / 2.0
                    };
                    (pair[1].1 - pair[0].1) * size
                })
                .sum::<f64>();
        assert!(
            (of_points / mean - 1.0).abs() < 0.001,
            "{name}: {of_points}"
        );
    }
}

/// TRA-01: the same points have different means with linear interpolation and with steps.
#[test]
fn interpolation_decides_the_mean() {
    let linear = find("web-search@hpcc").expect("known");
    let step = include_str!("../data/web-search@hpcc.dist")
        .replace("= linear", "= step")
        .replace("mean = 1711250", "mean = 2434900");
    let step = Distribution::parse(&step).expect("valid");
    assert!((step.mean() - 2_434_900.0).abs() < 1e-6);
    assert_eq!(
        (step.quantile(0.15), step.quantile(0.16)),
        (10_000.0, 20_000.0)
    );
    assert_eq!(
        (linear.quantile(0.15), linear.quantile(0.25)),
        (10_000.0, 25_000.0)
    );
    assert_eq!(
        find("google-allrpc@bfc").expect("known").min(),
        101,
        "nothing up to 100 bytes is left"
    );
}

/// TRA-03: sampling
#[test]
fn sampling_keeps_the_mean_and_gives_at_least_a_byte() {
    for distribution in all() {
        let count = 200_000;
        let sum: f64 = (0..count)
            .map(|k| distribution.sample((f64::from(k) + 0.5) / f64::from(count)) as f64)
            .sum();
        let (got, mean) = (sum / f64::from(count), distribution.mean());
        // Equidistant samples miss up to 1 / `count` of the tail.
        let room = 0.001 * mean + distribution.max() as f64 / f64::from(count);
        assert!(
            (got - mean).abs() < room,
            "{}: {got} instead of {mean}",
            distribution.full_name()
        );
        assert!(distribution.min() >= 1);
        let mut last = 0;
        for k in 0..=1000 {
            let size = distribution.sample(f64::from(k) / 1000.0);
            assert!(size >= last && size >= distribution.min() && size <= distribution.max());
            last = size;
        }
        for &(bytes, cdf) in distribution.points() {
            assert!(
                distribution.sample(cdf) <= bytes.max(1),
                "{}",
                distribution.full_name()
            );
        }
    }
    let half = Distribution::parse("name=a\norigin=b\nunit=bytes\ninterpolation=linear\n0 0\n3 1")
        .expect("valid");
    assert_eq!(
        [0.0, 0.4, 0.5, 0.82, 0.84].map(|u| half.sample(u)),
        [1, 1, 2, 2, 3]
    );
    assert_eq!([f64::NAN, -1.0, 2.0].map(|u| half.sample(u)), [1, 1, 3]);
}

/// TRA-04: lookup by name
#[test]
fn names_need_their_origin_where_there_are_several() {
    assert_eq!(
        find("memcached").expect("one origin").full_name(),
        "memcached@homa"
    );
    let message = |name| find(name).expect_err(name).to_string();
    let several = message("web-search");
    for origin in ["web-search@hpcc", "web-search@homa", "web-search@abm"] {
        assert!(several.contains(origin), "{several}");
    }
    assert!(message("web-search@alibaba").contains("web-search@hpcc"));
    assert!(message("fb-hadop@hpcc").contains("did you mean 'fb-hadoop@hpcc'?"));
    assert!(message("memcache").contains("memcached@homa"));
    assert!(message("").contains("unknown flow sizes"));
    assert!(!message("\u{1b}[2J").contains('\u{1b}'));
}

#[test]
fn sizes_in_packets_are_scaled() {
    let text = "name = p\norigin = me\nunit = 1460 bytes\ninterpolation = step\n1 0.5\n10 1\n";
    let packets = Distribution::parse(text).expect("valid");
    assert_eq!(packets.points(), [(1460, 0.5), (14600, 1.0)]);
}

const HEAD: &str = "name = a\norigin = b\nunit = bytes\ninterpolation = linear\n";

/// Each invalid file gives one error with its position and a hint.
#[test]
fn bad_files_are_refused_with_place_and_hint() {
    let cases = [
        ("", 1, 1, "is empty"),
        ("# only a comment\n\n", 1, 1, "is empty"),
        (HEAD, 4, 1, "no points"),
        (
            &format!("{HEAD}0 0\n10 0.5\n20 0.4\n30 1\n"),
            7,
            4,
            "must not fall",
        ),
        (&format!("{HEAD}0 0\n10 0.5\n5 1\n"), 7, 1, "must not fall"),
        (&format!("{HEAD}0 0\n10 0.9\n"), 6, 1, "must end at 1"),
        (&format!("{HEAD}0 0\n  -10 0.9\n"), 6, 3, "negative"),
        (&format!("{HEAD}0 -0.1\n"), 5, 3, "negative"),
        (&format!("{HEAD}0 NaN\n"), 5, 3, "not a number"),
        (&format!("{HEAD}nan 0.1\n"), 5, 1, "not a number"),
        (&format!("{HEAD}0 0\n10 15\n"), 6, 4, "divide by 100"),
        (&format!("{HEAD}0 inf\n"), 5, 3, "more than 1"),
        (&format!("{HEAD}281474976710657 1\n"), 5, 1, "2^48"),
        (&format!("{HEAD}99999999999999999999999 1\n"), 5, 1, "2^48"),
        (&format!("{HEAD}1e30 1\n"), 5, 1, "2^48"),
        (&format!("{HEAD}1.5 1\n"), 5, 1, "whole number"),
        (&format!("{HEAD}10\n"), 5, 3, "missing"),
        (&format!("{HEAD}10 1 7\n"), 5, 6, "too much"),
        (&format!("{HEAD}0 1\n"), 5, 1, "0 bytes"),
        (&format!("{HEAD}10 0.5\n10 0.5\n20 1\n"), 6, 1, "twice"),
        (&format!("{HEAD}µ µ\n"), 5, 1, "found 'µ'"),
        (
            "name = a\nunit = bytes\ninterpolation = linear\n1 1\n",
            1,
            1,
            "'origin' is missing",
        ),
        (
            "name = a\ninterpolaton = step\n",
            2,
            1,
            "did you mean 'interpolation'?",
        ),
        ("name = a\nname = b\n", 2, 1, "twice"),
        ("name =\n", 1, 7, "no value"),
        (&HEAD.replace("linear", "cubic"), 4, 1, "no points"),
        (
            &format!("{}1 1\n", HEAD.replace("linear", "cubic")),
            4,
            17,
            "'linear' or 'step'",
        ),
        (
            &format!("{}1 1\n", HEAD.replace("bytes", "furlongs")),
            3,
            8,
            "1460 bytes",
        ),
        (
            &format!("{}1 1\n", HEAD.replace("= a", "= a@b")),
            1,
            8,
            "no name",
        ),
        (&format!("{HEAD}mean = 7\n9 1\n"), 5, 8, "declared mean"),
        (
            &format!("{HEAD}1 1\nnote = late\n"),
            6,
            1,
            "after the points",
        ),
        (&format!("{HEAD}1\u{0}2 1\n"), 5, 2, "unexpected character"),
    ];
    for (text, line, column, part) in cases {
        let error = &Distribution::parse(text).expect_err(text)[0];
        let place = error.place.expect("a place");
        assert_eq!(
            (place.line, place.column),
            (line, column),
            "{text:?}: {error}"
        );
        assert!(error.to_string().contains(part), "{text:?}: {error}");
    }
    let errors = Distribution::parse("nam = a\nunit\n5 x\n").expect_err("three errors");
    let lines: Vec<_> = errors
        .iter()
        .map(|e| e.place.map(|place| place.line))
        .collect();
    assert_eq!(
        lines,
        [Some(1), Some(2), Some(3)],
        "all are reported together"
    );
    let binary = traffic::sizes::utf8(b"name = a\n\x7fELF\xff\xfe").expect_err("binary");
    assert_eq!(
        binary.place.map(|place| (place.line, place.column)),
        Some((2, 5))
    );
}

fn valid() -> impl Strategy<Value = Distribution> {
    let points = proptest::collection::btree_map(0u64..1 << 48, 0.0..1.0f64, 1..40);
    (points, any::<bool>(), "[a-z][a-z0-9-]{0,20}", 1u64..1 << 48).prop_map(
        |(points, step, name, top)| {
            let mut shares: Vec<f64> = points.values().copied().collect();
            shares.sort_by(f64::total_cmp);
            if let Some(last) = shares.last_mut() {
                *last = 1.0;
            }
            let mode = if step { "step" } else { "linear" };
            let mut text =
                format!("name = {name}\norigin = test\nunit = bytes\ninterpolation = {mode}\n");
            for (size, share) in points.keys().zip(shares) {
                text.push_str(&format!(
                    "{} {share}\n",
                    size.max(&u64::from(share == 1.0 && top > 0))
                ));
            }
            Distribution::parse(&text).expect("valid by construction")
        },
    )
}

proptest! {
    #[test]
    fn the_mean_lies_between_zero_and_the_largest_size(distribution in valid()) {
        let mean = distribution.mean();
        prop_assert!(mean >= 0.0 && mean <= distribution.max() as f64 * (1.0 + 1e-12));
    }

    /// Quantiles are non-decreasing. Each lies between the two points whose fractions enclose `u`.
    #[test]
    fn quantile_inverts_the_shares(distribution in valid(), u in 0.0..1.0f64, v in 0.0..1.0f64) {
        let (low, high) = if u < v { (u, v) } else { (v, u) };
        prop_assert!(distribution.quantile(low) <= distribution.quantile(high));
        prop_assert!(distribution.sample(low) >= 1);
        for pair in distribution.points().windows(2) {
            if pair[0].1 < u && u <= pair[1].1 {
                let size = distribution.quantile(u);
                prop_assert!(size >= pair[0].0 as f64 && size <= pair[1].0 as f64);
            }
        }
    }

    #[test]
    fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in "(?s).{0,100}") {
        if let Ok(text) = traffic::sizes::utf8(&bytes) {
            let _ = Distribution::parse(text);
            let _ = Distribution::parse_csv(text, "x", Interpolation::Linear);
        }
        let _ = Distribution::parse(&text);
        let _ = find(&text);
    }

    #[test]
    fn near_misses_never_panic(
        lines in proptest::collection::vec("(name|origin|unit|mean|interpolation|x)? ?=? ?(bytes|step|1460 bytes|[0-9e.-]{0,25}) ?[0-9.]{0,4}", 0..12)
    ) {
        let _ = Distribution::parse(&lines.join("\n"));
        let _ = Distribution::parse(&format!("{HEAD}{}", lines.join("\n")));
    }
}

// TRA-27: sizes from CSV
#[test]
fn sizes_come_from_a_csv() {
    let read = |text: &str, mode| Distribution::parse_csv(text, "mine", mode);
    let points = "0,0\n1000,0.5\n3000,1\n";
    let (linear, warnings) = read(&format!("bytes,cdf\n{points}"), Interpolation::Linear).unwrap();
    assert_eq!(linear.points(), [(0, 0.0), (1000, 0.5), (3000, 1.0)]);
    assert_eq!(warnings, []);
    // linear: 0.5 · 500 + 0.5 · 2000; as steps: 0.5 · 1000 + 0.5 · 3000
    assert_eq!(linear.mean(), 1250.0);
    let (step, _) = read(points, Interpolation::Step).expect("the header may be left out");
    assert_eq!(step.mean(), 2000.0);
    let other = "# a comment\ncdf, bytes, flows\n0,0,0\n0.5,1000,3\n1,3000,3\n";
    let (turned, warnings) = read(other, Interpolation::Linear).unwrap();
    assert_eq!(turned, linear);
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0]
            .message
            .contains("'flows' is not used; required are bytes, cdf")
    );
    for (text, lines) in [
        ("bytes,cdf\nx,0\n5,2\n", vec![Some(2), Some(3)]),
        ("bytes,cdf\n5,0.5\n4,1\n", vec![Some(3)]),
        ("bytes,cdf\n5,0.5\n", vec![Some(2)]),
        ("bytes,cdf\n", vec![None]),
        ("bytes,share\n5,1\n", vec![Some(1)]),
        ("5,1,7\n", vec![Some(1)]),
    ] {
        let errors = read(text, Interpolation::Linear).expect_err(text);
        let found: Vec<_> = errors.iter().map(|e| e.place.map(|p| p.line)).collect();
        assert_eq!(found, lines, "{text:?}: {errors:?}");
    }
    assert_eq!(Format::of("# x\n\nbytes,cdf\n"), Format::Csv);
    assert_eq!(Format::of("name = a,b\n"), Format::Own);
}

// TRA-27: list of measured sizes
#[test]
fn measured_sizes_are_a_list() {
    let list = Distribution::parse_list("bytes\n3000\n1000\n\n# a comment\n1000\n5000\n", "mine");
    let list = list.unwrap();
    assert_eq!(list.points(), [(1000, 0.5), (3000, 0.75), (5000, 1.0)]);
    assert_eq!(list.mean(), 2500.0);
    for (text, lines) in [
        ("bytes\n1\nx\n0\n", vec![Some(3), Some(4)]),
        ("bytes\n", vec![Some(1)]),
        ("1\n999999999999999999\n", vec![Some(2)]),
    ] {
        let errors = Distribution::parse_list(text, "mine").expect_err(text);
        let found: Vec<_> = errors.iter().map(|e| e.place.map(|p| p.line)).collect();
        assert_eq!(found, lines, "{text:?}: {errors:?}");
    }
    for text in ["4096\n", "bytes\n4096\n"] {
        assert_eq!(Format::of(text), Format::List, "{text:?}");
    }
    assert_eq!(Format::of(HEAD), Format::Own);
    assert_eq!(Format::of("bytes,cdf\n"), Format::Csv);
}
