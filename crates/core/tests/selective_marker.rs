//! The marker of an application's choice: against a plain list of the packets that are chosen.

mod common;

use common::{World, kind, pick, rate, rounds};
use tidegate_core::contract::Contract;
use tidegate_core::meter::selective_marker::SelectiveMarkerParams;
use tidegate_core::meter::srtcm::SrTcmParams;
use tidegate_core::meter::{BuiltInMeter, MeterKind, Usage};
use tidegate_core::packet::{BodyId, Colour, Leg, Packet};
use tidegate_core::params::PolicyParams;
use tidegate_core::rng::Rng;
use tidegate_core::switch::plan::{FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::Span;

const NOTHING: SelectiveMarkerParams =
    SelectiveMarkerParams { every: None, first: None, pause: None, up_to: None };

fn port(meters: Vec<MeterKind>, contract: Contract) -> (World, Leg) {
    let plan = PortPlan { meters, ..PortPlan::new(kind("fifo")) };
    let mut world = World::new(&SwitchPlan { ports: vec![plan], ..SwitchPlan::default() });
    let leg = world.open(0, &FlowPlan { contract, ..FlowPlan::default() });
    (world, leg)
}

fn marker(params: SelectiveMarkerParams) -> MeterKind {
    MeterKind::BuiltIn(BuiltInMeter::SelectiveMarker(params))
}

fn pass(world: &mut World, leg: Leg, len: u32, came: Colour) -> Colour {
    let mut packet = Packet::new(BodyId(1), len);
    packet.mark = packet.mark.coloured(came);
    world.arrive_packet(&[leg], packet);
    world.send(0).unwrap().mark.colour()
}

/// Packets by gap, length and colour.
fn packets(rng: &mut Rng) -> Vec<(Span, u32, Colour)> {
    let mut next = || {
        let gap = Span::from_micros(pick(rng, &[0, 100, 900, 4_999, 5_000, 5_001, 60_000]));
        (gap, 1 + rng.below(1500) as u32, pick(rng, &[Colour::Green, Colour::Green, Colour::Red]))
    };
    (0..300).map(|_| next()).collect()
}

/// The packets that are chosen, from the whole list: by their numbers, by how many came before them
/// without a pause, and by their lengths.
fn chosen(params: &SelectiveMarkerParams, packets: &[(Span, u32, Colour)]) -> Vec<bool> {
    let of = |ix: usize| {
        let by_number = params.every.is_some_and(|every| ix.is_multiple_of(usize::from(every)));
        let begun = (0..=ix).rev().find(|at| *at == 0 || Some(packets[*at].0) >= params.pause).unwrap();
        let in_burst = params.first.is_some_and(|first| ix - begun < usize::from(first));
        by_number || in_burst || params.up_to.is_some_and(|up_to| packets[ix].1 <= up_to)
    };
    (0..packets.len()).map(of).collect()
}

#[test]
fn the_packets_of_the_applications_choice_are_in() {
    let (mut within, mut beyond) = (0, 0);
    for seed in 0..rounds(40) {
        let mut rng = Rng::named(seed, "choice");
        let burst = pick(&mut rng, &[None, Some((1, 5)), Some((3, 5)), Some((40, 60))]);
        let params = SelectiveMarkerParams {
            every: pick(&mut rng, &[None, Some(1), Some(2), Some(7)]),
            first: burst.map(|(first, _)| first),
            pause: burst.map(|(_, pause)| Span::from_millis(pause)),
            up_to: pick(&mut rng, &[None, Some(100), Some(700)]),
        };
        if params == NOTHING {
            assert!(params.check().is_err());
            continue;
        }
        params.check().unwrap();
        let packets = packets(&mut rng);
        let (mut world, leg) = port(vec![marker(params)], Contract::default());
        let mut used = Usage::NOTHING;
        for ((gap, len, came), is_chosen) in packets.iter().zip(chosen(&params, &packets)) {
            world.wait(*gap);
            let expected = if is_chosen { *came } else { Colour::Red };
            assert_eq!(pass(&mut world, leg, *len, *came), expected, "{params:?}");
            used.coloured[expected as usize] += u64::from(*len);
            within += u64::from(expected == Colour::Green);
            beyond += u64::from(expected == Colour::Red);
        }
        assert_eq!(world.switch.usage(leg).map(|used| used.usage).collect::<Vec<_>>(), [used]);
    }
    assert!(within > 1000 && beyond > 1000, "{within} {beyond}");
}

/// A checking meter behind it takes from the chosen packets alone: those within the profile stay
/// in, and the others use none of it.
#[test]
fn a_checking_meter_spends_the_profile_on_the_chosen_packets() {
    let contract = Contract { reserve: Some(rate(200_000)), workahead: Some(3000), ..Contract::default() };
    let aware = SrTcmParams { mode: tidegate_core::meter::mode::Mode::Aware };
    let checking = MeterKind::BuiltIn(BuiltInMeter::SrTcm(aware));
    let every = SelectiveMarkerParams { every: Some(4), ..NOTHING };
    // 1 Mbit/s, of which a quarter is chosen and a fifth is in the profile.
    let share = |meters: Vec<MeterKind>| {
        let (mut world, leg) = port(meters, contract);
        let mut green = [0; 4];
        for nth in 0..4000 {
            world.wait(Span::from_millis(8));
            let colour = pass(&mut world, leg, 1000, Colour::Green);
            green[nth % 4] += u64::from(colour == Colour::Green);
        }
        green
    };
    let chosen = share(vec![marker(every), checking.clone()]);
    assert_eq!(chosen[1..], [0, 0, 0]);
    assert!((798..=803).contains(&chosen[0]), "{chosen:?}");
    // Without the choice, the profile goes to whichever packets come.
    let any = share(vec![checking]);
    assert!(any.iter().all(|green| *green > 0), "{any:?}");
}
