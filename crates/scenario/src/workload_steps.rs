//! Reads `steps` of `[[workload]]`: work that ranks do one step after the other, in groups.

use std::collections::BTreeSet;

use dataplane::param::{Conflict, Value, Values};
use dataplane::units::Time;
use traffic::operations::{
    Collective, CollectiveKind, Group, Operation, Options, Receive, Send, SendEnd, Work, Workload,
};

use crate::params;
use crate::problem::nearest;
use crate::reader::Section;
use crate::workload_algorithm::{ALGORITHMS_HINT, Chosen, checked_algorithm};

/// The steps of a workload, which all ranks execute in the same order.
#[derive(Clone, Debug, PartialEq)]
pub struct StepsSpec {
    /// Groups of ranks to which steps refer.
    pub groups: Vec<Group>,
    /// The steps in the order of execution.
    pub steps: Vec<Step>,
    /// Number of times that the sequence of steps is executed.
    pub repeats: u32,
    /// Latency that is added to each message before it is sent, ps.
    pub latency_ps: Time,
    /// Traffic class of the messages.
    pub class: u8,
    /// Event at which a send ends.
    pub send_end: SendEnd,
}

/// One step of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Indices of the groups that execute the step independently. Empty: all ranks form one group.
    pub groups: Vec<u32>,
    /// Work of the step.
    pub work: StepWork,
}

/// The work of one step.
#[derive(Clone, Debug, PartialEq)]
pub enum StepWork {
    /// Each rank computes for this time, ps.
    Compute(Time),
    /// Each group executes a collective.
    Collective {
        /// Kind of the collective.
        kind: CollectiveKind,
        /// Algorithm, or `None` for the default of the kind.
        algorithm: Option<String>,
        /// Bytes of the whole vector. Unused for an all-to-allv.
        bytes: u64,
        /// For an all-to-allv: bytes from each member (row) to each member (column). A single row
        /// applies to all members.
        sizes: Vec<Vec<u64>>,
    },
    /// Messages between ranks, all sent at the same time.
    Messages {
        /// Sending and receiving rank of each message.
        pairs: Vec<(u32, u32)>,
        /// Size of each message in bytes.
        bytes: u64,
    },
}

/// Reads `groups` and `steps` of a workload.
// RNK-21: steps
pub(crate) fn read(
    s: &Section<'_>,
    values: &Values,
    ranks: u32,
    send_end: SendEnd,
) -> Option<StepsSpec> {
    let groups = groups(s, values, ranks)?;
    let mut spec = StepsSpec {
        groups,
        steps: Vec::new(),
        repeats: values.count("repeats") as u32,
        latency_ps: values.time("latency"),
        class: values.count("class") as u8,
        send_end,
    };
    let workload = spec.workload(ranks);
    for (index, entry) in tables(values, "steps").enumerate() {
        let found = step(entry, &workload).map_err(|conflict| conflict.in_item("steps", index));
        spec.steps.push(params::settle(s, found)?);
    }
    Some(spec)
}

/// Returns the tables in an array of tables.
fn tables<'a>(values: &'a Values, key: &str) -> impl Iterator<Item = &'a Values> {
    let listed: &[Value] = match values.get(key) {
        Some(Value::List(listed)) => listed,
        _ => &[],
    };
    listed.iter().filter_map(|value| match value {
        Value::Table(table) => Some(table),
        _ => None,
    })
}

/// Returns the integers in a list that a [`dataplane::param::Kind`] has checked.
fn numbers(list: &[Value]) -> Vec<u64> {
    let number = |value: &Value| match *value {
        Value::Count(number) | Value::Size(number) => Some(number),
        _ => None,
    };
    list.iter().filter_map(number).collect()
}

fn groups(s: &Section<'_>, values: &Values, ranks: u32) -> Option<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    for (index, entry) in tables(values, "groups").enumerate() {
        let found = group(entry, &groups, ranks);
        let found = found.map_err(|conflict| conflict.in_item("groups", index));
        groups.push(params::settle(s, found)?);
    }
    Some(groups)
}

