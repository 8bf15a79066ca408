//! Quantiles.

/// The quantile `part`/`of` (99/100 for the 99th percentile) of `values` by the
/// nearest-rank definition: of n values in ascending order the one at rank
/// ⌈n × part / of⌉, and the smallest for part 0. It is always one of the values.
///
/// `None` when there are no values, when `of` is 0, and when `part` exceeds `of`.
/// Reorders `values`; takes time in proportion to their number.
pub fn nearest_rank<T: Ord + Copy>(values: &mut [T], part: u32, of: u32) -> Option<T> {
    if of == 0 || part > of || values.is_empty() {
        return None;
    }
    // Whole numbers, because 0.07 × 100 is 7.000000000000001 in floating point.
    let rank = (values.len() as u128 * u128::from(part)).div_ceil(u128::from(of)).max(1);
    let (_, value, _) = values.select_nth_unstable(rank as usize - 1);
    Some(*value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_textbook_example() {
        let values = [15, 20, 35, 40, 50];
        for (percent, expected) in [(0, 15), (5, 15), (30, 20), (40, 20), (50, 35), (99, 50), (100, 50)] {
            assert_eq!(nearest_rank(&mut values.clone(), percent, 100), Some(expected));
        }
        let mut hundred: Vec<u32> = (1..=100).rev().collect();
        assert_eq!(nearest_rank(&mut hundred, 7, 100), Some(7));
        assert_eq!(nearest_rank(&mut hundred, 99, 100), Some(99));
        assert_eq!(nearest_rank(&mut hundred, 999, 1000), Some(100));
    }

    #[test]
    fn what_has_no_quantile() {
        assert_eq!(nearest_rank::<u32>(&mut [], 1, 2), None);
        assert_eq!(nearest_rank(&mut [1], 1, 0), None);
        assert_eq!(nearest_rank(&mut [1], 3, 2), None);
    }

    proptest! {
        /// The smallest value such that at least part/of of all values are no greater.
        #[test]
        fn it_is_what_the_definition_says(mut values in prop::collection::vec(0u32..50, 1..80), part in 0u32..=100) {
            let found = nearest_rank(&mut values, part, 100).unwrap();
            let enough = |v: u32| {
                values.iter().filter(|x| **x <= v).count() as u64 * 100 >= values.len() as u64 * u64::from(part)
            };
            let expected = values.iter().copied().filter(|v| enough(*v)).min().unwrap();
            prop_assert_eq!(found, expected);
        }
    }
}
