//! Constructed cases of packets that wait or are lost, each with its culprit, in virtual time.

use super::simulator_tests::frame;
use super::tests::{Bench, PLAIN, file_with_circuits};
use super::*;
use crate::explain::segment;
use serde_json::Value;
use tidegate_formats::GateFile;

const SECONDS: u64 = 8;

/// Packets at a constant rate.
struct Source {
    up: bool,
    host: u8,
    port: u16,
    payload: usize,
    /// Rate of the frames, without overhead, in Mbit/s.
    mbit: f64,
}

fn upload(host: u8, port: u16, mbit: f64) -> Source {
    Source { up: true, host, port, payload: 1472, mbit }
}

fn call(host: u8) -> Source {
    Source { up: true, host, port: 1, payload: 172, mbit: 0.0856 }
}

/// A gate of 20 Mbit/s up whose circuits are houses 1 to 9, with what these send.
struct Case {
    file: GateFile,
    bench: Bench,
}

impl Case {
    fn new(rest: &str, circuits: &str, sources: &[Source]) -> Case {
        let text = format!(
            "version = 1\ngate = {{ inside = \"a\", outside = \"b\", up = \"20mbit\", down = \"20mbit\" }}\n\
             switch = {{ buffer = \"400p\" }}\n{rest}"
        );
        let file = file_with_circuits(&text, &format!("name,addresses,class,up_ceiling\n{circuits}"));
        let mut case = Case { bench: Bench::of(&Plan::of(&file)), file };
        case.run(sources);
        case
    }

    fn run(&mut self, sources: &[Source]) {
        let mut next: Vec<(Time, u64)> = sources.iter().map(|_| (Time::ORIGIN, 0)).collect();
        let end = Time::ORIGIN + Span::from_secs(SECONDS);
        loop {
            let first = (0..sources.len()).min_by_key(|ix| next[*ix]).unwrap();
            let now = next[first].0.min(self.bench.engine.next_due());
            if now >= end {
                return;
            }
            self.bench.wake(now, Direction::Up);
            self.bench.wake(now, Direction::Down);
            if next[first].0 == now {
                let Source { up, host, port, payload, mbit } = sources[first];
                let frame = frame((up, host, port, 0), payload, next[first].1);
                let direction = if up { Direction::Up } else { Direction::Down };
                self.bench.receive(direction, &frame);
                let seconds = frame.len() as f64 * 8e-6 / mbit;
                next[first] = (now + Span::from_secs_f64(seconds), next[first].1 + 1);
            }
        }
    }

    /// The explanation of what has this name: the first cause, its place and its first sender, and
    /// the verdict.
    fn of(&self, name: &str) -> Told {
        let asked = self.file.named(name).unwrap_or_else(|error| panic!("{error}"));
        let answers = self.bench.engine.explain(Some(asked), &self.file);
        let answer = answers.get(0).unwrap_or_else(|| panic!("{name}: nothing")).clone();
        let shares: f64 = answer["causes"].as_array().unwrap().iter().map(|one| number(&one["share"])).sum();
        assert!(number(&answer["wait_mean"]) == 0.0 || (0.94..1.001).contains(&shares), "{answer:#}");
        Told(answer)
    }
}

struct Told(Value);

impl Told {
    fn cause(&self) -> (&str, &str, &str) {
        let first = &self.0["causes"][0];
        let word = |value: &'static str| first[value].as_str().unwrap_or_default();
        (word("cause"), word("at"), first["senders"][0]["name"].as_str().unwrap_or_default())
    }

    fn verdict(&self) -> &str {
        self.0["verdict"].as_str().unwrap()
    }

