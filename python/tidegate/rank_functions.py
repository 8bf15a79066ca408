"""Rank functions as the scheduler calls them: at an address, with pointers to three records."""

from __future__ import annotations

import ctypes
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from tidegate._tidegate import TidegateError
from tidegate.rank_records import FAILED, Record

Function = Callable[[Any, Any, Any], Any]

_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


@cache
def _numba() -> ModuleType | None:
    try:
        import numba
    except ImportError:
        warnings.warn(
            "numba is not installed, and rank functions are interpreted, 15 to 80 times slower: "
            'pip install "tidegate[numba]"',
            stacklevel=2,
        )
        return None
    return numba


class RankFunctions:
    """The functions of a class, compiled if numba is there."""

    def __init__(self, functions: Mapping[str, Function], records: Sequence[Record]) -> None:
        """Compile the functions, by their names; they see these records.

        Raises:
            TidegateError: A function cannot be compiled.
        """
        self._functions, self._records = dict(functions), tuple(records)
        numba = _numba()
        self._entries = {
            name: self._interpreted(name) if numba is None else self._compiled(numba, name)
            for name in functions
        }
        self._raised: Exception | None = None

    @property
    def addresses(self) -> dict[str, int]:
        """The addresses of the functions, by their names; they are valid as long as this object."""
        return {
            name: ctypes.cast(getattr(entry, "ctypes", entry), ctypes.c_void_p).value or 0
            for name, entry in self._entries.items()
        }

    def fits(self, records: Sequence[Record]) -> bool:
        """Return whether the functions see records with these fields, whatever their first values."""
        return [one.dtype for one in self._records] == [one.dtype for one in records]

    def fail(self, name: str, *words: Sequence[int]) -> None:
        """Raise the exception of a call that failed; `words` are the records after it."""
        if self._raised is not None:
            raise self._raised
        seen = [
            record.structure.from_buffer((ctypes.c_uint64 * len(given))(*given))
            for record, given in zip(self._records, words, strict=True)
        ]
        # A compiled function does not tell what it raised. The interpreted one raises it again.
        self._functions[name](*seen)
        raise RuntimeError(f"`{name}` raised an exception when it was compiled, and none interpreted")

    def _interpreted(self, name: str) -> Any:
        function, structures = self._functions[name], [record.structure for record in self._records]

        def entry(*addresses: int) -> int:
            seen = [
                structure.from_address(address)
                for structure, address in zip(structures, addresses, strict=True)
            ]
            try:
                answer = function(*seen)
                return 0 if name == "served" else _whole(name, answer)
            except Exception as error:
                self._raised = error
                setattr(seen[-1], FAILED, 1)
                return 0

        return _ENTRY(entry)

    def _compiled(self, numba: ModuleType, name: str) -> Any:
        import numpy as np

        jitted = numba.njit(boundscheck=True)(self._functions[name])
        types = [numba.from_dtype(np.dtype(record.dtype)) for record in self._records]
        returned = _returned(name, jitted, types)
        if name != "served" and not isinstance(returned, numba.types.Integer):
            raise TidegateError(f"`{name}` returns {returned}, and it has to return an `int` in every case")
        entry = _caller(numba, jitted, answers=name != "served")
        pointers = [numba.types.CPointer(one) for one in types]
        return numba.cfunc(numba.int64(*pointers))(entry)


def _caller(numba: ModuleType, jitted: Any, *, answers: bool) -> Callable[..., int]:
    carray = numba.carray

    def ranked(packet: Any, flow: Any, port: Any) -> int:
        state = carray(port, 1)[0]
        try:
            return int(jitted(carray(packet, 1)[0], carray(flow, 1)[0], state))
        except Exception:
            state._failed = 1
            return 0

    def noted(packet: Any, flow: Any, port: Any) -> int:
        state = carray(port, 1)[0]
        try:
            jitted(carray(packet, 1)[0], carray(flow, 1)[0], state)
        except Exception:
            state._failed = 1
        return 0

    return ranked if answers else noted


def _whole(name: str, answer: Any) -> int:
    if not isinstance(answer, int):
        raise TidegateError(f"`{name}` returned {answer!r}, and it has to return an `int` in every case")
    return answer


def _returned(name: str, jitted: Any, types: Sequence[Any]) -> Any:
    """Return the type that a function returns."""
    try:
        jitted.compile(tuple(types))
    except KeyError as error:
        # numba raises it for an attribute that a record does not have.
        raise TidegateError(f"`{name}`: there is no field `{error.args[0]}`") from error
    except Exception as error:
        raise TidegateError(f"`{name}` cannot be compiled: {_in_short(str(error))}") from error
    return jitted.overloads[tuple(types)].signature.return_type


def _in_short(message: str) -> str:
    """Return the reason of numba's message, and its place."""
    # numba colours its messages where it can.
    message = re.sub(r"\x1b\[[0-9;]*m", "", message)
    lines = [line for line in message.splitlines() if line and not line.startswith("Failed in nopython mode")]
    place = re.search(r'File "(.+)", line (\d+)', message)
    at = f" ({Path(place[1]).name}, line {place[2]})" if place else ""
    return f"{lines[0] if lines else message}{at}"
