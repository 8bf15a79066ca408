//! The log of every packet's events.

use super::setup::{Placed, StageSetup};
use crate::packet_log::{Entry, PacketEvent};
use crate::stage::{Crossing, Fate, Interest, LinkEvent, Passage, Site, Stage, StageCx};
use crate::world::World;
use tidegate_core::contract::Refused;
use tidegate_core::endpoint::Payload;
use tidegate_core::packet::Packet;

/// The log of every packet's events, in order of occurrence.
#[derive(Default)]
pub(in crate::world) struct PacketLog {
    entries: Vec<Entry>,
}

impl PacketLog {
    /// Creates the stage, if the log is asked for.
    pub(in crate::world) fn stages(setup: &mut StageSetup<'_>) -> Result<Vec<Placed>, Refused> {
        Ok(setup.probes.log.then(|| Placed::anywhere(PacketLog::default())).into_iter().collect())
    }

    fn note(&mut self, cx: &StageCx, link: u32, what: PacketEvent) {
        self.entries.push(Entry { at: cx.now, link, what });
    }
}

impl Stage for PacketLog {
    fn interest(&self, site: &Site) -> Interest {
        match site.to {
            Some(_) => {
                let calls = Interest::ENTER | Interest::RELEASED | Interest::START | Interest::LEAVE;
                calls | Interest::OBSERVE
            }
            None => Interest::NONE,
        }
    }

    fn enter(&mut self, cx: &mut StageCx, at: &Crossing, packet: &mut Packet, _: &mut Payload) -> Passage {
        for hop in at.to.map(|hop| cx.fabric.copies_at(hop)).unwrap_or_default() {
            let what = PacketEvent::Arrived { packet: cx.id_of(packet), len: packet.len };
            self.note(cx, cx.link_of(hop), what);
        }
        Passage::Forward
    }

    fn released(&mut self, cx: &mut StageCx, _: u32, hop: u32, packet: &Packet, _: &mut Payload) {
        self.note(cx, cx.link_of(hop), PacketEvent::Released(cx.id_of(packet)));
    }

    fn start(&mut self, cx: &mut StageCx, _: u32, hop: u32, packet: &Packet) {
        let what = PacketEvent::Started {
            packet: cx.id_of(packet),
            queued: packet.arrived,
            is_marked: packet.mark.is_congested(),
        };
        self.note(cx, cx.link_of(hop), what);
    }

    fn leave(&mut self, cx: &mut StageCx, _: u32, hop: u32, packet: &mut Packet, _: &mut Payload) {
        self.note(cx, cx.link_of(hop), PacketEvent::Departed(cx.id_of(packet)));
    }

    fn ended(&mut self, cx: &mut StageCx, link: u32, packet: &Packet, fate: Fate, _: u32) {
        let id = cx.id_of(packet);
        let what = match fate {
            Fate::Received(_) => PacketEvent::Received(id),
            Fate::Dropped(reason) => PacketEvent::Dropped(id, reason),
            Fate::Lost => PacketEvent::Lost(id),
            Fate::Absorbed => PacketEvent::Absorbed(id),
        };
        self.note(cx, link, what);
    }

    fn observe(&mut self, cx: &mut StageCx, link: u32, event: LinkEvent) {
        let what = match event {
            LinkEvent::Changed => return,
            LinkEvent::Woken => PacketEvent::Woken,
            LinkEvent::Opened(flow) => PacketEvent::Opened(flow),
            LinkEvent::Amended(flow, nth) => PacketEvent::Amended(flow, nth),
            LinkEvent::Closed(flow) => PacketEvent::Closed(flow),
        };
        self.note(cx, link, what);
    }
}

impl<Q> World<Q> {
    /// Returns the log of every packet's events, in order of occurrence; empty if it was not
    /// requested.
    pub fn log(&self) -> &[Entry] {
        self.stage::<PacketLog>().map_or(&[], |log| &log.entries)
    }
}
