//! Output ports that control the rates of ABR connections, with and without VS/VD: the algorithms are core's, and this relay
//! brings them the cells.
//!
//! There is one relay for a node. A VC is the flow of a connection's data whose transport heeds RM cells; its answers come
//! back on the other flow. What else leaves a port goes before the ABR class, unless its class is less urgent than theirs.

use crate::fabric::Fabric;
use crate::network::{FlowSetup, Network, RateControlPlan};
use crate::probe::Subject;
use crate::relay::{Crossing, Passage, Relay, RelayCx};
use std::collections::BTreeMap;
use tidegate_core::abr::cell::{Direction, RmCell};
use tidegate_core::abr::coupling::Coupled;
use tidegate_core::abr::{OutputPort, RateControl, SourceTerms, VcIx};
use tidegate_core::contract::Refused;
use tidegate_core::endpoint::Payload;
use tidegate_core::packet::{Mark, Packet};
use tidegate_core::shaper::{Excess, ShaperPlan};
use tidegate_core::units::{Rate, Time};

/// The rate-controlling ports of a node.
pub(in crate::world) struct RateControlled {
    node: usize,
    ports: Vec<Port>,
    /// By flow of the world.
    passing: Vec<Passing>,
}

struct Port {
    link: u32,
    control: Control,
    vcs: Vec<Vc>,
}

enum Control {
    Plain(OutputPort),
    Coupled(Coupled),
}

impl Control {
    fn algorithm(&self) -> &dyn RateControl {
        match self {
            Control::Plain(plain) => plain.algorithm(),
            Control::Coupled(coupled) => coupled.algorithm(),
        }
    }

    fn algorithm_mut(&mut self) -> &mut dyn RateControl {
        match self {
            Control::Plain(plain) => plain.algorithm_mut(),
            Control::Coupled(coupled) => coupled.algorithm_mut(),
        }
    }
}

/// A VC at a port.
struct Vc {
    flow: u32,
    hop: u32,
    /// Bytes of an RM cell.
    rm_cell: u32,
    /// With VS/VD the flow of its answers, and that flow's hop from here.
    back: Option<(u32, u32)>,
    /// Whether its cells wait in a queue of the VC before they enter the class queue.
    queued: bool,
}

/// What a flow is to a node.
#[derive(Clone, Copy, Default)]
struct Passing {
    /// The port by which it leaves, and as what.
    out: Option<(usize, Leaves)>,
    /// The VC whose answers it carries.
    answers: Option<(usize, VcIx)>,
}

/// As what a flow's packets leave a port.
#[derive(Clone, Copy)]
enum Leaves {
    /// Cells of this VC.
    Cells(VcIx),
    /// Answers of a VC in the other direction.
    Answers,
    /// Before the ABR class: CBR and VBR.
    Above,
}

impl RateControlled {
    /// The relays of a network: one for each node with such a port.
    ///
    /// # Errors
    /// When an algorithm refuses its parameters, or a VC has no loop before a port with VS/VD.
    pub(in crate::world) fn all(
        network: &Network,
        first_hops: &[u32],
    ) -> Result<Vec<RateControlled>, Refused> {
        let mut nodes: BTreeMap<usize, Vec<&RateControlPlan>> = BTreeMap::new();
        for plan in &network.rate_control {
            nodes.entry(network.links[plan.link].from).or_default().push(plan);
        }
        nodes
            .into_iter()
            .map(|(node, plans)| RateControlled::new(network, first_hops, node, &plans))
            .collect()
    }

