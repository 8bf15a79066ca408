//! TCP: a segment-accurate sender and receiver with the loss recovery and congestion control of the
//! RFCs.
//!
//! Bulk data go one way and acknowledgements the other, and bytes are numbered from 0. Where the RFCs leave a choice, the page `docs/transports/tcp.md` states the one
//! made.

mod accurate_ecn;
pub mod congestion;
mod estimates;
mod expiry;
mod frto;
mod hystart;
mod opening;
mod params;
mod prr;
mod rack;
mod ranges;
mod rates;
mod receiver;
mod recovery;
mod scoreboard;
mod segment;
mod sender;
mod sent;
mod timer;
mod usage;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
pub use params::{
    Autotuning, Ecn, Frto, Growth, Handshake, LossRecovery, PushAcks, RackForm, Reduction, RtoFloor,
    SlowStart, Stack, TcpParams, Timestamps,
};
pub use segment::{Block, MAX_BLOCKS, Segment};
pub use sender::Sender;

use super::application::Application;
use super::{Endpoint, EndpointSetup, TransferPackets, Transport};
use crate::contract::Refused;
use crate::params::{
    Carry, Fault, MarkResponse, NodeContext, Parameters, PolicyKind, PolicyParams, PolicyRecord,
    ReceiverWindow, Role, Stamps,
};
use crate::units::Span;
use congestion::{AnyCongestionControl, BuiltInCongestionControl, CongestionControl, RenoParams};
use receiver::Receiver;

impl PolicyParams for TcpParams {
    type Policy = Tcp;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "tcp",
        title: "TCP",
        role: Role::Transport { responsive: true },
        help: "Sends data reliably and in order, as fast as congestion control allows, with \
               one of several loss recoveries, with or without ECN. The congestion window grows until packets \
               are lost or marked, then shrinks.",
        source: "RFC 5681, 6298, 2018, 6675, 8985, 6937, 2883, 6582, 2581, 3168",
        params: TcpParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Tcp, Refused> {
        let mut control = self.congestion.build()?;
        if self.growth == Growth::Segments && !control.count_segments() {
            return Err(Refused(self.counts_no_segments()));
        }
        Ok(Tcp { params: self.clone(), control })
    }

    fn example() -> TcpParams {
        TcpParams {
            stack: Stack::Rfc,
            congestion: PolicyKind::BuiltIn(BuiltInCongestionControl::Reno(RenoParams {})),
            recovery: LossRecovery::Sack,
            rack_form: RackForm::Rfc,
            frto: Frto::Off,
            growth: Growth::Bytes,
            slow_start: SlowStart::Standard,
            reduction: Reduction::AtOnce,
            timestamps: Timestamps::Off,
            handshake: Handshake::Off,
            ecn: Ecn::On,
            granularity: Span::from_millis(1),
            minimum_rto: Span::from_millis(200),
            rto_floor: RtoFloor::Timeout,
            timer_slack: Span::ZERO,
            maximum_rto: Span::from_secs(60),
            delayed_acks: Span::from_millis(100),
            quick_acks: 0,
            compressed_sacks: Span::ZERO,
            autotuning: Autotuning::Off,
            push_acks: PushAcks::Off,
            initial_window: 2,
            receiver_window: 65_536,
            header: 40,
        }
    }

    fn with_defaults(self, is_given: &dyn Fn(&str) -> bool) -> TcpParams {
        TcpParams::with_defaults(self, is_given)
    }

    fn receiver_window(&self, size: u32) -> Option<ReceiverWindow> {
        let data = u64::from(self.receiver_window);
        let packets = data * u64::from(size) / u64::from(self.segment_size(size));
        Some(ReceiverWindow { key: "receiver_window", data, packets })
    }

