//! Traffic of flows, with the files that they play.

use super::rates::{fail, rate};
use super::transfers::{SizeFiles, period};
use crate::host::TransportEnd;
use crate::input::{self, Trace, TraceFlow, TracePlace, Video};
use crate::source::{Gap, Outside, Playing, Spread, Traffic};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_core::classifier::FiveTuple;
use tidegate_core::classifier::rules::{Direction, Prefix};
use tidegate_core::endpoint::TransportKind;
use tidegate_core::endpoint::application::Data;
use tidegate_core::endpoint::on_off::OnOff;
use tidegate_core::headers::Headers;
use tidegate_formats::{Application, Chosen, Flow, FlowGroup, FormatError, Place, Scenario, Source};

/// A flow's packets.
pub(super) struct Sending {
    pub(super) name: String,
    pub(super) traffic: Traffic,
    /// Headers of its packets, as seen by a gate on the way.
    pub(super) headers: Option<Headers>,
}

/// Returns the packets of a flow; a capture without a flow stands for every flow in it.
pub(super) fn traffic(
    flow: &Flow<'_>,
    scenario: &Scenario,
    recordings: &mut Recordings,
) -> Result<Vec<Sending>, Box<FormatError>> {
    let (group, name) = (flow.group, flow.name.to_string());
    let sizes: Arc<[u32]> = group.sizes.as_slice().into();
    let mean = |bits: u64, times: f64| rate(bits as f64 * times, scenario, group.place);
    let headers = group.headers.and_then(|headers| headers.member(flow.member));
    let one = |traffic| Ok(vec![Sending { name: name.clone(), traffic, headers }]);
    let ends = |transport: &Chosen<TransportKind>, size, data| {
        TransportEnd::both(&transport.policy, size, data)
            .map_err(|refused| fail(scenario, group.place, refused.to_string(), None))
    };
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
        Source::Sender { transport, application } => {
            let data = recordings.data(application, group, scenario)?;
            let size = group.sizes.iter().copied().max().unwrap_or(0);
            one(ends(transport, size, data)?[0].clone())
        }
        Source::Receiver { transport, size } => one(ends(transport, *size, None)?[1].clone()),
        Source::Registered { source } => {
            let maker = source
                .policy
                .build()
                .map_err(|refused| fail(scenario, group.place, refused.to_string(), None))?;
            one(Traffic::Outside(Outside { maker: maker.into(), flow: name.as_str().into(), sizes }))
        }
        Source::Trace { file, flow: wanted, omit, speed, repeat } => {
            let trace = recordings.get(file, false, scenario, group.place)?;
            let single = trace.len() == 1 || wanted.is_some();
            let meant = |flow: &&Arc<TraceFlow>| {
                wanted.as_ref().is_none_or(|wanted| *wanted == flow.name) && !omit.contains(&flow.name)
            };
            let play = |flow: &Arc<TraceFlow>| {
                let named = if single { name.clone() } else { format!("{name}/{}", flow.name) };
                recorded(flow, *speed, *repeat, scenario, group.place).map(|traffic| Sending {
                    name: named,
                    traffic,
                    headers,
                })
            };
            let played: Vec<_> =
                trace.iter().map(|(flow, _)| flow).filter(meant).map(play).collect::<Result<_, _>>()?;
            if played.is_empty() {
                let message = format!("{} has no flow that is played", file.display());
                return Err(fail(scenario, group.place, message, Some(holds(trace))));
            }
            Ok(played)
        }
        Source::Video { file, fps, peak, first } => {
            let video = recordings.video(file, scenario, group.place)?;
            if let Some(first) = first.filter(|first| *first >= video.frames.len() as u64) {
                let message =
                    format!("{} has {} frames, and no frame {first}", file.display(), video.frames.len());
                return Err(fail(
                    scenario,
                    group.place,
                    message,
                    Some("frames are counted from 0".to_owned()),
                ));
            }
            let spread = match peak {
                Some(peak) => Spread::Peak(mean(*peak, 1.0)?),
                None => Spread::Frame,
            };
            let size = group.sizes.first().copied().unwrap_or(1);
            one(Traffic::Video(Playing { video, fps: *fps, size, spread, first: *first }))
        }
        Source::Capture { file, flow: wanted, omit, inside, direction, speed, repeat } => {
            let gate = group.route.iter().find_map(|link| scenario.links[*link].gate);
            let trace = recordings.get(file, gate.is_some(), scenario, group.place)?;
            let play = |flow: &Arc<TraceFlow>| {
                let named = match wanted {
                    Some(wanted) if wanted.is_one() => name.clone(),
                    _ => format!("{name}/{}", flow.name),
                };
                recorded(flow, *speed, *repeat, scenario, group.place).map(|traffic| Sending {
                    name: named,
                    traffic,
                    headers: flow.headers,
                })
            };
            if gate.is_some() && trace.iter().any(|(flow, _)| flow.headers.is_none()) {
                let message = format!("{} has no headers, which a gate needs", file.display());
                return Err(fail(scenario, group.place, message, Some("play a packet capture".to_owned())));
            }
            let meant = |tuple: &Option<FiveTuple>| match tuple {
                Some(flow) => {
                    wanted.is_none_or(|wanted| wanted.matches(flow))
                        && !omit.iter().any(|omit| omit.matches(flow))
                }
                None => wanted.is_none(),
            };
            let way = gate.or(*direction).filter(|_| !inside.is_empty());
            let this_way = |tuple: &Option<FiveTuple>| {
                way.is_none_or(|way| {
                    tuple.is_some_and(|flow| {
                        goes(&flow, inside, way) && (gate.is_some() || !goes_to_many(&flow))
                    })
                })
            };
            let meant = || trace.iter().filter(|(_, tuple)| meant(tuple));
            let played: Vec<_> = meant()
                .filter(|(_, tuple)| this_way(tuple))
                .map(|(flow, _)| play(flow))
                .collect::<Result<_, _>>()?;
            if played.is_empty() {
                let message = match (gate, way) {
                    (Some(_), Some(way)) if meant().next().is_some() => {
                        format!("nothing in {} goes {} through the gate", file.display(), way.name())
                    }
                    (None, Some(way)) if meant().next().is_some() => {
                        format!("nothing in {} goes {}", file.display(), way.name())
                    }
                    _ => format!("{} has no flow that `flow` selects", file.display()),
                };
                return Err(fail(scenario, group.place, message, Some(holds(trace))));
            }
            Ok(played)
        }
    }
}