    fn new(
        network: &Network,
        first_hops: &[u32],
        node: usize,
        plans: &[&RateControlPlan],
    ) -> Result<RateControlled, Refused> {
        let mut ports = Vec::with_capacity(plans.len());
        let mut of_link = BTreeMap::new();
        for plan in plans {
            let rate = network.links[plan.link].port.ceiling.unwrap_or(network.links[plan.link].rate);
            let control = match &plan.coupling {
                None => Control::Plain(OutputPort::new(&plan.algorithm, rate, Time::ORIGIN)?),
                Some(coupling) => Control::Coupled(coupling.build(&plan.algorithm, rate, Time::ORIGIN)?),
            };
            of_link.insert(plan.link, ports.len());
            ports.push(Port { link: plan.link as u32, control, vcs: Vec::new() });
        }
        let mut relay =
            RateControlled { node, ports, passing: vec![Passing::default(); network.flows.len()] };
        let crossings = network.flows.iter().enumerate().filter_map(|(flow, setup)| {
            let nth = setup.route.iter().position(|link| network.links[*link].from == node)?;
            Some((flow, nth, *of_link.get(&setup.route[nth])?))
        });
        let crossings: Vec<(usize, usize, usize)> = crossings.collect();
        for &(flow, nth, port) in &crossings {
            let setup = &network.flows[flow];
            if let Some(terms) = setup.source_terms(network) {
                let hop = first_hops[flow] + nth as u32;
                let vc = relay.open(network, first_hops, (flow, hop), port, nth == 0, terms)?;
                relay.passing[flow].out = Some((port, Leaves::Cells(vc)));
                if let Some(peer) = setup.peer {
                    relay.passing[peer].answers = Some((port, vc));
                }
            }
        }
        for (flow, _, port) in crossings {
            let setup = &network.flows[flow];
            let answers = setup.peer.is_some_and(|peer| network.flows[peer].source_terms(network).is_some());
            if relay.passing[flow].out.is_none() {
                let leaves = match answers {
                    true => Some(Leaves::Answers),
                    false => relay.goes_above(network, port, setup).then_some(Leaves::Above),
                };
                relay.passing[flow].out = leaves.map(|leaves| (port, leaves));
            }
        }
        Ok(relay)
    }

    /// Opens the VC that a flow is, at one of the ports.
    fn open(
        &mut self,
        network: &Network,
        first_hops: &[u32],
        (flow, hop): (usize, u32),
        port: usize,
        is_first: bool,
        terms: SourceTerms,
    ) -> Result<VcIx, Refused> {
        let setup = &network.flows[flow];
        let back = setup.peer.and_then(|peer| {
            let nth =
                network.flows[peer].route.iter().position(|link| network.links[*link].from == self.node);
            Some((peer as u32, first_hops[peer] + nth? as u32))
        });
        let port = &mut self.ports[port];
        let queued = matches!(port.control, Control::Coupled(_)) || (is_first && setup.vc.is_some());
        let vc = match &mut port.control {
            Control::Plain(plain) => plain.open(),
            Control::Coupled(coupled) => {
                if is_first || back.is_none() {
                    let node = &network.nodes[self.node].name;
                    let what = "starts there, or its answers do not pass";
                    return Err(Refused(format!("{node} has VS/VD, and `{}` {what}", setup.name)));
                }
                coupled.open(terms)
            }
        };
        port.vcs.push(Vc { flow: flow as u32, hop, rm_cell: terms.rm_cell, back, queued });
        Ok(vc)
    }

    /// Whether what a flow that is no VC sends goes before the VCs of a port: unless its class is less urgent.
    fn goes_above(&self, network: &Network, port: usize, setup: &FlowSetup) -> bool {
        let Port { link, vcs, .. } = &self.ports[port];
        let Some(vc) = vcs.first() else { return false };
        let classes = &network.links[*link as usize].port.classes;
        let urgency = |setup: &FlowSetup| {
            let nth = setup.route.iter().position(|on| *on == *link as usize)?;
            let plan = setup.plans.get(nth)?;
            let class = plan.class.and_then(|class| classes.get(usize::from(class)));
            Some(class.map_or(plan.contract.priority, |class| class.contract.priority))
        };
        urgency(setup) <= urgency(&network.flows[vc.flow as usize])
    }

    /// Counts a packet without content. Whether that is all there is to do: it is a data cell of a VC, at a port without
    /// VS/VD. Otherwise nothing is done.
    #[inline(always)]
    pub(in crate::world) fn counts(&mut self, now: Time, at: Crossing, len: u32) -> bool {
        let Some((port, Leaves::Cells(vc))) = self.passing[at.flow as usize].out else { return false };
        let Port { control: Control::Plain(plain), vcs, .. } = &mut self.ports[port] else { return false };
        let counts = at.to.is_some() && !vcs[vc.ix()].queued;
        if counts {
            plain.cell(now, vc, len, None);
        }
        counts
    }

