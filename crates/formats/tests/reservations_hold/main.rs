//! A named flow within its reservation loses nothing and keeps its bound, whatever others send: the
//! gate and the simulator run these ports and these edges.
//!
//! The bound is a closed form of the file's numbers. At a guaranteed-rate server a packet's last
//! bit has left a largest packet's time after it would have left a line of its own with the
//! reserved rate (Parekh and Gallager 1993; Xie and Lam 1995; Bennett and Zhang 1997). Except under
//! WF²Q+, a class may send a packet other than the one that it was charged for, and is charged for the
//! difference with its next: a largest packet more for each class beside the flow.

mod drawn;
mod mixed;
mod port;
mod traffic;

use drawn::draw;
use mixed::{MOST_HOSTS, mixed};
use port::run;
use tidegate_core::classifier::rules::Direction;
use tidegate_formats::{GateFile, Promise};
use traffic::{FULL, Pattern, traffic};

/// Cases drawn: 60, or 200 in the long tier.
fn cases() -> u64 {
    if std::env::var_os("TIDEGATE_VERIFY").is_some_and(|set| set == "1") { 200 } else { 60 }
}

fn file(text: &str) -> GateFile {
    GateFile::parse(text, "gate.toml", &[]).unwrap_or_else(|errors| panic!("{text}\n{errors}"))
}

/// The reported case: one machine that sends 10 Mbit/s from 60,000 random addresses beside a call
/// that reserves 1,000 kbit/s and uses 95.
#[test]
fn sixty_thousand_addresses_take_nothing_from_a_reserved_call() {
    let gate = file(
        "version = 1\ngate = { inside = \"a\", outside = \"b\", up = \"10mbit\", down = \"10mbit\" }\n\
         [[flow]]\nname = \"call\"\nmatch = { inside = \"192.168.7.7\" }\nreserve = \"1mbit\"\n\
         [[flow]]\nname = \"hosts\"\neach = \"host\"\nreserve = \"100kbit\"\n",
    );
    let pattern = Pattern {
        addresses: 60_000,
        load: 1.0,
        sizes: (200, 1000),
        in_a_row: 1,
        in_turn: false,
        seconds: 10.0,
    };
    let calls = traffic(pattern, 10e6, 1e6, 214, 18.0, 1);
    let outcome = run(&gate, 1e6, calls);
    println!("{outcome:?}");
    assert!(outcome.sent > 500 && outcome.others_lost > 100, "{outcome:?}");
    assert_eq!(outcome.lost, 0);
    assert!(outcome.latest <= 2.0 * 1514.0 * 8.0 / 10e6, "{outcome:?}");
}

/// For any number of addresses, sizes and orders of arrival.
#[test]
fn a_named_flow_within_its_reservation_loses_nothing_and_keeps_its_bound() {
    let (mut overloads, mut beyond_their_queues, mut bounds) = (0, 0, 0);
    let mut wrong = Vec::new();
    for seed in 0..cases() {
        let drawn = draw(seed, 100_000.0);
        let gate = file(&drawn.text);
        let arrivals = traffic(drawn.pattern, drawn.rate, drawn.reserve, drawn.longest, drawn.slack, seed);
        let outcome = run(&gate, drawn.reserve, arrivals);
        let bound = drawn.bound;
        match gate.promises(Direction::Up).first() {
            Some(Promise::Named { behind, .. }) => {
                bounds += 1;
                let told = behind.as_secs_f64();
                assert!((told - bound).abs() < 1e-8, "{told} is told and {bound} right: {}", drawn.text);
            }
            // A packet of the slowest flow takes longer than VirtualClock's `lead`.
            told => assert!(drawn.text.contains("virtual-clock"), "{told:?}: {}", drawn.text),
        }
        if outcome.lost > 0 || outcome.latest > bound + 1e-9 {
            wrong.push(format!(
                "{seed}: {outcome:?}, bound {bound}, {:?} longest {} slack {}\n{}",
                drawn.pattern, drawn.longest, drawn.slack, drawn.text
            ));
        }
        overloads += u32::from(outcome.others_lost > 0);
        beyond_their_queues += u32::from(drawn.pattern.addresses as f64 * drawn.each > drawn.rate);
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases(), wrong.join("\n"));
    let least = cases() as u32 * 3 / 10;
    assert!(
        overloads > least && beyond_their_queues > least && bounds > 5 * least / 2,
        "{overloads}, {beyond_their_queues}, {bounds}"
    );
}

