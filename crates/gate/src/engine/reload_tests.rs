//! A reserved flow while reloads change the schedulers under load: it keeps the larger of the bounds
//! that `check` prints for the files before and after.

use super::reserved::{LONGEST, Reserved, SHORTEST, frame_from, promised};
use super::tests::{cases, file_with_circuits};
use super::*;
use tidegate_core::rng::Rng;
use tidegate_formats::GateFile;

/// Schedulers of the port and of classes. The first four promise a bound; the default has CoDel, too.
const SCHEDULERS: [&str; 12] = [
    "",
    "wf2q-plus",
    "wfq",
    "virtual-clock",
    "drr",
    "scfq",
    "sfq",
    "fifo",
    "round-robin",
    "strict-priority",
    "pulse",
    "fq-codel",
];
const BOUNDED: usize = 4;

fn one_of<'a>(rng: &mut Rng, all: &[&'a str]) -> &'a str {
    all[rng.below(all.len() as u64) as usize]
}

/// The part that all files of a run have in common.
struct Gate {
    /// Reservations of the reserved flow and of three others that are named, in kbit/s.
    reserves: [u64; 4],
    unit: &'static str,
    /// The reserved flow is in a class, with the others or alone.
    class: Option<bool>,
}

impl Gate {
    fn draw(rng: &mut Rng) -> Gate {
        let units = ["each = \"host\"\n", "each = \"host\"\nwithin = \"5-tuple\"\n", "each = \"5-tuple\"\n"];
        Gate {
            reserves: [3_000, 2_000, 2_000, 2_000].map(|most| 100 + rng.below(most)),
            unit: one_of(rng, &units),
            class: rng.chance(0.3).then(|| rng.chance(0.5)),
        }
    }

    /// The file with these schedulers at the port and at the class.
    fn file(&self, port: &str, class: &str) -> GateFile {
        let scheduler =
            |name: &str| if name.is_empty() { String::new() } else { format!("scheduler = \"{name}\"") };
        let mut text = format!(
            "version = 1\nswitch = {{ buffer = \"20000p\" }}\nport = {{ {} }}\n\
             gate = {{ inside = \"a\", outside = \"b\", up = \"10mbit\", down = \"10mbit\", overhead = 24 }}\n",
            scheduler(port)
        );
        let (mut of_call, mut of_others) = ("", "");
        if let Some(together) = self.class {
            (of_call, of_others) = ("class = \"site\"\n", if together { "class = \"site\"\n" } else { "" });
            text += &format!("[[class]]\nname = \"site\"\nreserve = \"3500kbit\"\n{}\n", scheduler(class));
        }
        for (ix, reserve) in self.reserves.iter().enumerate() {
            let matching =
                if ix == 0 { "inside = \"192.168.7.7\"".into() } else { format!("inside_port = {ix}") };
            text += &format!(
                "[[flow]]\nname = \"named{ix}\"\nmatch = {{ {matching} }}\nreserve = \"{reserve}kbit\"\nworkahead = \"3076B\"\n"
            );
            text += if ix == 0 { of_call } else { "" };
        }
        text += &format!("[[flow]]\nname = \"others\"\n{}reserve = \"100kbit\"\n{of_others}", self.unit);
        file_with_circuits(&text, "")
    }
}

/// The reserved flow of a run, and the bound that it has: the larger of those before and after the
/// latest reload, until its own line has been idle.
struct Run {
    flow: Reserved,
    now: Option<Span>,
    bound: Option<Span>,
    /// Reloads after which a packet of it waited, and the largest excess over the bound, in seconds.
    waited: u64,
    excess: f64,
}

impl Run {
    fn judge(&mut self) {
        if let Some(bound) = self.bound {
            let excess = self.flow.latest.as_secs_f64() - bound.as_secs_f64();
            self.excess = self.excess.max(excess);
        }
        self.flow.latest = Span::ZERO;
    }

