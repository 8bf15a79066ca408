"""Clark and Fang 1998: how its figures are measured.

`tables.toml` holds Tables I to IV and Figure 7, `long.toml` the tables over 200 s, `left-open.toml`
what Table I becomes where the paper leaves a choice, `beyond.toml` what it speaks of and gives no
figures for, and `non-responsive.toml` flows that do not respond to congestion.
"""

from tidegate_papers.allocated_capacity import beyond, figure7, non_responsive, sensitivity, tables

MEASURES = {
    **tables.MEASURES,
    **tables.LONG,
    "figure-7": figure7.FIGURE_7,
    **sensitivity.MEASURES,
    **beyond.MEASURES,
    **non_responsive.MEASURES,
}
