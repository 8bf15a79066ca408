"""Kalyanaraman et al. 1998: how its figures are measured.

Each configuration is run without VS/VD and under the couplings A to F of Table 2, as section 5.5
corrects it.
"""

from tidegate_papers.vsvd import (
    algorithms,
    beyond,
    cloud,
    configurations,
    couplings,
    curves,
    left_open,
    minima,
    one_vc,
    per_vc,
    random_settings,
)

MEASURES = {
    "two-sources": configurations.TWO_SOURCES,
    "parking-lot": configurations.PARKING_LOT,
    "upstream": configurations.UPSTREAM,
    "transient": configurations.TRANSIENT,
    "transient-140": configurations.TRANSIENT_140,
    "figure-11": curves.FIGURE_11,
    "figure-12": curves.FIGURE_12,
    "response": curves.RESPONSE,
    "algorithms": algorithms.ALGORITHMS,
    **couplings.MEASURES,
    **random_settings.MEASURES,
    **beyond.MEASURES,
    **left_open.MEASURES,
    **minima.MEASURES,
    **cloud.MEASURES,
    **one_vc.MEASURES,
    **per_vc.MEASURES,
}
