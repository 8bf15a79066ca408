//! Answers: the causes of waiting, with names, and the sentence that follows from them.

use super::Explainer;
use super::history::{History, Subject, Waits};
use super::senders::Sent;
use crate::stats::NO_MATCH;
use serde_json::{Map, Value, json};
use std::fmt;
use std::net::IpAddr;
use tidegate_core::classifier::FiveTuple;
use tidegate_core::classifier::rules::{Direction, Each, Key};
use tidegate_core::context::Reason;
use tidegate_core::steering::FlowOwner;
use tidegate_core::switch::Level;
use tidegate_core::units::{Rate, Span, Time};
use tidegate_formats::units::show_rate;
use tidegate_formats::{GateFile, Named};

/// The most flows, hosts or circuits in an answer: those that waited most.
const MAX_ANSWERS: usize = 3;
/// The most senders that are named for a cause.
const MAX_SENDERS: usize = 3;
/// Length of the time that an answer is about, in seconds.
const SECONDS: f64 = 60.0;
/// A mean wait below this is not what anybody complains about.
const SLOW: Span = Span::from_millis(5);
/// A cause of a smaller part of the wait is not named.
const SMALL: f64 = 0.01;

/// A cause of waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// Packets of its own flow were sent before it.
    OwnPackets,
    /// Packets of other conversations of the same host, subscriber or circuit were sent before it.
    OwnConversations,
    /// The ceiling of its own flow or circuit.
    OwnCeiling,
    /// Packets of others were sent before it.
    Others,
    /// The ceiling of a class that it is in, or of the port.
    Ceiling,
    /// An outage of the emulated line.
    Outage,
    /// Nothing else: the times of its scheduler.
    Scheduler,
}

impl Cause {
    fn name(self) -> &'static str {
        match self {
            Cause::OwnPackets => "own-packets",
            Cause::OwnConversations => "own-conversations",
            Cause::OwnCeiling => "own-ceiling",
            Cause::Others => "others",
            Cause::Ceiling => "ceiling",
            Cause::Outage => "outage",
            Cause::Scheduler => "scheduler",
        }
    }
}

/// A cause, the place of its level, and the time that packets waited for it.
type Found = (Cause, usize, Span);

/// The packets of an answer.
struct Asked<'e> {
    explainer: &'e Explainer,
    now: Time,
    direction: Direction,
    file: &'e GateFile,
    subject: Subject,
    levels: &'e [Level],
    waits: Waits,
    is_down: bool,
}

impl Explainer {
    /// Explains the waiting in the last minute of what has a name, or of those that waited most: an
    /// array with an object for each. `is_down` is true in an outage of the line.
    pub(crate) fn explain(
        &self,
        now: Time,
        asked: Option<Named>,
        (file, direction): (&GateFile, Direction),
        is_down: bool,
    ) -> Vec<Value> {
        // Frames are not forwarded meanwhile: all but the few that are shown are looked at in passing.
        let histories = self.histories.iter().filter(|(subject, history)| {
            asked.is_none_or(|asked| self.is_asked(now, *subject, &history.levels, asked, (file, direction)))
        });
        let weighed = histories.map(|(subject, history)| (history.weight(now), subject, history));
        let mut found: Vec<_> = weighed.filter(|((_, packets), ..)| *packets > 0).collect();
        found.sort_by_key(|(weight, ..)| std::cmp::Reverse(*weight));
        let answer = |(_, subject, history): (_, Subject, &History)| {
            let (levels, waits) = (&*history.levels, history.sum(now));
            Asked { explainer: self, now, direction, file, subject, levels, waits, is_down }.answer()
        };
        found.into_iter().take(MAX_ANSWERS).map(answer).collect()
    }

