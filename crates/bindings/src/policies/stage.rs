//! Stages that are written in Python.

use super::declared::{Declared, refused};
use super::failure::{self, Failure};
use super::object::Object;
use super::passing::PyPassingPacket;
use super::verdict::shown;
use crate::error::TidegateError;
use core::fmt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use tidegate_core::contract::Refused;
use tidegate_core::endpoint::Payload;
use tidegate_core::packet::Packet;
use tidegate_core::params::{Marking, Role, Value};
use tidegate_core::policies::{self, StageKind};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};
use tidegate_sim::stage::{
    Crossing, Gauges, Interest, Names, Passage, Site, Stage, StageCx, StageFactory, StageMaker,
};

/// Makes an object in Python for each stage.
#[derive(Clone)]
struct PythonStages {
    name: &'static str,
    make: Arc<Py<PyAny>>,
    values: Vec<(&'static str, Value)>,
}

impl PythonStages {
    fn object(&self) -> Result<Object, String> {
        Object::made("stage", self.name, &self.make, &self.values)
    }
}

impl fmt::Debug for PythonStages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonStages").field("name", &self.name).field("values", &self.values).finish()
    }
}

impl StageMaker for PythonStages {
    fn place(&self, name: &str, network: Arc<Names>) -> Arc<dyn StageFactory> {
        Arc::new(PlacedStage { stages: self.clone(), name: name.to_owned(), network })
    }
}

/// A stage of a network.
#[derive(Debug)]
struct PlacedStage {
    stages: PythonStages,
    /// Its name in the scenario.
    name: String,
    network: Arc<Names>,
}

impl StageFactory for PlacedStage {
    fn make(&self, _: u32, mut rng: Rng) -> Box<dyn Stage> {
        let made = self.stages.object().and_then(|object| {
            let (high, low) = (rng.bits(), rng.bits());
            let methods = object.read(|object| object.call_method1("_start", (high, low))?.extract())?;
            Ok(PythonStage { object, methods, name: self.name.clone(), network: self.network.clone() })
        });
        match made {
            Ok(stage) => Box::new(stage),
            Err(why) => {
                let place = format!("stage `{}`, as `{}`", self.stages.name, self.name);
                failure::keep(Failure { place, error: TidegateError::new_err(why) });
                Box::new(Absent)
            }
        }
    }
}

/// A stage that sees nothing.
struct Absent;

impl Stage for Absent {
    fn interest(&self, _: &Site) -> Interest {
        Interest::NONE
    }
}

/// A stage that calls an object in Python.
struct PythonStage {
    object: Object,
    /// The methods that its class has.
    methods: BTreeSet<String>,
    /// Its name in the scenario.
    name: String,
    network: Arc<Names>,
}

impl PythonStage {
    fn has(&self, method: &str) -> bool {
        self.methods.contains(method)
    }

    /// Shows the object a packet, and carries its marks over; returns the answer as `read` takes it.
    fn show<R>(
        &self,
        cx: &StageCx,
        method: &str,
        (came, goes): (Option<u32>, Option<u32>),
        packet: &Packet,
        read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<R>,
    ) -> Option<(R, Packet)> {
        let (now, id) = (cx.now(), cx.id_of(packet));
        let place = || {
            let flow = self.network.flows.get(id.flow as usize).map_or("", String::as_str);
            let after = now.since(Time::ORIGIN).as_secs_f64();
            format!(
                " as `{}`, `{method}`, at packet {} of flow `{flow}`, {after} s after the start",
                self.name, id.sequence
            )
        };
        self.object.call_at(place, |object| {
            let link = |hop: Option<u32>| hop.map(|hop| cx.link_of(hop));
            let seen = PyPassingPacket::of(&self.network, packet, id, link(came), link(goes));
            let seen = Py::new(object.py(), seen)?;
            let said = object.call_method1(method, (now.ticks(), &seen))?;
            let mut marked = *packet;
            marked.mark = seen.borrow(object.py()).mark;
            Ok((read(&said)?, marked))
        })
    }
}

/// The passage that an object stands for: None for a packet that goes on.
fn passage(said: &Bound<'_, PyAny>) -> PyResult<Passage> {
    if said.is_none() {
        return Ok(Passage::Forward);
    }
    match said.getattr("value").and_then(|value| value.extract::<String>()).as_deref() {
        Ok("drop") => Ok(Passage::Drop),
        Ok("absorb") => Ok(Passage::Absorb),
        _ => Err(TidegateError::new_err(format!(
            "it returned {}, which is no passage: None, `Passage.DROP` or `Passage.ABSORB`",
            shown(said)
        ))),
    }
}

