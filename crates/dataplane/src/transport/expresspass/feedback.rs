//! Credit rate of a flow, controlled by the share of credits that return as data.

use super::ExpressPassConfig;
use crate::packet::Cold;
use crate::replies::Peer;
use crate::units::Time;

/// Measurements of one feedback period (a round trip) of a flow.
#[derive(Clone, Copy, Debug)]
struct Period {
    /// Lost credits / (lost credits + credits whose data arrived).
    loss: f64,
    /// Rate of the credits whose data arrived, relative to the credit rate of the link.
    delivered: f64,
}

/// Credit rate of one flow, relative to the credit rate of the link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feedback {
    pub rate: f64,
    /// Weight of the maximum rate in an increase.
    w: f64,
    /// True if the last change was an increase.
    increased: bool,
}

impl Feedback {
    pub fn new(config: &ExpressPassConfig) -> Self {
        Self {
            rate: config.alpha,
            w: config.w_init,
            increased: false,
        }
    }

    /// Changes the rate at the end of a feedback period. The rate stays at least `least`.
    // XP-10: parameters; XP-11: increase; XP-12: decrease
    fn update(&mut self, config: &ExpressPassConfig, period: Period, least: f64) {
        let beyond = 1.0 + config.target_loss;
        if period.loss <= config.target_loss {
            if self.increased {
                self.w = f64::midpoint(self.w, config.w_max);
            }
            self.increased = true;
            self.rate = (1.0 - self.w) * self.rate + self.w * beyond;
        } else {
            self.increased = false;
            // XP-12: decrease from the rate of the credits whose data arrived
            self.rate = self.rate.min(period.delivered * beyond);
            self.w = (self.w / 2.0).max(config.w_min);
        }
        self.rate = self.rate.max(least);
    }
}

/// State of a flow at its receiver.
#[derive(Debug)]
pub(super) struct Incoming {
    pub peer: Peer,
    pub packets: u32,
    /// All packets below this number have arrived.
    pub expected: u32,
    /// All packets below this number have arrived or were reported missing.
    pub seen: u32,
    /// Arrival time of the last byte; `None` before.
    pub done_ps: Option<Time>,
    pub feedback: Feedback,
    /// Sequence number of the next credit.
    pub next_credit: u32,
    /// Sequence number of the credit whose data is expected next.
    next_echo: u32,
    /// Number of credits whose data arrived in this period, without data at the start of the
    /// period.
    delivered: u32,
    /// Number of credits that were found lost in this period.
    lost: u32,
    /// Smoothed time from sending a credit to the arrival of its data, in ps; 0 before the first
    /// data.
    rtt_ps: Time,
    /// Start time of the feedback period.
    period_ps: Time,
    /// Time of the last arrival of data for a credit.
    heard_ps: Time,
}

impl Incoming {
    /// Creates a flow of `packets` packets whose first request has arrived.
    pub fn new(now: Time, config: &ExpressPassConfig, peer: Peer, packets: u32) -> Self {
        Self {
            peer,
            packets,
            expected: 0,
            seen: 0,
            done_ps: None,
            feedback: Feedback::new(config),
            next_credit: 0,
            next_echo: 0,
            delivered: 0,
            lost: 0,
            rtt_ps: 0,
            period_ps: now,
            heard_ps: now,
        }
    }

    /// Returns the smallest rate, relative to the link's credit rate: one credit per round trip.
    // XP-12
    fn least(&self, gap_ps: Time) -> f64 {
        if self.rtt_ps == 0 {
            return 0.0;
        }
        (gap_ps as f64 / self.rtt_ps as f64).min(1.0)
    }

    /// Processes a data packet and the credit number in it.
    // XP-11: a period is a round trip; XP-13: credits with skipped numbers are lost
    pub fn echo(&mut self, now: Time, cold: &Cold, config: &ExpressPassConfig, gap_ps: Time) {
        let rtt_ps = now - cold.stamp.credit_sent_ps();
        self.heard_ps = now;
        let is_first = self.rtt_ps == 0;
        if is_first {
            self.period_ps = now;
            self.rtt_ps = rtt_ps;
        } else {
            self.rtt_ps = self.rtt_ps - self.rtt_ps / 8 + rtt_ps / 8;
        }
        if cold.credit >= self.next_echo {
            self.lost += cold.credit - self.next_echo;
            self.delivered += u32::from(!is_first);
            self.next_echo = cold.credit + 1;
        }
        let known = self.delivered + self.lost;
        let elapsed_ps = now - self.period_ps;
        if elapsed_ps >= self.rtt_ps && known > 0 {
            let delivered_ps = u64::from(self.delivered) * gap_ps;
            let period = Period {
                loss: f64::from(self.lost) / f64::from(known),
                delivered: delivered_ps as f64 / elapsed_ps as f64,
            };
            self.close_period(now, config, period, gap_ps);
        }
    }

    /// Treats all credits in flight as lost if no data has arrived for two round trips.
    // XP-13
    pub fn watch(&mut self, now: Time, config: &ExpressPassConfig, gap_ps: Time) {
        let since_ps = self.period_ps.max(self.heard_ps);
        if self.rtt_ps > 0 && now - since_ps >= 2 * self.rtt_ps {
            let period = Period {
                loss: 1.0,
                delivered: 0.0,
            };
            self.close_period(now, config, period, gap_ps);
        }
    }

