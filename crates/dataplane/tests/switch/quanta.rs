//! PFC pauses that expire: at one switch alone, and at two switches. In the second case, the second
//! switch pauses the first while frames between them are lost. The rules are in
//! `specs/pfc-quanta.md`.

use super::*;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dataplane::classes::ClassSet;
use dataplane::hop::pfc::{PauseFor, said};
use dataplane::pause_time::pause_ps;
use dataplane::units::NEVER;
use proptest::prelude::*;

/// Pause times for tests. The times of a vendor's driver would make the tests slow.
const TIMES: PauseTime = PauseTime::Quanta {
    quanta: 100,
    refresh: 50,
};
const RATE: Rate = LINK.0;

fn lasting(pause: PauseTime) -> Pfc {
    Pfc {
        xon_offset: 3_000,
        pause,
        ..pfc(10_000, None)
    }
}

fn lossless(pause: PauseTime) -> SwitchConfig {
    let mut c = config();
    c.mmu.admission = Admission::Pfc(lasting(pause));
    c
}

fn pause_for(quanta: u16, classes: ClassSet) -> Packet {
    PauseFor { quanta, classes }.packet(64)
}

impl Bench {
    fn timer(&mut self, at: Time) {
        self.now = at;
        self.switch.timer(at, &mut self.arena, &mut self.ears);
    }
}

// QNT-02, QNT-03, QNT-09: classes and duration of a pause
#[test]
fn a_pause_holds_the_classes_it_names_for_the_time_it_names() {
    let mut b = Bench::new(&lossless(TIMES));
    b.receive(0, data(1, 1, 0));
    let other = Packet {
        flow: 2,
        ..Packet::new(Kind::Data, 3, 1000)
    };
    b.receive(0, Packet { dst: 1, ..other });
    b.now = 1000;
    b.receive(1, pause_for(10, 1 << 2));
    let until = 1000 + pause_ps(RATE, 10);
    assert_eq!(b.ears.wakes, [until]);
    assert_eq!(b.send(1).map(|p| p.class()), Some(3), "class 3 goes on");
    b.timer(until - 1);
    assert!(b.send(1).is_none());
    b.ears.kicks.clear();
    b.timer(until);
    assert_eq!(b.ears.kicks, [1]);
    assert_eq!(b.ears.pauses, [(1, 0, 4), (1, 4, 0)]);
    assert_eq!(b.send(1).map(|p| p.class()), Some(2));
    assert_eq!(b.switch.hop_counters()["pfc_expiries"], 1);
    b.sound();
}

// QNT-02, QNT-03, QNT-04: later frames replace the duration
#[test]
fn the_last_frame_counts_and_one_at_the_last_instant_still_extends() {
    let mut b = Bench::new(&lossless(TIMES));
    b.receive(0, data(1, 1, 0));
    b.receive(1, pause_for(10, 4));
    let first = pause_ps(RATE, 10);
    b.now = first;
    b.receive(1, pause_for(10, 4));
    b.timer(first);
    assert!(b.send(1).is_none());
    b.receive(1, pause_for(2, 4));
    b.timer(first + pause_ps(RATE, 2));
    assert!(b.send(1).is_some(), "made shorter");
    // A resume cancels the timed pause, and so does a pause without a duration.
    b.receive(0, data(1, 1, 1));
    b.receive(1, pause_for(10, 4));
    b.receive(1, pause_classes(false, 4));
    assert!(b.send(1).is_some());
    b.receive(0, data(1, 1, 2));
    b.receive(1, pause_for(10, 4));
    b.receive(1, pause_classes(true, 4));
    b.timer(b.now + 100 * US);
    assert!(b.send(1).is_none());
    assert_eq!(b.switch.hop_counters()["pfc_expiries"], 1);
}

