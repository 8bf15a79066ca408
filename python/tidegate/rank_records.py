"""The records that rank functions see: 64-bit words, shared with the scheduler that calls them."""

from __future__ import annotations

import ctypes
import keyword
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tidegate._tidegate import TidegateError


@dataclass(frozen=True)
class Field:
    """A field of a record.

    Attributes:
        name: Its name.
        kind: The type of its values, `int` or `float`, each a word.
        length: Number of values of an array; None for a single value.
        first: The values of a new record.
    """

    name: str
    kind: type[int] | type[float] = int
    length: int | None = None
    first: tuple[int | float, ...] = (0,)

    def starting_at(self, values: Mapping[str, object]) -> Field:
        """Return the field with the value that has its name, if there is one."""
        value = values.get(self.name)
        return replace(self, first=(self.kind(value),)) if isinstance(value, int | float) else self

    @property
    def ctype(self) -> Any:
        """The field's type in a structure of C."""
        one: Any = ctypes.c_int64 if self.kind is int else ctypes.c_double
        return one if self.length is None else one * self.length

    @property
    def dtype(self) -> tuple[Any, ...]:
        """The field as numpy describes it."""
        one = "i8" if self.kind is int else "f8"
        return (self.name, one) if self.length is None else (self.name, one, (self.length,))


@dataclass(frozen=True)
class Record:
    """The fields of a record, in order."""

    fields: tuple[Field, ...]

    @cached_property
    def structure(self) -> type[ctypes.Structure]:
        """The record as a structure of C, with the same attributes as the compiled one."""
        names = [(field.name, field.ctype) for field in self.fields]
        # A name that is not there is a mistake, as it is when the function is compiled.
        body = {"_fields_": names, "__setattr__": _set_known}
        return type("Record", (ctypes.Structure,), body)

    @property
    def dtype(self) -> list[tuple[Any, ...]]:
        """The record as numpy describes it."""
        return [field.dtype for field in self.fields]

    @property
    def first_words(self) -> list[int]:
        """The words of a new record."""
        words = []
        for field in self.fields:
            form = "<q" if field.kind is int else "<d"
            words += [int.from_bytes(struct.pack(form, value), "little") for value in field.first]
        return words


def _set_known(record: ctypes.Structure, name: str, value: Any) -> None:
    if not hasattr(record, name):
        raise AttributeError(f"there is no field `{name}`")
    ctypes.Structure.__setattr__(record, name, value)


PACKET = Record(tuple(map(Field, ("flow", "length", "arrived", "dscp", "ecn", "time", "rank"))))

FLOW = (
    Field("reserve", float),
    Field("peak", float),
    *map(Field, ("interval", "head_start", "priority", "workahead", "deadline", "packets", "bytes")),
)
"""The fields with which the record of a flow begins: its contract and its queue."""

FAILED = "_failed"

PORT = (Field(FAILED), Field("rate", float, first=(-1.0,)), *map(Field, ("now", "packets", "bytes")))
"""The fields with which the record of a port begins; the first is 1 once a function has failed."""


def fields_of(values: Mapping[str, object], where: str, taken: Sequence[Field] = ()) -> tuple[Field, ...]:
    """Return the fields with these first values.

    Raises:
        TidegateError: A name is none, or taken; or a value is neither a number nor a list of numbers.
    """
    names = {field.name for field in taken}
    return tuple(_field(name, value, where, names) for name, value in values.items())


def _field(name: str, value: object, where: str, taken: set[str]) -> Field:
    if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
        raise TidegateError(f"`{where}`: `{name}` is not a name for a field")
    if name in taken:
        raise TidegateError(f"`{where}`: there is a field `{name}` already")
    given: Sequence[object] = value if isinstance(value, list | tuple) else [value]
    numbers = tuple(one for one in given if isinstance(one, int | float))
    if not numbers or len(numbers) < len(given):
        raise TidegateError(
            f"`{where}`: `{name}` is {value!r}; it is a whole number, a number, or a list of either"
        )
    kind = int if all(isinstance(one, int) for one in numbers) else float
    if kind is int and not all(-(2**63) <= one < 2**63 for one in numbers):
        raise TidegateError(f"`{where}`: `{name}` has more than 64 bits")
    return Field(name, kind, len(given) if given is value else None, numbers)
