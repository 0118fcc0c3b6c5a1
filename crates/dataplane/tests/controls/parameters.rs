use dataplane::config::{CnpReaction, DcqcnConfig, DctcpConfig, HpccConfig, TimelyConfig};

/// The sets that we name are good at every line rate we know.
#[test]
fn our_own_sets_pass() {
    for line_bps in [1e9, 25e9, 1e11, 4e11, 8e11] {
        assert_eq!(HpccConfig::paper(line_bps).check(), Ok(()));
        assert_eq!(DcqcnConfig::vendor(line_bps).check(), Ok(()));
        assert_eq!(TimelyConfig::hpcc_comparison(line_bps).check(), Ok(()));
    }
    assert_eq!(DcqcnConfig::paper().check(), Ok(()));
    assert_eq!(TimelyConfig::paper().check(), Ok(()));
    assert_eq!(DctcpConfig::paper().check(), Ok(()));
    assert_eq!(DctcpConfig::line_rate_start().check(), Ok(()));
}

#[track_caller]
fn refused(check: Result<(), String>, words: &str) {
    let error = check.expect_err("should be refused");
    assert!(error.contains(words), "{error:?} does not name {words:?}");
    assert!(
        error.contains("expected"),
        "{error:?} does not say what is expected"
    );
}

#[test]
fn hpcc_refuses_nonsense() {
    let good = HpccConfig::paper(1e11);
    refused(HpccConfig { eta: 0.0, ..good }.check(), "hpcc eta is 0;");
    refused(
        HpccConfig {
            eta: f64::NAN,
            ..good
        }
        .check(),
        "hpcc eta",
    );
    refused(
        HpccConfig {
            wai_bytes: -1.0,
            ..good
        }
        .check(),
        "wai",
    );
    refused(
        HpccConfig {
            min_rate_bps: 0.0,
            ..good
        }
        .check(),
        "min_rate",
    );
    refused(
        HpccConfig {
            max_stage: u32::MAX,
            ..good
        }
        .check(),
        "max_stage",
    );
}

#[test]
fn dcqcn_refuses_nonsense() {
    let good = DcqcnConfig::paper();
    refused(DcqcnConfig { g: 1.5, ..good }.check(), "g is 1.5");
    refused(
        DcqcnConfig {
            alpha_timer_ps: 0,
            ..good
        }
        .check(),
        "alpha_timer",
    );
    refused(
        DcqcnConfig {
            increase_timer_ps: 1,
            ..good
        }
        .check(),
        "increase_timer",
    );
    refused(
        DcqcnConfig {
            byte_counter: Some(0),
            ..good
        }
        .check(),
        "byte_counter",
    );
    refused(
        DcqcnConfig {
            ai_bps: 1.0,
            ..good
        }
        .check(),
        "ai",
    );
    refused(
        DcqcnConfig {
            hai_bps: f64::INFINITY,
            ..good
        }
        .check(),
        "hai",
    );
    refused(
        DcqcnConfig {
            fast_recovery: 5_000,
            ..good
        }
        .check(),
        "fast_recovery",
    );
    refused(
        DcqcnConfig {
            min_rate_bps: -1.0,
            ..good
        }
        .check(),
        "min_rate",
    );
    let sampled = DcqcnConfig {
        reaction: CnpReaction::Sampled,
        ..good
    };
    refused(sampled.check(), "decrease_interval"); // 0 is fine in the immediate form only
    assert_eq!(
        DcqcnConfig {
            ai_bps: 0.0,
            hai_bps: 0.0,
            ..good
        }
        .check(),
        Ok(())
    );
}

#[test]
fn timely_and_dctcp_refuse_nonsense() {
    let good = TimelyConfig::paper();
    refused(TimelyConfig { alpha: 2.0, ..good }.check(), "alpha");
    refused(TimelyConfig { beta: -0.1, ..good }.check(), "beta");
    refused(
        TimelyConfig {
            t_low_ps: good.t_high_ps + 1,
            ..good
        }
        .check(),
        "t_low",
    );
    refused(
        TimelyConfig {
            t_high_ps: 0,
            ..good
        }
        .check(),
        "t_high",
    );
    refused(
        TimelyConfig {
            min_rtt_ps: 0,
            ..good
        }
        .check(),
        "min_rtt",
    );
    refused(
        TimelyConfig {
            ai_bps: f64::NAN,
            ..good
        }
        .check(),
        "ai",
    );
    refused(
        TimelyConfig {
            hai_bps: -1.0,
            ..good
        }
        .check(),
        "hai",
    );
    refused(
        TimelyConfig {
            min_rate_bps: 0.0,
            ..good
        }
        .check(),
        "min_rate",
    );
    let good = DctcpConfig::paper();
    refused(DctcpConfig { g: -0.5, ..good }.check(), "g is -0.5");
    refused(
        DctcpConfig {
            initial_packets: 0,
            ..good
        }
        .check(),
        "initial_packets",
    );
}