fn group(entry: &Values, before: &[Group], ranks: u32) -> Result<Group, Conflict> {
    let name = params::text(entry, "name").unwrap_or_default();
    if before.iter().any(|group| group.name == name) {
        let message = format!("there is a group \"{name}\" already");
        return Err(Conflict::new(
            &["name"],
            message,
            "give each group its own name",
        ));
    }
    let listed = numbers(&entry.some_list("ranks").unwrap_or_default());
    let last = ranks.saturating_sub(1);
    let wrong = |message: String| {
        let hint = format!("list ranks of 0 to {last}, at least one and none twice");
        Err(Conflict::new(&["ranks"], message, hint))
    };
    if let Some(rank) = listed.iter().find(|&&rank| rank >= ranks.into()) {
        return wrong(format!("there is no rank {rank} that could be in a group"));
    }
    let different: BTreeSet<_> = listed.iter().collect();
    if listed.is_empty() || different.len() < listed.len() {
        return wrong(format!("group \"{name}\" has no rank, or one twice"));
    }
    Ok(Group {
        name: name.to_owned(),
        ranks: listed.iter().map(|&rank| rank as u32).collect(),
    })
}

fn step(entry: &Values, workload: &Workload) -> Result<Step, Conflict> {
    let groups = match entry.get("groups") {
        Some(Value::List(named)) => groups_of(named, &workload.groups)?,
        _ => Vec::new(),
    };
    let unless = |key: &'static [&'static str], what: &str| match entry.get(key[0]) {
        None => Ok(()),
        Some(_) => {
            let message = format!("`{}` is for {what} only", key[0]);
            Err(Conflict::new(key, message, "leave it out"))
        }
    };
    let work = if let Some(time) = entry.some_time("compute") {
        unless(&["size"], "collectives and sends")?;
        unless(&["algorithm"], "collectives")?;
        unless(&["sizes"], "an all-to-allv")?;
        StepWork::Compute(time)
    } else if let Some(word) = entry.some_word("collective") {
        unless(&["send"], "steps without `collective`")?;
        collective(entry, word, &groups, workload)?
    } else if let Some(Value::List(pairs)) = entry.get("send") {
        unless(&["groups"], "computations and collectives")?;
        unless(&["algorithm"], "collectives")?;
        unless(&["sizes"], "an all-to-allv")?;
        StepWork::Messages {
            pairs: pairs_of(pairs, workload.ranks)?,
            bytes: size(entry, "a send")?,
        }
    } else {
        let message = "a step says what is done: `compute`, `collective` or `send`";
        let hint = "for example { collective = \"all-reduce\", size = \"1MB\" }";
        return Err(Conflict::new(&["collective"], message, hint));
    };
    Ok(Step { groups, work })
}

/// Converts the names of a step's groups to indices in the list of groups.
fn groups_of(named: &[Value], groups: &[Group]) -> Result<Vec<u32>, Conflict> {
    let found = named.iter().map(|name| group_of(name, groups));
    let found = found.collect::<Result<Vec<u32>, Conflict>>()?;
    let different: BTreeSet<_> = found.iter().collect();
    if found.is_empty() || different.len() < found.len() {
        let message = "`groups` has no group, or one twice";
        let hint = "name each once; without `groups` all ranks take part";
        return Err(Conflict::new(&["groups"], message, hint));
    }
    Ok(found)
}

fn group_of(name: &Value, groups: &[Group]) -> Result<u32, Conflict> {
    let name = match name {
        Value::Text(name) => name.as_str(),
        _ => "?",
    };
    let found = groups.iter().position(|group| group.name == name);
    found.map(|at| at as u32).ok_or_else(|| {
        let known = groups.iter().map(|group| group.name.as_str());
        let hint = match nearest(name, known) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => "`groups` of the workload lists groups with their ranks".to_owned(),
        };
        Conflict::new(&["groups"], format!("there is no group \"{name}\""), hint)
    })
}

fn size(entry: &Values, what: &str) -> Result<u64, Conflict> {
    entry.some_size("size").ok_or_else(|| {
        let message = format!("{what} needs a `size`");
        Conflict::new(
            &["collective", "send"],
            message,
            "for example size = \"1MB\"",
        )
    })
}

fn pairs_of(pairs: &[Value], ranks: u32) -> Result<Vec<(u32, u32)>, Conflict> {
    if pairs.is_empty() {
        let message = "`send` has no message";
        let hint = "write [from, to] for each: send = [[0, 1]]";
        return Err(Conflict::new(&["send"], message, hint));
    }
    pairs.iter().map(|pair| pair_of(pair, ranks)).collect()
}

fn pair_of(pair: &Value, ranks: u32) -> Result<(u32, u32), Conflict> {
    let pair = match pair {
        Value::List(pair) => numbers(pair),
        _ => Vec::new(),
    };
    let last = ranks.saturating_sub(1);
    match pair[..] {
        [from, to] if from != to && from.max(to) < ranks.into() => Ok((from as u32, to as u32)),
        _ => {
            let message = format!("{pair:?} is no pair of two ranks");
            let hint = format!("write [from, to], two different ranks of 0 to {last}");
            Err(Conflict::new(&["send"], message, hint))
        }
    }
}

