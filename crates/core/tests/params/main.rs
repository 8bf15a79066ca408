//! Records and typed parameters: values read are those written, and nothing about a policy is known
//! only to its own file.

mod abr;

use tidegate_core::composite::{self, BuiltInComposite};
use tidegate_core::contract::Contract;
use tidegate_core::detector::{self, DetectorKind};
use tidegate_core::dropper::{self, DropperKind};
use tidegate_core::endpoint::tcp::congestion::{self, CongestionControlKind};
use tidegate_core::endpoint::{self, TransportKind};
use tidegate_core::meter::{self, MeterKind};
use tidegate_core::packet::PortIx;
use tidegate_core::params::{
    CONTRACT, Key, Kind, Member, NamedPolicy, NodeContext, Parameters, Role, Supply, Value,
};
use tidegate_core::policies::built_in;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::tdm::TdmParams;
use tidegate_core::scheduler::{self, BuiltInScheduler, SchedulerKind};
use tidegate_core::shaper::{self, BuiltInShaper};
use tidegate_core::switch::Switch;
use tidegate_core::switch::plan::{FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Rate, Span, Time};

fn rate(bits: u64) -> Rate {
    Rate::from_bits_per_second(bits).unwrap()
}

#[test]
fn records_agree_with_their_registries() {
    let roles = [
        (dropper::RECORDS, Role::Dropper),
        (detector::RECORDS, Role::Detector),
        (shaper::RECORDS, Role::Shaper),
        (tidegate_core::abr::RECORDS, Role::RateControl),
        (tidegate_core::abr::coupling::RECORDS, Role::Coupling),
        (congestion::RECORDS, Role::CongestionControl),
    ];
    for (records, role) in roles {
        assert!(records.iter().all(|record| record.role == role));
    }
    assert!(composite::RECORDS.iter().all(|record| matches!(record.role, Role::Composite(_))));
    assert!(meter::RECORDS.iter().all(|record| matches!(record.role, Role::Meter { .. })));
    assert!(scheduler::RECORDS.iter().all(|record| matches!(record.role, Role::Scheduler { .. })));
    assert!(endpoint::RECORDS.iter().all(|record| matches!(record.role, Role::Transport { .. })));
    let known = |key: &&str| CONTRACT.iter().any(|param| param.name == *key);
    for record in built_in() {
        assert_eq!(built_in().filter(|other| other.name == record.name).count(), 1, "{}", record.name);
        assert!(record.reads.iter().all(known), "{}", record.name);
        assert!(record.needs.is_none_or(|key| record.reads.contains(&key)), "{}", record.name);
    }
}

#[test]
fn defaults_are_of_their_kind_and_in_range() {
    for param in built_in().flat_map(|record| record.params).chain(CONTRACT) {
        let Some(default) = (param.default)() else { continue };
        assert!(!param.required, "{}", param.name);
        let fits = match (param.kind, &default) {
            (Kind::Rate, Value::Rate(_)) | (Kind::Time, Value::Time(_)) => true,
            (Kind::Size, Value::Size(_)) | (Kind::Limit, Value::Limit(_)) => true,
            (Kind::Integer(low, high), Value::Integer(number)) => (low..=high).contains(number),
            (Kind::Number(low, high), Value::Number(number)) => (low..=high).contains(number),
            (Kind::Word(words), Value::Text(word)) => words.contains(&word.as_str()),
            (Kind::Policy(role), Value::Policy(policy)) => {
                built_in().any(|record| record.name == policy.name && record.role.name() == role)
            }
            _ => false,
        };
        assert!(fits, "{}: {default:?}", param.name);
    }
}

/// The examples of a role: one for every record, made and read back from its own values.
fn examples<P: NamedPolicy>(make: impl Fn(&P) -> bool) {
    let (examples, records) = (P::examples(), P::records());
    assert_eq!(examples.len(), records.len());
    for (example, record) in examples.into_iter().zip(records) {
        assert_eq!(example.record().name, record.name);
        let read = P::read(record.name, &example.values()).unwrap().unwrap();
        assert_eq!(read, example);
        example.check().unwrap();
        let members = [Member {
            count: 3,
            contract: Contract { reserve: Some(rate(100_000)), workahead: Some(3000), ..Contract::default() },
            largest: 1500,
            traffic: None,
            signalled: false,
        }];
        let node = NodeContext {
            link: rate(1_000_000),
            steady: true,
            reservable: None,
            supply: Supply::Link,
            members: &members,
        };
        example.check_at(&node).unwrap();
        assert!(make(&example), "{}", record.name);
    }
    assert!(P::read("no such policy", &[]).is_none());
}

