//! Small workloads for tests.
#![allow(dead_code, reason = "each test program uses some of it")]

use std::sync::Arc;
use traffic::Error;
use traffic::estimate::{Dimension, Estimate, LogGops, Network, Shape, StoreAndForward, estimate};
use traffic::operations::{
    Collective, CollectiveKind, InMemory, Operation, Options, PerByte, Receive, Record, Send,
    Source, Stragglers, Trigger, TriggerKind, Work, Workload,
};

pub const NS: u64 = 1_000;

/// A workload that a test builds.
#[derive(Clone, Default)]
pub struct Program {
    pub workload: Workload,
    pub operations: Vec<Vec<Operation>>,
}

impl Program {
    pub fn new(ranks: u32, options: Options) -> Self {
        Self {
            workload: Workload {
                ranks,
                options,
                ..Workload::default()
            },
            operations: vec![Vec::new(); ranks as usize],
        }
    }

    pub fn trigger(&mut self, kind: TriggerKind) -> u32 {
        self.workload.triggers.push(Trigger { kind });
        self.workload.triggers.len() as u32 - 1
    }

    /// Adds an operation of a rank. Returns the index of the operation.
    pub fn add(&mut self, rank: u32, work: Work, after: &[u32]) -> u32 {
        self.put(
            rank,
            Operation {
                work,
                after_end: after.to_vec(),
                resource: Some(0),
                ..Operation::default()
            },
        )
    }

    pub fn put(&mut self, rank: u32, operation: Operation) -> u32 {
        let all = &mut self.operations[rank as usize];
        all.push(operation);
        all.len() as u32 - 1
    }

    /// Adds an operation of the same collective to each rank, without a resource.
    pub fn everywhere(&mut self, collective: &Collective) {
        for rank in 0..self.workload.ranks {
            self.put(
                rank,
                Operation {
                    work: Work::Collective(Box::new(collective.clone())),
                    ..Operation::default()
                },
            );
        }
    }

    pub fn run(&self, network: Network) -> Result<Estimate, Error> {
        self.recorded(network).map(|(found, _)| found)
    }

    /// Estimates the workload. Also returns the records of its operations.
    pub fn recorded(&self, network: Network) -> Result<(Estimate, Vec<Record>), Error> {
        let source: Arc<dyn Source> = Arc::new(InMemory {
            operations: self.operations.clone().into(),
            names: Vec::new(),
        });
        self.from(&source, network)
    }

    pub fn from(
        &self,
        source: &Arc<dyn Source>,
        network: Network,
    ) -> Result<(Estimate, Vec<Record>), Error> {
        let workload = Arc::new(self.workload.clone());
        let mut records = Vec::new();
        let mut recorder = |record: &Record| records.push(record.clone());
        let stragglers = Arc::new(Stragglers::default());
        let found = estimate(&workload, source, &stragglers, network, &mut recorder)?;
        Ok((found, records))
    }
}

pub fn calc(duration_ps: u64) -> Work {
    Work::Calc { duration_ps }
}

pub fn send(to: u32, bytes: u64, tag: u64) -> Work {
    Work::Send(Send {
        to,
        bytes,
        tag,
        ..Send::default()
    })
}

pub fn receive(from: u32, bytes: u64, tag: u64) -> Work {
    Work::Receive(Receive {
        from: Some(from),
        bytes,
        tag: Some(tag),
    })
}

pub fn collective(kind: CollectiveKind, bytes: u64, algorithm: &str) -> Collective {
    Collective {
        kind,
        bytes,
        algorithm: Some(algorithm.into()),
        ..Collective::default()
    }
}

/// A network without latency and overhead. Each NIC needs `ps_per_byte` ps per byte and direction.
pub fn bandwidth_only(ps_per_byte: u64) -> Options {
    Options {
        gap_per_byte: PerByte::from_ps(ps_per_byte as f64).unwrap(),
        ..Options::default()
    }
}

pub fn latency(latency_ps: u64) -> Network {
    Network::LogGops(LogGops { latency_ps })
}

/// A network of one dimension with 50 · 2³⁰ B/s and a latency of 500 ns per link. Times are rounded
/// to whole nanoseconds.
pub fn whole_ns(shape: Shape, size: u32) -> Network {
    let dimension = Dimension {
        shape,
        size,
        bytes_per_second: 50.0 * f64::from(1 << 30),
        latency_ps: 500 * NS,
    };
    Network::StoreAndForward(StoreAndForward::new(vec![dimension], 1_000))
}
