//! Max-min allocations against a sequence of linear programs, solved exactly by the simplex method,
//! and against tables.

mod common;

use common::rounds;
use num_rational::Ratio;
use tidegate_core::maxmin::{Demand, Exact, Unallocatable, allocate};
use tidegate_core::rng::Rng;

type Rational = Ratio<i128>;

/// Maximises `objective · x` where `rows · x ≤ limits` and x ≥ 0; no limit is negative. Bland's
/// rule, so that it ends.
fn maximum(rows: &[Vec<Rational>], limits: &[Rational], objective: &[Rational]) -> Rational {
    let zero = Rational::from_integer(0);
    let (height, width) = (rows.len(), objective.len());
    // Slack variables stand behind the others.
    let mut table: Vec<Vec<Rational>> = (0..height)
        .map(|row| {
            let slack = (0..height).map(|at| Rational::from_integer(i128::from(at == row)));
            rows[row].iter().copied().chain(slack).chain([limits[row]]).collect()
        })
        .collect();
    let mut costs: Vec<Rational> = objective.iter().copied().chain(vec![zero; height + 1]).collect();
    let mut basis: Vec<usize> = (width..width + height).collect();
    while let Some(column) = costs[..width + height].iter().position(|cost| *cost > zero) {
        let ratio = |row: usize| table[row][width + height] / table[row][column];
        let rows = (0..height).filter(|row| table[*row][column] > zero);
        let row = rows.min_by_key(|row| (ratio(*row), basis[*row])).expect("rates are bounded");
        let pivot = table[row][column];
        table[row].iter_mut().for_each(|value| *value /= pivot);
        let pivot_row = table[row].clone();
        let eliminate = |values: &mut Vec<Rational>| {
            let factor = values[column];
            values.iter_mut().zip(&pivot_row).for_each(|(value, by)| *value -= factor * by);
        };
        table.iter_mut().enumerate().filter(|(at, _)| *at != row).for_each(|(_, values)| eliminate(values));
        eliminate(&mut costs);
        basis[row] = column;
    }
    -costs[width + height]
}

/// Max-min rates by linear programs alone: the greatest share that all flows not yet fixed can
/// have; then each flow is fixed that cannot have more if the others keep that share.
fn by_programs(capacities: &[i128], flows: &[Vec<usize>]) -> Vec<Rational> {
    let (zero, one) = (Rational::from_integer(0), Rational::from_integer(1));
    let mut fixed: Vec<Option<Rational>> = vec![None; flows.len()];
    while fixed.contains(&None) {
        let left: Vec<Rational> = (0..capacities.len())
            .map(|link| {
                let used = flows.iter().zip(&fixed).filter(|(flow, _)| flow.contains(&link));
                Rational::from_integer(capacities[link])
                    - used.filter_map(|(_, rate)| *rate).sum::<Rational>()
            })
            .collect();
        let open: Vec<usize> = (0..flows.len()).filter(|flow| fixed[*flow].is_none()).collect();
        // One variable: the share of all open flows.
        let together = |link: usize| open.iter().filter(|flow| flows[**flow].contains(&link)).count();
        let rows: Vec<Vec<Rational>> =
            (0..capacities.len()).map(|link| vec![Rational::from_integer(together(link) as i128)]).collect();
        let share = maximum(&rows, &left, &[one]);
        // A variable for each open flow: its rate above the share.
        let above = |link: usize| -> Vec<Rational> {
            open.iter().map(|flow| if flows[*flow].contains(&link) { one } else { zero }).collect()
        };
        let rows: Vec<Vec<Rational>> = (0..capacities.len()).map(above).collect();
        let limits: Vec<Rational> = (0..capacities.len())
            .map(|link| left[link] - share * Rational::from_integer(together(link) as i128))
            .collect();
        for (nth, flow) in open.iter().enumerate() {
            let objective: Vec<Rational> =
                (0..open.len()).map(|at| if at == nth { one } else { zero }).collect();
            if maximum(&rows, &limits, &objective) == zero {
                fixed[*flow] = Some(share);
            }
        }
    }
    fixed.into_iter().flatten().collect()
}

fn exact(number: u128, of: u128) -> Exact {
    Exact::new(number, of)
}

#[test]
fn random_networks_agree_with_linear_programs() {
    let mut bottlenecks = 0;
    for seed in 0..rounds(50) {
        let mut rng = Rng::named(seed, "networks");
        let links = 1 + rng.below(6) as usize;
        let capacities: Vec<i128> = (0..links).map(|_| 1 + rng.below(200) as i128).collect();
        let flows: Vec<Vec<usize>> = (0..1 + rng.below(9))
            .map(|_| {
                let mut flow: Vec<usize> = (0..links).filter(|_| rng.chance(0.4)).collect();
                if flow.is_empty() {
                    flow.push(rng.below(links as u64) as usize);
                }
                flow
            })
            .collect();
        let demands: Vec<Demand> = flows.iter().map(|flow| Demand::of(flow)).collect();
        let whole: Vec<Exact> = capacities.iter().map(|capacity| exact(*capacity as u128, 1)).collect();
        let found = allocate(&whole, &demands).unwrap();
        let expected: Vec<Exact> = by_programs(&capacities, &flows)
            .into_iter()
            .map(|rate| exact(*rate.numer() as u128, *rate.denom() as u128))
            .collect();
        assert_eq!(found, expected, "seed {seed}: {capacities:?} {flows:?}");
        let mut shares = found;
        shares.sort();
        shares.dedup();
        bottlenecks += usize::from(shares.len() > 2);
    }
    assert!(bottlenecks > 10, "{bottlenecks}");
}

