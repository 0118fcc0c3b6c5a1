//! The specification of one source of traffic, and the expected number of its flows and bytes.

use std::sync::Arc;

use crate::arrivals::Arrivals;
use crate::error::Error;
use crate::hosts::Hosts;
use crate::list::MAX_CLASS;
use crate::pattern::Pattern;
use crate::sizes::{Distribution, MAX_FLOW_BYTES};

/// Sizes of flows.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// One size for all flows, bytes.
    Fixed(u64),
    /// A random size for each flow.
    Dist(Arc<Distribution>),
}

impl Sizes {
    /// Returns the mean size, bytes.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match self {
            Self::Fixed(bytes) => *bytes as f64,
            Self::Dist(distribution) => distribution.mean(),
        }
    }
}

/// One source of traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceSpec {
    /// Name of the source, for messages.
    pub name: String,
    /// Sources and destinations of flows.
    pub pattern: Pattern,
    /// Sizes of flows. `None` if the pattern defines the sizes (a list, an incast with a total).
    pub sizes: Option<Sizes>,
    /// Arrivals. `None` for a list, and if all flows start at the start of the time window
    /// (permutation, all-to-all, a single incast).
    pub arrivals: Option<Arrivals>,
    /// Start of the time window of the source, ps. No flow starts earlier.
    pub window_from_ps: u64,
    /// End of the time window of the source, ps. No flow starts at this time or later.
    pub window_to_ps: u64,
    /// Traffic class of the flows.
    pub class: u8,
    /// Maximum number of arrivals (flows of uniform traffic, events of an incast, rounds of
    /// all-to-all). Only allowed if `arrivals` is set.
    pub limit: Option<u64>,
}

impl SourceSpec {
    /// Checks the settings of the source for consistency, and against the hosts of the network.
    ///
    /// # Errors
    /// The source is invalid. The error contains the name of the source and the problem.
    pub fn check(&self, hosts: &Hosts) -> Result<(), Error> {
        self.check_unnamed(hosts)
            .map_err(|error| error.of(format_args!("traffic '{}'", self.name)))
    }

    fn check_unnamed(&self, hosts: &Hosts) -> Result<(), Error> {
        if self.window_from_ps >= self.window_to_ps {
            return Err(Error::new(format!(
                "the window from {} ps to {} ps is empty",
                self.window_from_ps, self.window_to_ps
            )));
        }
        if self.class > MAX_CLASS {
            let what = format!(
                "class {} does not exist; classes are 0 to {MAX_CLASS}",
                self.class
            );
            return Err(Error::new(what));
        }
        self.check_sizes()?;
        self.check_arrivals()?;
        self.pattern.check(hosts)?;
        self.check_listed_starts()
    }

    fn check_sizes(&self) -> Result<(), Error> {
        let pattern = self.pattern.as_str();
        let elsewhere = match &self.pattern {
            Pattern::List(_) => Some("each listed flow"),
            Pattern::Incast(incast) => incast.total_bytes.map(|_| "the total"),
            Pattern::Uniform { .. }
            | Pattern::Among { .. }
            | Pattern::Local { .. }
            | Pattern::Sites { .. }
            | Pattern::Permutation
            | Pattern::AllToAll
            | Pattern::Between(_) => None,
        };
        match (&self.sizes, elsewhere) {
            (None, None) => Err(Error::new(format!("pattern '{pattern}' needs flow sizes"))),
            (Some(_), Some(given)) => Err(Error::new(format!(
                "flow sizes are given twice: by {given} and by sizes; leave one out"
            ))),
            (Some(Sizes::Fixed(bytes)), None) if !(1..=MAX_FLOW_BYTES).contains(bytes) => Err(
                Error::new(format!("flows of {bytes} bytes; expected 1 to 2^48")),
            ),
            _ => Ok(()),
        }
    }

    fn check_arrivals(&self) -> Result<(), Error> {
        let pattern = self.pattern.as_str();
        match (&self.arrivals, &self.pattern) {
            (Some(_), Pattern::List(_)) => Err(Error::new(
                "listed flows have their own starts; leave the arrivals out",
            )),
            (
                None,
                Pattern::Uniform { .. }
                | Pattern::Among { .. }
                | Pattern::Local { .. }
                | Pattern::Sites { .. },
            ) => Err(Error::new(format!("pattern '{pattern}' needs arrivals"))),
            (None, _) if self.limit.is_some() => Err(Error::new(
                "a limit counts arrivals, and there are none; leave it out or give arrivals",
            )),
            (None, _) => Ok(()),
            (Some(_), _) if self.limit == Some(0) => {
                Err(Error::new("a limit of 0 leaves no traffic"))
            }
            (Some(arrivals), _) => arrivals.check(self.window_from_ps, self.window_to_ps),
        }
    }