/// Lists the flows of a file, for a message.
fn holds(trace: &[Played]) -> String {
    let flows: Vec<&str> = trace.iter().take(5).map(|(flow, _)| flow.name.as_str()).collect();
    format!("it holds {} flows: {}, …", trace.len(), flows.join(", "))
}

/// Returns true if a captured flow goes in a direction: from inside to outside, or back. Within one
/// host, the lower port is outside.
fn goes(flow: &FiveTuple, inside: &[Prefix], direction: Direction) -> bool {
    let is_inside = |address| inside.iter().any(|prefix| prefix.contains(address));
    let FiveTuple::Ip { source, destination, ports, .. } = *flow else { return false };
    let (from, to) = match ports {
        Some((from, to)) if source == destination && is_inside(source) => (from > to, to > from),
        _ => (is_inside(source), is_inside(destination)),
    };
    match direction {
        Direction::Up => from && !to,
        Direction::Down => to && !from,
    }
}

/// Returns true if a flow is multicast or broadcast: it does not leave its network.
fn goes_to_many(flow: &FiveTuple) -> bool {
    let FiveTuple::Ip { destination, .. } = *flow else { return false };
    destination.is_multicast() || destination == IpAddr::V4(Ipv4Addr::BROADCAST)
}

fn recorded(
    flow: &Arc<TraceFlow>,
    speed: f64,
    repeat: u64,
    scenario: &Scenario,
    place: Place,
) -> Result<Traffic, Box<FormatError>> {
    flow.schedule(speed, repeat).map_err(|error| fail(scenario, place, error.to_string(), None))?;
    Ok(Traffic::Recorded { flow: flow.clone(), speed, repeat })
}

