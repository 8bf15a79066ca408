//! Every scenario is either refused by its reader, with the place of the mistake, before anything
//! is built, or it is built and runs without a refusal and without a panic.

#[path = "common/generate/mod.rs"]
mod generate;
#[path = "common/long.rs"]
mod long;

use generate::{COVERED, Manner};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use tidegate_core::rng::Rng;
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::probe::Probes;
use tidegate_sim::world::World;

/// Scenarios drawn, unless TIDEGATE_VERIFY asks for more.
const FEW: u64 = 900;
/// Enough events for the busiest of them.
const MAX_EVENTS: u64 = 3_000_000;

/// Outcome of a scenario: refused by its reader, or run.
#[derive(Debug, PartialEq)]
enum Outcome {
    Refused,
    Ran,
}

fn outcome(text: &str, folder: &Path, sets: &[(String, String)]) -> Outcome {
    let scenario = match Scenario::parse(text, "a.toml", folder, sets) {
        Ok(scenario) => scenario,
        Err(errors) => {
            assert!(!errors.to_string().contains("mistake in tidegate"), "{errors}");
            return Outcome::Refused;
        }
    };
    let network = match assemble(&scenario) {
        Ok(network) => network,
        // The flows of a recording are known only once it has been read.
        Err(_) if text.contains(".txt") || text.contains(".csv") => return Outcome::Refused,
        Err(error) => panic!("accepted, and not built: {error}"),
    };
    let world = World::<Calendar>::new(&network, 1, &Probes::default());
    let mut world = world.unwrap_or_else(|refused| panic!("accepted, and refused: {refused}"));
    assert!(world.advance(MAX_EVENTS), "it does not end");
    Outcome::Ran
}

#[test]
fn what_is_accepted_runs() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("accepted");
    let rounds = if long::is_long() { FEW * 20 } else { FEW };
    let (mut ran, mut refused, mut connections, mut trees) = (0, 0, 0, 0);
    let mut covered = vec![0; COVERED.len()];
    // The last one has a credit cell that starts while a packet waits for its link's next
    // opportunity.
    for seed in (0..rounds).chain([12_480]) {
        let mut rng = Rng::named(seed, "accepted");
        let drawn = generate::scenario(&mut rng, Manner::WILD);
        drawn.write_files(&folder);
        let text = drawn.text;
        let sets = generate::flow_control(&mut rng);
        match catch_unwind(AssertUnwindSafe(|| outcome(&text, &folder, &sets))) {
            Ok(Outcome::Ran) => {
                ran += 1;
                connections += u64::from(text.contains("[[connection]]"));
                trees += u64::from(text.contains("\", \""));
                for (count, (key, _)) in covered.iter_mut().zip(COVERED) {
                    let is_set = sets.iter().any(|(path, _)| path.ends_with(key));
                    *count += u64::from(is_set || text.contains(&format!("\n{key} = ")));
                }
            }
            Ok(Outcome::Refused) => refused += 1,
            Err(_) => panic!("seed {seed}: {sets:?}\n{text}\nwith the files {:?}", drawn.files),
        }
    }
    assert!(ran > rounds / 8 && refused > rounds / 8, "{ran} ran, {refused} were refused");
    assert!(
        connections > rounds / 30 && trees > rounds / 100,
        "{connections} with connections, {trees} multicast"
    );
    for (count, (key, least)) in covered.into_iter().zip(COVERED) {
        assert!(count > rounds / least, "{count} with {key}");
    }
}