fn collective(
    entry: &Values,
    word: &str,
    groups: &[u32],
    workload: &Workload,
) -> Result<StepWork, Conflict> {
    let Some(kind) = CollectiveKind::of_word(word) else {
        let message = format!("there is no collective \"{word}\"");
        return Err(Conflict::new(
            &["collective"],
            message,
            "docs/workloads.md lists them",
        ));
    };
    let text = params::text(entry, "algorithm");
    let sizes = sizes(entry, kind, groups, workload)?;
    let bytes = match (kind, entry.some_size("size")) {
        (CollectiveKind::Barrier | CollectiveKind::AllToAllV, None) => 0,
        (CollectiveKind::Barrier, Some(_)) => {
            let message = "a barrier moves no data";
            return Err(Conflict::new(&["size"], message, "leave `size` out"));
        }
        (CollectiveKind::AllToAllV, Some(_)) => {
            let message = "the sizes of an all-to-allv are those of `sizes`";
            return Err(Conflict::new(&["size"], message, "leave `size` out"));
        }
        _ => size(entry, word)?,
    };
    let mut algorithm = None;
    for group in of_groups(groups) {
        let members = workload.members(group).count();
        let checked = checked_algorithm(kind, text, bytes, members);
        algorithm = checked
            .map_err(|why| Conflict::new(&["algorithm", "collective"], why, ALGORITHMS_HINT))?;
    }
    Ok(StepWork::Collective {
        kind,
        algorithm,
        bytes,
        sizes,
    })
}

impl StepsSpec {
    /// Returns the collectives of a workload of `ranks` ranks, with their algorithms.
    pub(crate) fn collectives(&self, ranks: u32) -> impl Iterator<Item = Chosen<'_>> {
        self.steps.iter().filter_map(move |step| {
            let StepWork::Collective {
                algorithm, bytes, ..
            } = &step.work
            else {
                return None;
            };
            let group = step
                .groups
                .first()
                .map(|&group| &self.groups[group as usize]);
            Some(Chosen {
                algorithm: algorithm.as_deref()?,
                bytes: *bytes,
                members: group.map_or(ranks, |group| group.ranks.len() as u32),
            })
        })
    }

    /// Returns kind, algorithm and group of each collective. Group `None`: all ranks are members.
    pub(crate) fn collective_groups(
        &self,
    ) -> impl Iterator<Item = (CollectiveKind, Option<&str>, Option<&Group>)> {
        self.steps.iter().flat_map(move |step| {
            let found = match &step.work {
                StepWork::Collective {
                    kind, algorithm, ..
                } => Some((*kind, algorithm.as_deref())),
                _ => None,
            };
            found.into_iter().flat_map(move |(kind, algorithm)| {
                of_groups(&step.groups)
                    .map(move |group| (kind, algorithm, group.map(|g| &self.groups[g as usize])))
            })
        })
    }
}

/// Returns the groups of a step as optional indices. `None` is the group of all ranks.
fn of_groups(groups: &[u32]) -> impl Iterator<Item = Option<u32>> {
    let all = groups.is_empty().then_some(None);
    all.into_iter().chain(groups.iter().copied().map(Some))
}

/// Reads the sizes of an all-to-allv: one row per member, or one row that applies to all members.
fn sizes(
    entry: &Values,
    kind: CollectiveKind,
    groups: &[u32],
    workload: &Workload,
) -> Result<Vec<Vec<u64>>, Conflict> {
    let Some(Value::List(listed)) = entry.get("sizes") else {
        return if kind == CollectiveKind::AllToAllV {
            let message = "an all-to-allv needs `sizes`: what each member has for each";
            let hint = "a row for each member, or one row for all: sizes = [\"1MB\", \"2MB\"]";
            Err(Conflict::new(&["collective"], message, hint))
        } else {
            Ok(Vec::new())
        };
    };
    let row = |value: &Value| match value {
        Value::List(row) => Some(numbers(row)),
        _ => None,
    };
    let rows: Vec<Vec<u64>> = listed.iter().filter_map(row).collect();
    let is_one = rows.is_empty();
    let rows = if is_one { vec![numbers(listed)] } else { rows };
    for group in of_groups(groups) {
        let members = workload.members(group).count() as usize;
        let name = workload.group_name(group);
        let shape = |message: String| {
            let hint = format!(
                "\"{name}\" has {members} ranks: {members} sizes in a row, one row for all or {members}"
            );
            Err(Conflict::new(&["sizes"], message, hint))
        };
        if let Some(row) = rows.iter().find(|row| row.len() != members) {
            return shape(format!("{} sizes for {members} ranks", row.len()));
        }
        if !is_one && rows.len() != members {
            return shape(format!("{} rows for {members} ranks", rows.len()));
        }
    }
    Ok(rows)
}

