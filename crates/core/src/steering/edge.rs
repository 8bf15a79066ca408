//! The edge where a packet enters a network: its flow, its charged length, and its mark.

use super::flows::{Cached, Steering};
use super::rule::Rule;
use crate::classifier::rules::Direction;
use crate::contract::Refused;
use crate::headers::Headers;
use crate::link::Framing;
use crate::packet::{Leg, Mark, PortIx};
use crate::switch::Switch;
use crate::switch::plan::FlowPlan;
use crate::units::Time;
use alloc::vec::Vec;

/// Plan of an edge at one port.
#[derive(Clone, Debug)]
pub struct EdgePlan {
    /// The rules that give packets their flows, in this order.
    pub rules: Vec<Rule>,
    /// The DSCP that the packets of each rule get (RFC 2474, 6 bits); `None` keeps the packet's
    /// DSCP.
    pub set_dscp: Vec<Option<u8>>,
    /// The plan of the two flows for packets that match no rule: one for those that keep the link
    /// working, one for all others.
    pub rest: FlowPlan,
    /// Greatest number of flows that packets may open, excluding those of circuits.
    pub most_flows: usize,
    /// The charge of a frame's length.
    pub framing: Framing,
}

/// A packet at the edge, steered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steered {
    /// Its flow at the port.
    pub leg: Leg,
    /// Bytes that it is charged.
    pub charged: u32,
    /// DSCP and ECN of its headers, with the DSCP that its rule sets.
    pub mark: Mark,
}

/// The edge of a network at one port.
pub struct Edge {
    steering: Steering,
    framing: Framing,
    set_dscp: Vec<Option<u8>>,
}

impl Edge {
    /// Creates an edge at a port, whose rules see packets that go in `direction`. Opens the flows
    /// of the rules that have one, and two for packets that match none.
    ///
    /// # Errors
    /// When the switch refuses a flow.
    pub fn new(
        now: Time,
        switch: &mut Switch,
        port: PortIx,
        direction: Direction,
        plan: EdgePlan,
    ) -> Result<Edge, Refused> {
        let EdgePlan { rules, set_dscp, rest, most_flows, framing } = plan;
        let steering = Steering::new(now, switch, port, direction, rules, rest, most_flows)?;
        Ok(Edge { steering, framing, set_dscp })
    }

    /// Steers a packet of `len` bytes with these headers.
    #[inline]
    pub fn steer(&mut self, now: Time, switch: &mut Switch, headers: &Headers, len: u32) -> Steered {
        let leg = self.steering.steer(now, switch, headers);
        self.steered(leg, headers, len)
    }

    /// Like [`steer`](Self::steer), for one of many packets with the same headers; see
    /// [`Steering::steer_again`].
    #[inline]
    pub fn steer_again(
        &mut self,
        now: Time,
        switch: &mut Switch,
        headers: &Headers,
        len: u32,
        cached: &mut Option<Cached>,
    ) -> Steered {
        let leg = self.steering.steer_again(now, switch, headers, cached);
        self.steered(leg, headers, len)
    }

    fn steered(&self, leg: Leg, headers: &Headers, len: u32) -> Steered {
        let mark = headers.ip.map_or(Mark::NONE, |ip| {
            let mark = Mark::from_ip(ip.dscp, ip.ecn);
            self.set_dscp(leg).map_or(mark, |dscp| mark.with_dscp(dscp))
        });
        Steered { leg, charged: self.framing.charge(len), mark }
    }

    /// Returns the DSCP that the rule of a flow sets.
    fn set_dscp(&self, leg: Leg) -> Option<u8> {
        let rule = self.steering.rule_of(leg.flow)?;
        self.set_dscp.get(rule).copied().flatten()
    }

    /// Applies another plan to the edge; see [`Steering::replan`], and [`Steering::changes`] for
    /// the step before it.
    pub fn replan(&mut self, now: Time, switch: &mut Switch, plan: EdgePlan, from: &[Option<usize>]) {
        let EdgePlan { rules, set_dscp, rest, most_flows, framing } = plan;
        self.steering.replan(now, switch, rules, from, rest, most_flows);
        (self.set_dscp, self.framing) = (set_dscp, framing);
    }

    /// Closes idle flows; see [`Steering::close_idle`].
    pub fn close_idle(&mut self, now: Time, switch: &mut Switch) {
        self.steering.close_idle(now, switch);
    }

    /// Looks at the leads of `most` flows; see [`Steering::look_at_leads`].
    pub fn look_at_leads(&mut self, now: Time, switch: &Switch, most: usize) {
        self.steering.look_at_leads(now, switch, most);
    }

    /// The rules, their flows and their counters.
    pub fn steering(&self) -> &Steering {
        &self.steering
    }
}