    pub(in crate::world) fn node(&self) -> usize {
        self.node
    }

    /// What the ports show, and with VS/VD each VC there.
    pub(in crate::world) fn gauges(&self, fabric: &Fabric, show: &mut dyn FnMut(Subject, &'static str, f64)) {
        for port in &self.ports {
            let link = Subject::Link(port.link);
            match &port.control {
                Control::Plain(plain) => {
                    plain.algorithm().gauges(&mut |metric, value| show(link, metric, value))
                }
                Control::Coupled(coupled) => {
                    coupled.algorithm().gauges(&mut |metric, value| show(link, metric, value));
                    for (ix, vc) in port.vcs.iter().enumerate() {
                        let leg = Subject::Vc { link: port.link, flow: vc.flow };
                        show(leg, "acr", coupled.acr(VcIx(ix as u32)));
                        show(leg, "vc_queue", fabric.shaped_at(vc.hop).packets as f64);
                    }
                }
            }
        }
    }

    /// An answer to a VC of one of the ports has come: whether it goes on.
    #[inline(never)]
    fn answered(
        &mut self,
        cx: &mut RelayCx<'_>,
        at: Crossing,
        port: usize,
        vc: VcIx,
        brm: &mut RmCell,
    ) -> Passage {
        let port = &mut self.ports[port];
        let queue = cx.queue_of(port.link);
        match &mut port.control {
            Control::Plain(plain) => plain.answer(cx.now(), vc, brm, queue),
            Control::Coupled(coupled) if at.from.is_some() => {
                let before = coupled.acr(vc);
                coupled.brm(cx.now(), vc, brm, queue);
                pace(cx, port.vcs[vc.ix()].hop, before, coupled.acr(vc));
                return Passage::Absorb;
            }
            // It was made here.
            Control::Coupled(_) => {}
        }
        Passage::Forward
    }
}

/// A packet of a VC is at a port with VS/VD: whether it goes on to the per-VC queue.
#[inline(never)]
fn end_loop(
    cx: &mut RelayCx<'_>,
    coupled: &mut Coupled,
    (vc, state): (VcIx, &Vc),
    packet: &mut Packet,
    payload: &Payload,
    link: u32,
) -> Passage {
    let (is_due, passage) = match payload {
        Payload::Rm(frm) => {
            let before = coupled.acr(vc);
            let (brm, is_first) = coupled.frm(cx.now(), vc, frm, packet.len, cx.queue_of(link));
            if let Some((peer, hop)) = state.back {
                cx.send(peer, hop, packet.len, Mark::NONE, Payload::Rm(brm));
            }
            pace(cx, state.hop, before, coupled.acr(vc));
            (is_first, Passage::Absorb)
        }
        _ => (coupled.data(cx.now(), vc, packet.len, &mut packet.mark), Passage::Forward),
    };
    if is_due {
        // What it says is written when it goes to the class queue.
        cx.send(state.flow, state.hop, state.rm_cell, Mark::NONE, Payload::Rm(RmCell::default()));
    }
    passage
}

/// The queue of a VC at a hop is served at ACR from now on, where it was served at `before`.
pub(super) fn pace(cx: &mut RelayCx<'_>, hop: u32, before: f64, acr: f64) {
    if before != acr {
        set_pace(cx, hop, acr);
    }
}

/// The queue of a VC at a hop is served at ACR from now on, a cell at a time.
pub(super) fn set_pace(cx: &mut RelayCx<'_>, hop: u32, acr: f64) {
    let rate = Rate::from_bits_per_second((acr as u64).max(1));
    let plan = |rate| ShaperPlan { rate, burst: 1, peak: None, queue: None, excess: Excess::Wait };
    cx.set_pace(hop, rate.map(plan));
}

/// The FRM cell that a packet of a VC is.
fn frm_of(payload: &Payload) -> Option<&RmCell> {
    if let Payload::Rm(frm) = payload { Some(frm) } else { None }
}

impl Relay for RateControlled {
    /// The run begins: the virtual sources are at their initial rates.
    fn wake(&mut self, cx: &mut RelayCx<'_>) {
        for port in &self.ports {
            let Control::Coupled(coupled) = &port.control else { continue };
            cx.watch_shapers(self.node as u32);
            for (ix, vc) in port.vcs.iter().enumerate() {
                set_pace(cx, vc.hop, coupled.acr(VcIx(ix as u32)));
            }
        }
    }

