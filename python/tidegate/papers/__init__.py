"""Published experiments run again: each paper's figures beside ours, with intervals.

from tidegate import papers

report = papers.conduct(papers.load("virtualclock"))
report.findings  # claims: published, measured, and whether they hold
"""

from tidegate.papers.claims import Claim, Finding
from tidegate.papers.paper import Paper, Table, load, names
from tidegate.papers.report import Outcome, Report, conduct

__all__ = ["Claim", "Finding", "Outcome", "Paper", "Report", "Table", "conduct", "load", "names"]
