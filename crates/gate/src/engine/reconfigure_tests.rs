use super::super::tests::{Bench, cases, file, udp};
use super::*;
use proptest::prelude::*;
use tidegate_core::rng::Rng;
use tidegate_core::units::Span;

/// A frame that carries a number of its own.
fn numbered(port: u16, payload: usize, number: u64) -> Vec<u8> {
    let mut frame = udp(port, payload.max(8));
    frame[42..50].copy_from_slice(&number.to_be_bytes());
    frame
}

impl Bench {
    fn reload(&mut self, rest: &str) {
        self.engine.reconfigure(self.now, &Plan::of(&file(rest))).unwrap();
        self.check_identity();
    }

    /// Sends the frames that are due until `at`: for each in order its due time, port and number.
    fn numbers(&mut self, at: Time) -> Vec<(Time, u16, u64)> {
        self.now = at;
        self.engine.advance(at, usize::MAX);
        let leaving = self.engine.departures(Direction::Up).to_vec();
        let read = |departure: &super::super::Departure| {
            let frame = self.engine.frame(Direction::Up, *departure);
            let port = u16::from_be_bytes([frame[34], frame[35]]);
            (departure.due, port, u64::from_be_bytes(frame[42..50].try_into().unwrap()))
        };
        let numbers = leaving.iter().map(read).collect();
        self.engine.complete(Direction::Up, leaving.len(), 0);
        numbers
    }
}

/// A rate change applies from the next packet on; no waiting packet is lost.
#[test]
fn a_rate_change_keeps_the_queue() {
    let mut bench = Bench::new("");
    for number in 0..100 {
        bench.receive(Direction::Up, &numbered(1, 934, number));
    }
    let mut seen = bench.numbers(bench.now + Span::from_micros(9_500));
    let faster = tidegate_formats::GateFile::parse(
        "version = 1\ngate = { inside = \"a\", outside = \"b\", up = \"80mbit\", down = \"80mbit\", overhead = 24 }\n",
        "test.toml",
        &[],
    );
    bench.engine.reconfigure(bench.now, &Plan::of(&faster.unwrap())).unwrap();
    seen.extend(bench.numbers(bench.now + Span::from_millis(15)));
    assert!(seen.iter().map(|(_, _, number)| *number).eq(0..100));
    // The eleventh is due when the tenth is out, at the rate with which that began.
    let due: Vec<Span> = seen.iter().map(|(at, ..)| at.since(Time::ORIGIN)).collect();
    assert_eq!(due[9..12], [9_000, 10_000, 10_100].map(Span::from_micros));
}

#[test]
fn a_refused_plan_changes_nothing() {
    let mut bench = Bench::new("[[flow]]\nname = \"a\"\nmatch = { inside_port = 1 }\n");
    bench.receive(Direction::Up, &udp(1, 100));
    let mut plan = Plan::of(&file("port = { scheduler = \"virtual-clock\" }"));
    plan.edges[0].rules.push(plan_with_a_missing_class());
    plan.names.push("lost".into());
    assert!(bench.engine.reconfigure(bench.now, &plan).is_err());
    assert_eq!(bench.engine.names, ["a"]);
    assert_eq!(bench.engine.rule(Direction::Up, 0).0.arrived.packets, 1);
}

fn plan_with_a_missing_class() -> tidegate_core::steering::Rule {
    let mut rule = Plan::of(&file("[[flow]]\nname = \"x\"\n")).edges[0].rules[0].clone();
    rule.plan.class = Some(3);
    rule
}

/// Flows that keep their names keep their counters, wherever they are in the file.
#[test]
fn counters_follow_the_name() {
    let flow =
        |name: &str, port: u16| format!("[[flow]]\nname = \"{name}\"\nmatch = {{ inside_port = {port} }}\n");
    let mut bench = Bench::new(&(flow("a", 1) + &flow("b", 2)));
    for port in [1, 1, 1, 2, 3] {
        bench.receive(Direction::Up, &udp(port, 100));
    }
    bench.reload(&(flow("c", 3) + &flow("b", 2)));
    bench.receive(Direction::Up, &udp(3, 100));
    let arrived = |rule| bench.engine.rule(Direction::Up, rule).0.arrived.packets;
    // The packets that waited with the rest belong to `c` now; of those that waited for `a`, one
    // was in service.
    assert_eq!([arrived(0), arrived(1)], [2, 1]);
    assert_eq!(bench.engine.rest(Direction::Up).arrived.packets, 2);
}

const EACH: &str = "each = \"host\"\nidle = \"40ms\"\n";

