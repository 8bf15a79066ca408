//! Windows of ports, by hand.

use super::{flow, of, port};
use crate::common::rate;
use core::slice::from_ref;
use tidegate_core::bounds::analysis::{FlowBound, bounds_of};
use tidegate_core::bounds::network::{Flow, Network, Port, Unbounded, Window};
use tidegate_core::contract::Contract;
use tidegate_core::curves::{ArrivalCurve, bytes_per_second, whole};
use tidegate_core::params::NoLine;
use tidegate_core::scheduler::SchedulerKind;

/// 1,000 bytes a millisecond.
const LINK: u64 = 8_000_000;

fn named(name: &str) -> SchedulerKind {
    SchedulerKind::named(name).unwrap()
}

fn window(flows: &[usize], places: u32, batch: u32, milliseconds: u64) -> Window {
    let members = flows.iter().map(|flow| (*flow, 0)).collect();
    Window { members, places, batch, loop_time: Ok(of(milliseconds, 1_000)) }
}

fn bounds(ports: &[Port<'_>], flows: &[Flow], windows: &[Window]) -> Vec<Result<FlowBound, Unbounded>> {
    bounds_of(&Network { ports: ports.to_vec(), flows: flows.to_vec(), windows: windows.to_vec() }).flows
}

/// A flow of 1,000-byte packets with a burst of ten and 100 bytes/ms over a link and one of half its
/// rate. Behind the first one it is no more than a packet and 1,000 bytes/ms, or ten packets, what comes
/// during its delay of 10 ms, and 100 bytes/ms: 11,000 bytes.
///
/// At the second, 1,000 + 1,000 t − 500 t is largest where both meet, at t = 100/9 ms: 12,111 bytes come
/// by then, and take 24.22 ms, so that the delay is 118/9 ms. In a loop of 3 ms and this delay, 145/9 ms,
/// 11,000 + 14,500/9 = 12,611 bytes come: 12 packets.
#[test]
fn a_window_holds_what_comes_during_the_next_delay_and_the_loop() {
    let fifo = named("fifo");
    let ports = [port(&fifo, LINK), port(&fifo, LINK / 2)];
    let one = flow(&[0, 1], 1_000, 10_000, 800_000, Contract::default());
    let free = bounds(&ports, from_ref(&one), &[]).remove(0).unwrap();
    assert_eq!(free.hops[1].delay, of(118, 9_000));
    for (batch, needs) in [(1, 13), (4, 16)] {
        let with = |places| bounds(&ports, from_ref(&one), &[window(&[0], places, batch, 3)]).remove(0);
        assert_eq!(with(needs).unwrap().delay, free.delay);
        let (places, needs) = (needs - 1, u64::from(needs));
        assert_eq!(with(places).unwrap_err(), Unbounded::Window { port: 0, places, needs });
    }
}

/// Over the last link a packet has left the receiver when it comes: 1,000 + 1,000 · 3 bytes are four
/// packets in a closed interval of 3 ms.
#[test]
fn behind_the_last_link_the_loop_alone_counts() {
    let fifo = named("fifo");
    let one = flow(&[0], 1_000, 10_000, 800_000, Contract::default());
    let with = |places| bounds(&[port(&fifo, LINK)], from_ref(&one), &[window(&[0], places, 1, 3)]).remove(0);
    assert!(with(5).is_ok());
    assert_eq!(with(4).unwrap_err(), Unbounded::Window { port: 0, places: 4, needs: 5 });
}

/// Two flows of a window count together, and each needs a bound.
#[test]
fn flows_that_share_a_window_need_the_places_of_all() {
    let fifo = named("fifo");
    let ports = [port(&fifo, LINK)];
    let mut flows = [0; 2].map(|_| flow(&[0], 1_000, 1_000, 800_000, Contract::default()));
    // Each is delayed by 2 ms: 1,200 bytes, and 300 in 3 ms. Without the other it is one packet.
    let with = |flows: &[Flow], places| bounds(&ports, flows, &[window(&[0, 1], places, 1, 3)]);
    assert!(with(&flows, 3).iter().all(Result::is_ok));
    assert_eq!(with(&flows, 2).remove(1).unwrap_err(), Unbounded::Window { port: 0, places: 2, needs: 3 });
    flows[0].arrivals = None;
    let found = with(&flows, 100);
    assert_eq!(found[0].as_ref().unwrap_err(), &Unbounded::Source);
    assert_eq!(found[1].as_ref().unwrap_err(), &Unbounded::Beside { port: 0, flow: 0 });
}

/// A flow that is held back may return with any number of packets: nobody beside it in a line has a
/// bound, and under WFQ all others do. If it was not, in any order of service it would be delayed by
/// 3,000 bytes of each at 900 bytes/ms: 3,967 bytes come in this delay and the loop of 3 ms.
#[test]
fn a_flow_that_is_held_back_has_no_bound_and_voids_lines() {
    let own = Contract { reserve: Some(rate(LINK / 2)), ..Contract::default() };
    let flows = [0; 2].map(|_| flow(&[0], 1_000, 3_000, 800_000, own));
    let windows = [window(&[0], 1, 1, 3)];
    let needs = Unbounded::Window { port: 0, places: 1, needs: 4 };
    let (fifo, wfq) = (named("fifo"), named("wfq"));
    let found = bounds(&[port(&fifo, LINK)], &flows, &windows);
    assert!(matches!(found[0].as_ref().unwrap_err(), Unbounded::Window { port: 0, places: 1, .. }));
    assert_eq!(found[1].as_ref().unwrap_err(), &Unbounded::Beside { port: 0, flow: 0 });
    let found = bounds(&[port(&wfq, LINK)], &flows, &windows);
    assert_eq!(found[0].as_ref().unwrap_err(), &needs);
    // Its burst at half the link, and a packet of the other.
    assert_eq!(found[1].as_ref().unwrap().delay, of(7, 1_000));
}

/// A window that may close makes others close: behind the second port the flow has no bound, so that
/// its places at the first one may not come back either. The reason is that of the second port.
#[test]
fn a_window_without_places_closes_the_window_before() {
    let fifo = named("fifo");
    let one = flow(&[0, 1], 1_000, 3_000, 800_000, Contract::default());
    let mut second = window(&[0], 1, 1, 3);
    second.members = vec![(0, 1)];
    let windows = [window(&[0], 100, 1, 3), second];
    let found = bounds(&[port(&fifo, LINK); 2], from_ref(&one), &windows).remove(0);
    assert!(matches!(found.unwrap_err(), Unbounded::Window { port: 1, places: 1, .. }));
    let mut unsure = window(&[0], 100, 1, 3);
    unsure.loop_time = Err("its credit may be lost");
    let found = bounds(&[port(&fifo, LINK); 2], &[one], &[unsure]).remove(0).unwrap_err();
    assert_eq!(found, Unbounded::Promise { port: 0, why: NoLine::Because("its credit may be lost") });
}

/// Cells of 500 bytes at once and 200 bytes/ms leave 800 bytes/ms after 500/800 ms: a burst of 3,000
/// bytes takes 3,500/800 ms.
#[test]
fn cells_that_go_ahead_take_the_link() {
    let fifo = named("fifo");
    let cells = ArrivalCurve::bucket(whole(500), bytes_per_second(rate(1_600_000)));
    let ports = [Port { ahead: Some(&cells), ..port(&fifo, LINK) }];
    let one = flow(&[0], 1_000, 3_000, 800_000, Contract::default());
    let bound = bounds(&ports, from_ref(&one), &[]).remove(0).unwrap();
    assert_eq!(bound.delay, of(35, 8_000));
    let cells = ArrivalCurve::bucket(whole(500), bytes_per_second(rate(LINK)));
    let ports = [Port { ahead: Some(&cells), ..port(&fifo, LINK) }];
    assert_eq!(bounds(&ports, &[one], &[]).remove(0).unwrap_err(), Unbounded::Overload { port: 0 });
}

/// Beside a flow without a bound, VirtualClock has its reservation: 3,000 bytes at 500 bytes/ms, after the
/// cells and a packet of the other at what they leave, 500/800 + 1,000/800 ms. The reservations must be
/// within that.
#[test]
fn virtual_clock_keeps_reservations_behind_cells() {
    let clock = named("virtual-clock");
    let cells = ArrivalCurve::bucket(whole(500), bytes_per_second(rate(1_600_000)));
    let ports = [Port { ahead: Some(&cells), ..port(&clock, LINK) }];
    let reserve = |bits| Contract { reserve: Some(rate(bits)), ..Contract::default() };
    let with = |other: u64| {
        let mut greedy = flow(&[0], 1_000, 1_000, 800_000, reserve(other));
        greedy.arrivals = None;
        bounds(&ports, &[flow(&[0], 1_000, 3_000, 800_000, reserve(LINK / 2)), greedy], &[]).remove(0)
    };
    assert_eq!(with(2_400_000).unwrap().delay, of(7_875, 1_000_000));
    assert!(with(2_400_008).is_err());
}
