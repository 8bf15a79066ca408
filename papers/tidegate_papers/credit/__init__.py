"""Kung 1997: how its figures are measured.

`goals.py` measures memory without flow control and what ABR fills, `link.py` one link (equation 2,
lost credit cells, a pool, ramp-up), `networks.py` several (the Generic Fairness Configuration,
Figures 11 and 13, blocking), `ports.py` VCs of several nodes at one port (Figure 10, equation 6, a
sender that ignores credit), `tcp.py` TCP over links with and without credit, `comparison.py` credit
beside rate control and beside neither.
"""

from tidegate_papers.credit import comparison, goals, link, networks, ports, tcp

MEASURES = {
    **goals.MEASURES,
    **link.MEASURES,
    **networks.MEASURES,
    **ports.MEASURES,
    **tcp.MEASURES,
    **comparison.MEASURES,
}