    fn close_period(
        &mut self,
        now: Time,
        config: &ExpressPassConfig,
        period: Period,
        gap_ps: Time,
    ) {
        let least = self.least(gap_ps);
        self.feedback.update(config, period, least);
        self.period_ps = now;
        (self.delivered, self.lost) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Stamp;
    use crate::sets;

    const CONFIG: ExpressPassConfig = sets::expresspass(1538);
    const GAP_PS: Time = 1622 * 80;

    fn update(f: &mut Feedback, loss: f64, delivered: f64, least: f64) {
        f.update(&CONFIG, Period { loss, delivered }, least);
    }

    // XP-10, XP-11, XP-12: increases and decreases
    #[test]
    fn feedback_follows_its_rules() {
        let mut f = Feedback::new(&CONFIG);
        assert_eq!((f.rate, f.w), (0.5, 0.0625));
        update(&mut f, 0.1, 0.45, 0.0);
        // The first increase keeps the weight w. The second increase moves w halfway to w_max.
        assert!((f.rate - (0.9375 * 0.5 + 0.0625 * 1.1)).abs() < 1e-12);
        assert_eq!(f.w, 0.0625);
        let before = f.rate;
        update(&mut f, 0.0, before, 0.0);
        assert_eq!(f.w, 0.28125);
        assert!((f.rate - (0.71875 * before + 0.28125 * 1.1)).abs() < 1e-12);
        update(&mut f, 0.5, 0.3, 0.0);
        assert!((f.rate - 0.3 * 1.1).abs() < 1e-12);
        assert_eq!(f.w, 0.140_625);
        // Lost credits that were sent before the decrease do not cause another decrease.
        update(&mut f, 0.5, 0.3, 0.0);
        assert!((f.rate - 0.3 * 1.1).abs() < 1e-12);
        // A decrease never raises the rate.
        update(&mut f, 0.5, 0.9, 0.0);
        assert!((f.rate - 0.3 * 1.1).abs() < 1e-12);
        // The first increase after a decrease keeps the weight w.
        let w = f.w;
        update(&mut f, 0.0, 0.3, 0.0);
        assert_eq!(f.w, w);
        for _ in 0..20 {
            update(&mut f, 1.0, 0.0, 0.02);
        }
        assert_eq!((f.rate, f.w), (0.02, 0.01), "both have a minimum");
    }

    // XP-11: without losses the rate approaches 110 % of the credit rate of the link.
    #[test]
    fn an_empty_link_is_asked_for_a_little_more_than_it_takes() {
        let mut f = Feedback::new(&CONFIG);
        for _ in 0..100 {
            update(&mut f, 0.0, 1.0, 0.0);
        }
        assert!((f.rate - 1.1).abs() < 1e-9 && (f.w - 0.5).abs() < 1e-9);
    }

    fn incoming() -> Incoming {
        Incoming::new(0, &CONFIG, Peer::default(), 100)
    }

    fn echo(flow: &mut Incoming, now: Time, credit: u32, sent_ps: Time) {
        let cold = Cold {
            credit,
            stamp: Stamp::credit(sent_ps),
            ..Cold::default()
        };
        flow.echo(now, &cold, &CONFIG, GAP_PS);
    }

    // XP-12, XP-13: skipped credit numbers, and feedback periods
    #[test]
    fn credits_that_are_passed_by_were_lost_and_a_round_trip_is_a_period() {
        let mut flow = incoming();
        echo(&mut flow, 8_000_000, 0, 0);
        assert_eq!((flow.rtt_ps, flow.period_ps), (8_000_000, 8_000_000));
        echo(&mut flow, 9_000_000, 4, 1_000_000);
        assert_eq!((flow.delivered, flow.lost), (1, 3), "1, 2 and 3 are lost");
        echo(&mut flow, 9_500_000, 2, 1_500_000);
        assert_eq!((flow.delivered, flow.lost), (1, 3), "a late one is ignored");
        assert_eq!(flow.feedback.rate, 0.5);
        // The feedback period ends. The data of credits 4 and 5 arrived in its 8 µs.
        echo(&mut flow, 16_000_000, 5, 8_000_000);
        assert_eq!((flow.delivered, flow.lost), (0, 0));
        let delivered = 2.0 * GAP_PS as f64 / 8e6;
        assert!((flow.feedback.rate - delivered * 1.1).abs() < 1e-12);
    }

    // XP-12, XP-13: two round trips without data
    #[test]
    fn silence_for_two_round_trips_is_loss_of_all() {
        let mut flow = incoming();
        flow.watch(100_000_000, &CONFIG, GAP_PS);
        assert_eq!(flow.feedback.rate, 0.5, "no round trip is known yet");
        echo(&mut flow, 8_000_000, 0, 0);
        echo(&mut flow, 16_000_000, 1, 8_000_000);
        let rate = flow.feedback.rate;
        flow.watch(31_999_999, &CONFIG, GAP_PS);
        assert_eq!(flow.feedback.rate, rate);
        flow.watch(32_000_000, &CONFIG, GAP_PS);
        // One credit per round trip of 8 µs, in which the link could send 61.7 credits.
        assert!((flow.feedback.rate - 129_760.0 / 8e6).abs() < 1e-9);
        // One data packet in a period does not prevent the decrease.
        echo(&mut flow, 33_000_000, 2, 25_000_000);
        flow.feedback.rate = 0.5;
        flow.watch(48_999_999, &CONFIG, GAP_PS);
        assert_eq!(flow.feedback.rate, 0.5);
        flow.watch(49_000_000, &CONFIG, GAP_PS);
        assert!(flow.feedback.rate < 0.5);
    }
}