    fn wait_until(&mut self, at: Time) {
        let idle = self.flow.free;
        if idle < at && idle > self.flow.bench.now {
            self.flow.wait_until(idle);
        }
        self.flow.wait_until(at);
        self.judge();
        if self.flow.free <= at && !self.flow.waits() {
            self.bound = self.now;
        }
    }

    fn reload(&mut self, file: &GateFile) {
        self.flow.reload(file);
        self.waited += u64::from(self.flow.waits());
        let before = std::mem::replace(&mut self.now, promised(file));
        match (before, self.now) {
            (Some(_), Some(after)) => self.bound = Some(self.bound.unwrap_or(after).max(after)),
            // Under the scheduler before nothing was promised to the packets that wait: their line
            // begins now.
            (None, Some(after)) => {
                self.flow.restart_line();
                self.bound = Some(after);
            }
            _ => self.bound = None,
        }
    }
}

#[test]
fn reloads_between_schedulers_keep_the_larger_bound() {
    let count = u64::from(cases(12));
    let (mut wrong, mut reloads, mut waited, mut bounded) = (Vec::new(), 0, 0, 0);
    for seed in 0..count {
        let rng = &mut Rng::named(seed, "reloads");
        let gate = Gate::draw(rng);
        let others = rng.chance(0.3);
        let draw = |rng: &mut Rng| {
            let port = one_of(rng, &SCHEDULERS[..if others { SCHEDULERS.len() } else { BOUNDED }]);
            let class = one_of(rng, &["", "", "wf2q-plus", "drr"]);
            (port, class)
        };
        let mut names = vec![draw(rng)];
        let first = gate.file(names[0].0, names[0].1);
        let now = promised(&first);
        let mut run = Run { flow: Reserved::new(&first), now, bound: now, waited: 0, excess: f64::MIN };
        let (mut at, mut calls_at) = (Time::ORIGIN, Time::ORIGIN);
        let gap = [10_000, 50_000, 200_000][rng.below(3) as usize];
        let mut reload_at = Time::ORIGIN + Span::from_micros(200_000);
        let length = if rng.chance(0.7) { LONGEST } else { SHORTEST };
        // Beyond the rate for a second, and below it then.
        while at < Time::ORIGIN + Span::from_millis(1_500) {
            if reload_at <= at.min(calls_at) {
                run.wait_until(reload_at);
                let (port, class) = draw(rng);
                run.reload(&gate.file(port, class));
                names.push((port, class));
                bounded += u64::from(run.bound.is_some());
                reload_at += Span::from_micros(rng.below(gap) + 1);
            } else if calls_at <= at {
                run.wait_until(calls_at);
                run.flow.call(length);
                calls_at = run.flow.free.max(calls_at + Span::from_micros(1));
                calls_at += Span::from_micros([0, 0, 20_000][rng.below(3) as usize]);
            } else {
                run.wait_until(at);
                for _ in 0..1 + rng.below(20) {
                    let (host, port) = (rng.below(250) as u8, rng.below(8) as u16);
                    let length = [SHORTEST, 700, LONGEST][rng.below(3) as usize];
                    let frame = frame_from([10, 0, 0, host], port, length, 0);
                    run.flow.bench.receive(Direction::Up, &frame);
                }
                let late = at > Time::ORIGIN + Span::from_secs(1);
                at += Span::from_micros(rng.below(if late { 20_000 } else { 8_000 }));
            }
        }
        reloads += names.len() as u64 - 1;
        waited += run.waited;
        let lost: u64 = run.flow.bench.engine.statistics(Direction::Up, 0).dropped.iter().sum();
        if run.excess > 1e-9 || lost > 0 {
            let Gate { reserves, unit, class } = &gate;
            let excess = run.excess * 1e3;
            wrong.push(format!(
                "{seed}: {excess} ms beyond, {lost} lost: {reserves:?} {unit:?} {class:?} {names:?}"
            ));
        }
    }
    println!("{count} runs, {reloads} reloads, {bounded} with a bound, {waited} with packets of the flow");
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(waited > 10 * count && bounded > 10 * count, "{waited} and {bounded} of {reloads}");
}
