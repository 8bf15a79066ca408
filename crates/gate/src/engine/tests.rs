use super::*;
use proptest::prelude::*;
use tidegate_core::link::{LinePlan, Pace};
use tidegate_formats::GateFile;

pub(super) const PLAIN: [u8; 10] = [0; 10];

pub(super) fn file(rest: &str) -> GateFile {
    let text = format!(
        "version = 1\ngate = {{ inside = \"a\", outside = \"b\", up = \"8mbit\", down = \"80mbit\", overhead = 24 }}\n{rest}"
    );
    GateFile::parse(&text, "test.toml", &[]).unwrap()
}

/// A gate file beside a list of circuits, `circuits.csv`.
pub(super) fn file_with_circuits(text: &str, circuits: &str) -> GateFile {
    let (process, test) = (std::process::id(), std::thread::current().id());
    let folder = std::env::temp_dir().join(format!("tidegate-circuits-{process}-{test:?}"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("circuits.csv"), circuits).unwrap();
    let file = GateFile::parse(text, &folder.join("gate.toml").display().to_string(), &[]);
    std::fs::remove_dir_all(&folder).unwrap();
    file.unwrap_or_else(|error| panic!("{error}"))
}

/// A UDP packet from `port` with `payload` bytes behind its headers.
pub(super) fn udp(port: u16, payload: usize) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([8, 0, 0x45, 0]);
    frame.extend(((28 + payload) as u16).to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend(port.to_be_bytes());
    frame.extend([0, 80, 0, 0, 0, 0]);
    frame.resize(frame.len() + payload, 0);
    frame
}

pub(super) struct Bench {
    pub(super) engine: Engine,
    pub(super) now: Time,
}

impl Bench {
    pub(super) fn new(rest: &str) -> Bench {
        Bench::of(&Plan::of(&file(rest)))
    }

    pub(super) fn of(plan: &Plan) -> Bench {
        let engine = Engine::new(Time::ORIGIN, plan, 1536).unwrap();
        Bench { engine, now: Time::ORIGIN }
    }

    pub(super) fn receive(&mut self, direction: Direction, frame: &[u8]) {
        self.engine.receive(Arrival::at(self.now), direction, &Offloaded::new(&PLAIN, frame, 0).unwrap());
    }

    /// The process sleeps until `at`, then sends all due frames: their times and lengths.
    pub(super) fn wake(&mut self, at: Time, direction: Direction) -> Vec<(Time, usize)> {
        self.now = at;
        self.engine.advance(at, usize::MAX);
        let departures: Vec<_> = self.engine.departures(direction).to_vec();
        let sent = departures
            .iter()
            .map(|departure| (departure.due, self.engine.frame(direction, *departure).len()))
            .collect();
        self.engine.complete(direction, departures.len(), 0);
        sent
    }

    pub(super) fn check_identity(&self) {
        let mut held = 0;
        for direction in Direction::BOTH {
            let counters = self.engine.counters(direction);
            assert_eq!(
                counters.received,
                counters.sent + counters.total_dropped() + self.engine.held(direction)
            );
            held += self.engine.held(direction);
            self.engine.check_sums(direction);
        }
        // Counted in two ways: by the switch, and by the buffers in use.
        assert_eq!(held, self.engine.buffers_used() as u64);
    }
}

/// A gate that cannot send as fast as its link takes no more from the queues than it sends. A
/// packet that comes late is still ahead of those of a flow that sends more than its share, and the
/// other direction is not delayed.
#[test]
fn what_is_not_sent_stays_in_its_queue() {
    const MOST: usize = 8;
    let rules = "[[flow]]\nname = \"each\"\neach = \"5-tuple\"\nreserve = \"1mbit\"\n";
    let mut bench = Bench::new(&format!(
        "switch = {{ buffer = \"5000p\" }}\nport = {{ scheduler = \"wf2q-plus\" }}\n{rules}"
    ));
    let send = |bench: &mut Bench| {
        let held = bench.engine.advance(bench.now, MOST);
        let departures = bench.engine.departures(Direction::Up).to_vec();
        let ports: Vec<u16> = departures
            .iter()
            .map(|one| bench.engine.frame(Direction::Up, *one))
            .map(|frame| u16::from_be_bytes([frame[34], frame[35]]))
            .collect();
        bench.engine.complete(Direction::Up, departures.len(), 0);
        (held, ports)
    };
    for _ in 0..1000 {
        bench.receive(Direction::Up, &udp(1, 934));
    }
    // A frame a millisecond is due, and eight are sent in ten.
    for step in 1..=50 {
        bench.now = Time::ORIGIN + Span::from_millis(10 * step);
        for (direction, port) in [(Direction::Up, 2), (Direction::Down, 3)] {
            let switch = bench.now.min(bench.engine.next_event(direction));
            let frame = udp(port, 100);
            let frame = Offloaded::new(&PLAIN, &frame, 0).unwrap();
            bench.engine.receive(Arrival { switch, ..Arrival::at(bench.now) }, direction, &frame);
        }
        let (held, ports) = send(&mut bench);
        assert!(held && ports.len() == MOST, "{step}: {ports:?}");
        assert!(ports.contains(&2), "{step}: {ports:?}");
        let down = bench.engine.departures(Direction::Down);
        assert_eq!(down.iter().map(|one| one.due).collect::<Vec<_>>(), [bench.now]);
        bench.engine.complete(Direction::Down, 1, 0);
        bench.check_identity();
    }
    // Eight frames, one of them short, take 7.1 of 10 ms. The rest is lost, beyond the time that
    // may be made up for.
    let stalled = bench.engine.counters(Direction::Up).stalled;
    assert!((0.11..=0.145).contains(&stalled.as_secs_f64()), "{stalled:?}");
}

/// However late the process wakes up, a backlogged link's frames are due one after the other at its
/// rate.
#[test]
fn departures_are_due_at_the_rate() {
    let mut bench = Bench::new("port = { scheduler = \"fifo\" }\nswitch = { buffer = \"5000p\" }");
    for _ in 0..1000 {
        bench.receive(Direction::Up, &udp(1, 934));
    }
    let mut due = Vec::new();
    // 976 bytes and 24 of overhead at 8 Mbit/s: one frame a millisecond.
    for step in 1..=150 {
        let late = Span::from_micros(step * 7_000 + step * step % 5_000);
        due.extend(bench.wake(Time::ORIGIN + late, Direction::Up));
        bench.check_identity();
    }
    assert_eq!(due.len(), 1000);
    for (ix, (at, length)) in due.iter().enumerate() {
        assert_eq!((*at, *length), (Time::ORIGIN + Span::from_millis(ix as u64), 976));
    }
    assert_eq!(bench.engine.counters(Direction::Up).stalls, 0);
}

/// A process that was suspended makes up for 20 ms, and counts the rest as lost.
#[test]
fn a_long_sleep_is_not_made_up_for() {
    let mut bench = Bench::new("switch = { buffer = \"5000p\" }");
    for _ in 0..2000 {
        bench.receive(Direction::Up, &udp(1, 934));
    }
    let sent = bench.wake(Time::ORIGIN + Span::from_secs(1), Direction::Up);
    // The frame in service, which was sent at the start, and those of 20 ms.
    assert_eq!(sent.len(), 1 + 21);
    let counters = bench.engine.counters(Direction::Up);
    assert_eq!((counters.stalls, counters.stalled), (1, Span::from_millis(979)));
}

#[test]
fn an_idle_link_sends_at_once() {
    let mut bench = Bench::new("");
    let later = Time::ORIGIN + Span::from_secs(5);
    bench.wake(later, Direction::Down);
    bench.receive(Direction::Down, &udp(1, 100));
    assert_eq!(bench.wake(later, Direction::Down), [(later, 142)]);
    assert_eq!(bench.engine.next_due(), later + Span::from_ticks(166 * 8 * 100_000_000_000 / 80_000_000));
}

/// Backlogged flows that reserve 3 and 1 get 3 and 1.
#[test]
fn virtual_clock_shares_as_reserved() {
    let mut bench = Bench::new(
        "port = { scheduler = \"virtual-clock\" }\n\
         [[flow]]\nname = \"a\"\nmatch = { inside_port = 1 }\nreserve = \"6mbit\"\n\
         [[flow]]\nname = \"b\"\nmatch = { inside_port = 2 }\nreserve = \"2mbit\"\n",
    );
    for step in 0..4000 {
        for port in [1, 2] {
            bench.receive(Direction::Up, &udp(port, 934));
        }
        bench.wake(Time::ORIGIN + Span::from_micros(step * 1000), Direction::Up);
    }
    let [a, b] = [0, 1].map(|rule| bench.engine.rule(Direction::Up, rule).0.sent.packets);
    assert!(a + b >= 3998 && (2.97..3.03).contains(&(a as f64 / b as f64)), "{a} {b}");
    bench.check_identity();
}

/// The example of an office, with IPv6 in a flow of its own for its counters: an upload over IPv4
/// fills the line, and ARP has the share of packets that match none.
#[test]
fn an_upload_delays_neither_ipv6_nor_arp() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gates/office.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let (head, computers) = text.split_once("inside = [\"0.0.0.0/0\", \"::/0\"]").unwrap();
    let computers = |match_| format!("inside = \"{match_}\"{computers}");
    let also = format!("[[flow]]\nname = \"ipv6\"\nmatch = {{ {}", computers("::/0"));
    let text = format!("{head}{}{also}", computers("0.0.0.0/0"));
    let office = GateFile::parse(&text, "office.toml", &[]).unwrap();
    let mut bench = Bench::of(&Plan::of(&office));
    let mut ipv6 = vec![2; 12];
    ipv6.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 40, 58, 64]);
    ipv6.extend([0x20; 32]);
    ipv6.resize(ipv6.len() + 40, 0);
    let mut arp = vec![255; 12];
    arp.extend([8, 6]);
    arp.resize(60, 0);
    for step in 0..30_000 {
        bench.receive(Direction::Up, &udp(1, 1400));
        if step % 200 == 0 {
            bench.receive(Direction::Up, &ipv6);
        }
        if step % 100 == 0 {
            bench.receive(Direction::Up, &arp);
        }
        bench.wake(Time::ORIGIN + Span::from_micros(step * 1000), Direction::Up);
    }
    let longest = |rule: usize| bench.engine.statistics(Direction::Up, rule).delays.max() as f64 / 1e6;
    let (upload, ipv6, rest) = (longest(1), longest(2), longest(office.flows.len()));
    assert!(upload > 0.2 && ipv6 < 0.02 && rest < 0.02, "{upload} {ipv6} {rest} s");
    let sent = |rule: usize| bench.engine.rule(Direction::Up, rule).0.sent.packets;
    assert!(sent(2) >= 149 && bench.engine.rest(Direction::Up).sent.packets >= 299);
}