    /// Returns true if packets of a subject are those that were asked about.
    fn is_asked(
        &self,
        now: Time,
        subject: Subject,
        levels: &[Level],
        asked: Named,
        (file, direction): (&GateFile, Direction),
    ) -> bool {
        let flow = subject.rule.map(|rule| &file.flows[rule]);
        match asked {
            Named::Flow(rule) => subject.rule == Some(rule),
            Named::Class(class) => levels.contains(&Level::Class(class as u16)),
            Named::Circuit(rule, circuit) => {
                subject == Subject { rule: Some(rule), owner: FlowOwner::Circuit(circuit) }
            }
            Named::Host(host) => match subject.owner {
                FlowOwner::Circuit(circuit) => {
                    let circuits = flow.and_then(|flow| flow.circuits.as_ref());
                    circuits.is_some_and(|circuits| circuits.find(host) == Some(circuit))
                }
                FlowOwner::Key(Key::Inside(own)) => match (own, host, flow.and_then(|flow| flow.each)) {
                    (IpAddr::V6(own), IpAddr::V6(host), Some(Each::Subscriber)) => {
                        own.to_bits() == host.to_bits() & !u128::from(u64::MAX)
                    }
                    _ => own == host,
                },
                FlowOwner::Key(Key::Flow(conversation)) => inside(conversation, direction) == Some(host),
                FlowOwner::Key(Key::Other) => false,
                FlowOwner::Rule | FlowOwner::Shared => {
                    let of_host = |sent: &Sent| {
                        let own = sent.subject == subject;
                        (own && inside(sent.conversation, direction) == Some(host)).then_some(())
                    };
                    !self.senders.rank(now, 1, of_host).is_empty()
                }
            },
        }
    }
}