/// A flow of a file, with its 5-tuple or the one that it is named by.
type Played = (Arc<TraceFlow>, Option<FiveTuple>);

/// Files already read, each once for each way of reading it.
#[derive(Default)]
pub(super) struct Recordings {
    files: BTreeMap<(PathBuf, bool), Vec<Played>>,
    videos: BTreeMap<PathBuf, Arc<Video>>,
    pub(super) sizes: SizeFiles,
    /// Notes on the recordings for readers of the results, such as a truncated file.
    pub(super) notes: Vec<String>,
}

impl Recordings {
    fn get(
        &mut self,
        file: &Path,
        as_frames: bool,
        scenario: &Scenario,
        place: Place,
    ) -> Result<&[Played], Box<FormatError>> {
        let key = (file.to_owned(), as_frames);
        if !self.files.contains_key(&key) {
            let read = if as_frames { input::load_frames(file) } else { input::load(file) };
            let Trace { flows, cut, mended, .. } =
                read.map_err(|error| fail(scenario, place, error.to_string(), None))?;
            self.note_cut(file, cut);
            let mended = mended.sentences();
            self.notes.extend(mended.into_iter().map(|sentence| format!("{}: {sentence}", file.display())));
            let tuple = |flow: &TraceFlow| match flow.headers {
                Some(headers) => Some(FiveTuple::of(&headers)),
                None => flow.name.parse().ok(),
            };
            let played = flows.into_iter().map(|flow| {
                let tuple = tuple(&flow);
                (Arc::new(flow), tuple)
            });
            self.files.insert(key.clone(), played.collect());
        }
        Ok(self.files.get(&key).map_or(&[], Vec::as_slice))
    }

    fn video(
        &mut self,
        file: &Path,
        scenario: &Scenario,
        place: Place,
    ) -> Result<Arc<Video>, Box<FormatError>> {
        if let Some(video) = self.videos.get(file) {
            return Ok(video.clone());
        }
        let read = input::load_video(file);
        let video = Arc::new(read.map_err(|error| fail(scenario, place, error.to_string(), None))?);
        self.note_cut(file, video.cut);
        self.videos.insert(file.to_owned(), video.clone());
        Ok(video)
    }

    /// Returns the data that an application hands over; `None` for data without end.
    fn data(
        &mut self,
        application: &Application,
        group: &FlowGroup,
        scenario: &Scenario,
    ) -> Result<Option<Data>, Box<FormatError>> {
        let place = group.place;
        Ok(Some(match application {
            Application::Bulk => return Ok(None),
            Application::OnOff { rate: bits, on, off } => {
                let (on, off) = (period(*on), period(*off));
                Data::OnOff(OnOff { rate: rate(*bits as f64, scenario, place)?, on, off })
            }
            Application::Trace { file, speed } => {
                let trace = self.get(file, false, scenario, place)?;
                let [(flow, _)] = trace else {
                    let message =
                        format!("{} holds {} flows, and a connection plays one", file.display(), trace.len());
                    return Err(fail(scenario, place, message, None));
                };
                let schedule = flow.schedule(*speed, 1);
                let schedule = schedule.map_err(|error| fail(scenario, place, error.to_string(), None))?;
                Data::Recorded(schedule.collect())
            }
            Application::Transfers { sizes, arrivals } => {
                Data::Transfers(self.sizes.transfers((sizes, *arrivals), group, scenario)?)
            }
        }))
    }

    fn note_cut(&mut self, file: &Path, cut: Option<TracePlace>) {
        if let Some(place) = cut {
            let file = file.display();
            self.notes.push(format!("{file} is cut off in {place}: the part before it is played"));
        }
    }
}
