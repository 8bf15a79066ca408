"""Zhang 1991: how its figures are measured.

`paper.toml` holds what section 4 publishes, `design.toml` what the paper argues for elsewhere, and
`remarks.toml` its remarks beside the tables and
`sharing.toml` those on idle slots and datagrams.
"""

from tidegate_papers.virtualclock import (
    burstiness,
    datagrams,
    late_burst,
    noticed,
    offenders,
    priority,
    random_walk,
    remarks,
    section4,
    sharing,
    spectrum,
)

MEASURES = {
    **section4.MEASURES,
    "burstiness": burstiness.BURSTINESS,
    "random-walk": random_walk.RANDOM_WALK,
    "late-burst": late_burst.LATE_BURST,
    "noticed": noticed.NOTICED,
    "spectrum": spectrum.SPECTRUM,
    "priority": priority.LEVELS,
    "priority-abused": priority.ABUSED,
    "offenders": offenders.OFFENDERS,
    "datagrams": datagrams.DATAGRAMS,
    "datagrams-alone": datagrams.ALONE,
    **remarks.MEASURES,
    **sharing.MEASURES,
}