impl StepsSpec {
    /// Returns the groups and options that apply to all ranks of the workload.
    pub(crate) fn workload(&self, ranks: u32) -> Workload {
        Workload {
            ranks,
            groups: self.groups.clone(),
            options: Options {
                send_end: self.send_end,
                ..Options::default()
            },
            ..Workload::default()
        }
    }

    /// Size of the largest message, or of the largest vector of a collective, in bytes.
    pub(crate) fn max_bytes(&self) -> u64 {
        let of = |step: &Step| match &step.work {
            StepWork::Compute(_) => 0,
            StepWork::Collective { bytes, sizes, .. } => {
                sizes.iter().flatten().copied().fold(*bytes, u64::max)
            }
            StepWork::Messages { bytes, .. } => *bytes,
        };
        self.steps.iter().map(of).max().unwrap_or(0)
    }

    /// True if a step is a computation.
    pub(crate) fn computes(&self) -> bool {
        let mut steps = self.steps.iter();
        steps.any(|step| matches!(step.work, StepWork::Compute(time) if time > 0))
    }

    /// Returns the operations of each rank. The operations of a step depend on all operations of
    /// the rank in the previous step.
    // RNK-21: dependencies between steps
    pub(crate) fn operations(&self, ranks: u32) -> Vec<Vec<Operation>> {
        let workload = self.workload(ranks);
        let steps = self.steps.len() as u64;
        let of = |rank: u32| {
            let mut operations: Vec<Operation> = Vec::new();
            let mut before: Vec<u32> = Vec::new();
            for number in 0..u64::from(self.repeats) * steps {
                let step = &self.steps[(number % steps) as usize];
                let first = operations.len() as u32;
                for work in self.works(step, rank, number, &workload) {
                    operations.push(Operation {
                        work,
                        after_end: before.clone(),
                        ..Operation::default()
                    });
                }
                let end = operations.len() as u32;
                if end > first {
                    before = (first..end).collect();
                }
            }
            operations
        };
        (0..ranks).map(of).collect()
    }

    /// Returns the work of a rank in a step. `number` is the index of the step, used in message
    /// tags.
    fn works(&self, step: &Step, rank: u32, number: u64, workload: &Workload) -> Vec<Work> {
        match &step.work {
            StepWork::Compute(duration_ps) => {
                let mut groups = of_groups(&step.groups);
                let takes_part =
                    groups.any(|group| workload.members(group).position(rank).is_some());
                let calc = Work::Calc {
                    duration_ps: *duration_ps,
                };
                takes_part.then_some(calc).into_iter().collect()
            }
            StepWork::Collective {
                kind,
                algorithm,
                bytes,
                sizes,
            } => {
                let part = |group: Option<u32>| {
                    let at = workload.members(group).position(rank)? as usize;
                    let row = |row: usize| &sizes[row.min(sizes.len() - 1)];
                    let is_v = *kind == CollectiveKind::AllToAllV;
                    let members = workload.members(group).count() as usize;
                    let (to_each, from_each) = match is_v {
                        true => (
                            row(at).clone(),
                            (0..members).map(|one| row(one)[at]).collect(),
                        ),
                        false => (Vec::new(), Vec::new()),
                    };
                    Some(Work::Collective(Box::new(Collective {
                        kind: *kind,
                        group,
                        bytes: *bytes,
                        algorithm: algorithm.as_deref().map(Into::into),
                        class: self.class,
                        latency_ps: self.latency_ps,
                        to_each,
                        from_each,
                        ..Collective::default()
                    })))
                };
                of_groups(&step.groups).filter_map(part).collect()
            }
            StepWork::Messages { pairs, bytes } => {
                let mut works = Vec::new();
                for &(from, to) in pairs {
                    if from == rank {
                        works.push(Work::Send(Send {
                            to,
                            bytes: *bytes,
                            tag: number,
                            class: self.class,
                            latency_ps: self.latency_ps,
                            ..Send::default()
                        }));
                    }
                    if to == rank {
                        works.push(Work::Receive(Receive {
                            from: Some(from),
                            bytes: *bytes,
                            tag: Some(number),
                        }));
                    }
                }
                works
            }
        }
    }
}
