//! Subscribers by the thousand, in sites with ceilings: the cost of a packet as their number grows,
//! the memory of one while idle, with a flow or ten conversations, and the time to read their list.
//!
//! `cargo bench --bench subscribers` prints all that, `-- --json` only memory and time to read. `--
//! SUBSCRIBERS SITES PACKETS` only sends packets, under an instruction counter; subtract two runs
//! of different length to take out the set-up. `-- households PACKETS` does so for ten
//! conversations of every tenth of 20,000 subscribers, `-- one-queue PACKETS` for one queue each, and
//! `-- triple-isolate PACKETS` with fairness over the hosts of both sides. With `PORTS PACKETS`, every
//! second packet is one subscriber's, of as many conversations.

#![allow(clippy::disallowed_types, reason = "a benchmark reads the clock")]

use cap::Cap;
use std::alloc::System;
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;
use tidegate_core::classifier::circuits::{Circuit, CircuitTerms, Circuits};
use tidegate_core::classifier::matching::Match;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::composite::{BuiltInComposite, FAIR_DEFAULT, WITHIN_BY_BOTH, WITHIN_DEFAULT};
use tidegate_core::context::{Ctx, Effect};
use tidegate_core::contract::{Contract, Refused};
use tidegate_core::dropper::DropperKind;
use tidegate_core::headers::{Fragment, Headers, Ip};
use tidegate_core::packet::{BodyId, Packet, PortIx};
use tidegate_core::params::NamedPolicy;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::steering::{Conversations, Rule, Split, StatedHosts, Steering};
use tidegate_core::switch::Switch;
use tidegate_core::switch::plan::{ClassPlan, DropperPlan, FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Rate, Span, Time};
use tidegate_formats::GateFile;

#[global_allocator]
static ALLOCATED: Cap<System> = Cap::new(System, usize::MAX);

const PORT: PortIx = PortIx(0);
/// The link, in bit/s.
const LINK: u64 = 1_000_000_000;
/// Bytes of a packet, and the number of packets that a subscriber sends at once.
const LEN: u32 = 1000;
const BURST: u32 = 4;
/// Subscribers, those of them that send, and the conversations of each.
const HOUSEHOLDS: u32 = 20_000;
const SENDING: u32 = HOUSEHOLDS / 10;
const CONVERSATIONS: u32 = 10;
const SITES: u32 = 400;

fn rate(bits: u64) -> Option<Rate> {
    Rate::from_bits_per_second(bits)
}

/// Returns a subscriber's circuit, in sites that share the link's rate. A subscriber may have some
/// times its share, and a site twice its own.
fn circuit(number: u32, subscribers: u32, sites: u32, times: u64) -> Circuit {
    let share = LINK / u64::from(subscribers);
    Circuit {
        name: format!("circuit-{number:05}"),
        addresses: format!("{}/32", address(number)).parse().into_iter().collect(),
        terms: CircuitTerms {
            class: Some((number % sites) as u16),
            reserve: [rate(share); 2],
            ceiling: [rate(times * share); 2],
        },
    }
}

fn circuits(subscribers: u32, sites: u32, times: u64) -> Arc<Circuits> {
    let all = (0..subscribers).map(|number| circuit(number, subscribers, sites, times));
    Arc::new(Circuits::new(all).unwrap_or_default())
}

fn rule(circuits: Arc<Circuits>) -> Rule {
    Rule::new(Match::default(), Split::Circuits(circuits), FlowPlan::default(), Span::from_secs(30))
}

/// The policies in a circuit of a gate, whose port has CoDel at each queue: fair to conversations, or
/// to the hosts of both sides first.
fn fair(hosts: StatedHosts) -> Result<Conversations, Refused> {
    let whole = BuiltInComposite::read(WITHIN_DEFAULT, &[]).and_then(Result::ok);
    let whole = whole.ok_or_else(|| Refused("no policy for conversations".into()))?;
    let other = SchedulerKind::named(WITHIN_BY_BOTH).filter(|_| hosts == StatedHosts::Both);
    let scheduler = other.unwrap_or(SchedulerKind::BuiltIn(whole.parts()?.scheduler));
    Ok(Conversations { scheduler, dropper: None, hosts })
}

fn address(number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0000 + number)
}

fn conversation(number: u32, ix: u32) -> Headers {
    let ip = Ip {
        source: IpAddr::V4(address(number)),
        destination: IpAddr::V4(Ipv4Addr::LOCALHOST),
        protocol: 17,
        dscp: 0,
        ecn: 0,
        fragment: Fragment::Whole,
        ports: Some((5000 + ix as u16, 80)),
    };
    Headers { ip: Some(ip), ..Headers::default() }
}

