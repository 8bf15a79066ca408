//! The markers by an estimated rate: the shares of their colours in the long run, a worked case of
//! RFC 2859, and properties of every meter.

#[path = "../common/mod.rs"]
mod common;

mod every;
mod shares;
mod windows;

use common::rate;
use tidegate_core::context::{Ctx, Verdict};
use tidegate_core::contract::Contract;
use tidegate_core::meter::mode::Mode;
use tidegate_core::meter::tsw_tagger::{Approach, Tagging, TswTaggerParams};
use tidegate_core::meter::tsw2cm::Tsw2CmParams;
use tidegate_core::meter::tsw3cm::Tsw3CmParams;
use tidegate_core::meter::{BuiltInMeter, Meter, MeterKind, ProfileIx};
use tidegate_core::packet::{BodyId, Colour, Mark, Packet};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};

const ONE: ProfileIx = ProfileIx(0);

fn build(kind: &BuiltInMeter, terms: &Contract) -> Box<dyn Meter + Send> {
    let mut meter = MeterKind::BuiltIn(kind.clone()).build().unwrap();
    meter.set_profile(ONE, terms);
    meter
}

fn see(meter: &mut dyn Meter, rng: &mut Rng, now: Time, mut packet: Packet) -> (Verdict, Mark) {
    let out = &mut Vec::new();
    let reading = meter.see(&mut Ctx { now, rng, out }, ONE, &mut packet);
    (reading.verdict, packet.mark)
}

fn marked(len: u32, mark: Mark) -> Packet {
    let mut packet = Packet::new(BodyId(0), len);
    packet.mark = mark;
    packet
}

fn coloured(len: u32, colour: Colour) -> Packet {
    marked(len, Mark::NONE.coloured(colour))
}

fn tagger(approach: Approach, tagging: Tagging) -> BuiltInMeter {
    let window = Some(Span::from_millis(100));
    BuiltInMeter::TswTagger(TswTaggerParams {
        window,
        packets: None,
        round_trips: None,
        approach,
        tagging,
        mode: Mode::Blind,
    })
}

fn two() -> BuiltInMeter {
    BuiltInMeter::Tsw2Cm(Tsw2CmParams {
        window: Some(Span::from_secs(1)),
        packets: None,
        round_trips: None,
        mode: Mode::Blind,
    })
}

fn three(seconds: u64) -> BuiltInMeter {
    let window = Some(Span::from_secs(seconds));
    BuiltInMeter::Tsw3Cm(Tsw3CmParams { window, packets: None, round_trips: None, mode: Mode::Blind })
}

fn terms(target: u64, peak: u64) -> Contract {
    Contract { reserve: Some(rate(target)), peak: Some(rate(peak)), ..Contract::default() }
}
