//! Functions that rank packets: compiled from Python, or called in it (`tidegate/rank.py`). They
//! share records of 64-bit words with the scheduler that calls them.

use super::object::Object;
use crate::error::TidegateError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tidegate_core::contract::Contract;
use tidegate_core::packet::{FlowIx, Packet};
use tidegate_core::params::Value;
use tidegate_core::queues::Queues;
use tidegate_core::units::{Rate, Span, Time};

/// A function of the records of a packet, its flow and the port.
type Function = extern "C" fn(*mut u64, *mut u64, *mut u64) -> i64;

/// Words of a packet's record, which has nothing of the author's.
const PACKET_WORDS: usize = 7;
/// Words of a flow's record that state its contract; its queue follows, and the author's fields.
const CONTRACT_WORDS: usize = 7;
/// Words of a flow's record that come before the author's.
const FLOW_WORDS: usize = CONTRACT_WORDS + 2;
/// Words of the port's record that come before the parameters: the failure, the rate, the time and
/// the queues.
const PORT_WORDS: usize = 5;

/// A function, in the author's order of steps.
#[derive(Clone, Copy)]
pub(super) enum Step {
    /// The time before which a packet may not be sent.
    Eligible,
    /// The rank of a packet.
    Rank,
    /// The author's notes on a packet that is being sent.
    Served,
}

impl Step {
    const ALL: [Step; 3] = [Step::Eligible, Step::Rank, Step::Served];

    /// The function's name in the class.
    fn name(self) -> &'static str {
        match self {
            Step::Eligible => "eligible",
            Step::Rank => "rank",
            Step::Served => "served",
        }
    }
}

/// The functions of a port's scheduler, and the records that they share with it.
pub(super) struct RankFunctions {
    object: Object,
    functions: [Option<Function>; 3],
    /// A flow's record before its first packet.
    newcomer: Vec<u64>,
    /// The records of all flows, one behind the other.
    flows: Vec<u64>,
    reserves: Vec<Option<Rate>>,
    port: Vec<u64>,
}

