//! Probability of assurance: the share of the time in which a profile gets its target rate (Clark
//! and Fang 1998, section II.C).
//!
//! The measured time is divided into windows of one length, the first of which begins with it. A
//! window counts when the packets that arrived at the destinations of a scope in it have at least
//! the bits of the target rate in that time. A scope is one destination, a set, or all of them.

use core::ops::RangeInclusive;
use tidegate_core::units::{Span, TICKS_PER_SECOND, Time};

/// The scopes to measure.
#[derive(Clone, Debug)]
pub struct AssurancePlan {
    /// Averaging window, above zero.
    pub window: Span,
    /// The scopes, in the order of the table.
    pub scopes: Vec<ScopePlan>,
}

/// A profile in one of its scopes.
#[derive(Clone, Debug)]
pub struct ScopePlan {
    /// Name of the shared profile; empty for a flow's own.
    pub profile: String,
    /// Name of the flow whose own profile it is; empty for a shared one.
    pub flow: String,
    /// The kind of scope.
    pub scope: Scope,
    /// Name of the destination or of the set; empty for all of them.
    pub to: String,
    /// Target rate, in bit/s.
    pub target: u64,
    /// Indexes of the flows whose packets count.
    pub flows: Vec<u32>,
}

/// The kinds of scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One destination, by the index of its node.
    Destination(usize),
    /// A set of destinations.
    Set,
    /// All destinations of the profile.
    Anywhere,
}

impl Scope {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Destination(_) => "destination",
            Scope::Set => "set",
            Scope::Anywhere => "anywhere",
        }
    }
}

/// Windows of a scope so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// Whole windows within the lives of its flows.
    pub whole: u64,
    /// Those in which the target was attained.
    pub attained: u64,
}

/// Counters of all scopes.
#[derive(Clone, Debug)]
pub(crate) struct Assurance {
    window: Span,
    scopes: Vec<Counters>,
    /// Indexes of the scopes of each flow.
    of_flow: Vec<Vec<u32>>,
    /// Beginning and end of the present window.
    present: (Time, Time),
}

/// Counters of one scope.
#[derive(Clone, Debug)]
struct Counters {
    scope: Scope,
    /// Bits of the target in a window, times the ticks of a second.
    needed: u128,
    /// Time from the first start of its flows to the last stop.
    lives: RangeInclusive<Time>,
    /// Bytes received in the present window.
    bytes: u64,
    windows: Windows,
}

impl Assurance {
    /// Creates the counters; `lives` are the starts and stops of all flows, and measurement begins
    /// at `warm_at`.
    pub(crate) fn new(plan: &AssurancePlan, lives: &[(Time, Time)], warm_at: Time) -> Assurance {
        let mut of_flow = vec![Vec::new(); lives.len()];
        for (ix, scope) in (0..).zip(&plan.scopes) {
            scope.flows.iter().for_each(|flow| of_flow[*flow as usize].push(ix));
        }
        let counters = |plan_of: &ScopePlan| {
            let lives = || plan_of.flows.iter().map(|flow| lives[*flow as usize]);
            let start = lives().map(|(start, _)| start).min().unwrap_or(Time::NEVER);
            let stop = lives().map(|(_, stop)| stop).max().unwrap_or(Time::ORIGIN);
            Counters {
                scope: plan_of.scope,
                needed: u128::from(plan_of.target) * u128::from(plan.window.ticks()),
                lives: start..=stop,
                bytes: 0,
                windows: Windows::default(),
            }
        };
        Assurance {
            window: plan.window,
            scopes: plan.scopes.iter().map(counters).collect(),
            of_flow,
            present: (warm_at, warm_at + plan.window),
        }
    }

    /// Counts a packet of a flow that has arrived at a node.
    #[inline]
    pub(crate) fn received(&mut self, flow: u32, node: usize, len: u32) {
        for ix in &self.of_flow[flow as usize] {
            let counters = &mut self.scopes[*ix as usize];
            // A copy of a multicast packet belongs to one destination.
            if !matches!(counters.scope, Scope::Destination(other) if other != node) {
                counters.bytes += u64::from(len);
            }
        }
    }

    /// Discards the bytes that came before the measured time.
    pub(crate) fn begin(&mut self) {
        self.scopes.iter_mut().for_each(|counters| counters.bytes = 0);
    }

    /// Returns the end of the present window.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.present.1
    }

    /// Ends the present window and begins the next one.
    pub(crate) fn end_window(&mut self) {
        let (began, ended) = self.present;
        for Counters { needed, lives, bytes, windows, .. } in &mut self.scopes {
            let received = u128::from(core::mem::take(bytes)) * 8 * u128::from(TICKS_PER_SECOND);
            if lives.contains(&began) && lives.contains(&ended) {
                windows.whole += 1;
                //= clark1998 II.C
                windows.attained += u64::from(received >= *needed);
            }
        }
        self.present = (ended, ended + self.window);
    }

    /// Returns the windows of each scope, in the order of the plan.
    pub(crate) fn windows(&self) -> impl Iterator<Item = Windows> {
        self.scopes.iter().map(|counters| counters.windows)
    }
}