impl Asked<'_> {
    /// The place of the outermost level that is its own alone.
    fn own(&self) -> usize {
        let is_own = |level: &Level| match level {
            Level::Flow => true,
            Level::Class(class) => *class >= self.explainer.planned,
            Level::Port => false,
        };
        self.levels.iter().rposition(is_own).unwrap_or(0)
    }

    /// The causes, the greatest first.
    fn causes(&self) -> Vec<Found> {
        let own = self.own();
        let Waits { scheduled, down, .. } = self.waits;
        let mut found = vec![(Cause::Scheduler, 0, scheduled), (Cause::Outage, 0, down)];
        for (at, share) in self.waits.shares.iter().enumerate() {
            let ahead = match at {
                0 => Cause::OwnPackets,
                _ if at <= own => Cause::OwnConversations,
                _ => Cause::Others,
            };
            let held = if at <= own { Cause::OwnCeiling } else { Cause::Ceiling };
            found.extend([(ahead, at, share.ahead), (held, at, share.held)]);
        }
        found.retain(|(.., time)| self.part(*time) >= SMALL);
        found.sort_by_key(|(.., time)| std::cmp::Reverse(*time));
        found
    }

    /// The part of all its waiting that a time is.
    fn part(&self, time: Span) -> f64 {
        time.as_secs_f64() / self.waits.waited.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    fn answer(&self) -> Value {
        let Waits { packets, waited, longest, dropped, round_trips, .. } = &self.waits;
        let causes = self.causes();
        let mean = waited.as_secs_f64() / (*packets).max(1) as f64;
        let reasons = Reason::ALL.iter().zip(dropped).filter(|(_, count)| **count > 0);
        let dropped: Map<String, Value> =
            reasons.map(|(reason, count)| (reason.name().to_owned(), json!(count))).collect();
        let seconds = self.now.since(self.explainer.since).as_secs_f64().min(SECONDS);
        let mut answer = json!({
            "direction": self.direction.name(),
            "flow": self.subject.rule.map_or(NO_MATCH, |rule| &self.file.flows[rule].name),
            "name": self.name_of(self.subject),
            "seconds": seconds,
            "packets": packets,
            "wait_mean": mean,
            "wait_max": longest.as_secs_f64(),
            "dropped": dropped,
            "causes": causes.iter().map(|cause| self.cause(*cause)).collect::<Vec<_>>(),
            "verdict": self.verdict(mean, causes.first().copied()),
        });
        if round_trips.count > 0 {
            // Its packets come from the side on which they ended.
            answer["round_trips"] = json!({
                "side": if self.direction == Direction::Up { "inside" } else { "outside" },
                "count": round_trips.count,
                "mean": round_trips.sum.as_secs_f64() / round_trips.count as f64,
                "least": round_trips.least.as_secs_f64(),
            });
        }
        answer
    }

    fn cause(&self, (cause, at, time): Found) -> Value {
        let senders = self.senders(cause, at).into_iter().map(|sender| {
            let mut object = json!({ "name": sender.name, "share": sender.share });
            if let Some(reserve) = sender.reserve {
                object["reserve"] = json!(reserve);
            }
            object
        });
        let mut object = json!({
            "cause": cause.name(),
            "share": self.part(time),
            "senders": senders.collect::<Vec<_>>(),
        });
        if matches!(cause, Cause::Others | Cause::Ceiling) {
            object["at"] = json!(self.place(at));
        }
        if let Some(rate) = self.ceiling(cause, at) {
            object["ceiling"] = json!(rate);
        }
        object
    }

    /// Those who sent what packets waited for, as far as the cause has some.
    fn senders(&self, cause: Cause, at: usize) -> Vec<Sender> {
        let rank = |wanted: &dyn Fn(&Sent) -> bool| {
            let subject = |sent: &Sent| wanted(sent).then_some(sent.subject);
            let ranked = self.explainer.senders.rank(self.now, MAX_SENDERS, subject);
            let sender = |(subject, share)| Sender {
                name: self.name_of(subject),
                share,
                reserve: self.reserve(subject),
            };
            ranked.into_iter().map(sender).collect()
        };
        match cause {
            Cause::OwnPackets | Cause::OwnConversations | Cause::OwnCeiling => {
                let conversation = |sent: &Sent| (sent.subject == self.subject).then_some(sent.conversation);
                let ranked = self.explainer.senders.rank(self.now, MAX_SENDERS, conversation);
                let sender =
                    |(name, share): (FiveTuple, f64)| Sender { name: name.to_string(), share, reserve: None };
                ranked.into_iter().map(sender).collect()
            }
            Cause::Ceiling => rank(&|sent| sent.levels.contains(&self.levels[at])),
            Cause::Others => rank(&|sent| {
                let inner = at - 1;
                let is_inner = inner > self.own() && sent.levels.contains(&self.levels[inner]);
                sent.levels.contains(&self.levels[at]) && !is_inner && sent.subject != self.subject
            }),
            Cause::Scheduler | Cause::Outage => Vec::new(),
        }
    }

    /// The name of a flow, a host, a subscriber or a circuit.
    fn name_of(&self, subject: Subject) -> String {
        let Some(flow) = subject.rule.map(|rule| &self.file.flows[rule]) else { return NO_MATCH.to_owned() };
        match subject.owner {
            FlowOwner::Rule => flow.name.clone(),
            FlowOwner::Key(key) => key.to_string(),
            FlowOwner::Circuit(circuit) => {
                flow.circuits.as_ref().map_or_else(String::new, |list| list.name(circuit).to_owned())
            }
            FlowOwner::Shared => format!("{}, without flows of their own", flow.name),
        }
    }

    /// The rate that a flow or a circuit reserves, in bit/s.
    fn reserve(&self, subject: Subject) -> Option<u64> {
        let (flow, side) = (&self.file.flows[subject.rule?], self.direction as usize);
        let stated = flow.terms[side].reserve;
        match subject.owner {
            FlowOwner::Circuit(circuit) => {
                let own = flow.circuits.as_ref()?.terms(circuit).reserve[side];
                own.map(in_bits).or(stated)
            }
            FlowOwner::Rule | FlowOwner::Key(_) => stated,
            FlowOwner::Shared => None,
        }
    }

    /// The ceiling that is a cause, in bit/s.
    fn ceiling(&self, cause: Cause, at: usize) -> Option<u64> {
        let side = self.direction as usize;
        match (cause, self.levels[at]) {
            (Cause::OwnCeiling, _) => {
                let flow = &self.file.flows[self.subject.rule?];
                let own = match (self.subject.owner, &flow.circuits) {
                    (FlowOwner::Circuit(circuit), Some(list)) => list.terms(circuit).ceiling[side],
                    _ => None,
                };
                own.map(in_bits).or(flow.terms[side].ceiling)
            }
            (Cause::Ceiling, Level::Class(class)) => {
                self.file.classes.get(usize::from(class))?.terms[side].ceiling
            }
            (Cause::Ceiling, _) => self.file.port.ceiling,
            _ => None,
        }
    }

    /// A level that is not its own, as `class site` or `the line`.
    fn place(&self, at: usize) -> String {
        match self.levels[at] {
            Level::Class(class) => match self.file.classes.get(usize::from(class)) {
                Some(class) => format!("class {}", class.class.name),
                // The shared class of a flow's hosts, subscribers or circuits.
                None => match self.subject.rule {
                    Some(rule) => format!("the flows of {}", self.file.flows[rule].name),
                    None => "a shared class".to_owned(),
                },
            },
            Level::Flow | Level::Port => "the line".to_owned(),
        }
    }

    /// The sentence that says where to look.
    fn verdict(&self, mean: f64, first: Option<Found>) -> String {
        if self.is_down {
            return "the link is down".to_owned();
        }
        let is_slow = mean >= SLOW.as_secs_f64();
        let Some((cause, at, _)) = first.filter(|_| is_slow) else {
            let most = (0..Reason::ALL.len()).max_by_key(|at| self.waits.dropped[*at]);
            return match most.filter(|at| self.waits.dropped[*at] > 0) {
                Some(at) => format!("it waits little, but {}", dropped_because(Reason::ALL[at])),
                None => "the gate does not slow it: look at the line behind it, and at both ends".to_owned(),
            };
        };
        let senders = self.senders(cause, at);
        let mostly = senders.first().map_or_else(String::new, |sender| format!(": mostly {sender}"));
        let limit =
            self.ceiling(cause, at).map_or_else(String::new, |rate| format!(" of {}", show_rate(rate)));
        match cause {
            Cause::OwnPackets => format!("it waits behind packets of its own{mostly}"),
            Cause::OwnConversations => format!("it waits behind other conversations of its own{mostly}"),
            Cause::OwnCeiling => format!("it uses all of its own ceiling{limit}{mostly}"),
            Cause::Ceiling => format!("{} is full, at its ceiling{limit}{mostly}", self.place(at)),
            Cause::Others => format!("{} is full{mostly}", self.place(at)),
            Cause::Outage => "the link was down".to_owned(),
            Cause::Scheduler => "its scheduler sends it at its own times only".to_owned(),
        }
    }
}

