"""The artifact pages of the papers: a row for each experiment, with its command and how long it takes."""

import re

import make_artifact
import pytest

import tidegate_papers as papers


@pytest.mark.parametrize("name", papers.names())
def test_a_page_has_every_experiment_as_its_data_state_it(name: str) -> None:
    text = (make_artifact.PAGES / f"{name}-artifact.md").read_text(encoding="utf-8")
    paper = papers.load(name)
    times = make_artifact.times(text)
    assert list(times) == [one.name for one in paper.experiments]
    assert make_artifact.fill(text, make_artifact.table(paper, times)) == text
    assert f"tidegate paper {name} " in text
    assert [one for one in times.values() if not re.fullmatch(r"\d+\.\d|-", one)] == []


@pytest.mark.parametrize("name", papers.names())
def test_what_a_paper_requires_was_timed(name: str) -> None:
    if name == "axel":
        pytest.skip("its experiments take minutes each, and were not timed yet")
    times = make_artifact.times((make_artifact.PAGES / f"{name}-artifact.md").read_text(encoding="utf-8"))
    for one in papers.load(name).experiments:
        if any(claim.required for claim in one.claims) and not (one.only_full or one.on_request):
            assert times[one.name] != make_artifact.UNKNOWN, one.name
