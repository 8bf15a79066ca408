//! Links whose credit cells are lost or late: an accepted scenario loses nothing for want of
//! memory.

use super::generate::unsure;
use super::{check_receivers, credit_of, run};
use std::path::{Path, PathBuf};
use tidegate_core::credit::params::{CreditTerms, Protocol};
use tidegate_core::rng::Rng;
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::network::Network;

/// Networks that are accepted and run.
const NETWORKS: u64 = 200;

/// The network of a scenario.
///
/// # Errors
/// Why it is refused.
fn network(text: &str, folder: &Path) -> Result<Network, String> {
    let scenario = Scenario::parse(text, "a.toml", folder, &[]).map_err(|errors| errors.to_string())?;
    Ok(assemble(&scenario).unwrap())
}

#[test]
fn what_is_accepted_loses_nothing_for_want_of_a_place() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("unsure");
    std::fs::create_dir_all(&folder).unwrap();
    let (mut accepted, mut refused, mut unchecked, mut lost_cells, mut traced, mut adaptive) =
        (0, 0, 0, 0, 0, 0);
    for seed in 0.. {
        if accepted == NETWORKS {
            break;
        }
        let (text, files) = unsure(&mut Rng::named(seed, "unsure credit"));
        for (name, opportunities) in &files {
            std::fs::write(folder.join(name), opportunities).unwrap();
        }
        let network = match network(&text, &folder) {
            Ok(network) => network,
            Err(why) => {
                refused += u64::from(why.contains("credit cells may be lost or late"));
                continue;
            }
        };
        accepted += 1;
        let world = run(&network, seed);
        check_receivers(&world, &format!("seed {seed}:\n{text}\n{files:?}"));
        let plans = || {
            (0..network.links.len()).filter_map(|link| credit_of(&network, link)).map(|credit| credit.plan)
        };
        unchecked += plans().filter(|plan| plan.check.is_none() && plan.protocol == Protocol::Cup).count();
        adaptive += plans().filter(|plan| matches!(plan.terms, CreditTerms::Receiver { .. })).count();
        lost_cells += world.credit_links().iter().map(|link| link.lost_cells).sum::<u64>();
        traced += usize::from(!files.is_empty());
    }
    let networks = NETWORKS as usize;
    assert!(refused > NETWORKS / 10, "{refused} are refused for it");
    assert!(
        unchecked > networks && adaptive > networks && traced > networks / 4,
        "{unchecked} {adaptive} {traced}"
    );
    assert!(lost_cells > 10 * NETWORKS, "{lost_cells}");
}

/// Without checks the receiver polices an allocation of which the sender never learned.
#[test]
fn a_receiver_that_cannot_know_of_a_lost_allocation_is_refused() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/defects/credit-drop-without-checks.toml");
    let errors = Scenario::load(&path, &[]).unwrap_err().to_string();
    assert!(errors.contains(".toml:13:85: `check` is 0s"), "{errors}");
    assert!(errors.contains("`check`") && errors.contains("credit cells may be lost or late"), "{errors}");
    // With checks, as by default, nothing is dropped.
    for seed in 0..20 {
        let sets = [("port.credit".to_owned(), "{ allocation = \"receiver\" }".to_owned())];
        let network = assemble(&Scenario::load(&path, &sets).unwrap()).unwrap();
        check_receivers(&run(&network, seed), "with checks");
    }
}