#[test]
fn what_does_not_fit_is_counted() {
    let mut bench = Bench::new("switch = { buffer = \"10p\" }");
    bench.receive(Direction::Up, &udp(1, 1600));
    for _ in 0..50 {
        bench.receive(Direction::Up, &udp(1, 934));
    }
    bench.engine.complete(Direction::Up, 0, 1);
    let drops: Vec<_> =
        bench.engine.counters(Direction::Up).drops().filter(|(_, count)| *count > 0).collect();
    assert_eq!(drops, [("pushed-out", 40), ("too-long", 1), ("device", 1)]);
    bench.check_identity();
}

#[derive(Clone, Debug)]
enum Step {
    Frame(bool, Vec<u8>),
    Udp(bool, u16, usize),
    Lost(bool),
    Wake(u64),
    Refuse(bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (any::<bool>(), prop::collection::vec(any::<u8>(), 14..100))
            .prop_map(|(up, frame)| Step::Frame(up, frame)),
        (any::<bool>(), 0u16..4, 0usize..1600).prop_map(|(up, port, payload)| Step::Udp(up, port, payload)),
        (any::<bool>(), 0u16..4, 0usize..1600).prop_map(|(up, port, payload)| Step::Udp(up, port, payload)),
        any::<bool>().prop_map(Step::Lost),
        (0u64..40_000).prop_map(Step::Wake),
        any::<bool>().prop_map(Step::Refuse),
    ];
    prop::collection::vec(step, 1..300)
}

