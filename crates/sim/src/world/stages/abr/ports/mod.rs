//! Output ports that control the rates of ABR connections, with and without VS/VD: the algorithms
//! are core's, and this stage feeds them the cells.
//!
//! There is one stage for a node. A VC is the flow of a connection's data whose transport uses RM
//! cells; its answers come back on the other flow. Other packets leave a port before the ABR class,
//! unless their class is less urgent than that.

mod setup;

use super::pace::{pace, set_pace};
use super::turned::{InOrder, Turned};
use crate::probe::Subject;
use crate::stage::{Crossing, Gauges, Interest, Passage, Site, Stage, StageCx};
use tidegate_core::abr::cell::{Direction, RmCell};
use tidegate_core::abr::{Coupled, OutputPort, RateControl, VcIx};
use tidegate_core::endpoint::Payload;
use tidegate_core::packet::{Mark, Packet};
use tidegate_core::units::Time;

/// The rate-controlling ports of a node.
pub(in crate::world) struct RateControlled {
    ports: Vec<Port>,
    /// State by flow of the world.
    roles: Vec<FlowRole>,
}

struct Port {
    link: u32,
    control: PortControl,
    vcs: Vec<Vc>,
}

enum PortControl {
    Plain(OutputPort),
    Coupled(Coupled),
}

impl PortControl {
    fn algorithm(&self) -> &dyn RateControl {
        match self {
            PortControl::Plain(plain) => plain.algorithm(),
            PortControl::Coupled(coupled) => coupled.algorithm(),
        }
    }

    fn algorithm_mut(&mut self) -> &mut dyn RateControl {
        match self {
            PortControl::Plain(plain) => plain.algorithm_mut(),
            PortControl::Coupled(coupled) => coupled.algorithm_mut(),
        }
    }
}

/// A VC at a port.
struct Vc {
    flow: u32,
    hop: u32,
    /// Bytes of an RM cell.
    rm_cell: u32,
    /// With VS/VD, the flow of its answers, and that flow's hop from here.
    back: Option<(u32, u32)>,
    /// The flow of the data in the other direction, of a VC with both.
    backward: Option<u32>,
    /// RM cells of that direction that were turned round here.
    turned: InOrder,
}

/// Role of a flow at a node.
#[derive(Clone, Copy, Default)]
struct FlowRole {
    /// The port by which it leaves, and its role there.
    out: Option<(usize, Leaves)>,
    /// True if its cells wait in a queue of the VC before they enter the class queue.
    queued: bool,
    /// The VC whose answers it carries.
    answers: Option<(usize, VcIx)>,
}

/// Role in which a flow's packets leave a port.
#[derive(Clone, Copy)]
enum Leaves {
    /// Cells of this VC.
    Cells(VcIx),
    /// Answers of a VC in the other direction.
    Answers,
    /// Packets served before the ABR class: CBR and VBR.
    Above,
}

impl RateControlled {
    /// Handles a packet at the node that is not an RM cell. If it is a cell of a VC on its way
    /// through a port, counts it and returns true: it continues. Otherwise does nothing.
    #[inline(always)]
    fn counts(&mut self, cx: &mut StageCx, at: &Crossing, packet: &mut Packet) -> bool {
        let FlowRole { out, queued, .. } = self.roles[at.flow as usize];
        let (Some(_), Some((port, Leaves::Cells(vc)))) = (at.to, out) else { return false };
        let Port { control, vcs, .. } = &mut self.ports[port];
        match control {
            PortControl::Plain(plain) if !queued => plain.cell(cx.now, vc, packet.len, None),
            PortControl::Coupled(coupled) if at.from.is_some() => {
                if coupled.data(cx.now, vc, packet.len, &mut packet.mark) {
                    vcs[vc.ix()].send_frm(cx);
                }
            }
            // It is counted when its queue releases it, or it was made here.
            PortControl::Plain(_) | PortControl::Coupled(_) => {}
        }
        true
    }

    /// Counts a packet, not an RM cell, that goes from the queue of its VC to the class queue.
    #[inline(always)]
    fn lets_go(&mut self, cx: &mut StageCx, flow: u32, len: u32) {
        let FlowRole { out: Some((port, Leaves::Cells(vc))), queued, .. } = self.roles[flow as usize] else {
            return;
        };
        let Port { control, vcs, .. } = &mut self.ports[port];
        match control {
            PortControl::Plain(plain) if queued => plain.cell(cx.now, vc, len, None),
            PortControl::Plain(_) => {}
            PortControl::Coupled(coupled) => {
                coupled.enter_class_queue(cx.now, vc, len, None);
                vcs[vc.ix()].left(cx, false);
            }
        }
    }

