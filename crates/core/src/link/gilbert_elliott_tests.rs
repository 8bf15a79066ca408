use super::*;
use crate::link::{Loss, LossState};

/// Two-sided 99.9 % quantile of the normal distribution.
const Z: f64 = 3.29;

/// Packets of each run.
const PACKETS: u64 = 2_000_000;

const CHAINS: [GilbertElliott; 6] = [
    gilbert(0.01, 0.25),
    gilbert(0.002, 0.05),
    gilbert(0.3, 0.6),
    gilbert(0.5, 1.0),
    // A step that forgets the state: losses are independent.
    elliott(0.2, 0.8, 0.05, 0.6),
    elliott(0.01, 0.1, 0.001, 0.5),
];

/// Gilbert's simple chain: the bad state loses every packet, and the good one none.
const fn gilbert(to_bad: f64, to_good: f64) -> GilbertElliott {
    elliott(to_bad, to_good, 0.0, 1.0)
}

const fn elliott(to_bad: f64, to_good: f64, loss_in_good: f64, loss_in_bad: f64) -> GilbertElliott {
    GilbertElliott { to_bad, to_good, loss_in_good, loss_in_bad }
}

/// The fate of each packet of a run.
fn fates(chain: GilbertElliott, seed: u64) -> Vec<bool> {
    let loss = Loss::in_bursts(chain).unwrap();
    let (mut rng, mut state) = (Rng::named(seed, "bursts"), LossState::default());
    (0..PACKETS).map(|_| loss.takes(&mut state, &mut rng)).collect()
}

/// Lengths of the runs of losses that begin and end within the run.
fn run_lengths(fates: &[bool]) -> Vec<usize> {
    let runs = fates.chunk_by(|one, next| one == next);
    let mut lengths: Vec<usize> = runs.filter(|run| run[0]).map(<[bool]>::len).collect();
    if fates.last() == Some(&true) {
        lengths.pop();
    }
    lengths
}

/// Stationary probability of the bad state, and the share of packets lost.
fn stationary(chain: GilbertElliott) -> (f64, f64) {
    let bad = chain.to_bad / (chain.to_bad + chain.to_good);
    (bad, (1.0 - bad) * chain.loss_in_good + bad * chain.loss_in_bad)
}

/// The share of losses is (1 − π)·loss_in_good + π·loss_in_bad with π = p / (p + r). Its variance
/// is that of independent losses and the covariances of two packets d apart, which are
/// π(1 − π)(loss_in_bad − loss_in_good)²λᵈ with λ = 1 − p − r. The first packet meets the good
/// state, which takes π(loss_in_bad − loss_in_good)/(p + r) losses off the mean of a long run.
#[test]
fn the_share_of_losses_is_the_stationary_one() {
    for (seed, chain) in (0..).zip(CHAINS) {
        let (bad, share) = stationary(chain);
        let (packets, apart) = (PACKETS as f64, chain.loss_in_bad - chain.loss_in_good);
        let turns = chain.to_bad + chain.to_good;
        let lambda = 1.0 - turns;
        let covariances = 2.0 * bad * (1.0 - bad) * apart * apart * lambda / (1.0 - lambda);
        let half = Z * (packets * (share * (1.0 - share) + covariances)).sqrt();
        let mean = packets * share - bad * apart / turns;
        let lost = fates(chain, seed).iter().filter(|lost| **lost).count() as f64;
        assert!((lost - mean).abs() <= half, "{chain:?}: {lost}, not {mean} ± {half}");
        // The interval is narrow enough to tell the chain from one with a share that differs by a tenth.
        assert!(half < 0.1 * mean, "{chain:?}: ± {half} of {mean}");
    }
}

/// In the simple chain a run of losses is a stay in the bad state: n packets long with probability
/// r(1 − r)ⁿ⁻¹, 1/r on average with the variance (1 − r)/r².
#[test]
fn runs_of_losses_are_geometric_in_the_simple_chain() {
    for (seed, chain) in (10..).zip(CHAINS).filter(|(_, chain)| chain.loss_in_bad == 1.0) {
        let lengths = run_lengths(&fates(chain, seed));
        let (runs, r) = (lengths.len() as f64, chain.to_good);
        let mean = lengths.iter().sum::<usize>() as f64 / runs;
        let half = Z * ((1.0 - r) / (r * r * runs)).sqrt();
        assert!((mean - 1.0 / r).abs() <= half, "{chain:?}: {mean} ± {half}");
        // 99.9 % for all lengths together needs a wider interval for each.
        let mut length = 1;
        loop {
            let share = r * (1.0 - r).powi(length - 1);
            if share * runs < 20.0 {
                break;
            }
            let count = lengths.iter().filter(|other| **other == length as usize).count() as f64;
            let half = 4.5 * (runs * share * (1.0 - share)).sqrt() + 0.5;
            assert!(
                (count - runs * share).abs() <= half,
                "{chain:?}: {count} of {length}, not {}",
                runs * share
            );
            length += 1;
        }
        assert!(r == 1.0 || length > 4, "{chain:?}: {length} lengths were compared");
    }
}

