//! Links with credit: the window of each VC, and the credit cells that go ahead of the packets of the
//! link back.
//!
//! With static allocation a VC is a window of Buf_Alloc packets, of which every N2 that leave the
//! receiver are reported. Where the allocation changes, packets or credit cells may be lost, or the
//! time of a credit cell is not known, a window has no bound on its loop, and the reason instead.

use super::super::effects::{Effects, OnPort};
use crate::network::{LinkPlan, Network};
use tidegate_core::bounds::network::Window;
use tidegate_core::credit::RECORDS_PER_CELL;
use tidegate_core::credit::params::{Conduct, CreditTerms, Per, Protocol};
use tidegate_core::curves::{ArrivalCurve, Exact, bytes_per_second, seconds, whole};
use tidegate_formats::{CreditLinks, LinkCredit};

/// Returns the effects of credit; `None` where no link has it.
pub(super) fn effects(network: &Network) -> Option<Effects> {
    let links: &CreditLinks = network.stage_terms.get()?;
    let credit = Credit { network, links, reverse: network.reverse_links() };
    let ports = (0..network.links.len()).map(|link| credit.on_port(link)).collect();
    Some(Effects { ports, windows: credit.windows() })
}

/// The links with credit of a network, and the links back.
struct Credit<'n> {
    network: &'n Network,
    links: &'n CreditLinks,
    reverse: Vec<Option<u32>>,
}