// QNT-05, QNT-06, QNT-09: repetition of a pause
#[test]
fn an_ingress_above_its_threshold_repeats_its_pause_until_it_resumes() {
    let mut b = Bench::new(&lossless(TIMES));
    for psn in 0..11 {
        b.receive(0, data(1, 1, psn));
    }
    let frame = |p: Packet| PauseFor::read(&p).map(|f| (f.quanta, f.classes));
    assert_eq!(b.send(0).and_then(frame), Some((100, 4)));
    let period = pause_ps(RATE, 50);
    for nth in 1..=3 {
        assert_eq!(b.ears.wakes.last(), Some(&(nth * period)));
        b.timer(nth * period - 1);
        assert!(b.send(0).is_none());
        b.timer(nth * period);
        assert_eq!(b.send(0).and_then(frame), Some((100, 4)));
    }
    for _ in 0..4 {
        assert!(b.send(1).is_some());
    }
    let resumed = b.send(0).and_then(|p| PauseClasses::read(&p));
    assert_eq!(resumed.map(|said| said.on), Some(false));
    b.timer(10 * period);
    assert!(b.send(0).is_none(), "nothing is repeated after XON");
    let counters = b.switch.hop_counters();
    let seen = ["pfc_pauses", "pfc_refreshes", "pfc_resumes"].map(|name| counters[name]);
    assert_eq!(seen, [1, 3, 1]);
    b.sound();
}

// SW-44, QNT-05, QNT-08: a pause replaces a queued resume
#[test]
fn a_pause_whose_resume_is_taken_back_is_told_again() {
    let mut b = Bench::new(&lossless(TIMES));
    let on = |p: Packet| said(&p).map(|said| said.0);
    let fill = |b: &mut Bench| (0..11).for_each(|psn| b.receive(0, data(1, 1, psn)));
    fill(&mut b);
    assert_eq!(b.send(0).and_then(on), Some(true));
    b.all(1);
    // The resume is still queued. A new pause replaces the resume.
    let later = pause_ps(RATE, 20);
    b.now = later;
    fill(&mut b);
    assert_eq!(b.ears.wakes.last(), Some(&(later + pause_ps(RATE, 50))));
    assert_eq!(
        (b.send(0).and_then(on), b.send(0).is_none()),
        (Some(true), true)
    );
    let counters = b.switch.hop_counters();
    let seen = ["pfc_pauses", "pfc_refreshes", "pfc_resumes"].map(|name| counters[name]);
    assert_eq!(seen, [1, 1, 0]);
    // If a pause frame is still queued, no further frame is sent.
    b.all(1);
    assert_eq!(b.send(0).and_then(on), Some(false));
    fill(&mut b);
    b.all(1);
    fill(&mut b);
    assert_eq!(
        (b.send(0).and_then(on), b.send(0).is_none()),
        (Some(true), true)
    );
    b.sound();
}

// QNT-04, LNK-21: a link failure ends pauses
#[test]
fn a_link_that_fails_ends_pauses_and_their_repetition() {
    let mut b = Bench::new(&lossless(TIMES));
    for psn in 0..11 {
        b.receive(0, data(1, 1, psn));
    }
    b.receive(0, pause_for(100, 4));
    let stranded = dataplane::switch::Stranded::Wait;
    for up in [false, true] {
        b.switch
            .link(0, 0, (!up).then_some(stranded), &mut b.arena, &mut b.ears);
    }
    // The class is paused again immediately (LNK-22), and the pause is repeated from now on.
    assert_eq!(b.all(0).len(), 1);
    b.timer(pause_ps(RATE, 50));
    assert_eq!(b.all(0).len(), 1);
    b.timer(pause_ps(RATE, 100));
    assert_eq!(b.switch.hop_counters()["pfc_expiries"], 0);
}

/// Event in the network of two switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A packet arrives at a port of a switch.
    Arrival {
        at: usize,
        port: u16,
        id: PacketId,
    },
    Timer {
        at: usize,
    },
    Free {
        at: usize,
        port: u16,
    },
}

/// Two switches in a row. Packets are queued in the first switch. The second switch has a slow
/// egress port and pauses the first.
struct Row {
    switches: [Switch; 2],
    arena: Arena,
    ears: [Ears; 2],
    events: BinaryHeap<Reverse<(Time, Event)>>,
    busy: [[Time; 4]; 2],
    now: Time,
    /// For each pause or resume frame in order: true if the frame is lost. Later frames are not
    /// lost.
    lost: Vec<bool>,
    frames: usize,
    /// Indices of the resumes among all pause and resume frames.
    resumes: Vec<usize>,
    delivered: Vec<(Time, u32)>,
}

