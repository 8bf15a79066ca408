//! Exponential variates by the ziggurat method (Marsaglia and Tsang 2000).
//!
//! The area under e^(−x) is cut into 256 layers of equal area, all rectangles but the lowest,
//! which has the tail. A point is drawn in a random layer; 99 in 100 are surely below the
//! curve, and no logarithm is needed. Tables and the rest are from `libm`, so that the numbers
//! are the same on every machine.

use super::stream::Rng;
use alloc::boxed::Box;
use once_cell::race::OnceBox;

const LAYERS: usize = 256;
/// Start of the tail, and the area of each layer, for 256 of them.
const TAIL: f64 = 7.697_117_470_131_05;
const AREA: f64 = 0.003_949_659_822_581_557;

/// The right end of each layer, the lowest (as wide as a rectangle of its area) first, and the
/// curve's height there; one more than there are layers, the last at the curve's top.
struct Layers {
    ends: [f64; LAYERS + 1],
    heights: [f64; LAYERS + 1],
}

static LAYERS_OF_E: OnceBox<Layers> = OnceBox::new();

fn layers_of_e() -> Box<Layers> {
    let mut ends = [0.0; LAYERS + 1];
    (ends[0], ends[1]) = (AREA * libm::exp(TAIL), TAIL);
    for layer in 2..LAYERS {
        let below: f64 = ends[layer - 1];
        ends[layer] = -libm::log(AREA / below + libm::exp(-below));
    }
    Box::new(Layers { ends, heights: ends.map(|end| libm::exp(-end)) })
}

/// Exponential with mean 1.
#[inline]
pub(crate) fn exponential(rng: &mut Rng) -> f64 {
    let layers = LAYERS_OF_E.get_or_init(layers_of_e);
    let bits = rng.bits();
    // The lowest random bits choose the layer, the highest the place in it.
    let layer = bits as usize % LAYERS;
    let x = (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64) * layers.ends[layer];
    if x < layers.ends[layer + 1] { x } else { at_the_edge(layers, layer, x, rng) }
}

/// Decides a point at `x` in `layer` that may be above the curve.
#[cold]
#[inline(never)]
fn at_the_edge(layers: &Layers, layer: usize, x: f64, rng: &mut Rng) -> f64 {
    if layer == 0 {
        // The tail has the shape of the whole.
        return TAIL - libm::log(rng.unit());
    }
    let (low, high) = (layers.heights[layer], layers.heights[layer + 1]);
    if low + (high - low) * rng.unit() < libm::exp(-x) { x } else { exponential(rng) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layers_end_at_the_top_of_the_curve() {
        let layers = LAYERS_OF_E.get_or_init(layers_of_e);
        let last = layers.ends[LAYERS - 1] * (1.0 - layers.heights[LAYERS - 1]);
        assert!((last / AREA - 1.0).abs() < 1e-9, "{last}");
        assert!(layers.ends.is_sorted_by(|a, b| a > b));
    }

    /// Kolmogorov and Smirnov's test against 1 − e^(−x), and the tail's share.
    #[test]
    fn the_distribution_is_exponential() {
        let mut rng = Rng::named(11, "ziggurat");
        let n = 400_000;
        let mut values: Vec<f64> = (0..n).map(|_| exponential(&mut rng)).collect();
        values.sort_by(f64::total_cmp);
        let expected = |x: f64| 1.0 - libm::exp(-x);
        let apart = |(rank, x): (usize, &f64)| (expected(*x) - (rank as f64 + 0.5) / n as f64).abs();
        let worst = values.iter().enumerate().map(apart).fold(0.0, f64::max);
        // The critical value at 0.1 % is 1.95 / √n.
        assert!(worst < 1.95 / (n as f64).sqrt(), "{worst}");
        let tail = values.iter().filter(|x| **x > TAIL).count() as f64;
        let mean = n as f64 * libm::exp(-TAIL);
        assert!((tail - mean).abs() < 3.29 * mean.sqrt(), "{tail} of {mean}");
    }
}