impl<'n> Credit<'n> {
    /// The credit from a link on.
    fn on(&self, link: usize) -> Option<&'n LinkCredit> {
        self.links.of(link)
    }

    /// The link on which the credit cells of a link begin.
    fn back(&self, link: usize) -> Option<usize> {
        self.reverse[link].map(|back| back as usize)
    }

    /// Links with VCs whose credit cells pass a link.
    fn reported_over(&self, over: usize) -> impl Iterator<Item = (usize, &'n LinkCredit)> {
        let all = (0..self.network.links.len()).filter_map(|link| Some((link, self.on(link)?)));
        all.filter(move |(link, credit)| {
            let mut way = [link].into_iter().chain(&credit.further);
            credit.vcs > 0 && way.any(|link| self.back(*link) == Some(over))
        })
    }

    /// The smallest and the largest packet that the flows of a link send; `None` if one is not known.
    fn sizes(&self, link: usize) -> Option<(u32, u32)> {
        let mut flows = self.network.flows.iter().filter(|flow| flow.route.contains(&link));
        flows.try_fold((u32::MAX, 0), |(smallest, largest), flow| {
            let sizes = flow.sizes?;
            Some((smallest.min(sizes.smallest), largest.max(sizes.largest)))
        })
    }

    /// The windows of all VCs.
    fn windows(&self) -> Vec<Window> {
        let mut windows = Vec::new();
        for link in 0..self.network.links.len() {
            let Some(credit) = self.on(link) else { continue };
            let (places, batch) = match credit.plan.terms {
                CreditTerms::Static { buf_alloc, n2 } => (buf_alloc, n2),
                _ => (0, 1),
            };
            let window = |members| Window { members, places, batch, loop_time: self.loop_time(link, credit) };
            let flows = self.network.flows.iter().enumerate();
            let hops = flows.flat_map(|(ix, flow)| {
                let hops = flow.route.iter().enumerate().filter(|(_, way)| **way == link);
                hops.map(move |(hop, _)| (ix, hop))
            });
            match credit.plan.per {
                Per::Flow => windows.extend(hops.map(|hop| window(vec![hop]))),
                Per::Link => windows.push(window(hops.collect())),
            }
        }
        windows
    }

    /// Longest time of a packet to the receiver, and from the moment at which a record is due there to
    /// its use: behind a packet that has just started on the link back, and behind the records of all
    /// other VCs.
    ///
    /// # Errors
    /// The reason for which there is none.
    fn loop_time(&self, link: usize, credit: &LinkCredit) -> Result<Exact, &'static str> {
        let LinkCredit { plan, vcs, further } = credit;
        let (there, back) = (&self.network.links[link], self.back(link));
        let Some(back) = back else { return Err("there is no link back for its credit cells") };
        let here = &self.network.links[back];
        let is_known = |link: &LinkPlan| link.has_one_delay() && !link.reorders();
        let is_lossy = |link: &LinkPlan| link.loss.happens();
        let refuse = |holds: bool, why| if holds { Err(why) } else { Ok(()) };
        refuse(!further.is_empty(), "its credit is that of a virtual link")?;
        refuse(!matches!(plan.terms, CreditTerms::Static { .. }), "its credit is allocated adaptively")?;
        refuse(plan.sender == Conduct::Ignores, "its sender ignores credit")?;
        refuse(is_lossy(there) || is_lossy(here), "its credit may be lost with packets or credit cells")?;
        refuse(
            plan.duplicate > 0.0 && plan.protocol == Protocol::Incremental,
            "its credit cells may arrive twice and count twice",
        )?;
        let others = self.reported_over(back).count() > 1;
        let is_unsure = others || !here.pace.is_steady() || !is_known(there) || !is_known(here);
        refuse(is_unsure || here.framing.happens(), "the time of its credit cells is not known")?;
        let (_, largest) = self.sizes(back).ok_or("the sizes of packets on the link back are not known")?;
        // Checks of the link back are cells in its lane, too.
        let check = self.on(back).map_or(0, |other| other.plan.credit_cell);
        let started = largest.max(plan.credit_cell).max(check);
        let cells = vcs.div_ceil(RECORDS_PER_CELL as u64) * u64::from(plan.credit_cell);
        let sent = whole(u64::from(started) + cells) / bytes_per_second(here.rate);
        Ok(seconds(there.delay) + sent + seconds(here.delay))
    }

    /// The effect of credit on the port of a link.
    fn on_port(&self, ix: usize) -> OnPort {
        let (ahead, unknown) = match self.ahead(ix) {
            Ok(ahead) => (ahead, None),
            Err(why) => (None, Some(why)),
        };
        let links = &self.network.links;
        let (port, own, from) = (&links[ix].port, self.on(ix), links[ix].from);
        let ends_here = |link: usize| {
            self.on(link).is_some_and(|credit| links[*credit.further.last().unwrap_or(&link)].to == from)
        };
        let on_way = |link: usize| {
            self.on(link).is_some_and(|credit| {
                credit.plan.check.is_some() && (link == ix || credit.further.contains(&ix))
            })
        };
        let shares = self.network.nodes[from].buffer.is_some() && (0..links.len()).any(ends_here);
        let (has_classes, has_cells) = (!port.classes.is_empty(), ahead.is_some());
        let reasons = [
            ((0..links.len()).any(on_way), "credit_check cells go over it"),
            (own.is_some() && has_classes, "it has classes on a link with credit"),
            (has_cells && has_classes, "it has classes beside credit cells"),
            (has_cells && port.ceiling.is_some(), "it has a ceiling beside credit cells"),
            (shares, "the buffer of its node is divided among VCs with and without credit"),
        ];
        let void = unknown.or_else(|| reasons.into_iter().find_map(|(holds, why)| holds.then_some(why)));
        OnPort { ahead, void }
    }

    /// Traffic of the credit cells that a link carries.
    ///
    /// At most Buf_Alloc packets of a VC were sent before some time and not reported then, and over a
    /// time t the link sends at most C t / l + 1 more, l being its smallest packet. Each record reports
    /// N2 packets or more, and is alone in its cell at worst. Repeated records start while no packet
    /// waits, so that one of them at most is on its way out when the first packet comes.
    ///
    /// # Errors
    /// The reason for which it is not bounded.
    fn ahead(&self, over: usize) -> Result<Option<ArrivalCurve>, &'static str> {
        let mut all: Option<ArrivalCurve> = None;
        for (link, LinkCredit { plan, vcs, further }) in self.reported_over(over) {
            let there = &self.network.links[link];
            let obeys = plan.sender == Conduct::Obeys && plan.check.is_none();
            let is_plain = further.is_empty() && there.pace.is_steady() && obeys;
            let terms = match plan.terms {
                CreditTerms::Static { buf_alloc, n2 } => Some((buf_alloc, n2)),
                _ => None,
            };
            let terms = terms.zip(self.sizes(link)).filter(|_| is_plain);
            let Some(((buf_alloc, n2), (smallest, _))) = terms else {
                return Err("the number of credit cells over it has no bound");
            };
            let (cell, batch) = (whole(plan.credit_cell), whole(n2));
            let at_once = whole(u64::from(buf_alloc) * vcs + 1) / &batch + whole(1);
            let packets = bytes_per_second(there.rate) / whole(smallest.max(1));
            let cells = ArrivalCurve::bucket(&cell * at_once, cell * packets / batch);
            all = Some(all.map_or(cells.clone(), |all| all.and(&cells)));
        }
        Ok(all)
    }
}