/// Port of the first switch towards the second switch, and vice versa.
const BETWEEN: u16 = 1;
/// Egress port of the second switch.
const OUT: u16 = 2;
const SLOW: Rate = Rate::from_gbps(10);

impl Row {
    fn new(pause: PauseTime, lost: Vec<bool>, packets: u32) -> Self {
        let first = SwitchConfig {
            mmu: MmuConfig {
                admission: Admission::Unlimited,
                ..config().mmu
            },
            ..config()
        };
        let links = |out: Rate| [LINK, LINK, (out, US), LINK];
        let leads = |port: u16| {
            let endpoints = Endpoints::new(1, vec![0; 4], vec![port; 4], Vec::new());
            let ways = (vec![0], PortSets::from_iter([&[] as &[u16]]));
            Routes::new(Arc::new(endpoints), 0, ways, (PathChoice::Flow, 1))
        };
        let second = lossless(pause);
        let mut row = Self {
            switches: [
                Switch::new(0, &first, &links(RATE), leads(BETWEEN)),
                Switch::new(1, &second, &links(SLOW), leads(OUT)),
            ],
            arena: Arena::new(),
            ears: Default::default(),
            events: BinaryHeap::new(),
            busy: [[0; 4]; 2],
            now: 0,
            lost,
            frames: 0,
            resumes: Vec::new(),
            delivered: Vec::new(),
        };
        for psn in 0..packets {
            let id = row.arena.alloc(data(1, 3, psn), Cold::default());
            row.arrive(0, 0, id);
        }
        row
    }

    fn arrive(&mut self, at: usize, port: u16, id: PacketId) {
        self.switches[at].receive(self.now, port, id, &mut self.arena, &mut self.ears[at]);
        self.follow(at);
    }

    /// Handles the requests of a switch.
    fn follow(&mut self, at: usize) {
        for wake in std::mem::take(&mut self.ears[at].wakes) {
            self.events.push(Reverse((wake, Event::Timer { at })));
        }
        for port in std::mem::take(&mut self.ears[at].kicks) {
            self.start(at, port);
        }
    }

    fn start(&mut self, at: usize, port: u16) {
        if self.busy[at][usize::from(port)] > self.now {
            return;
        }
        let switch = &mut self.switches[at];
        let sent = switch.transmit(self.now, port, &mut self.arena, &mut self.ears[at]);
        let Some(id) = sent else { return };
        let packet = *self.arena.hot(id);
        let rate = if (at, port) == (1, OUT) { SLOW } else { RATE };
        let free = self.now + rate.serialisation_ps(packet.size.into());
        self.busy[at][usize::from(port)] = free;
        self.events.push(Reverse((free, Event::Free { at, port })));
        match (at, port) {
            (0, _) => {
                let arrival = Event::Arrival { at: 1, port, id };
                self.events.push(Reverse((free + LINK.1, arrival)));
            }
            (1, BETWEEN) => {
                let (on, _) = said(&packet).expect("it sends nothing else there");
                if !on {
                    self.resumes.push(self.frames);
                }
                let lost = self.lost.get(self.frames) == Some(&true);
                self.frames += 1;
                if lost {
                    self.arena.free(id);
                } else {
                    let arrival = Event::Arrival { at: 0, port, id };
                    self.events.push(Reverse((free + LINK.1, arrival)));
                }
            }
            _ => {
                self.delivered.push((free, packet.psn));
                self.arena.free(id);
            }
        }
        self.follow(at);
    }

    /// Runs until no event is left that could change the state.
    fn run(&mut self) {
        let mut steps = 0;
        while let Some(Reverse((at_ps, event))) = self.events.pop() {
            self.now = at_ps;
            steps += 1;
            assert!(steps < 1_000_000, "it does not end");
            match event {
                Event::Arrival { at, port, id } => self.arrive(at, port, id),
                Event::Timer { at } => {
                    let ears = &mut self.ears[at];
                    self.switches[at].timer(at_ps, &mut self.arena, ears);
                    self.follow(at);
                }
                Event::Free { at, port } => self.start(at, port),
            }
        }
    }

    fn counted(&self, name: &str) -> u64 {
        self.switches.iter().map(|s| s.hop_counters()[name]).sum()
    }

