//! The published bounds on delay: how much later than a server of the flow's own rate, and the
//! examples of the papers that tell the schedulers apart.

use super::server::{Server, What};
use crate::common::{kind, pick, rate, rounds};
use std::collections::VecDeque;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::Participation;
use tidegate_core::units::{Span, Time};

const LINK: u64 = 10_000_000;
const ALL: [&str; 4] = ["wfq", "wf2q-plus", "scfq", "sfq"];

/// Time by which a packet of `own` bytes may leave after its expected arrival at a server of its
/// flow's rate.
fn allowance(name: &str, flow: usize, own: u32, reserve: u64, largest: &[u32]) -> Span {
    let link = rate(LINK);
    let others = largest.iter().enumerate().filter(|(other, _)| *other != flow);
    let of_others = others.fold(Span::ZERO, |sum, (_, len)| sum + link.time_for(*len));
    let longest = link.time_for(*largest.iter().max().unwrap());
    match name {
        // Parekh and Gallager 1993, theorem 1; Bennett and Zhang 1997.
        "wfq" | "wf2q-plus" => rate(reserve).time_for(own) + longest,
        // Golestani 1994.
        "scfq" => rate(reserve).time_for(own) + of_others,
        // Goyal, Vin and Cheng 1996.
        _ => link.time_for(own) + of_others,
    }
}

/// Reservations fit the link. A packet is expected when it arrives, or when the one before it would
/// have been served at the flow's rate; it leaves within the allowance after that, whatever the
/// others send, and whichever of them are held, absent and back at which time.
#[test]
fn no_packet_is_later_than_its_bound() {
    for (name, others_leave) in ALL.into_iter().flat_map(|name| [(name, false), (name, true)]) {
        let mut nearest = 0.0f64;
        for seed in 0..rounds(20) {
            let mut rng = Rng::named(seed, "delays");
            let mut reserves = Vec::new();
            let mut left = LINK;
            while left > 0 {
                let next = pick(&mut rng, &[64_000, 500_000, 1_000_000, 3_000_000]).min(left);
                reserves.push(next);
                left -= next;
            }
            let lengths: Vec<u32> =
                reserves.iter().map(|_| pick(&mut rng, &[64, 300, 1_500, 9_000])).collect();
            let mut server = Server::new(kind(name), LINK, &reserves, None);
            let leaves = |flow: usize| others_leave && flow % 2 == 1;
            for _ in 0..400 {
                let away = rng.below(reserves.len() as u64) as usize;
                if leaves(away) {
                    let hows = [Participation::Held, Participation::Absent, Participation::Active];
                    server.world.take_part(server.legs[away], pick(&mut rng, &hows));
                }
                // Most come when the server begins with another one.
                let flow = rng.below(reserves.len() as u64) as usize;
                let packets = pick(&mut rng, &[1, 1, 1, 3, 12]);
                (0..packets).for_each(|_| server.arrive(flow, lengths[flow]));
                match rng.below(3) {
                    0 => _ = server.send(rng.below(12) as usize, LINK),
                    1 => {
                        server.send(1000, LINK);
                        server.wait(Span::from_micros(rng.below(3000)));
                    }
                    _ => {
                        server.start(LINK);
                        server.wait(Span::from_ticks(1));
                    }
                }
                // The wait must not go beyond the end of the service.
                if server.free_at().is_some_and(|until| until < server.world.now) {
                    unreachable!("a tick is less than any packet takes");
                }
                if rng.chance(0.5) {
                    server.finish();
                }
            }
            server.finish();
            (0..reserves.len())
                .for_each(|flow| server.world.take_part(server.legs[flow], Participation::Active));
            server.send(usize::MAX, LINK);
            let mut expected: Vec<(Time, VecDeque<Time>)> =
                reserves.iter().map(|_| (Time::from_ticks(0), VecDeque::new())).collect();
            for event in &server.events {
                let (free, due) = &mut expected[event.flow];
                let reserve = reserves[event.flow];
                if event.what == What::Arrived {
                    let at = event.at.max(*free);
                    *free = at + rate(reserve).time_for(event.len);
                    due.push_back(at);
                    continue;
                }
                let allowed = allowance(name, event.flow, event.len, reserve, &lengths);
                let late = event.at.since(due.pop_front().unwrap());
                if leaves(event.flow) {
                    continue;
                }
                nearest = nearest.max(late.as_secs_f64() / allowed.as_secs_f64());
                // Rates are held within 2⁻³⁸, and tags are compared in ticks.
                assert!(
                    late <= allowed + Span::from_ticks(1_000),
                    "{name}, seed {seed}: flow {} is {late:?} late, {allowed:?} are allowed",
                    event.flow
                );
            }
        }
        assert!(nearest > 0.75, "{name}: only {nearest} of the bound");
    }
}

