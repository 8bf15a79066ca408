"""Kung 1997: how its figures are measured.

`link.py` measures one link (equation 2, lost credit cells, a pool, ramp-up), `networks.py` several
(the Generic Fairness Configuration, Figures 11 and 13, blocking), `tcp.py` TCP over links with and
without credit, `comparison.py` credit beside rate control and beside neither.
"""

from tidegate_papers.credit import comparison, link, networks, tcp

MEASURES = {**link.MEASURES, **networks.MEASURES, **tcp.MEASURES, **comparison.MEASURES}
