//! Deficit round robin: the paper's loop, step by step; its fairness (Shreedhar and Varghese 1996,
//! theorem 2) and its latency (Stiliadis and Varma 1998, table I, and a packet), exactly.

#[path = "../common/mod.rs"]
mod common;

mod model;
mod order;
mod shares;

use tidegate_core::params::{NamedPolicy, Value};
use tidegate_core::scheduler::{BuiltInScheduler, SchedulerKind};

fn drr(quantum: u64, unreserved: u64) -> SchedulerKind {
    let values = [("quantum", Value::Size(quantum)), ("unreserved", Value::Rate(unreserved))];
    SchedulerKind::BuiltIn(BuiltInScheduler::read("drr", &values).unwrap().unwrap())
}