/// A flow sends a packet, and its next one when a line of its own would be free again. Meanwhile the
/// link is idle, but a slow flow that has sent a packet as well is still ahead. Then others begin that
/// have the rest of the link.
#[test]
fn what_a_flow_has_waited_for_on_an_idle_link_counts() {
    for name in ALL {
        let reserves = [500_000, 10_000, 4_745_000, 4_745_000];
        let mut server = Server::new(kind(name), LINK, &reserves, None);
        (0..2).for_each(|flow| server.arrive(flow, 1_250));
        server.send(2, LINK);
        // The own line needs 20 ms.
        server.wait(Span::from_millis(18));
        (2..4).for_each(|flow| (0..100).for_each(|_| server.arrive(flow, 1_250)));
        server.arrive(0, 1_250);
        let sent = server.send(200, LINK);
        let place = sent.iter().position(|flow| *flow == 0).unwrap() as u64;
        let late = Span::from_millis(place) + Span::from_millis(1);
        assert!(late <= allowance(name, 0, 1_250, reserves[0], &[1_250; 4]), "{name}: after {late:?}");
    }
}

/// A flow with half of the link and ten with a twentieth each, all with packets of one length that
/// come at once (Bennett and Zhang 1996).
fn half_and_ten(name: &str) -> Vec<usize> {
    let reserves: Vec<u64> = (0..11).map(|flow| if flow == 0 { LINK / 2 } else { LINK / 20 }).collect();
    let mut server = Server::new(kind(name), LINK, &reserves, None);
    (0..11).for_each(|_| server.arrive(0, 1_250));
    (1..11).for_each(|flow| server.arrive(flow, 1_250));
    server.send(21, LINK)
}

/// WFQ sends ten packets of the heavy flow in a row, five ahead of the fluid server, and then makes
/// it wait for ten others; under WF²Q+ it is served every other time.
#[test]
fn wfq_runs_far_ahead_of_the_fluid_server_and_wf2q_plus_does_not() {
    let burst = half_and_ten("wfq");
    assert_eq!(burst[..10], [0; 10]);
    let mut others = burst[10..20].to_vec();
    others.sort_unstable();
    assert_eq!((others, burst[20]), ((1..11).collect(), 0));

    let turns = half_and_ten("wf2q-plus");
    assert!(turns.iter().step_by(2).all(|flow| *flow == 0), "{turns:?}");
    assert!(turns.iter().skip(1).step_by(2).copied().eq(1..11), "{turns:?}");
}

