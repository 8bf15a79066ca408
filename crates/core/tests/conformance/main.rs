//! The conformance matrix: every discipline against every property, over random workloads at one
//! port. `docs/conformance.md` shows it; `CONFORMANCE=write` brings the page up to date.

#[path = "../common/mod.rs"]
mod common;

mod absent;
mod acceleration;
mod delay;
mod fairness;
mod held;
mod isolation;
mod order;
mod page;
mod port;
mod punishment;
mod throughput;
mod work_conserving;

use common::{every_scheduler, rounds};
use port::{LARGEST, Property};
use tidegate_core::params::{NamedPolicy, Value};
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::{BuiltInScheduler, SchedulerKind};

/// The outcome of a workload.
pub enum Outcome {
    /// The property holds.
    Kept,
    /// It does not, and why.
    Broken(String),
    /// The discipline refuses the flows of the workload.
    Refused,
}

impl Outcome {
    /// Broken by what was found, in these words; kept without anything.
    pub fn unless<T>(found: Option<T>, words: impl FnOnce(T) -> String) -> Outcome {
        found.map_or(Outcome::Kept, |found| Outcome::Broken(words(found)))
    }
}

/// The properties, in the order of the columns.
pub const PROPERTIES: [Property; 10] = [
    work_conserving::PROPERTY,
    order::PROPERTY,
    throughput::PROPERTY,
    isolation::PROPERTY,
    delay::PROPERTY,
    fairness::PROPERTY,
    punishment::PROPERTY,
    acceleration::PROPERTY,
    held::PROPERTY,
    absent::PROPERTY,
];

/// The claims for each discipline: `+` holds in every workload, `-` does not, and one shows it, `.`
/// is not claimed.
const CLAIMS: &str = "
    fifo              + + - - + - + - + +
    strict-priority   + + - - + - - - - +
    virtual-clock     + + + + + - - + + +
    tdm               - + + - - - + . - +
    peak-vc           + + + + + - - - + +
    pulse             + + + + + - - + + +
    deferred          + + + + + - - + + +
    axel-unbounded    + + + + + - - . + +
    axel              + + + + + - - + + +
    axel-floor        + + + + + - - + + +
    axel-measured     + + + + + - - + + +
    wfq               + + + + + + + + + +
    wf2q-plus         + + + + + + + + + +
    scfq              + + + + + + + + + +
    sfq               + + + + + + + + + +
    fifo-plus         + + - - + - + - + +
    time-shifted-fifo + + - - + - + - + +
    round-robin       + + - - + - - - - +
    drr               + + + + + + + + + +
    drr++             + + - - + - - - - +
    host-drr++        + + - - + - - - - +
    triple-isolate    + + - - + - - - - +
    edf               + + - - + - + - - +
    jitter-edd        - + - - + - + - - +
";

/// Every discipline; the slots of `tdm` are those of the largest packet, fifty in a frame.
fn disciplines() -> Vec<SchedulerKind> {
    let slots = [("slot", Value::Size(LARGEST.into())), ("slots", Value::Integer(50))];
    let fitted = |kind: SchedulerKind| match kind.record().name {
        "tdm" => SchedulerKind::BuiltIn(BuiltInScheduler::read("tdm", &slots).unwrap().unwrap()),
        _ => kind,
    };
    every_scheduler().into_iter().map(fitted).collect()
}

/// A counterexample: the seed of its workload, and what happens.
pub type Counterexample = (u64, String);

/// The workloads of a property that a discipline breaks.
fn broken(kind: &SchedulerKind, property: &Property) -> Vec<Counterexample> {
    let outcome = |seed| {
        let mut rng = Rng::named(seed, property.name);
        match (property.check)(kind, &mut rng) {
            Outcome::Kept => None,
            Outcome::Broken(words) => Some((seed, words)),
            Outcome::Refused => Some((seed, "its flows are refused".to_owned())),
        }
    };
    (1..=rounds(40)).filter_map(outcome).collect()
}

#[test]
fn disciplines_have_the_properties_that_are_claimed_and_no_others() {
    let kinds = disciplines();
    let claims: Vec<Vec<&str>> =
        CLAIMS.trim().lines().map(|line| line.split_whitespace().collect()).collect();
    let named: Vec<&str> = claims.iter().map(|row| row[0]).collect();
    let mut wrong = Vec::new();
    let mut cells = Vec::new();
    for kind in &kinds {
        let name = kind.record().name;
        let claimed = claims.iter().find(|row| row[0] == name).map_or(&[][..], |row| &row[1..]);
        for (nth, property) in PROPERTIES.iter().enumerate() {
            let found = broken(kind, property);
            let claim = claimed.get(nth).copied().unwrap_or("?");
            let is_right = match claim {
                "+" => found.is_empty(),
                "-" => !found.is_empty(),
                "." => true,
                _ => false,
            };
            if !is_right {
                wrong.push(format!(
                    "{name}, {}: {claim}, and {} broken: {:?}",
                    property.name,
                    found.len(),
                    found.first()
                ));
            }
            cells.push((name, claim, found.into_iter().next()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(named, kinds.iter().map(|kind| kind.record().name).collect::<Vec<_>>());
    page::check(&cells);
}
