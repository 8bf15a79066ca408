//! Policies from outside the crate: their facts are those of their parameters, and their names are
//! refused where they are taken or cannot be read.

#[path = "common/toy.rs"]
mod toy;

use tidegate_core::context::{Ctx, Reason, Verdict};
use tidegate_core::contract::Refused;
use tidegate_core::dropper::{self, Dropper, DropperKind, Occupancy};
use tidegate_core::packet::Packet;
use tidegate_core::params::{
    Carry, Fault, Key, Limit, Marking, NamedPolicy, Parameters, PolicyParams, PolicyRecord, Role, Stamps,
    Value, parameters,
};
use tidegate_core::policies::{register_dropper, register_meter, register_scheduler, registered};
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::switch::Switch;
use tidegate_core::switch::plan::{ClassPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Rate, Time};
use toy::toy;

/// Drops packets that come to a long queue.
#[derive(Default)]
pub struct Short {
    limit: u32,
}

impl Dropper for Short {
    fn arrive(&mut self, _: &mut Ctx<'_>, _: &Packet, at: &Occupancy) -> Verdict {
        let fits = at.queue.packets < u64::from(self.limit);
        if fits { Verdict::Accept } else { Verdict::Drop(Reason::QueueLimit) }
    }
}

parameters! {
    /// Parameters of the limit.
    #[derive(Copy)]
    pub struct ShortParams {
        /// Most packets that wait
        limit: u32 as Integer(1, 100) = 8,
        /// Number of packets that must not be the limit
        not: u32 = 3,
    }
}

impl PolicyParams for ShortParams {
    type Policy = Short;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "short",
        title: "Short",
        role: Role::Dropper,
        help: "Drops packets that come to a long queue.",
        source: "a test",
        params: ShortParams::PARAMS,
        reads: &["priority"],
        stamps: Stamps::Unordered,
        divides: true,
        reads_queues: true,
        needs: Some("priority"),
        carries: Carry::Ahead,
    };

    fn make(&self) -> Result<Short, Refused> {
        match self.limit {
            13 => Err(Refused("13 is beyond it".into())),
            limit => Ok(Short { limit }),
        }
    }

    fn example() -> ShortParams {
        ShortParams { limit: 5, not: 6 }
    }

    fn check(&self) -> Result<(), Fault> {
        match self.limit == self.not {
            true => Err(Fault::at("not", "`not` is the limit")),
            false => Ok(()),
        }
    }

    fn marking(&self) -> Marking {
        Marking::EcnCapable { by: None }
    }

    fn reads_colours(&self) -> bool {
        self.limit > 7
    }

    fn waits_for_ties(&self) -> bool {
        self.limit > 9
    }
}

fn of(limit: u32) -> DropperKind {
    DropperKind::outside(ShortParams { limit, not: 3 })
}

#[test]
fn facts_are_those_of_the_parameters() {
    let (seven, ten) = (of(7), of(10));
    assert_eq!((seven.reads_colours(), ten.reads_colours()), (false, true));
    assert_eq!((seven.waits_for_ties(), ten.waits_for_ties()), (false, true));
    assert_eq!(seven.marking(), Marking::EcnCapable { by: None });
    let record = seven.record();
    assert!(record.name == "short" && record.divides && record.reads_queues);
    assert_eq!((record.needs, record.carries), (Some("priority"), Carry::Ahead));
    assert_eq!(of(3).check().unwrap_err().key, Key::Param("not"));
    assert_eq!(ten.values(), [("limit", Value::Integer(10)), ("not", Value::Integer(3))]);
    assert_eq!(format!("{ten:?}"), "ShortParams { limit: 10, not: 3 }");
}

#[test]
fn policies_from_outside_are_equal_when_their_values_are() {
    assert_eq!(of(5), of(5));
    assert_ne!(of(5), of(6));
    let tail = DropperKind::read("drop-tail", &[("limit", Value::Limit(Limit::Packets(5)))]);
    assert_ne!(of(5), tail.unwrap().unwrap());
    // A closure makes another policy, with the facts of the first.
    let made = of(5).made_by(|| Box::new(Short { limit: 1 }));
    assert_eq!((made.record().name, made.values()), ("short", of(5).values()));
    assert!(made.build().is_ok());
    let virtual_clock = SchedulerKind::named("virtual-clock").unwrap();
    let inner = virtual_clock.clone();
    let boxed = virtual_clock.made_by(move || Box::new(inner.build().unwrap()));
    assert_eq!(boxed.keeps_rates(), virtual_clock.keeps_rates());
    assert!(boxed.keeps_rates().is_some());
}