/// Circuits that reserve nothing have a weight under fair queueing; a thousand of them once had
/// more than the class.
#[test]
fn circuits_without_a_reservation_take_nothing_from_one_that_reserves() {
    let folder = std::env::temp_dir().join(format!("tidegate-circuits-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut list = "name,addresses,class,up_reserve\ncaller,192.168.7.7,site,2mbit\n".to_owned();
    for circuit in 0..1000 {
        list += &format!("c{circuit},10.0.{}.{},site,\n", circuit / 256, circuit % 256);
    }
    std::fs::write(folder.join("list.csv"), list).unwrap();
    let text = "version = 1\ngate = { inside = \"a\", outside = \"b\", up = \"10mbit\", down = \"10mbit\" }\n\
                [[class]]\nname = \"site\"\nreserve = \"4mbit\"\n\
                [[flow]]\nname = \"subscribers\"\ncircuits = \"list.csv\"\n\
                [[flow]]\nname = \"hosts\"\neach = \"host\"\nreserve = \"100kbit\"\n";
    std::fs::write(folder.join("gate.toml"), text).unwrap();
    let gate = GateFile::load(&folder.join("gate.toml"), &[]);
    std::fs::remove_dir_all(&folder).unwrap();
    // Hosts outside the list keep the rest of the line full, too.
    let pattern =
        Pattern { addresses: 3_000, load: 3.0, sizes: (64, FULL), in_a_row: 1, in_turn: false, seconds: 5.0 };
    let outcome = run(&gate.unwrap(), 2e6, traffic(pattern, 10e6, 2e6, FULL, 0.0, 3));
    assert!(outcome.sent > 1000 && outcome.others_lost > 10_000, "{outcome:?}");
    assert_eq!(outcome.lost, 0, "{outcome:?}");
    let full = f64::from(FULL) * 8.0;
    assert!(outcome.latest <= 2.0 * full / 10e6 + 3.0 * full / 4e6, "{outcome:?}");
}

/// Beside members with ceilings, on a line that is reserved completely: nothing is lost, and the bound
/// is kept where one is promised.
#[test]
fn ceilings_of_others_cost_a_named_flow_no_packet() {
    for (scheduler, seed) in [("wf2q-plus", 1), ("virtual-clock", 2), ("drr", 3), ("sfq", 4), ("scfq", 5)] {
        let gate = file(&format!(
            "version = 1\nport = {{ scheduler = \"{scheduler}\" }}\n\
             gate = {{ inside = \"a\", outside = \"b\", up = \"10mbit\", down = \"10mbit\" }}\n\
             [[flow]]\nname = \"call\"\nmatch = {{ inside = \"192.168.7.7\" }}\nreserve = \"9mbit\"\n\
             [[flow]]\nname = \"hosts\"\neach = \"host\"\nreserve = \"1mbit\"\nceiling = \"1500kbit\"\n"
        ));
        let promises = gate.promises(Direction::Up);
        let bound = promises.iter().find_map(|one| match one {
            Promise::Named { behind, .. } => Some(behind.as_secs_f64()),
            Promise::Shared { .. } => None,
        });
        assert_eq!(bound.is_some(), scheduler == "wf2q-plus");
        let pattern = Pattern {
            addresses: 500,
            load: 2.0,
            sizes: (64, FULL),
            in_a_row: 20,
            in_turn: true,
            seconds: 5.0,
        };
        let outcome = run(&gate, 9e6, traffic(pattern, 10e6, 9e6, FULL, 0.2, seed));
        assert!(outcome.sent > 3000 && outcome.others_lost > 1000, "{scheduler}: {outcome:?}");
        assert_eq!(outcome.lost, 0, "{scheduler}: {outcome:?}");
        assert!(bound.is_none_or(|bound| outcome.latest <= bound + 1e-9), "{scheduler}: {outcome:?}");
    }
}

/// Each host, or each circuit of a list, is a class whose next packet changes as its conversations
/// start: one that announced a short packet sends a long one in its place, and ceilings hold some.
/// Beside up to forty of them, in 200 patterns, the named flow waits for no more than one longest
/// packet, which is what it is promised.
#[test]
fn conversations_within_hosts_and_circuits_keep_the_bound_of_others() {
    let head = "version = 1\ngate = { inside = \"a\", outside = \"b\", up = \"10mbit\", down = \"10mbit\" }\n\
        [[flow]]\nname = \"call\"\nmatch = { inside = \"192.168.7.7\" }\nreserve = \"1mbit\"\n[[flow]]\nname = \"others\"\n";
    let hosts = file(&format!("{head}each = \"host\"\nwithin = \"5-tuple\"\nreserve = \"500kbit\"\n"));
    let folder = std::env::temp_dir().join(format!("tidegate-within-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let at = folder.join("gate.toml").display().to_string();
    let circuits = |ceiling: &str| {
        let line = |host: u64| format!("c{host},10.0.0.{host},200kbit,{ceiling}\n");
        let list = (0..MOST_HOSTS).map(line).collect::<String>();
        std::fs::write(folder.join("list.csv"), format!("name,addresses,up_reserve,up_ceiling\n{list}"))
            .unwrap();
        GateFile::parse(&format!("{head}circuits = \"list.csv\"\n"), &at, &[]).unwrap()
    };
    let gates = [("hosts", hosts), ("circuits", circuits("")), ("ceilings", circuits("500kbit"))];
    std::fs::remove_dir_all(&folder).unwrap();

    let longest = f64::from(FULL) * 8.0 / 10e6;
    for (unit, gate) in &gates {
        let promises = gate.promises(Direction::Up);
        let Some(Promise::Named { behind, .. }) = promises.first() else {
            panic!("{unit}: nothing is promised")
        };
        assert!((behind.as_secs_f64() - longest).abs() < 1e-9, "{unit}: {behind:?}");
    }
    let (mut wrong, mut overloads) = (Vec::new(), 0);
    for seed in 0..cases() {
        for (unit, gate) in &gates {
            let outcome = run(gate, 1e6, mixed(seed, 10e6, 1e6).into_iter());
            overloads += u32::from(outcome.others_lost > 0);
            if outcome.lost > 0 || outcome.latest > longest + 1e-9 || outcome.classes == 0 {
                wrong.push(format!("{seed}, {unit}: {outcome:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), 3 * cases(), wrong.join("\n"));
    assert!(overloads > cases() as u32 / 2, "{overloads}");
}