    fn enter(
        &mut self,
        cx: &mut RelayCx<'_>,
        at: Crossing,
        packet: &mut Packet,
        payload: &mut Payload,
    ) -> Passage {
        let Passing { out, answers } = self.passing[at.flow as usize];
        if let (Payload::Rm(brm @ RmCell { direction: Direction::Backward, .. }), Some((port, vc))) =
            (&mut *payload, answers)
            && self.answered(cx, at, port, vc, brm) == Passage::Absorb
        {
            return Passage::Absorb;
        }
        let (Some(_), Some((port, leaves))) = (at.to, out) else { return Passage::Forward };
        let Port { link, control, vcs } = &mut self.ports[port];
        match (leaves, control) {
            (Leaves::Cells(vc), Control::Plain(plain)) if !vcs[vc.ix()].queued => {
                plain.cell(cx.now(), vc, packet.len, frm_of(payload));
            }
            (Leaves::Cells(vc), Control::Coupled(coupled)) if at.from.is_some() => {
                return end_loop(cx, coupled, (vc, &vcs[vc.ix()]), packet, payload, *link);
            }
            (Leaves::Answers, Control::Plain(plain)) => {
                plain.algorithm_mut().arrived(cx.now(), None, packet.len);
            }
            (Leaves::Answers, Control::Coupled(coupled)) => coupled.answer_entered(cx.now(), packet.len),
            (Leaves::Cells(_) | Leaves::Above, _) => {}
        }
        Passage::Forward
    }

    fn let_go(&mut self, cx: &mut RelayCx<'_>, flow: u32, _: u32, packet: &Packet, payload: &mut Payload) {
        let Some((port, Leaves::Cells(vc))) = self.passing[flow as usize].out else { return };
        let Port { control, vcs, .. } = &mut self.ports[port];
        match control {
            Control::Plain(plain) if vcs[vc.ix()].queued => {
                plain.cell(cx.now(), vc, packet.len, frm_of(payload));
            }
            Control::Plain(_) => {}
            Control::Coupled(coupled) => {
                let before = coupled.acr(vc);
                let frm = if let Payload::Rm(frm) = payload { Some(frm) } else { None };
                coupled.let_go(cx.now(), vc, packet.len, frm);
                pace(cx, vcs[vc.ix()].hop, before, coupled.acr(vc));
            }
        }
    }

    /// What goes before the ABR class is counted then, and data cells get EFCI.
    fn sees_leaving(&self, flow: u32, link: u32) -> bool {
        match self.passing[flow as usize].out {
            Some((port, leaves)) if self.ports[port].link == link => match leaves {
                Leaves::Above => true,
                Leaves::Cells(_) => self.ports[port].control.algorithm().sets_efci(),
                Leaves::Answers => false,
            },
            _ => false,
        }
    }

    fn leave(&mut self, cx: &mut RelayCx<'_>, flow: u32, _: u32, packet: &mut Packet, payload: &mut Payload) {
        let Some((port, leaves)) = self.passing[flow as usize].out else { return };
        let Port { link, control, .. } = &mut self.ports[port];
        let algorithm = control.algorithm_mut();
        match leaves {
            Leaves::Above => algorithm.left_above(cx.now(), packet.len),
            Leaves::Cells(_) if !matches!(payload, Payload::Rm(_)) && algorithm.marks(cx.queue_of(*link)) => {
                packet.mark = packet.mark.congested();
            }
            Leaves::Cells(_) | Leaves::Answers => {}
        }
    }
}