/// Number of cases of a slow test: `few`, or as many times that as PROPTEST_CASES has hundreds.
pub(super) fn cases(few: u32) -> u32 {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse::<u32>().ok());
    asked.map_or(few, |asked| few * asked / 100)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(16)))]

    /// However many frames come from the outside, they take neither memory nor time from those that
    /// go out.
    #[test]
    fn a_flood_in_one_direction_takes_nothing_from_the_other(
        arrivals in prop::collection::vec((0u64..4_000, 0u16..4, 0usize..1400, 0usize..100), 1..100),
        bytes: bool,
    ) {
        let rules = format!(
            "switch = {{ buffer = \"{}\" }}\n[[flow]]\nname = \"a\"\nmatch = {{ port = 1 }}\nreserve = \"1mbit\"\n\
             [[flow]]\nname = \"b\"\neach = \"5-tuple\"\nidle = \"30ms\"\n",
            if bytes { "20kB" } else { "12p" }
        );
        let sent = |flooded: bool| {
            let (mut bench, mut sent) = (Bench::new(&rules), Vec::new());
            for (gap, port, payload, flood) in &arrivals {
                if flooded {
                    (0..*flood).for_each(|_| bench.receive(Direction::Down, &udp(9, 1400)));
                }
                bench.receive(Direction::Up, &udp(*port, *payload));
                let at = bench.now + Span::from_micros(*gap);
                bench.wake(at, Direction::Down);
                sent.extend(bench.wake(at, Direction::Up));
            }
            bench.check_identity();
            (sent, Direction::BOTH.map(|direction| bench.engine.counters(direction).total_dropped()))
        };
        let ((alone, [lost, _]), (beside, [lost_beside, of_flood])) = (sent(false), sent(true));
        prop_assert_eq!((alone, lost), (beside, lost_beside));
        let flood: usize = arrivals.iter().map(|(.., flood)| flood).sum();
        prop_assert!(flood < 3_000 || of_flood > 0);
    }
}