    fn check_listed_starts(&self) -> Result<(), Error> {
        let Pattern::List(flows) = &self.pattern else {
            return Ok(());
        };
        let window = self.window_from_ps..self.window_to_ps;
        match flows
            .iter()
            .position(|flow| !window.contains(&flow.start_ps))
        {
            None => Ok(()),
            Some(index) => Err(Error::new(format!(
                "flow {} of the list starts at {} ps, outside of the window from {} ps to {} ps",
                index + 1,
                flows[index].start_ps,
                window.start,
                window.end
            ))),
        }
    }

    /// Number of flows per arrival. Without arrivals it is the number of all flows of the source.
    #[must_use]
    pub fn flows_per_arrival(&self, hosts: u32) -> u64 {
        let hosts = u64::from(hosts);
        match &self.pattern {
            Pattern::Uniform { .. }
            | Pattern::Among { .. }
            | Pattern::Local { .. }
            | Pattern::Sites { .. } => 1,
            Pattern::Permutation if self.arrivals.is_some() => 1,
            Pattern::Permutation => hosts,
            Pattern::AllToAll => hosts * hosts.saturating_sub(1),
            Pattern::Incast(incast) => u64::from(incast.degree),
            Pattern::Between(between) => between.flows_per_arrival(),
            Pattern::List(flows) => flows.len() as u64,
        }
    }

    /// Mean payload of a flow, in bytes.
    #[must_use]
    pub fn mean_flow_bytes(&self) -> f64 {
        match (&self.pattern, &self.sizes) {
            (Pattern::List(flows), _) => {
                let total: u128 = flows.iter().map(|flow| u128::from(flow.bytes)).sum();
                total as f64 / flows.len().max(1) as f64
            }
            (Pattern::Incast(incast), None) => {
                incast.total_bytes.unwrap_or(0) as f64 / f64::from(incast.degree.max(1))
            }
            (_, sizes) => sizes.as_ref().map_or(0.0, Sizes::mean),
        }
    }

    /// Payload of the largest possible flow, in bytes.
    #[must_use]
    pub fn max_flow_bytes(&self) -> u64 {
        match (&self.pattern, &self.sizes) {
            (Pattern::List(flows), _) => flows.iter().map(|flow| flow.bytes).max().unwrap_or(0),
            (Pattern::Incast(incast), None) => {
                let total = incast.total_bytes.unwrap_or(0);
                total.div_ceil(u64::from(incast.degree.max(1)))
            }
            (_, Some(Sizes::Fixed(bytes))) => *bytes,
            (_, Some(Sizes::Dist(distribution))) => distribution.max(),
            (_, None) => 0,
        }
    }

    /// Mean payload of an arrival in bytes, for [`crate::mean_gap_ps`].
    #[must_use]
    pub fn mean_arrival_bytes(&self, hosts: u32) -> f64 {
        self.mean_flow_bytes() * self.flows_per_arrival(hosts) as f64
    }

    /// Mean payload rate between the first and the last arrival, in bits per second. 0 without
    /// arrivals.
    #[must_use]
    pub fn mean_bps(&self, hosts: u32) -> f64 {
        let arrivals = self.arrivals.as_ref();
        arrivals.map_or(0.0, |arrivals| {
            self.mean_arrival_bytes(hosts) * 8e12 / arrivals.mean_gap_ps
        })
    }

    /// Expected number of arrivals in the time window of the source: exact if gaps are not random,
    /// else the length of the time window divided by the mean gap.
    #[must_use]
    pub fn expected_arrivals(&self) -> f64 {
        let limit = self.limit.map_or(f64::INFINITY, |limit| limit as f64);
        match &self.arrivals {
            None => 1.0,
            Some(arrivals) => arrivals
                .expected(self.window_from_ps, self.window_to_ps)
                .min(limit),
        }
    }

    /// Expected number of flows in the time window of the source: [`SourceSpec::expected_arrivals`]
    /// times the flows per arrival.
    #[must_use]
    pub fn expected_flows(&self, hosts: u32) -> f64 {
        self.expected_arrivals() * self.flows_per_arrival(hosts) as f64
    }

    /// Expected payload in the time window of the source, in bytes:
    /// [`SourceSpec::expected_arrivals`] times the mean payload per arrival.
    #[must_use]
    pub fn expected_bytes(&self, hosts: u32) -> f64 {
        self.expected_arrivals() * self.mean_arrival_bytes(hosts)
    }

    /// Number of flows; `None` if the number depends on random draws.
    #[must_use]
    pub fn known_flows(&self, hosts: u32) -> Option<u64> {
        let arrivals = match &self.arrivals {
            None => 1,
            Some(arrivals) => {
                let count = arrivals.exact(self.window_from_ps, self.window_to_ps)?;
                count.min(self.limit.unwrap_or(u64::MAX))
            }
        };
        arrivals.checked_mul(self.flows_per_arrival(hosts))
    }
}
