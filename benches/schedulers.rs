//! Cost of a packet at a scheduler: enqueue and dequeue, by discipline and by backlogged flows.
//!
//! The hold model: every flow has two packets queued; the scheduler sends one, and its flow gets
//! another of a random size. Sizes are 64, 576 and 1500 bytes, reservations lie over three decades.
//! Each discipline with its queues is compared with a `BinaryHeap` with an entry for every packet,
//! stamped by the same clocks, and the whole switch with VirtualClock, interleaved in one process.
//!
//! `cargo bench --bench schedulers [-- [--json] [--barred] [FLOWS…]]` compares them, or only those
//! that have bars; `-- names` lists them; `-- count NAME FLOWS OPERATIONS` runs one of them under
//! an instruction counter, where NAME is a discipline, `heap` or `switch`. Subtract two runs of
//! different length to take out the set-up.

#![allow(clippy::disallowed_types, reason = "a benchmark reads the clock")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;
use tidegate_core::context::{Ctx, Effect};
use tidegate_core::contract::{Contract, Refused};
use tidegate_core::packet::{BodyId, FlowIx, Leg, Packet, PortIx};
use tidegate_core::params::NamedPolicy;
use tidegate_core::queues::Queues;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::{AnyScheduler, BuiltInScheduler, Scheduler, SchedulerKind, Select};
use tidegate_core::switch::Switch;
use tidegate_core::switch::plan::{FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Rate, Span, Time};

const SIZES: [u32; 3] = [64, 576, 1500];
/// Sizes drawn beforehand, so that the loop measures the scheduler.
const DRAWN: usize = 1 << 12;

/// Returns the contract of a flow: 20 kbit/s to 20 Mbit/s.
fn contract(rng: &mut Rng) -> Contract {
    let reserve = (20_000.0 * 1_000f64.powf(rng.unit())) as u64;
    Contract {
        reserve: Rate::from_bits_per_second(reserve),
        peak: Rate::from_bits_per_second(10 * reserve),
        workahead: Some(96_000),
        deadline: Some(Span::from_micros(1 + rng.below(100_000))),
        ..Contract::default()
    }
}

fn sizes() -> Vec<u32> {
    let mut rng = Rng::named(1, "sizes");
    (0..DRAWN).map(|_| SIZES[rng.below(3) as usize]).collect()
}

/// Returns the flows' contracts, and a link that carries them all.
fn flows(count: u32) -> (Vec<Contract>, Rate) {
    let mut rng = Rng::named(2, "contracts");
    let contracts: Vec<Contract> = (0..count).map(|_| contract(&mut rng)).collect();
    let reserved: f64 = contracts.iter().filter_map(|one| one.reserve).map(Rate::bits_per_second).sum();
    let link = Rate::from_bits_per_second((reserved as u64).clamp(1, Rate::MAX_BITS_PER_SECOND));
    (contracts, link.unwrap_or_else(|| unreachable!("within the range")))
}

/// Adds two packets for every flow.
fn fill(flows: u32, mut arrive: impl FnMut(u32, u32)) {
    let sizes = sizes();
    (0..2 * flows).for_each(|nth| arrive(nth % flows, sizes[nth as usize % DRAWN]));
}

/// A queue that sends a packet and gets another of the same flow.
trait Hold {
    /// Sends one packet and adds one. Returns the flow of the packet sent.
    fn hold(&mut self, size: u32) -> u32;
}

/// A scheduler and the queues of its flows.
struct Node {
    scheduler: AnyScheduler,
    queues: Queues,
    link: Rate,
    now: Time,
    order: u64,
    rng: Rng,
    out: Vec<Effect>,
}

