//! Links with overhead, and the packets that they cannot charge.

use super::policies::ScenarioParts;
use crate::error::{Complaint, Report};

/// Checks that no packet of a flow with several destinations is charged: its copies wait at several
/// ports as one packet with one length.
pub(super) fn check(parts: &ScenarioParts<'_>, report: &mut Report) {
    for group in parts.groups.iter().filter(|group| group.to.len() > 1) {
        let links = group.route.iter().map(|index| &parts.links[*index]);
        let Some(link) = links.into_iter().find(|link| link.framing.happens()) else { continue };
        let message =
            format!("`{}` has several destinations, and link {} has overhead", group.name, link.name);
        let help = "send to one destination, or leave out `overhead`, `mpu` and `atm` there";
        report.add(group.place, Complaint::new(message).help(help));
    }
}