#[test]
fn every_example_is_made_and_read_back() {
    examples(|kind: &SchedulerKind| kind.build().is_ok());
    examples(|kind: &BuiltInComposite| kind.parts().is_ok());
    examples(|kind: &DropperKind| kind.build().is_ok());
    examples(|kind: &DetectorKind| kind.build().is_ok());
    examples(|kind: &MeterKind| kind.build().is_ok());
    examples(|kind: &BuiltInShaper| kind.build(&Contract::default()).is_ok());
    abr::check_examples();
    examples(|kind: &TransportKind| kind.build().is_ok());
    examples(|kind: &CongestionControlKind| kind.build().is_ok());
}

#[test]
fn what_is_missing_or_cannot_be_held_is_named() {
    let fault = |values: &[(&'static str, Value)]| TdmParams::read(values).unwrap_err();
    assert_eq!((fault(&[]).key, fault(&[]).message.as_str()), (Key::Param("slot"), "`slot` is missing"));
    let long = fault(&[("slot", Value::Size(1 << 32)), ("slots", Value::Integer(2))]);
    assert_eq!(
        (long.key, long.message.as_str()),
        (Key::Param("slot"), "`slot` is above 4 GiB (4294967295B)")
    );
    let read = TdmParams::read(&[("slots", Value::Integer(2)), ("slot", Value::Size(9))]).unwrap();
    assert_eq!(read, TdmParams { rate: None, slot: 9, slots: 2, window: 0 });
    assert_eq!(Contract::read(&[]).unwrap(), Contract::default());
    let given = [("head_start", Value::Time(Span::from_millis(3))), ("priority", Value::Integer(7))];
    let stated = Contract { head_start: Span::from_millis(3), priority: 7, ..Contract::default() };
    assert_eq!(Contract::read(&given).unwrap(), stated);
}

/// Flows that the check of a divided link accepts are accepted by the scheduler, flow by flow.
#[test]
fn slots_are_checked_as_they_are_given_out() {
    let (mut fitting, mut beyond) = (0, 0);
    for seed in 0..2_000 {
        let mut rng = Rng::named(seed, "slots");
        let link = rate(1_000 + rng.below(10_000_000));
        let params = TdmParams { rate: None, slot: 1500, slots: 1 + rng.below(50) as u16, window: 0 };
        let member = |rng: &mut Rng| Member {
            count: 1 + rng.below(4),
            contract: Contract {
                reserve: rng.chance(0.8).then(|| rate(1 + rng.below(2_000_000))),
                ..Contract::default()
            },
            largest: 100,
            traffic: None,
            signalled: false,
        };
        let members: Vec<Member> = (0..1 + rng.below(4)).map(|_| member(&mut rng)).collect();
        let node =
            NodeContext { link, steady: true, reservable: None, supply: Supply::Link, members: &members };
        let kind = SchedulerKind::BuiltIn(BuiltInScheduler::Tdm(params));
        let port = PortPlan { rate: Some(link), ..PortPlan::new(kind) };
        let plan = SwitchPlan { ports: vec![port], buffer: None, ..SwitchPlan::default() };
        let mut switch = Switch::new(Time::ORIGIN, &plan).unwrap();
        let flows = members.iter().enumerate();
        let mut flows = flows.flat_map(|(ix, member)| (0..member.count).map(move |nth| (ix, nth, member)));
        let refused = flows.find_map(|(ix, nth, member)| {
            let plan = FlowPlan { contract: member.contract, ..FlowPlan::default() };
            let opened = switch.open(Time::ORIGIN, PortIx(0), &plan);
            opened.is_err().then_some(Key::Member { index: ix, nth, key: "reserve" })
        });
        let found = BuiltInScheduler::Tdm(params).check_at(&node).err().map(|fault| fault.key);
        assert_eq!(found, refused, "seed {seed}");
        *if found.is_some() { &mut beyond } else { &mut fitting } += 1;
    }
    assert!(fitting > 200 && beyond > 200, "{fitting} {beyond}");
}

#[test]
fn a_composite_policy_is_made_of_what_its_record_says() {
    for whole in BuiltInComposite::examples() {
        let record = whole.record();
        let Role::Composite(consists) = record.role else { panic!("{}", record.name) };
        let parts = whole.parts().unwrap();
        let made = (parts.scheduler.record().name, parts.dropper.record().name, parts.scope);
        assert_eq!(made, (consists.scheduler, consists.dropper, consists.scope));
        assert_eq!(whole.marking(), parts.dropper.marking(), "{}", record.name);
        // A parameter belongs to a part: its kind, its default, and the value that the part gets.
        let of_parts = || parts.scheduler.record().params.iter().chain(parts.dropper.record().params);
        let values = [parts.scheduler.values(), parts.dropper.values()].concat();
        for (name, value) in whole.values() {
            let own = record.params.iter().find(|param| param.name == name).unwrap();
            let part = of_parts().find(|param| param.name == name).unwrap();
            assert_eq!((own.kind, (own.default)()), (part.kind, (part.default)()), "{name}");
            assert!(values.contains(&(name, value)), "{name}");
        }
    }
}
