//! Samples of the delivery rate against the text of draft-cheng-iccrg-delivery-rate-estimation-02:
//! its pseudocode, written out, sees the packets that pass at the sender, and the samples are compared
//! at each acknowledgement.

use crate::common::{pick, rounds};
use crate::path::{Call, Path, World};
use crate::wire::{DATA, params};
use std::cell::RefCell;
use std::collections::BTreeMap;
use tidegate_core::contract::Refused;
use tidegate_core::endpoint::tcp::congestion::{
    CongestionControl, CongestionControlKind, Delivery, RateSample, Ruling, Windows,
};
use tidegate_core::endpoint::tcp::{LossRecovery, TcpParams};
use tidegate_core::params::{Carry, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};

parameters! {
    /// Parameters of the recorder.
    pub struct RecorderParams {
        /// The seed of its windows
        seed: u32 as Integer(0, 1_000_000) = 0,
    }
}

impl PolicyParams for RecorderParams {
    type Policy = Recorder;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "recorder",
        title: "Recorder",
        role: Role::CongestionControl,
        help: "Records what it is shown, and has a window at random.",
        source: "none",
        params: RecorderParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Recorder, Refused> {
        Ok(Recorder { rng: Rng::named(self.seed.into(), "windows") })
    }

    fn example() -> RecorderParams {
        RecorderParams { seed: 1 }
    }
}

thread_local! {
    static SHOWN: RefCell<Vec<Delivery>> = const { RefCell::new(Vec::new()) };
}

#[derive(Clone, Debug)]
pub struct Recorder {
    rng: Rng,
}

impl CongestionControl for Recorder {
    fn has_model(&self) -> bool {
        true
    }

    fn delivered(&mut self, windows: &Windows, delivery: &Delivery) -> Ruling {
        SHOWN.with_borrow_mut(|shown| shown.push(*delivery));
        let cwnd = if self.rng.chance(0.02) { self.rng.below(40) * DATA } else { windows.cwnd };
        Ruling { cwnd, limits_samples: false }
    }

    fn decrease(&mut self, _: Time, windows: &Windows, _: u64) -> u64 {
        windows.ssthresh
    }

    fn copy(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }
}

/// P of the draft.
#[derive(Clone, Copy, Debug)]
struct Packet {
    delivered: u64,
    delivered_time: Time,
    first_sent_time: Time,
    sent_time: Time,
    is_app_limited: bool,
    was_sent_again: bool,
    has_arrived: bool,
}

/// C of the draft.
#[derive(Debug)]
struct Connection {
    delivered: u64,
    delivered_time: Time,
    first_sent_time: Time,
    app_limited: u64,
    /// Packets that are not acknowledged, by their first byte.
    packets: BTreeMap<u64, Packet>,
    una: u64,
    max: u64,
    min_rtt: Option<Span>,
    offered: u64,
    /// True on a path that loses nothing: what has left and not arrived is in the network.
    is_clean: bool,
    compared: u64,
    by_sending: u64,
    limited: u64,
}

impl Connection {
    fn new(offered: u64, is_clean: bool) -> Connection {
        Connection {
            delivered: 0,
            delivered_time: Time::ORIGIN,
            first_sent_time: Time::ORIGIN,
            app_limited: 0,
            packets: BTreeMap::new(),
            una: 0,
            max: 0,
            min_rtt: None,
            offered,
            is_clean,
            compared: 0,
            by_sending: 0,
            limited: 0,
        }
    }

    fn see(&mut self, call: &Call<'_>) {
        let shown = SHOWN.with_borrow_mut(std::mem::take);
        if let Some(came) = call.came {
            if came.acknowledgement < call.una {
                assert!(shown.is_empty());
            } else {
                let before = self.delivered;
                let blocks: Vec<(u64, u64)> = came.blocks().map(|block| (block.start, block.end)).collect();
                let expected = self.acknowledged(call.now, came.acknowledgement, &blocks);
                let [shown] = &shown[..] else { panic!("{shown:?}") };
                assert_eq!((shown.total, shown.arrived), (self.delivered, self.delivered - before));
                let hide = |sample: RateSample| RateSample {
                    is_app_limited: self.is_clean && sample.is_app_limited,
                    ..sample
                };
                assert_eq!(shown.sample.map(hide), expected.map(hide), "{self:#?}");
            }
        }
        for segment in call.sent {
            self.send_packet(segment.sequence, segment.end(), call.now);
        }
        // Section 3.4: no more data, and room in the window.
        let packets_in_flight = self.packets.values().filter(|packet| !packet.has_arrived).count() as u64;
        if self.max == self.offered && (packets_in_flight as f64) < call.after.cwnd {
            self.app_limited = (self.delivered + packets_in_flight * DATA).max(1);
        }
    }