proptest! {
    /// Under any input, every frame is accounted for, and none leaves before it is due.
    #[test]
    fn nothing_is_lost_silently(steps in steps(), bytes: bool, emulated in 0usize..3) {
        let buffer = if bytes { "20kB" } else { "12p" };
        let mut plan = Plan::of(&file(&format!(
            "switch = {{ buffer = \"{buffer}\" }}\n\
             class = [{{ name = \"c\", scheduler = \"virtual-clock\", ceiling = \"1mbit\" }}]\n\
             port = {{ scheduler = \"virtual-clock\", dropper = {{ kind = \"drop-tail\", limit = \"9p\" }} }}\n\
             [[flow]]\nname = \"a\"\nmatch = {{ inside_port = 1 }}\nreserve = \"1mbit\"\nceiling = \"2mbit\"\n\
             [[flow]]\nname = \"b\"\nclass = \"c\"\nmatch = {{ protocol = \"udp\" }}\neach = \"5-tuple\"\nidle = \"30ms\"\n"
        )));
        if emulated > 0 {
            let loss = tidegate_core::link::Loss::new(0.1).unwrap();
            let trace = tidegate_core::link::Trace::new([0, 3, 3, 9]).unwrap();
            let pace = if emulated > 1 { Pace::Trace(std::sync::Arc::new(trace)) } else { Pace::Steady };
            let line = plan.lines[0].clone();
            plan.lines[0] = LinePlan { pace, delay: Span::from_millis(15), loss, ..line };
            plan.emulated = [true, false];
        }
        let mut bench = Bench::of(&plan);
        let way = |up: bool| if up { Direction::Up } else { Direction::Down };
        for step in steps {
            match step {
                Step::Frame(up, frame) => bench.receive(way(up), &frame),
                Step::Udp(up, port, payload) => bench.receive(way(up), &udp(port, payload)),
                Step::Lost(up) => bench.engine.count_lost(way(up), LossReason::Offload),
                Step::Wake(micros) => {
                    let at = bench.now + Span::from_micros(micros);
                    for direction in Direction::BOTH {
                        for (due, _) in bench.wake(at, direction) {
                            prop_assert!(due <= at);
                        }
                    }
                    prop_assert!(bench.engine.next_due() > at);
                }
                Step::Refuse(up) => {
                    let count = bench.engine.departures(way(up)).len().min(2);
                    bench.engine.complete(way(up), 0, count);
                }
            }
            bench.check_identity();
        }
    }
}

/// A report's queries to the engine take the same time however many flows packets have opened.
#[test]
#[allow(clippy::disallowed_types, reason = "real time is what is measured")]
fn a_report_looks_at_no_flow() {
    let fastest = |flows: u32| {
        // Where flows without a reservation have no weight, their number is limited by `flows`
        // alone.
        let mut bench = Bench::new(
            "port = { scheduler = \"virtual-clock\" }\n[[flow]]\nname = \"each\"\neach = \"5-tuple\"\nidle = \"1000s\"\n",
        );
        for flow in 0..flows {
            let at = bench.now + Span::from_millis(1);
            bench.wake(at, Direction::Up);
            let mut frame = udp((flow % 50_000) as u16, 10);
            frame[29] = (flow / 50_000) as u8;
            bench.receive(Direction::Up, &frame);
        }
        assert_eq!(bench.engine.rule(Direction::Up, 0).1, flows as usize);
        let ask = |_| {
            let begun = std::time::Instant::now();
            for _ in 0..100 {
                let asked = (bench.engine.rule(Direction::Up, 0), bench.engine.lead(Direction::Up, 0));
                std::hint::black_box((asked, bench.engine.rest(Direction::Up)));
            }
            begun.elapsed()
        };
        (0..10).map(ask).min().unwrap()
    };
    let (few, many) = (fastest(20), fastest(60_000));
    assert!(many < 20 * few, "{few:?} with 20 flows, {many:?} with 60,000");
}
