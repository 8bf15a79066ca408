//! What flows send, with the files that they play.

use super::{fail, rate};
use crate::input::{self, Trace, TraceFlow};
use crate::traffic::{Gap, Traffic};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_spec::{Flow, Place, Scenario, Source, SpecError};

/// What a flow sends; a capture without a flow stands for every flow in it.
pub(super) fn traffic(
    flow: &Flow<'_>,
    scenario: &Scenario,
    recordings: &mut Recordings,
) -> Result<Vec<(String, Traffic)>, Box<SpecError>> {
    let (group, name) = (flow.group, flow.name.to_string());
    let sizes: Arc<[u32]> = group.sizes.as_slice().into();
    let mean = |bits: u64, times: f64| rate(bits as f64 * times, scenario, group.place);
    let one = |traffic| Ok(vec![(name.clone(), traffic)]);
    match &group.source {
        Source::Cbr { rate, times } => one(Traffic::Cbr { rate: mean(*rate, *times)?, sizes }),
        Source::Poisson { rate, times } => one(Traffic::Poisson { rate: mean(*rate, *times)?, sizes }),
        Source::OnOff { rate, peak, burst, times } => one(Traffic::Trains {
            rate: mean(*rate, *times)?,
            length: *burst,
            gap: Gap::AtRate(mean(*peak, *times)?),
            sizes,
        }),
        Source::PacketTrain { rate, length, gap, times } => {
            let gap = match gap {
                Some(gap) => Gap::Fixed(*gap),
                // Half the mean spacing: 1/(2·AR).
                None => Gap::AtRate(mean(*rate, 2.0 * times)?),
            };
            one(Traffic::Trains { rate: mean(*rate, *times)?, length: *length, gap, sizes })
        }
        Source::Greedy { window } => {
            one(Traffic::Greedy { window: u32::try_from(*window).unwrap_or(u32::MAX), sizes })
        }
        Source::Trace { file, speed, repeat } => {
            let trace = recordings.get(file, scenario, group.place)?;
            let play = |flow: &Arc<TraceFlow>| {
                let named = if trace.len() == 1 { name.clone() } else { format!("{name}/{}", flow.name) };
                recorded(flow, *speed, *repeat, scenario, group.place).map(|traffic| (named, traffic))
            };
            trace.iter().map(play).collect()
        }
        Source::Capture { file, flow: wanted, speed, repeat } => {
            let trace = recordings.get(file, scenario, group.place)?;
            let play = |flow: &Arc<TraceFlow>| {
                let named = match wanted {
                    Some(wanted) if wanted.is_one() => name.clone(),
                    _ => format!("{name}/{}", flow.name),
                };
                recorded(flow, *speed, *repeat, scenario, group.place).map(|traffic| (named, traffic))
            };
            let meant = |flow: &&Arc<TraceFlow>| {
                wanted.is_none_or(|wanted| flow.name.parse().is_ok_and(|flow| wanted.matches(&flow)))
            };
            let played: Vec<_> = trace.iter().filter(meant).map(play).collect::<Result<_, _>>()?;
            if played.is_empty() {
                let flows: Vec<&str> = trace.iter().take(5).map(|flow| flow.name.as_str()).collect();
                let message = format!("{} has no flow that is meant by `flow`", file.display());
                let help = format!("it holds {} flows: {}, …", trace.len(), flows.join(", "));
                return Err(fail(scenario, group.place, message, Some(help)));
            }
            Ok(played)
        }
    }
}

fn recorded(
    flow: &Arc<TraceFlow>,
    speed: f64,
    repeat: u64,
    scenario: &Scenario,
    place: Place,
) -> Result<Traffic, Box<SpecError>> {
    flow.schedule(speed, repeat).map_err(|error| fail(scenario, place, error.to_string(), None))?;
    Ok(Traffic::Recorded { flow: flow.clone(), speed, repeat })
}

/// Files that were read, each once.
#[derive(Default)]
pub(super) struct Recordings(BTreeMap<PathBuf, Vec<Arc<TraceFlow>>>);

impl Recordings {
    fn get(
        &mut self,
        file: &Path,
        scenario: &Scenario,
        place: Place,
    ) -> Result<&[Arc<TraceFlow>], Box<SpecError>> {
        if !self.0.contains_key(file) {
            let Trace { flows, .. } =
                input::load(file).map_err(|error| fail(scenario, place, error.to_string(), None))?;
            self.0.insert(file.to_owned(), flows.into_iter().map(Arc::new).collect());
        }
        Ok(self.0.get(file).map_or(&[], Vec::as_slice))
    }
}