/// A conversation of the subscribers that send, who are spread over all sites.
fn household(of: u32) -> Headers {
    let (number, ix) = (of / CONVERSATIONS, of % CONVERSATIONS);
    let every = HOUSEHOLDS / SENDING;
    conversation(number * every + number * every / SITES % every, ix)
}

struct Line {
    now: Time,
    plan: SwitchPlan,
    switch: Switch,
    steering: Steering,
    rng: Rng,
    out: Vec<Effect>,
    free_at: Time,
    wake_at: Time,
    sent: u64,
}

impl Line {
    fn new(circuits: Arc<Circuits>, sites: u32) -> Result<Line, Refused> {
        Line::of(rule(circuits), sites, 0, "virtual-clock", None)
    }

    /// Subscribers behind a gate's default port, of which a tenth have ten conversations each, in
    /// one queue or fair to each.
    fn households(fairness: Option<StatedHosts>) -> Result<Line, Refused> {
        let within = fairness.map(fair).transpose()?.map(Arc::new);
        let rule = Rule { within, ..rule(circuits(HOUSEHOLDS, SITES, 20)) };
        let dropper = DropperKind::named(FAIR_DEFAULT.dropper).map(DropperPlan::from);
        let dropper = dropper.map(|plan| DropperPlan { scope: FAIR_DEFAULT.scope, ..plan });
        Line::of(rule, SITES, 1 << 16, FAIR_DEFAULT.scheduler, dropper)
    }

    fn of(
        rule: Rule,
        sites: u32,
        most: usize,
        scheduler: &str,
        dropper: Option<DropperPlan>,
    ) -> Result<Line, Refused> {
        let named = || SchedulerKind::named(scheduler).ok_or_else(|| Refused("no such scheduler".into()));
        let site = LINK / u64::from(sites);
        let class = ClassPlan {
            contract: Contract { reserve: rate(site), ..Contract::default() },
            ceiling: rate(2 * site),
            ..ClassPlan::new(named()?)
        };
        let classes = vec![class; sites as usize];
        let port = PortPlan { classes, dropper, rate: rate(LINK), ..PortPlan::new(named()?) };
        let now = Time::ORIGIN;
        let plan = SwitchPlan { ports: vec![port], buffer: None, ..SwitchPlan::default() };
        let mut switch = Switch::new(now, &plan)?;
        let steering =
            Steering::new(now, &mut switch, PORT, Direction::Up, vec![rule], FlowPlan::default(), most)?;
        let (out, never) = (Vec::new(), Time::NEVER);
        let rng = Rng::named(1, "subscribers");
        Ok(Line { now, plan, switch, steering, rng, out, free_at: never, wake_at: never, sent: 0 })
    }

    fn arrive(&mut self, headers: &Headers) {
        let leg = self.steering.steer(self.now, &mut self.switch, headers);
        let mut cx = Ctx { now: self.now, rng: &mut self.rng, out: &mut self.out };
        if self.switch.arrive_for(&mut cx, leg, &mut Packet::new(BodyId(0), LEN)).should_start() {
            self.start();
        }
    }

    fn start(&mut self) {
        let mut cx = Ctx { now: self.now, rng: &mut self.rng, out: &mut self.out };
        if let (Some(packet), Some(link)) = (self.switch.start(&mut cx, PORT), rate(LINK)) {
            self.free_at = self.now + link.time_for(packet.len);
        }
        for effect in self.out.drain(..) {
            if let Effect::Wake { at, .. } = effect {
                self.wake_at = at.min(self.wake_at);
            }
        }
    }

    fn advance(&mut self, until: Time) {
        loop {
            let due = self.free_at.min(self.wake_at);
            if due > until {
                break;
            }
            self.now = due;
            let mut cx = Ctx { now: due, rng: &mut self.rng, out: &mut self.out };
            if self.free_at == due {
                self.free_at = Time::NEVER;
                self.sent += u64::from(self.switch.finish(&mut cx, PORT).is_some());
            } else {
                self.wake_at = Time::NEVER;
                _ = self.switch.timer(&mut cx, PORT);
            }
            self.start();
        }
        self.now = until;
    }

    /// Sends bursts from subscribers drawn at random, at 0.9 of the link's rate.
    fn load(&mut self, subscribers: u32, packets: u64, draw: &mut Rng) {
        self.load_from(packets, || conversation(draw.below(u64::from(subscribers)) as u32, 0));
    }