/// Slots in slots are refused, whoever makes the schedulers.
#[test]
fn a_switch_asks_the_record_of_a_policy_from_outside() {
    let boxed = |name: &str, values: &[(&'static str, Value)]| {
        let kind = SchedulerKind::read(name, values).unwrap().unwrap();
        let inner = kind.clone();
        kind.made_by(move || Box::new(inner.build().unwrap()))
    };
    let slots = [("slot", Value::Size(1500)), ("slots", Value::Integer(10))];
    let (tdm, fifo) = (boxed("tdm", &slots), boxed("fifo", &[]));
    let fits = |above: &SchedulerKind, below: &SchedulerKind| {
        let classes = vec![ClassPlan::new(below.clone())];
        let rate = Rate::from_bits_per_second(1_000_000);
        let port = PortPlan { classes, rate, ..PortPlan::new(above.clone()) };
        Switch::new(Time::ORIGIN, &SwitchPlan { ports: vec![port], ..SwitchPlan::default() }).map(|_| ())
    };
    assert_eq!(fits(&fifo, &tdm), Ok(()));
    assert!(fits(&tdm, &tdm).unwrap_err().0.contains("has slots within the slots"));
}

#[test]
fn a_value_beyond_the_policy_is_refused_when_it_is_made() {
    assert!(of(12).build().is_ok());
    assert_eq!(of(13).build().err(), Some(Refused("13 is beyond it".into())));
}

#[test]
fn a_registered_name_is_read_as_any_other() {
    assert!(DropperKind::named("short").is_none());
    register_dropper::<ShortParams>().unwrap();
    assert_eq!(DropperKind::named("short"), Some(of(8)));
    let read = |limit| DropperKind::read("short", &[("limit", Value::Integer(limit))]).unwrap();
    assert_eq!(read(4), Ok(of(4)));
    assert_eq!(read(-1).unwrap_err().key, Key::Param("limit"));
    // It is a dropper and nothing else, behind the built-in ones.
    assert!(SchedulerKind::named("short").is_none());
    let names: Vec<_> = DropperKind::records().iter().map(|record| record.name).collect();
    assert_eq!(names.len(), dropper::RECORDS.len() + 1);
    assert_eq!(names.last(), Some(&"short"));
    assert_eq!(DropperKind::examples().pop(), Some(DropperKind::outside(ShortParams::example())));
    assert_eq!(registered().iter().filter(|record| record.name == "short").count(), 1);
    let again = register_dropper::<ShortParams>().unwrap_err();
    assert_eq!(again.0, "a policy `short` has been registered already");
    assert_eq!(registered().iter().filter(|record| record.name == "short").count(), 1);
}

toy!(RedParams makes Short: "red", Role::Dropper);
toy!(TcpParams makes Short: "tcp", Role::Dropper);
toy!(CapitalParams makes Short: "Long", Role::Dropper);
toy!(SpacedParams makes Short: "very short", Role::Dropper);
toy!(EmptyParams makes Short: "", Role::Dropper);
toy!(MeterParams makes Short: "meters", Role::Meter { colours: true });

/// Declares a dropper whose registration is refused.
macro_rules! refused {
    ($params:ident { $($field:ident: $type:ty),* } $name:literal, $reads:expr, $needs:expr) => {
        parameters! {
            /// They are refused.
            #[derive(Copy)]
            pub struct $params {
                $(
                    /// A key
                    $field: Option<$type>,
                )*
            }
        }

        impl PolicyParams for $params {
            type Policy = Short;

            const RECORD: PolicyRecord = PolicyRecord {
                name: $name,
                params: $params::PARAMS,
                reads: $reads,
                needs: $needs,
                ..ShortParams::RECORD
            };

            fn make(&self) -> Result<Short, Refused> {
                Ok(Short { limit: 1 })
            }

            fn example() -> $params {
                $params { $($field: None),* }
            }

            fn check(&self) -> Result<(), Fault> {
                if $name == "no-example" { Err(Fault::at("nothing", "nothing is right")) } else { Ok(()) }
            }
        }
    };
}

refused!(KindParams { kind: u32 } "with-kind", &[], None);
refused!(ScopeParams { scope: u32 } "with-scope", &[], None);
refused!(ReadsParams {} "reads-more", &["reserve", "colour"], None);
refused!(NeedsParams {} "needs-more", &["reserve"], Some("peak"));
refused!(ExampleParams {} "no-example", &[], None);

#[test]
fn what_cannot_be_a_policy_is_refused_and_changes_nothing() {
    let refusals = [
        (register_dropper::<RedParams>(), "there is a built-in policy `red`: choose another name"),
        (register_dropper::<TcpParams>(), "there is a built-in policy `tcp`: choose another name"),
        (register_dropper::<CapitalParams>(), "`Long` is not a name of lower-case letters, digits and `-`"),
        (
            register_dropper::<SpacedParams>(),
            "`very short` is not a name of lower-case letters, digits and `-`",
        ),
        (register_dropper::<EmptyParams>(), "`` is not a name of lower-case letters, digits and `-`"),
        (
            register_dropper::<MeterParams>(),
            "`meters` is registered as a dropper, and its record has another role",
        ),
        (register_dropper::<KindParams>(), "`with-kind` has a parameter `kind`, a key of every dropper"),
        (register_dropper::<ScopeParams>(), "`with-scope` has a parameter `scope`, a key of every dropper"),
        (register_dropper::<ReadsParams>(), "`reads-more` reads `colour`, which is not a key of a contract"),
        (register_dropper::<NeedsParams>(), "`needs-more` needs `peak`, which it does not read"),
        (register_dropper::<ExampleParams>(), "the example of `no-example` is not allowed: nothing is right"),
    ];
    for (refusal, message) in refusals {
        assert_eq!(refusal, Err(Refused(message.into())));
    }
    assert!(registered().iter().all(|record| ["short", "note"].contains(&record.name)));
}

/// Two roles of one name.
mod roles {
    use super::*;
    use tidegate_core::meter::{Meter, ProfileIx, Reading};
    use tidegate_core::params::Service;

    /// A meter that does nothing.
    #[derive(Default)]
    pub struct Note;

    impl Meter for Note {
        fn see(&mut self, _: &mut Ctx<'_>, _: ProfileIx, _: &mut Packet) -> Reading {
            Verdict::Accept.into()
        }
    }

    toy!(NoteParams makes Note: "note", Role::Meter { colours: false });
    toy!(TurnParams makes tidegate_core::scheduler::fifo::Fifo: "note", Role::Scheduler {
        service: Service::WorkConserving
    });
}

#[test]
fn a_name_belongs_to_one_policy_of_any_role() {
    register_meter::<roles::NoteParams>().unwrap();
    let twice = register_scheduler::<roles::TurnParams>().unwrap_err();
    assert_eq!(twice.0, "a policy `note` has been registered already");
    assert!(SchedulerKind::named("note").is_none());
}