impl RankFunctions {
    /// The functions of the object that `make(name, parameters)` returns.
    ///
    /// # Errors
    /// The exception of the maker in words.
    pub(super) fn made(
        name: &'static str,
        make: &Py<PyAny>,
        values: &[(&'static str, Value)],
    ) -> Result<RankFunctions, String> {
        let object = Object::made("scheduler", name, make, values)?;
        let seen = object.read(|object| {
            let (newcomer, port): (Vec<u64>, Vec<u64>) = object.getattr("_first_words")?.extract()?;
            let addresses: Bound<'_, PyDict> = object.getattr("_addresses")?.extract()?;
            let mut functions = [None; 3];
            for step in Step::ALL {
                if let Some(address) = addresses.get_item(step.name())? {
                    functions[step as usize] = Some(function_at(address.extract()?)?);
                }
            }
            Ok((functions, newcomer, port))
        });
        let (functions, newcomer, port) = seen?;
        debug_assert!(newcomer.len() >= FLOW_WORDS && port.len() >= PORT_WORDS);
        Ok(RankFunctions { object, functions, newcomer, flows: Vec::new(), reserves: Vec::new(), port })
    }

    /// Returns true if packets have to wait until they are eligible.
    pub(super) fn regulates(&self) -> bool {
        self.functions[Step::Eligible as usize].is_some()
    }

    pub(super) fn set_rate(&mut self, rate: Option<Rate>) {
        self.port[1] = or_none(rate.map(Rate::bits_per_second)).to_bits();
    }

    /// Writes the contract into the flow's record. The author's part stays, unless the flow is new.
    pub(super) fn set_flow(&mut self, flow: FlowIx, contract: &Contract, is_new: bool) {
        let (words, first) = (self.newcomer.len(), self.newcomer.len() * flow.ix());
        if self.flows.len() < first + words {
            self.flows.resize(first + words, 0);
            self.reserves.resize(flow.ix() + 1, None);
        }
        let record = &mut self.flows[first..first + words];
        if is_new {
            record.copy_from_slice(&self.newcomer);
        }
        let ticks = |span: Option<Span>| whole(span.map(Span::ticks));
        let contract_words = [
            or_none(contract.reserve.map(Rate::bits_per_second)).to_bits(),
            or_none(contract.peak.map(Rate::bits_per_second)).to_bits(),
            ticks(contract.interval),
            ticks(Some(contract.head_start)),
            u64::from(contract.priority),
            whole(contract.max_workahead()),
            ticks(contract.deadline),
        ];
        record[..CONTRACT_WORDS].copy_from_slice(&contract_words);
        self.reserves[flow.ix()] = contract.reserve;
    }

    /// Returns what a function says about a packet; 0 if there is none, and from a failure on.
    #[inline]
    pub(super) fn call(&mut self, step: Step, now: Time, packet: &Packet, queues: &Queues) -> i64 {
        let Some(function) = self.functions[step as usize] else {
            return 0;
        };
        let reserve = self.reserves[packet.flow.ix()];
        let mut seen: [u64; PACKET_WORDS] = [
            u64::from(packet.flow.0),
            u64::from(packet.len),
            packet.arrived.ticks(),
            u64::from(packet.mark.dscp()),
            u64::from(packet.mark.ecn()),
            reserve.map_or(0, |rate| rate.time_for(packet.len).ticks()),
            in_order(packet.tag) as u64,
        ];
        self.port[2..PORT_WORDS].copy_from_slice(&[now.ticks(), queues.packets(), queues.bytes()]);
        let words = self.newcomer.len();
        let flow = &mut self.flows[words * packet.flow.ix()..][..words];
        let queue = [u64::from(queues.packets_of(packet.flow)), queues.bytes_of(packet.flow)];
        flow[CONTRACT_WORDS..FLOW_WORDS].copy_from_slice(&queue);
        let said = function(seen.as_mut_ptr(), flow.as_mut_ptr(), self.port.as_mut_ptr());
        if self.port[0] != 0 {
            self.fail(step, now, packet, seen);
        }
        said
    }

    /// Reports the exception of a function.
    #[cold]
    fn fail(&mut self, step: Step, now: Time, packet: &Packet, seen: [u64; PACKET_WORDS]) {
        let words = self.newcomer.len();
        let flow = self.flows[words * packet.flow.ix()..][..words].to_vec();
        let port = self.port.clone();
        self.object.call(step.name(), Some(packet), now, |object| {
            object.call_method1("_raise", (step.name(), seen.to_vec(), flow, port)).map(drop)
        });
    }

    pub(super) fn memory(&self) -> usize {
        (self.flows.capacity() + self.port.capacity()) * size_of::<u64>()
            + self.reserves.capacity() * size_of::<Option<Rate>>()
    }
}

/// A rank as the tag of a packet: in the same order.
pub(super) fn as_tag(rank: i64) -> u64 {
    (rank as u64) ^ (1 << 63)
}

/// The rank that a tag was made of.
fn in_order(tag: u64) -> i64 {
    (tag ^ (1 << 63)) as i64
}

/// A whole number of a contract; -1 if it states none.
fn whole(stated: Option<u64>) -> u64 {
    stated.map_or(-1_i64 as u64, |value| value.min(i64::MAX as u64))
}

/// A rate of a contract in bit/s; -1 if it states none.
fn or_none(stated: Option<f64>) -> f64 {
    stated.unwrap_or(-1.0)
}

/// The function at an address that `tidegate/rank.py` states.
#[allow(unsafe_code)]
fn function_at(address: usize) -> PyResult<Function> {
    if address == 0 {
        return Err(TidegateError::new_err("a rank function was not compiled"));
    }
    // SAFETY: the object states addresses of functions of three pointers that return an `int64`
    // (`_compiled` and `_interpreted` in rank_functions.py). It keeps them alive, and lives as long as the
    // `RankFunctions` that call them. They touch the records of the sizes that it states itself.
    Ok(unsafe { std::mem::transmute::<usize, Function>(address) })
}