    fn check(&self) -> Result<(), Fault> {
        let TcpParams { granularity, minimum_rto, maximum_rto, delayed_acks, .. } = *self;
        let control = self.congestion.record().name;
        if self.recovery != LossRecovery::Rack {
            for (key, is_set, what) in [
                ("rack_form", self.rack_form == RackForm::Linux, "rack_form = \"linux\""),
                ("frto", self.frto == Frto::On, "frto = \"on\""),
                ("reduction", self.reduction == Reduction::Prr, "reduction = \"prr\""),
                ("timestamps", self.timestamps == Timestamps::On, "timestamps = \"on\""),
            ] {
                if is_set {
                    return Err(Fault::at(key, format!("`{what}` needs `recovery = \"rack\"`")));
                }
            }
        }
        if self.recovery != LossRecovery::Rack && self.has_model()? {
            let message = format!("`congestion = \"{control}\"` needs `recovery = \"rack\"`");
            return Err(Fault::at("congestion", message));
        }
        if self.congestion.mark_response() == MarkResponse::Each {
            for (is_set, what) in [
                (self.recovery == LossRecovery::Rack, "recovery = \"rack\""),
                (self.ecn == Ecn::On, "ecn = \"on\""),
            ] {
                if !is_set {
                    let message =
                        format!("`congestion = \"{control}\"` needs `{what}` (RFC 9331, section 4)");
                    return Err(Fault::at("congestion", message));
                }
            }
        }
        if self.growth == Growth::Segments {
            let built = self.congestion.build().map_err(|Refused(why)| Fault::at("congestion", why))?;
            if !{ built }.count_segments() {
                return Err(Fault::at("growth", self.counts_no_segments()));
            }
        }
        if granularity == Span::ZERO {
            return Err(Fault::at("granularity", "`granularity` is zero: a clock needs ticks"));
        }
        if minimum_rto < granularity {
            let message = format!(
                "`minimum_rto` ({minimum_rto:?}) is below `granularity` ({granularity:?}), a tick of its clock"
            );
            return Err(Fault::at("minimum_rto", message));
        }
        if maximum_rto < minimum_rto {
            let message = format!("`maximum_rto` ({maximum_rto:?}) is below `minimum_rto` ({minimum_rto:?})");
            return Err(Fault::at("maximum_rto", message));
        }
        if delayed_acks >= Span::from_millis(500) {
            let message =
                format!("`delayed_acks` ({delayed_acks:?}) is not below 0.5s (RFC 5681, section 4.2)");
            return Err(Fault::at("delayed_acks", message));
        }
        Ok(())
    }

    /// Checks that a packet holds data, and the receiver's window a packet.
    fn check_at(&self, node: &NodeContext<'_>) -> Result<(), Fault> {
        let Some(largest) = node.members.iter().map(|member| member.largest).max() else { return Ok(()) };
        if largest <= self.header {
            let message = format!(
                "`header` ({}B) leaves no room for data in a packet of `size` ({largest}B)",
                self.header
            );
            return Err(Fault::at("header", message));
        }
        let segment = self.segment_size(largest);
        if self.receiver_window < segment {
            let message =
                format!("`receiver_window` ({}B) is below a segment ({segment}B)", self.receiver_window);
            return Err(Fault::at("receiver_window", message));
        }
        Ok(())
    }
}

impl TcpParams {
    /// Returns true if the congestion control has a model of the path.
    fn has_model(&self) -> Result<bool, Fault> {
        let built = self.congestion.build().map_err(|Refused(why)| Fault::at("congestion", why))?;
        Ok(built.has_model())
    }

    fn counts_no_segments(&self) -> String {
        let control = self.congestion.record().name;
        format!("`growth = \"segments\"` is not for `congestion = \"{control}\"`, which counts in bytes")
    }
}

/// TCP, as [`TcpParams`] describes it.
#[derive(Clone, Debug)]
pub struct Tcp {
    params: TcpParams,
    /// The congestion control of a new connection.
    control: AnyCongestionControl,
}

impl Transport for Tcp {
    fn sender(&self, setup: EndpointSetup, size: u32) -> Box<dyn Endpoint> {
        let mut sender = Sender::new(self, setup.stop, size);
        sender.draw_from(&setup.rng);
        match setup.data {
            Some(data) => {
                let piece = self.params.segment_size(size);
                sender.run(Application::new(data, piece, setup.start, setup.rng));
            }
            None => sender.offer(u64::MAX),
        }
        Box::new(sender)
    }

    fn takes_data(&self) -> bool {
        true
    }

    fn receiver(&self, _: EndpointSetup, size: u32) -> Box<dyn Endpoint> {
        Box::new(Receiver::new(&self.params, size))
    }

    fn packets(&self, bytes: u64, size: u32) -> Option<TransferPackets> {
        let (header, segment) = (self.params.header, u64::from(self.params.segment_size(size)));
        let count = bytes.div_ceil(segment).max(1);
        let rest = bytes.saturating_sub((count - 1) * segment);
        let last = header + rest as u32;
        Some(TransferPackets { count, each: header + segment as u32, last, answer: header })
    }

    fn largest_answer(&self) -> u32 {
        self.params.header
    }

    fn measures_round_trips(&self) -> bool {
        true
    }

    fn negotiates_ecn(&self) -> bool {
        self.params.negotiates_ecn()
    }
}
