//! The table `classes`.

use super::run::Run;
use super::table::Table;
use crate::classes::ClassCounts;
use crate::network::LinkPlan;
use tidegate_core::units::Rate;
use tidegate_formats::columns::ClassesRow;

pub(super) fn table<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows::<ClassesRow<'_>>();
    let counted = run.world.class_counts();
    for (ix, link) in run.network.links.iter().enumerate() {
        // A gate's own rules choose the flows and classes at its ports.
        if run.network.gate.as_ref().is_some_and(|gate| gate.links.contains(&ix)) {
            continue;
        }
        let own = |class: usize| counted.get(&(ix as u32, class as u16)).copied().unwrap_or_default();
        let counts = with_classes_in_them(link, own);
        for (class, counts) in counts.iter().enumerate() {
            let plan = &link.port.classes[class];
            let throughput = run.throughput(counts.sent.bytes);
            let reserve = plan.contract.reserve.map(Rate::bits_per_second);
            rows.row(ClassesRow {
                link: &link.name,
                class: run.network.classes.get(class).map_or("", String::as_str),
                packets: counts.sent.packets,
                bytes: counts.sent.bytes,
                dropped_packets: counts.dropped.packets,
                dropped_bytes: counts.dropped.bytes,
                marked_packets: counts.marked,
                throughput,
                utilisation: throughput.map(|rate| rate / link.rate.bits_per_second()),
                borrowed: throughput.zip(reserve).map(|(rate, reserve)| (rate - reserve).max(0.0)),
            });
        }
    }
    rows.finish()
}

/// Returns the counters of each class of a port with those of the classes in it, from those of its
/// own flows.
fn with_classes_in_them(link: &LinkPlan, own: impl Fn(usize) -> ClassCounts) -> Vec<ClassCounts> {
    let classes = &link.port.classes;
    let mut counts = vec![ClassCounts::default(); classes.len()];
    for class in 0..classes.len() {
        let mut at = Some(class);
        while let Some(within) = at {
            counts[within].merge(own(class));
            at = classes[within].parent.map(usize::from);
        }
    }
    counts
}