/// Runs between losses are stays in the good state: geometric with mean 1/p. They do not depend on
/// the runs of losses before them.
#[test]
fn losses_are_as_far_apart_as_the_good_state_lasts() {
    for (seed, chain) in (20..).zip(CHAINS).filter(|(_, chain)| chain.loss_in_bad == 1.0) {
        let fates: Vec<bool> = fates(chain, seed).iter().map(|lost| !lost).collect();
        let lengths = run_lengths(&fates);
        let (runs, p) = (lengths.len() as f64, chain.to_bad);
        let mean = lengths.iter().sum::<usize>() as f64 / runs;
        let half = Z * ((1.0 - p) / (p * p * runs)).sqrt();
        assert!((mean - 1.0 / p).abs() <= half, "{chain:?}: {mean} ± {half}");
    }
}

/// The next packet after a loss is lost with the probability that Elliott's chain gives: the loss
/// tells the state, and the state takes a step. Runs of losses are not geometric in this chain.
/// The pairs that follow a loss are not independent, so the interval is that of 100 batches.
#[test]
fn a_loss_tells_the_next_one_in_elliotts_chain() {
    for (seed, chain) in (30..).zip(CHAINS).filter(|(_, chain)| chain.loss_in_bad < 1.0) {
        let (bad, share) = stationary(chain);
        let bad_after_loss = bad * chain.loss_in_bad / share;
        let bad_next = bad_after_loss * (1.0 - chain.to_good) + (1.0 - bad_after_loss) * chain.to_bad;
        let expected = bad_next * chain.loss_in_bad + (1.0 - bad_next) * chain.loss_in_good;
        let fates = fates(chain, seed);
        let shares: Vec<f64> = fates
            .chunks(PACKETS as usize / 100)
            .map(|batch| {
                let pairs = batch.windows(2).filter(|pair| pair[0]);
                let (first, both) =
                    pairs.fold((0, 0), |(first, both), pair| (first + 1, both + u32::from(pair[1])));
                f64::from(both) / f64::from(first)
            })
            .collect();
        let mean = shares.iter().sum::<f64>() / 100.0;
        let variance = shares.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / 99.0;
        let half = 3.39 * (variance / 100.0).sqrt();
        assert!((mean - expected).abs() <= half, "{chain:?}: {mean} ± {half}, not {expected}");
        assert!(half < 0.1 * expected, "{chain:?}: ± {half} of {expected}");
    }
}

#[test]
fn what_never_loses_draws_nothing() {
    for chain in [gilbert(0.0, 0.5), elliott(0.5, 0.5, 0.0, 0.0)] {
        let loss = Loss::in_bursts(chain).unwrap();
        let (mut rng, mut state) = (Rng::named(1, "bursts"), LossState::default());
        let before = rng.clone().bits();
        assert!(!loss.happens() && (0..1000).all(|_| !loss.takes(&mut state, &mut rng)));
        assert_eq!(rng.bits(), before);
    }
}

#[test]
fn extreme_chains() {
    // A bad state that does not end loses everything from its first packet on.
    let fates_of = |chain| fates(chain, 40);
    let forever = fates_of(gilbert(0.01, 0.0));
    let first = forever.iter().position(|lost| *lost).unwrap();
    assert!(first > 0 && forever[first..].iter().all(|lost| *lost));
    // States that take turns lose every other packet; the first is good.
    assert!(fates_of(gilbert(1.0, 1.0)).iter().enumerate().all(|(ix, lost)| *lost == (ix % 2 == 1)));
}

#[test]
fn only_probabilities_are_taken() {
    for wrong in [-0.01, 1.01, f64::NAN, f64::INFINITY] {
        for (name, chain) in [
            ("to_bad", gilbert(wrong, 0.5)),
            ("to_good", gilbert(0.5, wrong)),
            ("loss_in_good", elliott(0.5, 0.5, wrong, 1.0)),
            ("loss_in_bad", elliott(0.5, 0.5, 0.0, wrong)),
        ] {
            let Refused(message) = Loss::in_bursts(chain).unwrap_err();
            assert!(message.starts_with(&format!("`{name}` takes a probability")), "{message}");
        }
    }
}