/// The GFC of Kung 1997 (Figure 12 and its table): VCs A 3, B 3, C 3, D 6, E 6, F 2.
#[test]
fn the_generic_fairness_configuration_has_its_table() {
    let capacities = [exact(1, 3), exact(1, 1), exact(1, 1), exact(2, 3)];
    let groups: [(usize, &[usize], Exact); 6] = [
        (3, &[0, 1, 2], exact(1, 27)),
        (3, &[1, 2, 3], exact(2, 27)),
        (3, &[2], exact(2, 9)),
        (6, &[0], exact(1, 27)),
        (6, &[3], exact(2, 27)),
        (2, &[1], exact(1, 3)),
    ];
    let flows: Vec<(Demand, Exact)> =
        groups.iter().flat_map(|(count, links, rate)| vec![(Demand::of(links), *rate); *count]).collect();
    let (demands, expected): (Vec<Demand>, Vec<Exact>) = flows.into_iter().unzip();
    assert_eq!(allocate(&capacities, &demands).unwrap(), expected);
}

/// A parking lot of unit links: a flow that passes all of them has a share of the fullest one.
#[test]
fn parking_lots_are_shared_at_their_fullest_link() {
    for hops in 1..=12usize {
        for crossing in 1..=5u128 {
            let all: Vec<usize> = (0..hops).collect();
            let mut demands = vec![Demand::of(&all)];
            // One more flow on each hop than on the one before.
            let on = |hop: usize| crossing + hop as u128;
            demands.extend((0..hops).flat_map(|hop| vec![Demand::of(&[hop]); on(hop) as usize]));
            let rates = allocate(&vec![exact(1, 1); hops], &demands).unwrap();
            let through = exact(1, on(hops - 1) + 1);
            let others = (0..hops).flat_map(|hop| {
                let rate = (exact(1, 1) - through) / exact(on(hop), 1);
                vec![rate; on(hop) as usize]
            });
            assert_eq!(rates, [through].into_iter().chain(others).collect::<Vec<_>>());
        }
    }
}

/// A flow of weight w has what w flows alike have, and a minimum is as if the link were as much
/// smaller.
#[test]
fn weights_are_flows_and_minima_are_set_apart() {
    for seed in 0..rounds(100) {
        let mut rng = Rng::named(seed, "weights");
        let links = 1 + rng.below(5) as usize;
        let capacities: Vec<Exact> = (0..links).map(|_| exact(500 + u128::from(rng.below(500)), 1)).collect();
        let flows: Vec<(Vec<usize>, u128, u128)> = (0..1 + rng.below(8))
            .map(|_| {
                let first = rng.below(links as u64) as usize;
                let last = first + rng.below((links - first) as u64) as usize;
                ((first..=last).collect(), 1 + u128::from(rng.below(4)), u128::from(rng.below(60)))
            })
            .collect();
        let weighted: Vec<Demand> = flows
            .iter()
            .map(|(links, weight, minimum)| Demand {
                links: links.clone(),
                weight: exact(*weight, 1),
                minimum: exact(*minimum, 1),
            })
            .collect();
        let rest: Vec<Exact> = (0..links)
            .map(|link| {
                let minima =
                    flows.iter().filter(|(links, ..)| links.contains(&link)).map(|(.., minimum)| minimum);
                capacities[link] - exact(minima.sum(), 1)
            })
            .collect();
        let single: Vec<Demand> =
            flows.iter().flat_map(|(links, weight, _)| vec![Demand::of(links); *weight as usize]).collect();
        let mut singles = allocate(&rest, &single).unwrap().into_iter();
        for ((_, weight, minimum), rate) in flows.iter().zip(allocate(&capacities, &weighted).unwrap()) {
            let alike: Exact = (0..*weight).filter_map(|_| singles.next()).sum();
            assert_eq!(rate, alike + exact(*minimum, 1), "seed {seed}");
        }
    }
}

#[test]
fn what_cannot_be_allocated_is_named() {
    let one = exact(1, 1);
    let flow = |links: &[usize]| Demand::of(links);
    assert_eq!(allocate(&[one], &[flow(&[0]), flow(&[])]), Err(Unallocatable::NoLink { flow: 1 }));
    assert_eq!(allocate(&[one], &[flow(&[0, 1])]), Err(Unallocatable::UnknownLink { flow: 0, link: 1 }));
    let weightless = Demand { weight: exact(0, 1), ..flow(&[0]) };
    assert_eq!(allocate(&[one], &[weightless]), Err(Unallocatable::NoWeight { flow: 0 }));
    let greedy = Demand { minimum: exact(2, 3), ..flow(&[0]) };
    assert_eq!(allocate(&[one], &[greedy.clone(), greedy]), Err(Unallocatable::Minima { link: 0 }));
    let odd = |prime: u128| Demand { weight: exact(1, (1 << 100) + prime), ..flow(&[0]) };
    assert_eq!(allocate(&[one], &[odd(1), odd(3), odd(7)]), Err(Unallocatable::TooLarge));
    assert_eq!(allocate(&[one], &[]), Ok(Vec::new()));
}
