//! Burstiness of each flow along its way: its exact maximum workahead W at its source and behind
//! every link.
//!
//! Source: Pincheira 1994, section 2.1 (W at the input of each server) and section 4.1 (burstiness
//! increase).

use tidegate_core::contract::Refused;
use tidegate_core::stats;
use tidegate_core::units::{Rate, Time};

/// Observed flows with a reservation, at the places of their routes: the source, then the far end
/// of each link.
#[derive(Clone, Debug)]
pub struct Workaheads {
    factors: Vec<f64>,
    /// Observations by flow; `None` for a datagram flow.
    flows: Vec<Option<Observed>>,
    warm_at: Time,
}

#[derive(Clone, Debug)]
struct Observed {
    /// True if an envelope decides when its packets enter the network.
    enveloped: bool,
    /// Ideal servers of each place, one per factor.
    places: Vec<Vec<(Rate, stats::Workahead)>>,
    /// For each place, the place from which its packets come; the source has none.
    before: Vec<Option<usize>>,
    /// For each place, the number of links between it and the source.
    depths: Vec<u16>,
}

/// A flow to be observed.
pub(crate) struct ObservedFlow<'a> {
    pub(crate) name: &'a str,
    /// The rate that it reserves; `None` for a datagram flow.
    pub(crate) reserve: Option<Rate>,
    pub(crate) enveloped: bool,
    /// Number of links.
    pub(crate) links: usize,
    /// For a multicast flow, the number of links between its source and the end of each; else
    /// empty.
    pub(crate) depths: &'a [u16],
}

/// Observation of a flow at one place, by an ideal server of one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// The place: 0 is the source, behind the flow's envelope; then the links of the route in their
    /// order.
    pub place: usize,
    /// Links between the source and here.
    pub depth: u16,
    /// The factor on the reserved rate.
    pub factor: f64,
    /// The rate of the ideal server, in bit/s.
    pub rate: f64,
    /// W in bytes, exact and then rounded up.
    pub workahead: u64,
    /// Burstiness increase over the server in front: (W_out − W_in)/W_in. `None` at the source and
    /// where nothing came.
    pub increase: Option<f64>,
    /// Burstiness increase since the source.
    pub increase_from_source: Option<f64>,
}

impl Workaheads {
    /// Creates ideal servers of the reserved rate of each flow times each of `factors`. Packets
    /// that enter the network before `warm_at` do not count.
    ///
    /// # Errors
    /// When a reservation times a factor is not a rate.
    pub(crate) fn new<'a>(
        flows: impl Iterator<Item = ObservedFlow<'a>>,
        factors: &[f64],
        warm_at: Time,
    ) -> Result<Workaheads, Refused> {
        let flows = flows.map(|flow| Observed::new(&flow, factors)).collect::<Result<_, _>>()?;
        Ok(Workaheads { factors: factors.to_vec(), flows, warm_at })
    }

    /// Counts a packet of a flow that leaves its source at `at`; behind an envelope,
    /// [`released`](Self::released) does.
    pub(crate) fn sent(&mut self, flow: u32, at: Time, len: u32) {
        if self.flow(flow).is_some_and(|flow| !flow.enveloped) {
            self.see(flow, 0, at, at, len);
        }
    }

    /// Counts a packet that the envelope of a flow releases at `at`.
    pub(crate) fn released(&mut self, flow: u32, at: Time, len: u32) {
        if self.flow(flow).is_some_and(|flow| flow.enveloped) {
            self.see(flow, 0, at, at, len);
        }
    }

    /// Counts a packet that entered the network at `born` and has come over a link of its route,
    /// counted from 0, at `at`.
    pub(crate) fn came_over(&mut self, flow: u32, link: usize, born: Time, at: Time, len: u32) {
        self.see(flow, link + 1, born, at, len);
    }

    /// Returns true if a flow is observed: it has a reservation.
    pub(crate) fn observes(&self, flow: u32) -> bool {
        self.flow(flow).is_some()
    }

    fn flow(&self, flow: u32) -> Option<&Observed> {
        self.flows[flow as usize].as_ref()
    }

    fn see(&mut self, flow: u32, place: usize, born: Time, at: Time, len: u32) {
        let Some(flow) = self.flows[flow as usize].as_mut().filter(|_| born >= self.warm_at) else { return };
        //= pincheira1994 2.1
        for (_, ideal) in &mut flow.places[place] {
            ideal.see(at, len);
        }
    }

    /// Returns the observations of a flow so far: place by place, factor by factor; nothing for a
    /// datagram flow.
    pub fn of(&self, flow: usize) -> impl Iterator<Item = Seen> {
        let places =
            self.flows[flow].iter().flat_map(|flow| (0..flow.places.len()).map(move |at| (flow, at)));
        places.flat_map(|(flow, place)| {
            self.factors.iter().enumerate().map(move |(nth, factor)| flow.seen(place, nth, *factor))
        })
    }
}

impl Observed {
    fn new(flow: &ObservedFlow<'_>, factors: &[f64]) -> Result<Option<Observed>, Refused> {
        let Some(reserve) = flow.reserve else { return Ok(None) };
        let ideals = factors.iter().map(|factor| {
            let rate = times(reserve, *factor).ok_or_else(|| {
                Refused(format!("{factor} times what flow `{}` reserves is not a rate", flow.name))
            })?;
            Ok((rate, stats::Workahead::new(rate)))
        });
        let ideals: Vec<_> = ideals.collect::<Result<_, Refused>>()?;
        let depth = |link: usize| flow.depths.get(link).copied().unwrap_or(link as u16 + 1);
        let depths: Vec<u16> = core::iter::once(0).chain((0..flow.links).map(depth)).collect();
        // For a multicast flow: the latest earlier link that is one nearer to the source.
        let before = |place: usize| (0..place).rfind(|before| depths[*before] + 1 == depths[place]);
        Ok(Some(Observed {
            enveloped: flow.enveloped,
            places: vec![ideals; depths.len()],
            before: (0..depths.len()).map(before).collect(),
            depths,
        }))
    }

    fn seen(&self, place: usize, nth: usize, factor: f64) -> Seen {
        let at = |place: usize| self.places[place][nth].1.max_backlog();
        let workahead = at(place);
        let increase = |before: usize| (at(before) > 0).then(|| workahead as f64 / at(before) as f64 - 1.0);
        let before = self.before[place];
        Seen {
            place,
            depth: self.depths[place],
            factor,
            rate: self.places[place][nth].0.bits_per_second(),
            workahead,
            increase: before.and_then(increase),
            increase_from_source: before.and_then(|_| increase(0)),
        }
    }
}

/// Returns a rate times a factor; the rate itself for a factor of 1.
fn times(rate: Rate, factor: f64) -> Option<Rate> {
    if factor == 1.0 {
        return Some(rate);
    }
    let bits = (rate.bits_per_second() * factor).round();
    // A cast saturates, and a value too large is not a rate.
    (bits >= 1.0).then(|| Rate::from_bits_per_second(bits as u64)).flatten()
}