    #[inline(never)]
    fn load_from(&mut self, packets: u64, mut draw: impl FnMut() -> Headers) {
        let gap = Span::from_ticks(u64::from(BURST * LEN) * 8 * 100_000_000_000 / LINK * 10 / 9);
        for _ in 0..packets / u64::from(BURST) {
            let headers = draw();
            for _ in 0..BURST {
                self.arrive(&headers);
            }
            self.advance(self.now + gap);
        }
    }
}

/// Returns nanoseconds per packet, the least of five stretches.
fn nanoseconds(subscribers: u32, sites: u32) -> Result<f64, Refused> {
    let mut line = Line::new(circuits(subscribers, sites, 4), sites)?;
    let mut draw = Rng::named(1, "arrivals");
    // Until every subscriber has a flow.
    line.load(subscribers, u64::from(subscribers) * 60, &mut draw);
    let mut least = f64::INFINITY;
    for _ in 0..5 {
        let (sent, began) = (line.sent, Instant::now());
        line.load(subscribers, 200_000, &mut draw);
        least = least.min(began.elapsed().as_nanos() as f64 / (line.sent - sent) as f64);
    }
    Ok(least)
}

/// Returns the bytes that a subscriber takes in one direction: never active yet, with a flow, and
/// idle again.
fn bytes(subscribers: u32, sites: u32) -> Result<[f64; 3], Refused> {
    let before = ALLOCATED.allocated();
    let mut line = Line::new(circuits(subscribers, sites, 4), sites)?;
    let per = |bytes: usize| (bytes - before) as f64 / f64::from(subscribers);
    let idle = per(ALLOCATED.allocated());
    for number in 0..subscribers {
        line.arrive(&conversation(number, 0));
        line.advance(line.now + Span::from_micros(10));
    }
    let active = per(ALLOCATED.allocated());
    line.advance(line.now + Span::from_secs(100));
    line.steering.close_idle(line.now, &mut line.switch);
    Ok([idle, active, per(ALLOCATED.allocated())])
}

/// Returns the bytes of a gate of both directions in which a tenth of the subscribers have ten
/// conversations each: all of them, and those of a subscriber that has none.
fn bytes_of_households() -> Result<[f64; 2], Refused> {
    let before = ALLOCATED.allocated();
    let mut lines = [Line::households(Some(StatedHosts::None))?, Line::households(Some(StatedHosts::None))?];
    let idle = (ALLOCATED.allocated() - before) as f64 / f64::from(HOUSEHOLDS);
    for line in &mut lines {
        for of in 0..SENDING * CONVERSATIONS {
            line.arrive(&household(of));
            line.advance(line.now + Span::from_micros(10));
        }
    }
    Ok([(ALLOCATED.allocated() - before) as f64, idle])
}

/// Returns milliseconds until a change of one subscriber's ceiling is in force at a port where all
/// have flows, the least of five times.
fn changing(subscribers: u32, sites: u32) -> Result<f64, Refused> {
    let mut line = Line::new(circuits(subscribers, sites, 4), sites)?;
    for number in 0..subscribers {
        line.arrive(&conversation(number, 0));
        line.advance(line.now + Span::from_micros(10));
    }
    let mut least = f64::INFINITY;
    for mega in 1..=5 {
        let began = Instant::now();
        let mut list: Vec<_> =
            (0..subscribers).map(|number| circuit(number, subscribers, sites, 4)).collect();
        list[77].terms.ceiling = [rate(mega * 1_000_000); 2];
        let rules = vec![rule(Arc::new(Circuits::new(list.into_iter()).unwrap_or_default()))];
        let mut plan = line.plan.clone();
        let classes = &mut plan.ports[0].classes;
        let changes = line.steering.changes(&rules, &[Some(0)], FlowPlan::default(), classes);
        let mut cx = Ctx { now: line.now, rng: &mut line.rng, out: &mut line.out };
        _ = line.switch.reconfigure(&mut cx, &plan, &changes)?;
        line.steering.replan(line.now, &mut line.switch, rules, &[Some(0)], FlowPlan::default(), 0);
        least = least.min(began.elapsed().as_secs_f64() * 1e3);
        assert_eq!(changes.len(), 1);
    }
    Ok(least)
}