    /// Handles an RM cell, or an answer, at the node.
    #[inline(never)]
    fn enter_rm(
        &mut self,
        cx: &mut StageCx,
        at: &Crossing,
        packet: &Packet,
        payload: &mut Payload,
    ) -> Passage {
        let FlowRole { out, queued, answers } = self.roles[at.flow as usize];
        if let (Payload::Rm(brm @ RmCell { direction: Direction::Backward, .. }), Some((port, vc))) =
            (&mut *payload, answers)
            && self.answered(cx, at, port, vc, brm) == Passage::Absorb
        {
            return Passage::Absorb;
        }
        let (Some(_), Some((port, leaves))) = (at.to, out) else { return Passage::Forward };
        let Port { link, control, vcs } = &mut self.ports[port];
        match (leaves, control) {
            (Leaves::Cells(vc), PortControl::Plain(plain)) if !queued => {
                plain.cell(cx.now(), vc, packet.len, frm_of(payload));
            }
            (Leaves::Cells(vc), PortControl::Coupled(coupled)) if at.from.is_some() => {
                if let Payload::Rm(frm) = payload {
                    let backward = vcs[vc.ix()].backward;
                    let left = end_loop(cx, coupled, (vc, &vcs[vc.ix()]), frm, packet.len, *link);
                    if let Some((turned, flow)) = left.zip(backward) {
                        self.turn(cx, flow, turned);
                    }
                    return Passage::Absorb;
                }
            }
            (Leaves::Answers, PortControl::Plain(plain)) => {
                plain.algorithm_mut().arrived(cx.now(), None, packet.len);
            }
            (Leaves::Answers, PortControl::Coupled(coupled)) => coupled.answer_entered(cx.now(), packet.len),
            (Leaves::Cells(_) | Leaves::Above, _) => {}
        }
        Passage::Forward
    }

    /// Handles an RM cell that goes from the queue of its VC to the class queue.
    #[inline(never)]
    fn released_rm(&mut self, cx: &mut StageCx, flow: u32, len: u32, frm: &mut RmCell) {
        let FlowRole { out: Some((port, Leaves::Cells(vc))), queued, .. } = self.roles[flow as usize] else {
            return;
        };
        let Port { control, vcs, .. } = &mut self.ports[port];
        match control {
            PortControl::Plain(plain) if queued => plain.cell(cx.now(), vc, len, Some(frm)),
            PortControl::Plain(_) => {}
            PortControl::Coupled(coupled) => {
                let before = coupled.acr(vc);
                coupled.enter_class_queue(cx.now(), vc, len, Some(frm));
                repace(cx, coupled, (vc, vcs[vc.ix()].hop), before);
                vcs[vc.ix()].left(cx, true);
            }
        }
    }

    /// Sends an RM cell that was turned round among the cells of the data in the other direction, if
    /// their queue is here; otherwise at once.
    fn turn(&mut self, cx: &mut StageCx, backward: u32, turned: Turned) {
        if let Some((port, Leaves::Cells(vc))) = self.roles[backward as usize].out {
            let Port { control, vcs, .. } = &mut self.ports[port];
            if matches!(control, PortControl::Coupled(coupled) if coupled.paces()) {
                let state = &mut vcs[vc.ix()];
                return state.turned.take(cx, state.hop, turned);
            }
        }
        turned.send(cx);
    }

    /// Handles an answer to a VC of one of the ports; returns its fate.
    #[inline(never)]
    fn answered(
        &mut self,
        cx: &mut StageCx,
        at: &Crossing,
        port: usize,
        vc: VcIx,
        brm: &mut RmCell,
    ) -> Passage {
        let port = &mut self.ports[port];
        let queue = cx.queue_of(port.link);
        match &mut port.control {
            PortControl::Plain(plain) => plain.answer(cx.now(), vc, brm, queue),
            PortControl::Coupled(coupled) if at.from.is_some() => {
                let before = coupled.acr(vc);
                coupled.brm(cx.now(), vc, brm, queue);
                repace(cx, coupled, (vc, port.vcs[vc.ix()].hop), before);
                return Passage::Absorb;
            }
            // It was made here.
            PortControl::Coupled(_) => {}
        }
        Passage::Forward
    }
}

/// Handles an FRM cell of `len` bytes at a port with VS/VD, which ends its loop. Returns the answer of
/// a VC with data in both directions, which is not sent yet.
#[inline(never)]
fn end_loop(
    cx: &mut StageCx,
    coupled: &mut Coupled,
    (vc, state): (VcIx, &Vc),
    frm: &RmCell,
    len: u32,
    link: u32,
) -> Option<Turned> {
    let before = coupled.acr(vc);
    let queues = (cx.queue_of(link), cx.shaped_at(state.hop));
    let (cell, is_first) = coupled.frm(cx.now(), vc, frm, len, queues);
    let turned = state.back.map(|back| Turned { cell, len, back });
    let (now, later) = if state.backward.is_none() { (turned, None) } else { (None, turned) };
    if let Some(turned) = now {
        turned.send(cx);
    }
    repace(cx, coupled, (vc, state.hop), before);
    if is_first {
        state.send_frm(cx);
    }
    later
}

/// Serves the queue of a VC at its ACR2 of now, if it is served at ACR2.
fn repace(cx: &mut StageCx, coupled: &Coupled, (vc, hop): (VcIx, u32), before: f64) {
    if coupled.paces() {
        pace(cx, hop, before, coupled.acr(vc));
    }
}

