"""The libraries that reports need and that are not installed with tidegate itself."""

from __future__ import annotations

from importlib.util import find_spec

from tidegate._tidegate import TidegateError

NEEDED = ("bokeh", "jinja2")


def check() -> None:
    """Make sure, before a long run, that the libraries of reports are installed.

    Raises:
        TidegateError: One of them is not.
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise TidegateError(
            f"reports need {' and '.join(missing)}, not installed here: pip install 'tidegate[report]'"
        )