impl Node {
    fn new(kind: BuiltInScheduler, count: u32) -> Result<Node, Refused> {
        let (contracts, link) = flows(count);
        let mut node = Node {
            scheduler: SchedulerKind::BuiltIn(kind).build()?,
            queues: Queues::default(),
            link,
            now: Time::ORIGIN,
            order: 0,
            rng: Rng::named(3, "scheduler"),
            out: Vec::new(),
        };
        node.scheduler.set_rate(node.now, Some(link));
        node.queues.grow_to(count);
        for (flow, contract) in contracts.iter().enumerate() {
            node.scheduler.set_flow(node.now, FlowIx(flow as u32), contract, &node.queues)?;
        }
        fill(count, |flow, size| node.enqueue(FlowIx(flow), size));
        Ok(node)
    }

    fn enqueue(&mut self, flow: FlowIx, size: u32) {
        let mut packet = Packet::new(BodyId(0), size);
        (packet.flow, packet.arrived) = (flow, self.now);
        self.order += 1;
        self.queues.announce(self.order);
        let mut cx = Ctx { now: self.now, rng: &mut self.rng, out: &mut self.out };
        self.scheduler.enqueue(&mut cx, &mut packet, &self.queues);
        self.queues.push(&packet);
    }
}

impl Hold for Node {
    #[inline]
    fn hold(&mut self, size: u32) -> u32 {
        let mut packet = Packet::new(BodyId(0), 0);
        loop {
            let mut cx = Ctx { now: self.now, rng: &mut self.rng, out: &mut self.out };
            if self.scheduler.serve(&mut cx, &mut self.queues, &mut packet, |_| ()) {
                break;
            }
            match self.scheduler.select(self.now, &self.queues) {
                Select::NotBefore(at) => self.now = self.now.max(at),
                Select::Flow(_) | Select::Idle => unreachable!("every flow has packets"),
            }
        }
        self.now += self.link.time_for(packet.len);
        self.enqueue(packet.flow, size);
        packet.flow.0
    }
}

/// A heap with one entry a packet, stamped by VirtualClock.
struct Heap {
    packets: BinaryHeap<Reverse<(Time, u64, Ticket)>>,
    clocks: Vec<(Time, Rate)>,
    link: Rate,
    now: Time,
    order: u64,
}

/// A packet, which takes no part in the comparison: the order of arrival is unique.
struct Ticket(Packet);