/// Returns milliseconds to read and check a gate file and its list, the least of five times.
fn loading(subscribers: u32, sites: u32) -> Result<f64, String> {
    let folder = std::env::temp_dir().join(format!("tidegate-subscribers-{}", std::process::id()));
    let said = |error: std::io::Error| error.to_string();
    std::fs::create_dir(&folder).map_err(said)?;
    let outcome = write_files(&folder, subscribers, sites).map_err(said).and_then(|()| {
        let mut least = f64::INFINITY;
        for _ in 0..5 {
            let began = Instant::now();
            let file = GateFile::load(&folder.join("gate.toml"), &[]).map_err(|errors| errors.to_string())?;
            least = least.min(began.elapsed().as_secs_f64() * 1e3);
            black_box(file);
        }
        Ok(least)
    });
    std::fs::remove_dir_all(&folder).map_err(said)?;
    outcome
}

fn write_files(folder: &Path, subscribers: u32, sites: u32) -> std::io::Result<()> {
    let mut gate =
        "version = 1\n[gate]\ninside = 'a'\noutside = 'b'\nup = '1gbit'\ndown = '1gbit'\n".to_owned();
    for site in 0..sites {
        let reserve = LINK / u64::from(sites);
        gate += &format!(
            "[[class]]\nname = 'site-{site}'\nscheduler = 'virtual-clock'\nreserve = '{reserve}bit'\n"
        );
    }
    gate += "[[flow]]\nname = 'subscribers'\ncircuits = 'circuits.csv'\n";
    let mut list = "name,class,addresses,up_reserve,up_ceiling,down_reserve,down_ceiling\n".to_owned();
    let share = LINK / u64::from(subscribers);
    for number in 0..subscribers {
        let (site, four) = (number % sites, address(number));
        list += &format!(
            "circuit-{number:05},site-{site},{four} 2001:db8:{number:x}::/48,{share}bit,10mbit,{share}bit,50mbit\n"
        );
    }
    std::fs::write(folder.join("gate.toml"), gate)?;
    std::fs::write(folder.join("circuits.csv"), list)
}

fn compare(json: bool) -> Result<(), Refused> {
    let [idle, active, again] = bytes(20_000, 400)?;
    let milliseconds = loading(20_000, 400).map_err(Refused)?;
    let change = changing(20_000, 400)?;
    let [households, of_idle] = bytes_of_households()?;
    if json {
        println!(
            r#"{{"idle_bytes":{idle:.0},"active_bytes":{active:.0},"load_ms":{milliseconds:.0},"change_ms":{change:.0},"households_bytes":{households:.0},"idle_household_bytes":{of_idle:.0}}}"#
        );
        return Ok(());
    }
    println!("20000 subscribers in 400 sites");
    println!("bytes each, one direction: {idle:.0} idle, {active:.0} with a flow, {again:.0} idle again");
    println!("{milliseconds:.0} ms to read their list, {change:.0} ms to follow one, in one direction");
    println!("2000 of them with ten conversations each, both directions: {:.1} MB", households / 1e6);
    println!("an idle one of those: {of_idle:.0} bytes in both directions");
    println!("{:>11} {:>6} {:>10}", "subscribers", "sites", "ns/packet");
    for (subscribers, sites) in [(100, 2), (1_000, 20), (20_000, 400), (20_000, 4)] {
        println!("{subscribers:>11} {sites:>6} {:>10.0}", nanoseconds(subscribers, sites)?);
    }
    Ok(())
}

/// Sends packets of households, after three bursts of each of their conversations. With `ports`, every
/// second burst is of one household's, from as many ports.
fn send(mut line: Line, packets: u32, ports: u32) {
    let packets = SENDING * CONVERSATIONS * BURST * 3 + packets;
    let mut draw = Rng::named(1, "arrivals");
    line.load_from(packets.into(), || match ports > 0 && draw.chance(0.5) {
        true => conversation(0, draw.below(ports.into()) as u32),
        false => household(draw.below((SENDING * CONVERSATIONS).into()) as u32),
    });
    println!("{}", black_box(line.sent));
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let numbers: Vec<u32> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    let asked = |mode| arguments.iter().any(|argument| argument == mode);
    let both = asked("triple-isolate").then_some(StatedHosts::Both);
    let fairness = both.or_else(|| asked("households").then_some(StatedHosts::None));
    let outcome = match numbers[..] {
        [packets] => Line::households(fairness).map(|line| send(line, packets, 0)),
        [ports, packets] => Line::households(fairness).map(|line| send(line, packets, ports)),
        [subscribers, sites, packets] => Line::new(circuits(subscribers, sites, 4), sites).map(|mut line| {
            let mut draw = Rng::named(1, "arrivals");
            line.load(subscribers, u64::from(subscribers) * 60 + u64::from(packets), &mut draw);
            println!("{}", black_box(line.sent));
        }),
        _ => compare(asked("--json")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(refused) => {
            eprintln!("subscribers: {refused}");
            ExitCode::FAILURE
        }
    }
}