/// A sender, and its part of the bytes that were waited for.
struct Sender {
    name: String,
    share: f64,
    /// Its reservation in bit/s.
    reserve: Option<u64>,
}

impl fmt::Display for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:.0} %)", self.name, 100.0 * self.share)?;
        match self.reserve {
            Some(reserve) => write!(f, ", which reserves {}", show_rate(reserve)),
            None => Ok(()),
        }
    }
}

/// The clause that says why packets were dropped.
fn dropped_because(reason: Reason) -> &'static str {
    match reason {
        Reason::Meter | Reason::NonResponsive => "its packets beyond its contract are dropped",
        Reason::PushedOut => "the memory is full, and its packets are pushed out",
        Reason::QueueLimit | Reason::Shaper => "its queue is full",
        Reason::EarlyDrop | Reason::ForcedDrop | Reason::SojournTime => {
            "its queue drops some of its packets, as a signal to send less"
        }
        Reason::NoFlow => "its flow was closed",
    }
}

/// The address inside of a conversation.
fn inside(conversation: FiveTuple, direction: Direction) -> Option<IpAddr> {
    let FiveTuple::Ip { source, destination, .. } = conversation else { return None };
    Some(if direction == Direction::Up { source } else { destination })
}

fn in_bits(rate: Rate) -> u64 {
    rate.bits_per_second().round() as u64
}