impl PartialEq for Ticket {
    fn eq(&self, _: &Ticket) -> bool {
        true
    }
}
impl Eq for Ticket {}
impl PartialOrd for Ticket {
    fn partial_cmp(&self, other: &Ticket) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Ticket {
    fn cmp(&self, _: &Ticket) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl Heap {
    fn push(&mut self, flow: u32, size: u32) {
        let (clock, rate) = &mut self.clocks[flow as usize];
        *clock = (*clock).max(self.now) + rate.time_for(size);
        let mut packet = Packet::new(BodyId(0), size);
        (packet.flow, packet.arrived) = (FlowIx(flow), self.now);
        self.order += 1;
        self.packets.push(Reverse((*clock, self.order, Ticket(packet))));
    }

    fn new(count: u32) -> Heap {
        let (contracts, link) = flows(count);
        let clocks = contracts.iter().filter_map(|one| one.reserve).map(|rate| (Time::ORIGIN, rate));
        let mut heap = Heap {
            packets: BinaryHeap::with_capacity(2 * count as usize),
            clocks: clocks.collect(),
            link,
            now: Time::ORIGIN,
            order: 0,
        };
        fill(count, |flow, size| heap.push(flow, size));
        heap
    }
}

impl Hold for Heap {
    #[inline]
    fn hold(&mut self, size: u32) -> u32 {
        let Some(Reverse((_, _, Ticket(packet)))) = self.packets.pop() else { unreachable!("never empty") };
        self.now += self.link.time_for(packet.len);
        self.push(packet.flow.0, size);
        packet.flow.0
    }
}

/// A whole switch of one port: arrival, service, counters.
struct Whole {
    switch: Switch,
    link: Rate,
    now: Time,
    rng: Rng,
    out: Vec<Effect>,
}

impl Whole {
    fn arrive(&mut self, flow: FlowIx, size: u32) {
        let mut cx = Ctx { now: self.now, rng: &mut self.rng, out: &mut self.out };
        _ = self.switch.arrive(&mut cx, &[Leg { port: PortIx(0), flow }], Packet::new(BodyId(0), size));
    }

    fn new(kind: BuiltInScheduler, count: u32) -> Result<Whole, Refused> {
        let (contracts, link) = flows(count);
        let port = PortPlan { rate: Some(link), ..PortPlan::new(SchedulerKind::BuiltIn(kind)) };
        let plan = SwitchPlan { ports: vec![port], buffer: None, ..SwitchPlan::default() };
        let mut switch = Switch::new(Time::ORIGIN, &plan)?;
        for contract in contracts {
            switch.open(Time::ORIGIN, PortIx(0), &FlowPlan { contract, ..FlowPlan::default() })?;
        }
        let (rng, out) = (Rng::named(3, "switch"), Vec::new());
        let mut whole = Whole { switch, link, now: Time::ORIGIN, rng, out };
        // Flows of a new port are numbered in order.
        fill(count, |flow, size| whole.arrive(FlowIx(flow), size));
        Ok(whole)
    }
}

impl Hold for Whole {
    #[inline]
    fn hold(&mut self, size: u32) -> u32 {
        let mut cx = Ctx { now: self.now, rng: &mut self.rng, out: &mut self.out };
        let Some(packet) = self.switch.start(&mut cx, PortIx(0)) else { unreachable!("never empty") };
        self.now += self.link.time_for(packet.len);
        let mut cx = Ctx { now: self.now, rng: &mut self.rng, out: &mut self.out };
        self.switch.finish(&mut cx, PortIx(0));
        self.arrive(packet.flow, size);
        packet.flow.0
    }
}

/// A [`Hold`] of any kind.
trait Run {
    /// Runs operations, one after the other.
    fn run(&mut self, sizes: &[u32], operations: usize) -> u64;
    /// Like [`run`](Self::run), with each operation timed: lowers its value in `least` to its time.
    fn time(&mut self, sizes: &[u32], least: &mut [u32]);
}

impl<H: Hold> Run for H {
    #[inline(never)]
    fn run(&mut self, sizes: &[u32], operations: usize) -> u64 {
        (0..operations).fold(0u64, |sum, nth| sum.wrapping_add(u64::from(self.hold(sizes[nth % DRAWN]))))
    }

    fn time(&mut self, sizes: &[u32], least: &mut [u32]) {
        for (nth, least) in least.iter_mut().enumerate() {
            let start = Instant::now();
            black_box(self.hold(sizes[nth % DRAWN]));
            *least = (*least).min(start.elapsed().as_nanos() as u32);
        }
    }
}

/// The discipline with bars, also in the whole switch.
const MEASURED: &str = "virtual-clock";
const HEAP: &str = "heap";
const SWITCH: &str = "switch";
/// Rounds of a comparison.
const ROUNDS: usize = 9;

/// Creates by name a discipline with queues for `flows` flows, or the heap or the switch.
fn make(name: &str, flows: u32) -> Result<Box<dyn Run>, String> {
    let named = |name| {
        let found = BuiltInScheduler::examples().into_iter().find(|one| one.record().name == name);
        found.ok_or_else(|| format!("no scheduler `{name}`"))
    };
    let refused = |refused: Refused| refused.to_string();
    Ok(match name {
        HEAP => Box::new(Heap::new(flows)),
        SWITCH => Box::new(Whole::new(named(MEASURED)?, flows).map_err(refused)?),
        name => Box::new(Node::new(named(name)?, flows).map_err(refused)?),
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Like [`make`], in the steady state.
fn settled(name: &str, flows: u32) -> Result<Box<dyn Run>, String> {
    let mut one = make(name, flows)?;
    black_box(one.run(&sizes(), 3 * flows as usize));
    Ok(one)
}

/// Returns nanoseconds per packet of each of these, interleaved; the medians.
fn compare(held: &mut [&mut dyn Run], flows: u32) -> Vec<f64> {
    let sizes = sizes();
    let operations = (flows as usize / 4).max(100_000);
    let mut taken = vec![Vec::new(); held.len()];
    for _ in 0..ROUNDS {
        for (one, taken) in held.iter_mut().zip(&mut taken) {
            let start = Instant::now();
            black_box(one.run(&sizes, operations));
            taken.push(start.elapsed().as_nanos() as f64 / operations as f64);
        }
    }
    taken.into_iter().map(median).collect()
}

/// Returns the longest single operation, in nanoseconds: for each operation the shortest of three
/// equal runs, to leave out other work of the machine.
fn longest(name: &str, flows: u32) -> Result<u32, String> {
    let sizes = sizes();
    let mut least = vec![u32::MAX; (3 * flows as usize).max(200_000)];
    for _ in 0..3 {
        make(name, flows)?.time(&sizes, &mut least);
    }
    Ok(least.into_iter().max().unwrap_or(0))
}

fn names() -> Vec<&'static str> {
    let disciplines = BuiltInScheduler::examples().into_iter().map(|one| one.record().name);
    [HEAP, SWITCH].into_iter().chain(disciplines).collect()
}

fn show(json: bool, barred_only: bool, flows: &[u32]) -> Result<(), String> {
    // Those with bars share one run, each of the others has its own, and the same heap is beside
    // all of them: to fill one takes long.
    let barred = [MEASURED, SWITCH];
    let others = names().into_iter().filter(|name| !barred_only && *name != HEAP && !barred.contains(name));
    let groups: Vec<Vec<&str>> =
        std::iter::once(barred.to_vec()).chain(others.map(|name| vec![name])).collect();
    for &flows in flows {
        let mut heap = settled(HEAP, flows)?;
        for group in &groups {
            let mut others =
                match group.iter().map(|name| settled(name, flows)).collect::<Result<Vec<_>, _>>() {
                    Ok(others) => others,
                    // A frame of slots has no room for so many.
                    Err(refused) => {
                        eprintln!("{:>16}  {flows:>9} flows  {refused}", group[0]);
                        continue;
                    }
                };
            let mut held: Vec<&mut dyn Run> = vec![&mut *heap];
            held.extend(others.iter_mut().map(|one| &mut **one as &mut dyn Run));
            let taken = compare(&mut held, flows);
            for (name, ns) in group.iter().zip(&taken[1..]) {
                let (heap, ratio) = (taken[0], ns / taken[0]);
                let worst = longest(name, flows)?;
                if json {
                    println!(
                        r#"{{"bench":"schedulers","name":"{name}","flows":{flows},"ns":{ns:.1},"heap_ns":{heap:.1},"ratio":{ratio:.3},"longest_ns":{worst}}}"#
                    );
                } else {
                    println!(
                        "{name:>16}  {flows:>9} flows  {ns:>8.1} ns  heap {heap:>8.1}  ratio {ratio:>5.2}  longest {worst:>9} ns"
                    );
                }
            }
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["count", name, flows, operations] => match (flows.parse(), operations.parse()) {
            (Ok(flows), Ok(operations)) => make(name, flows).map(|mut one| {
                println!("{}", one.run(&sizes(), operations));
            }),
            _ => Err("count NAME FLOWS OPERATIONS".to_owned()),
        },
        ["names"] => {
            names().iter().for_each(|name| println!("{name}"));
            Ok(())
        }
        _ => {
            let flows: Vec<u32> = words.iter().filter_map(|word| word.parse().ok()).collect();
            let flows = if flows.is_empty() { vec![16, 1_000, 16_000, 100_000, 1_000_000] } else { flows };
            show(words.contains(&"--json"), words.contains(&"--barred"), &flows)
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(wrong) => {
            eprintln!("schedulers: {wrong}");
            ExitCode::FAILURE
        }
    }
}