impl Stage for PythonStage {
    fn interest(&self, _: &Site) -> Interest {
        let calls = [
            ("entered", Interest::ENTER),
            ("started", Interest::START),
            ("left", Interest::LEAVE),
            ("dropped", Interest::DROPPED),
        ];
        let wanted = calls.into_iter().filter(|(method, _)| self.has(method));
        wanted.fold(Interest::NONE, |all, (_, one)| all | one)
    }

    fn begin(&self) -> Time {
        if self.has("woken") { Time::ORIGIN } else { Time::NEVER }
    }

    fn enter(&mut self, cx: &mut StageCx, at: &Crossing, packet: &mut Packet, _: &mut Payload) -> Passage {
        let Some((passage, marked)) = self.show(cx, "entered", (at.from, at.to), packet, passage) else {
            return Passage::Forward;
        };
        *packet = marked;
        passage
    }

    fn start(&mut self, cx: &mut StageCx, _: u32, hop: u32, packet: &Packet) {
        self.show(cx, "started", (None, Some(hop)), packet, |_| Ok(()));
    }

    fn leave(&mut self, cx: &mut StageCx, _: u32, hop: u32, packet: &mut Packet, _: &mut Payload) {
        if let Some(((), marked)) = self.show(cx, "left", (None, Some(hop)), packet, |_| Ok(())) {
            *packet = marked;
        }
    }

    fn dropped(&mut self, cx: &mut StageCx, _: u32, hop: u32, packet: &mut Packet) {
        self.show(cx, "dropped", (None, Some(hop)), packet, |_| Ok(()));
    }

    fn wake(&mut self, cx: &mut StageCx) {
        let now = cx.now();
        let place = || {
            let after = now.since(Time::ORIGIN).as_secs_f64();
            format!(" as `{}`, `woken`, {after} s after the start", self.name)
        };
        let next = self.object.call_at(place, |object| {
            let said = object.call_method1("woken", (now.ticks(),))?;
            said.extract::<Option<u64>>().ok().filter(|ticks| *ticks != Some(0)).ok_or_else(|| {
                TidegateError::new_err(format!(
                    "it returned {}, which is no time to the next call: whole ticks above 0, or None",
                    shown(&said)
                ))
            })
        });
        if let Some(Some(ticks)) = next {
            cx.wake_at(now + Span::from_ticks(ticks));
        }
    }

    fn gauges(&self, gauges: &mut Gauges<'_>) {
        if !self.has("gauges") {
            return;
        }
        let shown = self.object.call_at(
            || format!(" as `{}`, `gauges`", self.name),
            |object| {
                let shown = object.call_method0("gauges")?;
                shown
                    .cast_into::<PyDict>()?
                    .iter()
                    .map(|(name, value)| Ok((lasting(&name.extract::<String>()?), value.extract::<f64>()?)))
                    .collect::<PyResult<Vec<_>>>()
            },
        );
        for (name, value) in shown.into_iter().flatten() {
            gauges.show(name, value);
        }
    }
}

/// A name that lasts as long as the process, as those of metrics do; each is kept once.
fn lasting(name: &str) -> &'static str {
    static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kept.get(name) {
        return known;
    }
    let new: &'static str = Box::leak(name.to_owned().into_boxed_str());
    kept.insert(new);
    new
}

/// Registers a stage whose objects `make(name, parameters)` returns. `defaults` are its parameters;
/// a default's type is the type of the values.
#[pyfunction]
pub fn register_stage(
    name: String,
    about: String,
    defaults: &Bound<'_, PyDict>,
    reads: Vec<String>,
    make: Py<PyAny>,
) -> PyResult<()> {
    let declared = Declared::new(Role::Stage, name, about, defaults, reads, Marking::Never)?;
    let (record, make) = (declared.record, Arc::new(make));
    let read = move |given: &[(&'static str, Value)]| {
        let facts = declared.facts(given);
        let stages = PythonStages { name: record.name, make: make.clone(), values: facts.values.clone() };
        // A value that it refuses is found when the file is read.
        stages.object().map_err(refused)?;
        let maker = move || -> Result<Box<dyn core::any::Any + Send + Sync>, Refused> {
            let maker: Arc<dyn StageMaker> = Arc::new(stages.clone());
            Ok(Box::new(maker))
        };
        Ok(StageKind::of_facts(Arc::new(facts), maker))
    };
    policies::register_stage_at_run_time(record, read)
        .map_err(|wrong| TidegateError::new_err(wrong.to_string()))
}
