"""Pincheira 1994: how its figures are measured.

`delays.toml` and `burstiness.toml` hold what section 4 publishes, `road.toml` what section 3 says
of the disciplines that lead to Axel, `beyond.toml` what the report leaves for later, and
`service.toml` throughput, worst case and the changes of Axel that section 5 names.
"""

from tidegate_papers.axel import buffers, burstiness, delays, reservation, road, service, traffic, video

MEASURES = {
    "table-1": traffic.TRAFFIC,
    "table-2": traffic.TRAFFIC,
    "table-3": delays.BURSTY_DELAYS,
    "table-4": delays.PERCENTILES,
    "table-5": delays.BURSTY_DELAYS,
    "table-6": delays.PERCENTILES,
    "table-7": delays.SMOOTH_DELAYS,
    "table-8": delays.SMOOTH_DELAYS,
    "table-9": burstiness.BURSTINESS,
    "table-9-lowest": burstiness.LOWEST,
    "table-10": burstiness.BURSTINESS,
    "table-11": delays.MISBEHAVING,
    "table-12": delays.MISBEHAVING,
    **road.MEASURES,
    "buffers-large": buffers.MEASURE,
    "buffers-small": buffers.MEASURE,
    "video": video.VIDEO,
    **reservation.MEASURES,
    **service.MEASURES,
}
