//! Classes of a port: the supply of each from the schedulers above it.
//!
//! A scheduler guarantees a class a service curve
//! ([`PolicyFacts::guarantee`](crate::params::PolicyFacts::guarantee)), given the traffic of the
//! others there, so that the class is a port of its own for the flows in it. A flow that is directly
//! beside classes is guaranteed a curve as a class is.
//!
//! Guarantees are in floating point. They are rounded to the safe side by far more than a sum of a
//! million members is wrong.

use super::network::Network;
use super::total_flow::Found;
use crate::curves::{ArrivalCurve, ServiceCurve, bytes_per_second, nearest, whole};
use crate::params::{Guarantee, Line, Member, NoLine, Traffic};
use alloc::vec;
use alloc::vec::Vec;

/// Relative error to the safe side.
const SAFE: f64 = 1e-9;

const NOTHING: NoLine = NoLine::Because("its scheduler guarantees nothing to or beside a class");

/// The guarantee as a service curve: at 2⁻¹⁶ bytes a second and 2⁻⁴⁰ seconds.
fn curve(guarantee: Guarantee) -> ServiceCurve {
    let part = |number: f64, bits: u32| number * (1u64 << bits) as f64;
    let rate = whole(part(guarantee.rate * (1.0 - SAFE), 16) as u64) / whole(1u64 << 16);
    let latency = whole(part(guarantee.latency * (1.0 + SAFE), 40) as u64 + 1) / whole(1u64 << 40);
    ServiceCurve::rate_latency(rate, latency)
}

/// Traffic in floating point.
fn traffic(arrivals: &ArrivalCurve) -> Traffic {
    let bucket = arrivals.sustained();
    Traffic { burst: nearest(&bucket.burst) * (1.0 + SAFE), rate: nearest(&bucket.rate) * (1.0 + SAFE) }
}

/// Returns true if a class may hold back packets while the link is free.
fn may_idle(network: &Network<'_>, class: usize) -> bool {
    !network.is_never_idle(class) || network.classes_in(class).any(|inner| may_idle(network, inner))
}

impl Found {
    /// The service curve of a port, or of a class.
    ///
    /// # Errors
    /// If a scheduler above a class guarantees it nothing.
    pub(super) fn server(
        &self,
        network: &Network<'_>,
        port: usize,
        all: &[Vec<(usize, usize)>],
    ) -> Result<ServiceCurve, NoLine> {
        match network.ports[port].class {
            None => Ok(network.ports[port].server(&whole(network.largest_within(port, all)))),
            Some(_) => Ok(curve(self.supply(network, port, all)?)),
        }
    }

    /// The line of a flow by itself, of those directly beside or in a class: the member of the port
    /// with this index behind the classes there.
    ///
    /// # Errors
    /// If the scheduler guarantees it nothing.
    pub(super) fn guaranteed(
        &self,
        network: &Network<'_>,
        port: usize,
        index: usize,
        all: &[Vec<(usize, usize)>],
    ) -> Result<Line, NoLine> {
        let place = network.classes_in(port).count() + index;
        let service = curve(self.member(network, port, place, all)?);
        let source = "the guarantee of the schedulers above";
        Ok(Line { flows: vec![index], service, is_whole_port: false, source })
    }

    /// Supply of the scheduler of a port or a class.
    fn supply(
        &self,
        network: &Network<'_>,
        port: usize,
        all: &[Vec<(usize, usize)>],
    ) -> Result<Guarantee, NoLine> {
        match network.ports[port].class {
            Some(class) if class.ceiling.is_some() => Err(NoLine::Because("a class has a ceiling there")),
            Some(class) => {
                let place = network.classes_in(class.parent).take_while(|other| *other != port).count();
                self.member(network, class.parent, place, all)
            }
            None => {
                let server = network.ports[port].server(&whole(network.largest_within(port, all)));
                let (rate, latency) = server.in_the_long_run().ok_or(NOTHING)?;
                let link = nearest(&bytes_per_second(network.ports[port].link));
                Ok(Guarantee { rate: nearest(&rate), latency: nearest(&latency), link, at_any_time: true })
            }
        }
    }

    /// Guarantee of a port or a class to the member at this place: classes first, then flows.
    fn member(
        &self,
        network: &Network<'_>,
        port: usize,
        place: usize,
        all: &[Vec<(usize, usize)>],
    ) -> Result<Guarantee, NoLine> {
        if let Some(why) = network.ports[port].void {
            return Err(NoLine::Because(why));
        }
        // Packets that are held back come later than the traffic of their class or flow.
        let may_hold = |class: usize| may_idle(network, class) || network.may_hold(class, all);
        let mut classes = network.classes_in(port).enumerate();
        let holds = classes.any(|(nth, class)| nth != place && may_hold(class))
            || all[port].iter().any(|(flow, hop)| network.flows[*flow].ceilings[*hop].is_some());
        if holds && !network.ports[port].scheduler.returns_as_newcomers() {
            return Err(NOTHING);
        }
        let supply = self.supply(network, port, all)?;
        let classes = network.classes_in(port).filter_map(|class| {
            let traffic = self.within(network, class, all).map(|arrivals| traffic(&arrivals));
            let contract = network.ports[class].class?.contract;
            let largest = network.largest_within(class, all);
            Some(Member { count: 1, contract, largest, traffic, signalled: false })
        });
        let flows = all[port].iter().map(|(flow, hop)| {
            let terms = &network.flows[*flow];
            Member {
                count: 1,
                contract: terms.contracts[*hop],
                largest: terms.largest,
                traffic: self.arrivals[*flow][*hop].as_ref().map(traffic),
                signalled: false,
            }
        });
        let members: Vec<Member> = classes.chain(flows).collect();
        network.ports[port].scheduler.guarantee(supply, &members, place).ok_or(NOTHING)
    }

    /// The traffic of all flows in a class; `None` if one is not bounded.
    fn within(
        &self,
        network: &Network<'_>,
        class: usize,
        all: &[Vec<(usize, usize)>],
    ) -> Option<ArrivalCurve> {
        let own = all[class].iter().map(|(flow, hop)| self.arrivals[*flow][*hop].clone());
        let inner = network.classes_in(class).map(|inner| self.within(network, inner, all));
        own.chain(inner).try_fold(ArrivalCurve::zero(), |sum, curve| Some(sum.and(&curve?)))
    }
}