    fn dropped(&self) -> usize {
        self.ears[1].drops.len()
    }

    /// Returns the departure time of the last packet.
    fn end(&self) -> Time {
        self.delivered.last().map_or(NEVER, |last| last.0)
    }
}

const PACKETS: u32 = 400;

// QNT-05: with headroom no packet is lost, and repeated pauses do not change departure times.
#[test]
fn repeated_pauses_do_what_one_pause_does() {
    let mut timed = Row::new(TIMES, Vec::new(), PACKETS);
    let mut lasting = Row::new(PauseTime::UntilResumed, Vec::new(), PACKETS);
    timed.run();
    lasting.run();
    assert_eq!((timed.dropped(), lasting.dropped()), (0, 0));
    assert_eq!(timed.delivered, lasting.delivered);
    assert!(timed.counted("pfc_refreshes") > 5);
    assert_eq!(timed.counted("pfc_expiries"), 0);
    for name in ["pfc_pauses", "pfc_resumes"] {
        assert_eq!(timed.counted(name), lasting.counted(name));
        assert!(timed.counted(name) > 3);
    }
}

// QNT-07: a pause frame is lost
#[test]
fn a_lost_xoff_heals_by_the_next_repetition() {
    let pause = PauseTime::Quanta {
        quanta: 1000,
        refresh: 500,
    };
    let mut row = Row::new(pause, vec![true], PACKETS);
    row.run();
    // The upstream switch sent during one refresh interval. Packets beyond the headroom were
    // dropped, and all others arrived.
    let went_on = RATE.bytes_in(pause_ps(RATE, 500)) as usize / 1000;
    let dropped = row.dropped();
    assert!((1..=went_on + 1).contains(&dropped), "{dropped}");
    assert_eq!(row.delivered.len() + dropped, PACKETS as usize);
    assert!(row.counted("pfc_refreshes") > 0);
}

// QNT-07: a resume frame is lost
#[test]
fn a_lost_xon_heals_when_the_pause_runs_out() {
    let run = |pause, lost: Option<usize>| {
        let lost = lost.map_or(Vec::new(), |nth| (0..=nth).map(|n| n == nth).collect());
        let mut row = Row::new(pause, lost, PACKETS);
        row.run();
        row
    };
    let whole = run(TIMES, None);
    let mut ran_out = 0;
    for &nth in &whole.resumes {
        let row = run(TIMES, Some(nth));
        assert_eq!((row.delivered.len() as u32, row.dropped()), (PACKETS, 0));
        ran_out += row.counted("pfc_expiries");
        let late = row.end().saturating_sub(whole.end());
        assert!(late <= pause_ps(RATE, 100) + 2 * LINK.1, "{late} ps late");
    }
    assert!(ran_out >= whole.resumes.len() as u64);
    // Without a pause duration, the upstream switch waits for ever if it has packets left to send.
    let resumes = run(PauseTime::UntilResumed, None).resumes;
    let stuck = resumes.iter().filter(|nth| {
        let row = run(PauseTime::UntilResumed, Some(**nth));
        (row.delivered.len() as u32) < PACKETS
    });
    assert!(stuck.count() > 3);
}

proptest! {
    // QNT-03, QNT-05, QNT-06, QNT-07: random losses of pause and resume frames
    #[test]
    fn whatever_is_lost_all_packets_go_through_or_are_dropped(
        lost in prop::collection::vec(any::<bool>(), 0..40),
        quanta in 40u16..400,
        part in 1u16..9,
    ) {
        let refresh = (quanta * part / 10).max(1);
        let mut row = Row::new(PauseTime::Quanta { quanta, refresh }, lost.clone(), PACKETS);
        row.run();
        prop_assert_eq!(row.delivered.len() + row.dropped(), PACKETS as usize);
        for (switch, ears) in row.switches.iter().zip(&row.ears) {
            prop_assert_eq!(switch.audit(&row.arena), Vec::<String>::new());
            prop_assert_eq!(ears.pauses.last().map_or(0, |pause| pause.2), 0, "nothing stays paused");
        }
        if !lost.contains(&true) {
            prop_assert_eq!((row.dropped(), row.counted("pfc_expiries")), (0, 0));
        }
    }
}