/// Some of the flows, classes and rates that a gate file may have.
fn rest() -> impl Strategy<Value = String> {
    let flow = (0_u32..3, 1_u64..4, 0_usize..4, any::<bool>(), prop::option::of(0_usize..3));
    let scheduler = prop::sample::select(vec!["fifo", "virtual-clock", "strict-priority", "wf2q-plus"]);
    let flows = prop::collection::vec(prop::option::of(flow), 3);
    (scheduler.clone(), prop::collection::vec(scheduler, 0..3), flows, 1_u64..3).prop_map(
        |(port, classes, flows, ceiling)| {
            let mut text =
                format!("port = {{ scheduler = \"{port}\" }}\nswitch = {{ buffer = \"5000p\" }}\n");
            for (ix, scheduler) in classes.iter().enumerate() {
                text += &format!(
                    "[[class]]\nname = \"c{ix}\"\nscheduler = \"{scheduler}\"\nceiling = \"{ceiling}mbit\"\n"
                );
            }
            for (ix, flow) in flows.iter().enumerate() {
                let Some((port, reserve, each, ceiling, class)) = flow else { continue };
                text += &format!("[[flow]]\nname = \"f{ix}\"\nmatch = {{ inside_port = {port} }}\n");
                text += &format!("reserve = \"{reserve}00kbit\"\n");
                let each_of_host = EACH.replace("host", "subscriber") + "within = \"host, 5-tuple\"\n";
                text += ["", EACH, &format!("{EACH}within = \"5-tuple\"\n"), &each_of_host][*each];
                if *ceiling {
                    text += "ceiling = \"2mbit\"\n";
                }
                if let Some(class) = class.filter(|class| *class < classes.len()) {
                    text += &format!("class = \"c{class}\"\n");
                }
            }
            text
        },
    )
}

/// The service of a burst: the due time, port and number of each packet, from `start` on.
fn served(bench: &mut Bench, burst: &[(u16, usize)]) -> Vec<(Span, u16, u64)> {
    let start = bench.now;
    for (number, (port, payload)) in burst.iter().enumerate() {
        bench.receive(Direction::Up, &numbered(*port, *payload, number as u64));
    }
    let mut seen = Vec::new();
    for step in 1..2000 {
        for (due, port, number) in bench.numbers(start + Span::from_millis(10 * step)) {
            seen.push((due.since(start), port, number));
        }
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24)))]

    /// Plans follow each other under load: no frame is lost, and none of a flow is reordered. When
    /// all has been sent and forgotten, the gate equals one that was started with the last plan.
    #[test]
    fn plans_follow_each_other(
        plans in prop::collection::vec((rest(), prop::collection::vec((0_u16..4, 8_usize..1400), 0..40)), 1..12),
        burst in prop::collection::vec((0_u16..4, 8_usize..1400), 1..60),
    ) {
        let mut bench = Bench::new("switch = { buffer = \"5000p\" }");
        let (mut sent, mut seen) = (0_u64, Vec::new());
        for (rest, frames) in &plans {
            for (port, payload) in frames {
                bench.receive(Direction::Up, &numbered(*port, *payload, sent));
                sent += 1;
            }
            seen.extend(bench.numbers(bench.now + Span::from_millis(3)));
            bench.reload(rest);
            seen.extend(bench.numbers(bench.now));
        }
        for _ in 0..3000 {
            seen.extend(bench.numbers(bench.now + Span::from_millis(10)));
        }
        // The conversations of a host have a CoDel each.
        let counters = bench.engine.counters(Direction::Up);
        let lost: u64 = counters.drops().map(|(_, count)| count).sum();
        let of_codel: u64 = counters.drops().filter(|(why, _)| *why == "sojourn-time").map(|(_, count)| count).sum();
        prop_assert_eq!((seen.len() as u64 + lost, lost), (sent, of_codel));
        for port in 0..4 {
            let numbers: Vec<u64> = seen.iter().filter(|one| one.1 == port).map(|one| one.2).collect();
            prop_assert!(numbers.is_sorted(), "port {} {:?}", port, numbers);
        }

        let mut fresh = Bench::new(&plans[plans.len() - 1].0);
        prop_assert_eq!(&bench.engine.names, &fresh.engine.names);
        prop_assert_eq!(served(&mut bench, &burst), served(&mut fresh, &burst));
    }
}

/// Flows come and go under plans with classes, without, and with hosts that are classes. Later
/// flows reuse the memory that earlier ones have left.
#[test]
fn flows_that_come_and_go_between_plans_take_no_memory_for_good() {
    const CYCLES: usize = 16;
    let each = "[[flow]]\nname = \"each\"\neach = \"5-tuple\"\nidle = \"100ms\"\n";
    let files = [
        format!("port = {{ scheduler = \"virtual-clock\" }}\n{each}reserve = \"1kbit\"\n"),
        format!(
            "port = {{ scheduler = \"strict-priority\" }}\nswitch = {{ buffer = \"500p\" }}\n\
             class = [{{ name = \"c\", scheduler = \"fifo\", ceiling = \"1mbit\" }}]\n{each}class = \"c\"\n"
        ),
        "port = { scheduler = \"virtual-clock\" }\n\
         [[flow]]\nname = \"hosts\"\neach = \"host\"\nwithin = \"5-tuple\"\nidle = \"50ms\"\n"
            .to_owned(),
    ];
    let mut bench = Bench::new(&files[0]);
    let mut rng = Rng::named(1, "flows that come and go");
    let mut memory = Vec::new();
    for _ in 0..CYCLES {
        for file in &files {
            bench.reload(file);
            for _ in 0..65 {
                for _ in 0..10 {
                    let mut frame = udp(rng.below(60_000) as u16, 100 + rng.below(1300) as usize);
                    // Some host inside.
                    frame[28..30].copy_from_slice(&(rng.below(60_000) as u16).to_be_bytes());
                    bench.receive(Direction::Up, &frame);
                }
                bench.numbers(bench.now + Span::from_millis(1));
            }
        }
        memory.push(bench.engine.switch.memory());
    }
    // The number of hosts that wait at the end of a cycle is random.
    let (early, late) = (memory[CYCLES / 4], memory[CYCLES - 1]);
    assert!(early > 1_000_000 && late < early + early / 50, "{memory:?}");
}