    fn mean(&self) -> f64 {
        number(&self.0["wait_mean"])
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

const HOUSES: &str = "[[flow]]\nname = \"plans\"\ncircuits = \"circuits.csv\"\n";

/// A neighbour floods the site that both are in, which serves in the order of arrival.
#[test]
fn a_neighbour_floods_the_site() {
    let site = "port = { dropper = { kind = \"drop-tail\", limit = \"60p\" } }\n\
                [[class]]\nname = \"site\"\nceiling = \"10mbit\"\nscheduler = \"fifo\"\n\
                [[flow]]\nname = \"plans\"\nwithin = \"none\"\ncircuits = \"circuits.csv\"\n";
    let circuits = "one,10.0.0.1,site,\nfour,10.0.0.4,site,\n";
    let case = Case::new(site, circuits, &[call(1), upload(4, 9, 15.0)]);
    let told = case.of("one");
    assert_eq!(told.cause(), ("ceiling", "class site", "four"), "{:#}", told.0);
    let full = "class site is full, at its ceiling of 10mbit: mostly four (";
    assert!(told.verdict().starts_with(full), "{}", told.verdict());
    // The page shows this.
    let answers = case.bench.engine.explain(case.file.named("one").ok(), &case.file);
    let text = crate::explain::text(&answers, Some("one"));
    let page = std::fs::read_to_string("../../docs/gate-operation.md").unwrap();
    assert!(page.contains(&text), "{text}");
    // The class itself, and the address, give the same.
    assert_eq!(case.of("10.0.0.1").cause(), told.cause());
    assert_eq!(case.of("site").0["name"], "four");
}

/// A household whose upload is above its own ceiling, with one queue for all that it sends.
#[test]
fn an_upload_of_its_own() {
    let one_queue = "[[flow]]\nname = \"plans\"\nwithin = \"none\"\ncircuits = \"circuits.csv\"\n";
    let case = Case::new(one_queue, "one,10.0.0.1,,5mbit\n", &[call(1), upload(1, 9, 8.0)]);
    let told = case.of("one");
    assert_eq!(told.cause(), ("own-ceiling", "", "10.0.0.1:9>192.0.2.1:80/udp"), "{:#}", told.0);
    assert!(told.verdict().starts_with("it uses all of its own ceiling of 5mbit: mostly 10.0.0.1:9>"));
    assert!(told.mean() > 0.1, "{}", told.mean());
}

/// With a queue for each conversation the call of that household waits little. What waits is its
/// upload.
#[test]
fn an_upload_beside_a_call_of_its_own() {
    let case = Case::new(HOUSES, "one,10.0.0.1,,5mbit\n", &[call(1), upload(1, 9, 8.0)]);
    let told = case.of("one");
    assert_eq!(told.cause(), ("own-ceiling", "", "10.0.0.1:9>192.0.2.1:80/udp"), "{:#}", told.0);
    assert!(
        number(&told.0["dropped"]["sojourn-time"])
            + number(&told.0["dropped"].get("pushed-out").cloned().unwrap_or(0.into()))
            > 0.0,
        "{:#}",
        told.0
    );
}

/// A flow with a ceiling of its own.
#[test]
fn a_ceiling_of_a_flow() {
    let rules = "[[flow]]\nname = \"backup\"\nmatch = { inside_port = 9 }\nceiling = \"2mbit\"\n";
    let case = Case::new(rules, "one,10.0.0.1,,\n", &[upload(1, 9, 4.0)]);
    let told = case.of("backup");
    assert_eq!(told.cause().0, "own-ceiling", "{:#}", told.0);
    assert!(told.verdict().contains("its own ceiling of 2mbit: mostly 10.0.0.1:9>"), "{}", told.verdict());
}

/// Others reserve most of the line, and use it.
#[test]
fn a_reservation_takes_the_line() {
    let rules = "port = { scheduler = \"virtual-clock\" }\n\
                 [[flow]]\nname = \"video\"\nmatch = { inside_port = 9 }\nreserve = \"19mbit\"\n\
                 [[flow]]\nname = \"rest\"\nmatch = {}\nreserve = \"500kbit\"\n";
    let case = Case::new(rules, "one,10.0.0.1,,\n", &[upload(4, 9, 19.0), upload(1, 3, 2.0)]);
    let told = case.of("rest");
    assert_eq!(told.cause(), ("others", "the line", "video"), "{:#}", told.0);
    assert!(told.verdict().ends_with("video (100 %), which reserves 19mbit"), "{}", told.verdict());
}

/// The line is full, and serves in the order of arrival.
#[test]
fn the_line_is_full_of_others() {
    let rules =
        "port = { scheduler = \"fifo\" }\n[[flow]]\nname = \"hosts\"\neach = \"host\"\nwithin = \"none\"\n";
    let sources = [call(1), upload(2, 9, 8.0), upload(3, 9, 16.0)];
    let case = Case::new(rules, "one,10.0.0.1,,\n", &sources);
    let told = case.of("10.0.0.1");
    assert_eq!(told.cause(), ("others", "the line", "10.0.0.3"), "{:#}", told.0);
    assert!(told.verdict().starts_with("the line is full: mostly 10.0.0.3 (6"), "{}", told.verdict());
}

/// An emulated link that is down for two seconds, and one that is down at the time of the question.
#[test]
fn a_link_that_is_down() {
    let down = |from: &str, until: &str| {
        let changes =
            format!("[{{ at = \"{from}\", state = \"down\" }}, {{ at = \"{until}\", state = \"up\" }}]");
        let rest = format!("[emulate.up]\nchange = {changes}\n{HOUSES}");
        let case = Case::new(&rest, "one,10.0.0.1,,\nfour,10.0.0.4,,\n", &[call(1), upload(4, 9, 1.0)]);
        case.of("one")
    };
    let told = down("3s", "5s");
    assert_eq!(told.cause(), ("outage", "", ""), "{:#}", told.0);
    assert_eq!(told.verdict(), "the link was down");
    // Packets of a quarter of the time wait for a second on average.
    assert!((0.2..0.3).contains(&told.mean()), "{:#}", told.0);
    assert!(number(&told.0["causes"][0]["share"]) > 0.9, "{:#}", told.0);
    let text = crate::explain::text(&serde_json::json!([told.0]), None);
    assert!(
        text.contains("%  an outage of the link\n") && text.ends_with("  =>  the link was down\n"),
        "{text}"
    );
    // Nothing has waited for it yet.
    assert_eq!(down("6s", "100s").verdict(), "the link is down");
    // It is over, and what waited then is forgotten.
    let told = down("1ms", "2ms");
    assert!(told.verdict().starts_with("the gate does not slow it"), "{:#}", told.0);
}

/// The line behind loses packets: the gate has nothing to do with it.
#[test]
fn a_line_behind_that_loses() {
    let case = Case::new(HOUSES, "one,10.0.0.1,,5mbit\n", &[call(1), upload(1, 9, 1.0)]);
    let told = case.of("one");
    assert!(told.verdict().starts_with("the gate does not slow it: look at the line behind"), "{:#}", told.0);
    assert!(told.0["dropped"].as_object().unwrap().is_empty());
}

/// A ceiling that is far away, and a line that is busy with others: they are fair to each other.
#[test]
fn a_ceiling_that_is_not_the_bottleneck() {
    let circuits = "one,10.0.0.1,,15mbit\nfour,10.0.0.4,,\n";
    let case = Case::new(HOUSES, circuits, &[upload(1, 9, 5.0), upload(4, 9, 30.0)]);
    let told = case.of("one");
    assert!(told.mean() < 3e-3 && told.verdict().starts_with("the gate does not slow it"), "{:#}", told.0);
    let other = case.of("four");
    assert_eq!(other.cause().0, "own-packets", "{:#}", other.0);
}

/// Packets beyond a contract are dropped at a meter.
#[test]
fn packets_beyond_a_contract() {
    let rules = "port = { meter = \"policer\" }\n\
                 [[flow]]\nname = \"backup\"\nmatch = { inside_port = 9 }\nreserve = \"2mbit\"\nworkahead = \"3kB\"\n";
    let case = Case::new(rules, "one,10.0.0.1,,\n", &[upload(1, 9, 4.0)]);
    let told = case.of("backup");
    assert_eq!(
        told.verdict(),
        "it waits little, but its packets beyond its contract are dropped",
        "{:#}",
        told.0
    );
    let lost = number(&told.0["dropped"]["meter"]);
    assert!((0.45..0.55).contains(&(lost * 1514.0 * 8e-6 / 4.0 / SECONDS as f64)), "{lost}");
}

/// A short queue of the port is full, and drops.
#[test]
fn a_queue_that_is_full() {
    let rules = "port = { scheduler = \"fifo\", dropper = { kind = \"drop-tail\", limit = \"2p\" } }\n\
                 [[flow]]\nname = \"calls\"\nmatch = { inside_port = 1 }\n";
    let case = Case::new(rules, "one,10.0.0.1,,\n", &[call(1), upload(4, 9, 40.0)]);
    let told = case.of("calls");
    assert!(told.verdict().ends_with("its queue is full"), "{:#}", told.0);
    assert!(number(&told.0["dropped"]["queue-limit"]) > 50.0);
}

/// Strict priority: what comes first fills the line.
#[test]
fn another_class_comes_first() {
    let rules = "port = { scheduler = \"strict-priority\" }\n\
                 [[class]]\nname = \"first\"\npriority = 0\n[[class]]\nname = \"second\"\npriority = 1\n\
                 [[flow]]\nname = \"video\"\nclass = \"first\"\nmatch = { inside_port = 9 }\n\
                 [[flow]]\nname = \"web\"\nclass = \"second\"\nmatch = {}\n";
    let case = Case::new(rules, "one,10.0.0.1,,\n", &[upload(4, 9, 19.5), upload(1, 3, 1.0)]);
    let told = case.of("web");
    assert_eq!(told.cause(), ("others", "the line", "video"), "{:#}", told.0);
}

/// Those who waited most come first, three at most in each direction; who has sent nothing has no
/// answer; and a reload begins anew.
#[test]
fn those_who_waited_most() {
    let sources = [upload(1, 9, 3.0), upload(2, 9, 7.0), upload(3, 9, 9.0), upload(4, 9, 20.0)];
    let circuits = "one,10.0.0.1,,5mbit\ntwo,10.0.0.2,,5mbit\nthree,10.0.0.3,,5mbit\nfour,10.0.0.4,,5mbit\nfive,10.0.0.5,,\n";
    let mut case = Case::new(HOUSES, circuits, &sources);
    let all = case.bench.engine.explain(None, &case.file);
    let names: Vec<&str> = all.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 3);
    assert!(!names.contains(&"one"), "{names:?}");
    assert_eq!(case.bench.engine.explain(case.file.named("five").ok(), &case.file), serde_json::json!([]));
    case.bench.engine.reconfigure(case.bench.now, &Plan::of(&case.file)).unwrap();
    assert_eq!(case.bench.engine.explain(None, &case.file), serde_json::json!([]));
}

/// A round trip begins when a segment leaves the gate: its queue is not part of it. Its end is seen
/// on the other way.
#[test]
fn round_trips_are_those_behind_the_gate() {
    let rules =
        "port = { scheduler = \"fifo\" }\n[[flow]]\nname = \"hosts\"\neach = \"host\"\nwithin = \"none\"\n";
    let mut case = Case::new(rules, "one,10.0.0.1,,\n", &[call(7)]);
    let (inside, outside) = (([10, 0, 0, 1], 5000), ([192, 0, 2, 1], 80));
    let mut behind = Vec::new();
    for step in 0..20_u32 {
        for _ in 0..50 {
            case.bench.receive(Direction::Up, &frame((true, 2, 9, 0), 1472, 0));
        }
        let data = segment(inside, outside, (16, 1, 1), Some((step, 0)), 100);
        case.bench.receive(Direction::Up, &data);
        let began = case.bench.now;
        let wakes = (1..=10).map(|tenth| began + Span::from_millis(10 * tenth));
        let departures: Vec<_> = wakes.flat_map(|at| case.bench.wake(at, Direction::Up)).collect();
        let (left, _) = departures.iter().find(|(_, length)| *length == data.len()).copied().unwrap();
        behind.push(left.since(began));
        let came = left + Span::from_millis(20 + u64::from(step));
        case.bench.wake(came.max(case.bench.now), Direction::Down);
        let echo = segment(outside, inside, (16, 1, 101), Some((9, step)), 0);
        case.bench.engine.receive(
            Arrival { kernel: came, ..Arrival::at(case.bench.now) },
            Direction::Down,
            &Offloaded::new(&PLAIN, &echo, 0).unwrap(),
        );
        case.bench.wake(case.bench.now + Span::from_millis(50), Direction::Down);
    }
    assert!(behind.iter().all(|queued| *queued > Span::from_millis(20)), "{behind:?}");
    let asked = case.file.named("10.0.0.1").unwrap();
    let answers = case.bench.engine.explain(Some(asked), &case.file);
    let down = answers.as_array().unwrap().iter().find(|one| one["direction"] == "down").unwrap();
    let trips = &down["round_trips"];
    assert_eq!((&trips["side"], &trips["count"]), (&"outside".into(), &20.into()), "{down:#}");
    let near = |value: &Value, expected: f64| (number(value) - expected).abs() < 1e-9;
    assert!(near(&trips["least"], 0.020) && near(&trips["mean"], 0.0295), "{trips:#}");
    assert!(crate::explain::text(&answers, None).contains("round trips outside: 29.5 ms, 20.0 at least"));
}

/// Each packet that is looked at waits for the rest of one that is not looked at, and nothing else
/// waits: accounts are not kept when that one starts.
#[test]
fn the_packet_in_service_is_a_cause() {
    let rules =
        "port = { scheduler = \"fifo\" }\n[[flow]]\nname = \"hosts\"\neach = \"host\"\nwithin = \"none\"\n";
    let file = super::tests::file(rules);
    let mut bench = Bench::of(&Plan::of(&file));
    for step in 0..100 {
        let start = Time::ORIGIN + Span::from_millis(20 * step);
        // Both are looked at in every third step, but host 1 comes one step later.
        for (host, payload, after) in [(4, 1472, 0), (1, 172, 500)].into_iter().take(1 + step.min(1) as usize)
        {
            bench.wake(start + Span::from_micros(after), Direction::Up);
            bench.receive(Direction::Up, &frame((true, host, 9, 0), payload, step));
        }
        bench.wake(start + Span::from_millis(10), Direction::Up);
    }
    let answers = bench.engine.explain(file.named("10.0.0.1").ok(), &file);
    let told = Told(answers[0].clone());
    // 1538 bytes on 8 Mbit/s are 1.538 ms.
    assert!((told.mean() - 1.038e-3).abs() < 1e-6, "{:#}", told.0);
    assert_eq!(told.cause(), ("others", "the line", "10.0.0.4"), "{:#}", told.0);
    assert!(number(&told.0["causes"][0]["share"]) > 0.999, "{:#}", told.0);
}