/// All flows are always backlogged: under WF²Q+ none is a packet ahead of its share nor a packet
/// behind it, under WFQ one is ahead by as much as half of the number of others.
#[test]
fn wf2q_plus_is_never_a_packet_from_the_fluid_server() {
    let mut rng = Rng::named(1, "shares");
    let mut furthest = 0.0f64;
    for name in ["wf2q-plus", "wfq"] {
        for _ in 0..rounds(10) {
            let reserves: Vec<u64> =
                (0..12).map(|_| pick(&mut rng, &[1_000, 2_000, 5_000, 50_000])).collect();
            let all: u64 = reserves.iter().sum();
            let mut server = Server::new(kind(name), LINK, &reserves, None);
            (0..12).for_each(|flow| (0..600).for_each(|_| server.arrive(flow, 1_000)));
            let mut had = [0.0f64; 12];
            for nth in 1..=500 {
                had[server.send(1, LINK)[0]] += 1.0;
                for flow in 0..12 {
                    let ahead = had[flow] - f64::from(nth) * reserves[flow] as f64 / all as f64;
                    assert!(ahead >= -1.0 - 1e-6, "{name}: {ahead} packets behind");
                    if name == "wfq" {
                        furthest = furthest.max(ahead);
                    } else {
                        assert!(ahead <= 1.0 + 1e-6, "{ahead} packets ahead");
                    }
                }
            }
        }
    }
    assert!(furthest > 2.0, "{furthest}");
}

/// A packet of a flow with a tenth of the link comes when each of a hundred light flows has one
/// waiting: under self-clocked fair queueing all of them go first, since virtual time is already
/// the finish tag of one of them, and under start-time fair queueing since they all start at the
/// same virtual time. WFQ and WF²Q+ send it next.
#[test]
fn without_a_fluid_server_a_packet_may_wait_for_every_other_flow() {
    let waited = |name: &str| {
        let reserves: Vec<u64> = (0..101).map(|flow| if flow == 0 { 1_000_000 } else { 10_000 }).collect();
        let mut server = Server::new(kind(name), LINK, &reserves, None);
        // Virtual time becomes the finish tag of a light flow's packet.
        (1..101).for_each(|flow| server.arrive(flow, 1_000));
        server.start(LINK);
        server.arrive(0, 1_000);
        server.finish();
        server.send(101, LINK).iter().position(|flow| *flow == 0).unwrap()
    };
    assert_eq!((waited("wfq"), waited("scfq"), waited("sfq")), (0, 99, 99));
    assert_eq!(waited("wf2q-plus"), 0);
}

/// Its share of what was sent meanwhile is not made up for.
#[test]
fn flows_that_were_held_or_absent_come_back_as_newcomers() {
    for name in ALL {
        for how in [Participation::Held, Participation::Absent] {
            let mut server = Server::new(kind(name), LINK, &[1_000_000; 2], None);
            (0..400).for_each(|nth| server.arrive(nth % 2, 1_000));
            server.send(20, LINK);
            let away = server.legs[0];
            server.world.take_part(away, how);
            assert_eq!(server.send(50, LINK), [1; 50], "{name}");
            server.world.take_part(away, Participation::Active);
            let back = server.send(60, LINK).iter().filter(|flow| **flow == 0).count();
            assert!((29..=31).contains(&back), "{name}, {how:?}: {back} of 60");
        }
    }
}

/// A flow that ran ahead of the fluid server, and was absent, is a newcomer once all is served and
/// time has passed.
#[test]
fn nobody_owes_for_ever_what_it_was_ahead_by() {
    for name in ALL {
        let mut server = Server::new(kind(name), LINK, &[1_000_000, 9_000_000], None);
        let [ahead, held] = [server.legs[0], server.legs[1]];
        server.world.take_part(held, Participation::Held);
        (0..190).for_each(|nth| server.arrive(usize::from(nth >= 100), 1_000));
        assert_eq!(server.send(100, LINK), [0; 100], "{name}");
        server.world.take_part(ahead, Participation::Absent);
        server.world.take_part(ahead, Participation::Active);
        server.world.take_part(held, Participation::Active);
        assert_eq!(server.send(90, LINK), [1; 90], "{name}");
        server.world.wait(Span::from_secs(1_000));
        (0..240).for_each(|nth| server.arrive(nth % 2, 1_000));
        let share = server.send(100, LINK).iter().filter(|flow| **flow == 0).count();
        assert!((9..=11).contains(&share), "{name}: {share} of 100");
    }
}
