//! Tests of the gaps between arrivals, and of the computation of load.

use kernel::{Purpose, Stream};
use traffic::arrivals::Clock;
use traffic::{ArrivalKind, Arrivals, mean_gap_ps};

fn clock(kind: ArrivalKind, mean_gap_ps: f64, window: std::ops::Range<u64>, seed: u64) -> Clock {
    let arrivals = Arrivals { kind, mean_gap_ps };
    Clock::new(
        &arrivals,
        window.start,
        window.end,
        Stream::new(seed, 0, Purpose::Arrivals),
    )
    .expect("valid")
}

fn gaps(kind: ArrivalKind, count: usize) -> Vec<f64> {
    let instants: Vec<u64> = clock(kind, 1e6, 0..u64::MAX, 7).take(count + 1).collect();
    instants
        .windows(2)
        .map(|pair| (pair[1] - pair[0]) as f64)
        .collect()
}

fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    (
        mean,
        values
            .iter()
            .map(|value| (value - mean) * (value - mean))
            .sum::<f64>()
            / (count - 1.0),
    )
}

#[test]
fn poisson_gaps_have_their_mean_and_variance() {
    let (mean, variance) = mean_and_variance(&gaps(ArrivalKind::Poisson, 400_000));
    assert!((mean / 1e6 - 1.0).abs() < 0.005, "{mean}"); // three standard errors
    assert!((variance / 1e12 - 1.0).abs() < 0.015, "{variance}");
}

/// TRA-06: log-normal gaps
#[test]
fn log_normal_gaps_have_their_mean_and_variance() {
    let sigma = 0.5f64;
    let (mean, variance) = mean_and_variance(&gaps(ArrivalKind::LogNormal { sigma }, 400_000));
    let wanted = (libm::exp(sigma * sigma) - 1.0) * 1e12;
    assert!((mean / 1e6 - 1.0).abs() < 0.004, "{mean}");
    assert!((variance / wanted - 1.0).abs() < 0.03, "{variance}");

    // For sigma 2 the moments of the gaps converge too slowly to test. The moments of their
    // logarithms do not.
    let logs: Vec<f64> = gaps(ArrivalKind::LogNormal { sigma: 2.0 }, 400_000)
        .iter()
        .map(|&gap| libm::log(gap))
        .collect();
    let (mean, variance) = mean_and_variance(&logs);
    assert!((mean - (libm::log(1e6) - 2.0)).abs() < 0.01, "{mean}");
    assert!((variance / 4.0 - 1.0).abs() < 0.01, "{variance}");
}

/// TRA-07: the window is half-open, and the first arrival of fixed gaps is at its start.
#[test]
fn fixed_gaps_begin_with_the_window_and_end_before_it_closes() {
    let fixed = |first_ps| ArrivalKind::Fixed { first_ps };
    assert_eq!(
        clock(fixed(None), 10.0, 5..35, 0).collect::<Vec<_>>(),
        [5, 15, 25]
    );
    assert_eq!(
        clock(fixed(None), 10.0, 5..36, 0).collect::<Vec<_>>(),
        [5, 15, 25, 35]
    );
    assert_eq!(
        clock(fixed(Some(12)), 10.0, 5..36, 0).collect::<Vec<_>>(),
        [12, 22, 32]
    );
}

/// TRA-08: fractions of a picosecond are added up, so that gaps below 1 ps keep their rate.
#[test]
fn rounding_to_picoseconds_does_not_change_the_rate() {
    let fixed = ArrivalKind::Fixed { first_ps: None };
    assert_eq!(
        clock(fixed, 2.5, 0..20, 0).collect::<Vec<_>>(),
        [0, 3, 5, 8, 10, 13, 15, 18]
    );
    // The last of 90,000 arrivals is rounded to the end of the window, which is not included.
    assert_eq!(clock(fixed, 1.0 / 3.0, 0..30_000, 0).count(), 89_999);
    // A load of 5 % of 6.4 Tbps in events of 20 MB is ten events in 5 ms, also if a division made
    // the gap slightly too short or too long.
    for gap in [
        500e6 - 6e-8,
        500e6,
        500e6 + 6e-8,
        20e6 * 8e12 / (0.05 * 6.4e12),
    ] {
        let instants: Vec<u64> = clock(fixed, gap, 0..5_000_000_000, 0).collect();
        assert_eq!(
            instants,
            (0..10).map(|k| k * 500_000_000).collect::<Vec<_>>(),
            "{gap}"
        );
    }
    let count = clock(ArrivalKind::Poisson, 0.3, 0..60_000, 1).count() as f64;
    assert!((count / 200_000.0 - 1.0).abs() < 0.008, "{count}");
}

#[test]
fn bad_arrivals_are_refused() {
    let refuse = |kind, mean_gap_ps, part: &str| {
        let arrivals = Arrivals { kind, mean_gap_ps };
        let error =
            Clock::new(&arrivals, 10, 20, Stream::new(0, 0, Purpose::Arrivals)).expect_err(part);
        assert!(error.to_string().contains(part), "{error}");
    };
    for gap in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-9, 1e30] {
        refuse(ArrivalKind::Poisson, gap, "mean gap");
    }
    for sigma in [-1.0, f64::NAN, 11.0] {
        refuse(ArrivalKind::LogNormal { sigma }, 1.0, "sigma");
    }
    for first in [9, 20] {
        refuse(
            ArrivalKind::Fixed {
                first_ps: Some(first),
            },
            1.0,
            "outside of the window",
        );
    }
}

/// TRA-05: the incast of the BFC paper, 20 MB every 500 us, is a load of 5 % on a core of 6.4 Tbps.
#[test]
fn load_follows_its_definition() {
    let gap = mean_gap_ps(0.05, 6.4e12, 20e6, 1.0).expect("valid");
    assert!((gap / 500e6 - 1.0).abs() < 1e-12, "{gap}");
    let half_crosses = mean_gap_ps(0.05, 6.4e12, 20e6, 0.5).expect("valid");
    assert!((half_crosses * 2.0 / gap - 1.0).abs() < 1e-12);
}

#[test]
fn impossible_loads_are_refused() {
    let refuse = |load, capacity, bytes, crossing, part: &str| {
        let error = mean_gap_ps(load, capacity, bytes, crossing).expect_err(part);
        assert!(error.to_string().contains(part), "{error}");
    };
    for load in [1.01, 55.0, 0.0, -0.1, f64::NAN, f64::INFINITY] {
        refuse(load, 1e9, 1.0, 1.0, "load is");
    }
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        refuse(0.5, bad, 1.0, 1.0, "capacity");
        refuse(0.5, 1e9, bad, 1.0, "mean size");
    }
    for crossing in [0.0, 1.5, f64::NAN] {
        refuse(0.5, 1e9, 1.0, crossing, "rack");
    }
}
