"""`make test` is never silent for long."""

import io
import sys

from narrate import narrate


def narrated(code, silence=0.2):
    out = io.StringIO()
    return narrate([sys.executable, "-c", code], out, silence), out.getvalue().splitlines()


def test_a_command_that_prints_nothing_is_said_to_go_on():
    code, lines = narrated("import time; print('begun', flush=True); time.sleep(1); print('ended')")
    assert code == 0
    assert (lines[0], lines[-1]) == ("begun", "ended")
    assert 2 <= len(lines[1:-1]) <= 5
    assert all(line.startswith("... ") and "goes on, 0 min 0" in line for line in lines[1:-1])


def test_dots_and_errors_are_passed_on_with_the_exit_code():
    code, lines = narrated(
        "import sys; sys.stdout.write('..'); sys.stdout.flush(); sys.stderr.write('no\\n'); sys.exit(3)", 60
    )
    assert (code, lines) == (3, ["..no"])


def test_the_makefile_narrates_what_takes_long():
    from pathlib import Path

    makefile = (Path(__file__).parents[1] / "Makefile").read_text()
    for begins in ("# Tests that need root", "# Long property runs"):
        (recipe,) = [part for part in makefile.split("\n\n") if part.startswith(begins)]
        assert recipe.count("$(NARRATE) ") == 3