impl Vc {
    /// Called when a cell of the VC has left its queue.
    #[inline(always)]
    fn left(&mut self, cx: &mut StageCx, is_frm: bool) {
        if self.backward.is_some() {
            self.turned.released(cx, self.hop, is_frm);
        }
    }

    /// Sends an FRM cell into the per-VC queue. Its fields are written when it goes to the class
    /// queue.
    #[inline(never)]
    fn send_frm(&self, cx: &mut StageCx) {
        cx.send(self.flow, self.hop, self.rm_cell, Mark::NONE, Payload::Rm(RmCell::default()));
    }
}

/// Returns the FRM cell that a packet of a VC is.
fn frm_of(payload: &Payload) -> Option<&RmCell> {
    if let Payload::Rm(frm) = payload { Some(frm) } else { None }
}

impl Stage for RateControlled {
    /// Wants leaving packets where those before the ABR class are counted, or data cells get EFCI.
    fn interest(&self, site: &Site) -> Interest {
        let FlowRole { out, queued, answers } = self.roles[site.flow as usize];
        let enter = if answers.is_some() { Interest::ENTER } else { Interest::NONE };
        let (Some(_), Some((port, leaves))) = (site.to, out) else { return enter };
        let control = &self.ports[port].control;
        let released = match control {
            PortControl::Coupled(coupled) if !coupled.paces() => Interest::LEAVE,
            PortControl::Coupled(_) => Interest::RELEASED,
            PortControl::Plain(_) if queued => Interest::RELEASED,
            PortControl::Plain(_) => Interest::NONE,
        };
        match leaves {
            Leaves::Above => enter | Interest::LEAVE,
            Leaves::Answers => Interest::ENTER,
            Leaves::Cells(_) if control.algorithm().sets_efci() => {
                Interest::ENTER | released | Interest::LEAVE
            }
            Leaves::Cells(_) => Interest::ENTER | released,
        }
    }

    fn begin(&self) -> Time {
        Time::ORIGIN
    }

    /// Begins the run: the virtual sources are at their initial rates.
    fn wake(&mut self, cx: &mut StageCx) {
        for port in &self.ports {
            let PortControl::Coupled(coupled) = &port.control else { continue };
            for (ix, vc) in port.vcs.iter().enumerate().filter(|_| coupled.paces()) {
                set_pace(cx, vc.hop, coupled.acr(VcIx(ix as u32)));
            }
        }
    }

    fn enter(
        &mut self,
        cx: &mut StageCx,
        at: &Crossing,
        packet: &mut Packet,
        payload: &mut Payload,
    ) -> Passage {
        if !matches!(payload, Payload::Rm(_)) && self.counts(cx, at, packet) {
            return Passage::Forward;
        }
        self.enter_rm(cx, at, packet, payload)
    }

    #[inline(always)]
    fn released(&mut self, cx: &mut StageCx, flow: u32, _: u32, packet: &Packet, payload: &mut Payload) {
        match payload {
            Payload::Rm(frm) => self.released_rm(cx, flow, packet.len, frm),
            _ => self.lets_go(cx, flow, packet.len),
        }
    }

    fn leave(&mut self, cx: &mut StageCx, flow: u32, _: u32, packet: &mut Packet, payload: &mut Payload) {
        let Some((port, leaves)) = self.roles[flow as usize].out else { return };
        let Port { link, control, .. } = &mut self.ports[port];
        if let (PortControl::Coupled(coupled), Leaves::Cells(vc)) = (&mut *control, leaves)
            && !coupled.paces()
        {
            let frm = if let Payload::Rm(frm) = &mut *payload { Some(frm) } else { None };
            coupled.enter_class_queue(cx.now(), vc, packet.len, frm);
        }
        let algorithm = control.algorithm_mut();
        match leaves {
            Leaves::Above => algorithm.left_above(cx.now(), packet.len),
            Leaves::Cells(_) if !matches!(payload, Payload::Rm(_)) && algorithm.marks(cx.queue_of(*link)) => {
                packet.mark = packet.mark.congested();
            }
            Leaves::Cells(_) | Leaves::Answers => {}
        }
    }

    /// Shows the gauges of the ports and, with VS/VD, of each VC there.
    fn gauges(&self, gauges: &mut Gauges<'_>) {
        for port in &self.ports {
            let link = Subject::Link(port.link);
            let algorithm = port.control.algorithm();
            algorithm.gauges(&mut |metric, value| gauges.show_for(link, metric, value));
            let PortControl::Coupled(coupled) = &port.control else { continue };
            for (ix, vc) in port.vcs.iter().enumerate() {
                let leg = Subject::Vc { link: port.link, flow: vc.flow };
                gauges.show_for(leg, "acr", coupled.acr(VcIx(ix as u32)));
                gauges.show_for(leg, "vc_queue", gauges.shaped_at(vc.hop).packets as f64);
            }
        }
    }
}
