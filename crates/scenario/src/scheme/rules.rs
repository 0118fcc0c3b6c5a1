//! Checks combinations of choices: errors if they cannot work, warnings if they are questionable.

use super::SchemeSpec;
use crate::reader::Section;
use dataplane::config::Classify;
use dataplane::properties::{Choice, Finding, Properties, Property, Rule};
use dataplane::transport;

/// Reports the findings about all choices of a scheme. Equal findings are reported once.
pub(super) fn check(s: &Section<'_>, spec: &SchemeSpec) {
    let (switch, nic) = (&spec.switch, &spec.nic);
    let choices: [&dyn Choice; 16] = [
        spec,
        &switch.classify,
        &switch.schedule,
        &switch.mmu.admission,
        &switch.path,
        &switch.link,
        &switch.ecn,
        &switch.int,
        &switch.notifier,
        &switch.guard,
        &spec.victims,
        &spec.hop,
        nic,
        &nic.control,
        &nic.recovery,
        &nic.spray,
    ];
    let provided = choices.iter().map(|choice| choice.provides());
    let all = provided.fold(Properties::NONE, Properties::and);
    let mut findings = Vec::new();
    for rule in choices.iter().flat_map(|choice| choice.rules()) {
        if rule.applies(all) && !findings.contains(&rule.finding) {
            findings.push(rule.finding);
        }
    }
    for finding in findings {
        match finding {
            Finding::Wrong(found) => s.complain_of(found.keys, found.message, found.hint),
            Finding::Doubtful(found) => s.warn_of(found.keys, found.message, found.hint),
        }
    }
}

/// Properties and rules of options that do not belong to a single scheme.
impl Choice for SchemeSpec {
    fn provides(&self) -> Properties {
        let is_ignored = |number| !self.nic.obeys.contains(number);
        Properties::NONE
            .with(Property::WholeNanoseconds, self.cut_times)
            .with(
                Property::IgnoresHop,
                self.hop.number().is_some_and(is_ignored),
            )
    }

    fn rules(&self) -> Vec<Rule> {
        let mut rules = priorities();
        if self.in_order {
            rules.extend(dataplane::rules! {
                wrong ["ties", "clock"] without [WholeNanoseconds]:
                    "events stand in the order of scheduling only where times are whole nanoseconds",
                    "set clock = \"ns\", or ties = \"phases\"";
            });
        }
        let is_dynamic = matches!(self.switch.classify, Classify::Dynamic { .. });
        if is_dynamic && self.switch.assign.incast_queue && self.queues < 3 {
            rules.extend(dataplane::rules! {
                wrong ["dynamic", "queues", "classify"]:
                    "`dynamic.incast_queue` sets a queue apart, and there is one queue for data in all",
                    "raise queues to 3 or more";
            });
        }
        let small = self.switch.schedule.small_quantum(self.switch.max_frame);
        rules.extend(small.map(|finding| Rule::new(finding, &[], &[])));
        rules
    }
}

/// Returns the rules of three choices that work only together: priority queues, strict-priority
/// scheduling, and a transport that sets priorities.
fn priorities() -> Vec<Rule> {
    use Property::{PriorityQueues, SetsPriority, StrictOrder};
    let transports: Vec<_> = transport::names_with(SetsPriority).collect();
    let finding = Finding::wrong(
        &["classify", "schedule", "control"],
        "packets of a transport with priority levels name queues by priority, which are served \
         strictly in order, and no others do",
        format!(
            "set classify = \"priority\", schedule = \"strict\" and control = \"{}\", or none of them",
            transports.join("\" or \"")
        ),
    );
    let pairs = [
        (PriorityQueues, StrictOrder),
        (StrictOrder, SetsPriority),
        (SetsPriority, PriorityQueues),
    ];
    let rule = |(has, lacks)| Rule::new(finding.clone(), &[has], &[lacks]);
    pairs.map(rule).to_vec()
}