    /// SendPacket(P).
    fn send_packet(&mut self, start: u64, end: u64, now: Time) {
        if self.una == self.max {
            (self.first_sent_time, self.delivered_time) = (now, now);
        }
        self.max = self.max.max(end);
        let packet = Packet {
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            first_sent_time: self.first_sent_time,
            sent_time: now,
            is_app_limited: self.app_limited != 0,
            was_sent_again: self.packets.contains_key(&start),
            has_arrived: false,
        };
        self.packets.insert(start, packet);
    }

    /// The acknowledgement of the bytes before `una` and of blocks: UpdateRateSample() for each packet
    /// that is newly reported, then GenerateRateSample().
    fn acknowledged(&mut self, now: Time, una: u64, blocks: &[(u64, u64)]) -> Option<RateSample> {
        let mut newest: Option<(Time, u64, Packet)> = None;
        for (&start, packet) in &mut self.packets {
            let end = start + DATA;
            let is_reported = end <= una || blocks.iter().any(|(from, to)| *from <= start && end <= *to);
            if !is_reported || packet.has_arrived {
                continue;
            }
            packet.has_arrived = true;
            self.delivered += DATA;
            self.delivered_time = now;
            if !packet.was_sent_again {
                let rtt = now.since(packet.sent_time);
                self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
            }
            // IsNewestPacket().
            if newest.is_none_or(|(sent, last, _)| (packet.sent_time, end) > (sent, last)) {
                newest = Some((packet.sent_time, end, *packet));
            }
        }
        self.una = una;
        self.packets.retain(|start, _| *start >= una);
        if self.app_limited != 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let (_, _, packet) = newest?;
        self.first_sent_time = packet.sent_time;
        let send_elapsed = packet.sent_time.since(packet.first_sent_time);
        let ack_elapsed = self.delivered_time.since(packet.delivered_time);
        let interval = if send_elapsed > ack_elapsed { send_elapsed } else { ack_elapsed };
        self.compared += 1;
        self.by_sending += u64::from(send_elapsed > ack_elapsed);
        self.limited += u64::from(packet.is_app_limited);
        if interval < self.min_rtt.unwrap_or(Span::ZERO) || interval == Span::ZERO {
            return None;
        }
        Some(RateSample {
            prior: packet.delivered,
            bytes: self.delivered - packet.delivered,
            interval,
            is_app_limited: packet.is_app_limited,
        })
    }
}

#[test]
fn samples_are_those_of_the_draft() {
    let mut rng = Rng::named(1, "delivery rates");
    let [mut compared, mut by_sending, mut limited] = [0; 3];
    for seed in 0..rounds(60) as u32 {
        let is_clean = rng.chance(0.5);
        let path = Path {
            delay: pick(&mut rng, &[1, 5, 20, 60]),
            service: pick(&mut rng, &[100, 1000, 5000]),
            queue: if is_clean { 100_000 } else { pick(&mut rng, &[5, 20, 100]) },
            loss: if is_clean { 0.0 } else { pick(&mut rng, &[0.0, 0.01, 0.2]) },
            early: 0.0,
            marked: 0.0,
            lost_acks: pick(&mut rng, &[0.0, 0.3]),
            late: if is_clean { 0.0 } else { pick(&mut rng, &[0.0, 0.05]) },
            lateness: 30,
        };
        let params = TcpParams {
            congestion: CongestionControlKind::outside(RecorderParams { seed }),
            receiver_window: 1000 * DATA as u32,
            delayed_acks: pick(&mut rng, &[Span::ZERO, Span::from_millis(40)]),
            // A timeout without a loss sends again what is in flight.
            minimum_rto: Span::from_secs(10),
            ..params(("bbr", LossRecovery::Rack))
        };
        let segments = pick(&mut rng, &[50, 1 << 40]);
        let mut world = World::new(&params, path, segments, seed.into());
        let mut connection = Connection::new(segments * DATA, is_clean);
        for step in 1..=40 {
            world.run(500 * step, |call| connection.see(call));
            if segments == 50 {
                let more = 1 + rng.below(60);
                world.offer_at(500 * step, more);
                connection.offered += more * DATA;
            }
        }
        compared += connection.compared;
        by_sending += connection.by_sending;
        limited += connection.limited * u64::from(is_clean);
    }
    println!("{compared} {by_sending} {limited}");
    assert!(compared > 20_000 && by_sending > 1000 && limited > 1000);
}
