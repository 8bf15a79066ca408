"""Schedulers that rank packets by a function, which is compiled.

    class LeastSent(tidegate.RankScheduler):
        name = "least-sent"
        flow_state = {"sent": 0}

        @staticmethod
        def rank(packet, flow, state):
            flow.sent += packet.length
            return flow.sent

From then on `port = "least-sent"` is a port with this scheduler. numba compiles the functions.
Without it they are interpreted, to the same result while whole numbers stay within 64 bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from tidegate import _tidegate
from tidegate._tidegate import TidegateError
from tidegate.policy import NEVER, TICKS, Declaration, Policy, Value
from tidegate.rank_functions import RankFunctions
from tidegate.rank_records import FLOW, PACKET, PORT, Record, fields_of

__all__ = ["NEVER", "TICKS", "RankScheduler"]

State = Mapping[str, int | float | Sequence[int] | Sequence[float]]


class RankScheduler(Policy):
    """Sends the packet with the smallest rank of those that are first in their queues.

    Equal ranks are sent in the order of arrival. State `rank`, and `eligible` and `served` if they
    are needed. All are static methods with the same arguments, three records:

    - `packet` has `flow`, `length` in bytes, `arrived` in ticks, `dscp`, `ecn`, `time` (the ticks
      that it takes at its flow's reserved rate, 0 without one) and, in `served`, its `rank`.
    - `flow` has the contract: `reserve` and `peak` in bit/s, `interval`, `head_start` and `deadline`
      in ticks, `priority`, and `workahead` in bytes. A value that it does not state is -1. `packets`
      and `bytes` are in the flow's queue, without the packet.
    - `state` is the port's. It has `now` in ticks, the `rate` of the link in bit/s (-1 if it is
      unknown), the `packets` and `bytes` in its queues, without the packet, and the parameters,
      which are numbers.

    Attributes:
        flow_state: Further fields of each flow, and their first values: a whole number of 64 bits, a
            number, or a list of either, which is an array of that length.
        port_state: Further fields of the port, likewise.
    """

    _role = "scheduler"
    _fixed: ClassVar[tuple[str, ...]] = (*Policy._fixed, "_regulates")
    _regulates: ClassVar[bool] = False

    flow_state: ClassVar[State] = {}
    port_state: ClassVar[State] = {}
    _compiled: ClassVar[RankFunctions | None] = None
    _functions: RankFunctions
    _addresses: dict[str, int]
    _first_words: tuple[list[int], ...]

    @staticmethod
    def rank(packet: Any, flow: Any, state: Any) -> int:
        """Return the rank of a packet that is about to join the queue of its flow."""
        raise NotImplementedError("there is no `rank`")

    @staticmethod
    def eligible(packet: Any, flow: Any, state: Any) -> int:
        """Return the tick before which a packet is not sent, that is about to join its queue.

        It is called before `rank`. Without it, packets may be sent on arrival.
        """
        raise NotImplementedError

    @staticmethod
    def served(packet: Any, flow: Any, state: Any) -> None:
        """Learn that a packet has left its queue, and is being sent."""
        raise NotImplementedError

    def __init_subclass__(cls) -> None:
        cls._regulates = cls.eligible is not RankScheduler.eligible
        cls._compiled = None
        super().__init_subclass__()

    @classmethod
    def _register(cls, declaration: Declaration) -> None:
        cls._layout({})
        _tidegate.register_rank_scheduler(*declaration, cls._regulates)

    def __new__(cls, **parameters: Value) -> Self:  # noqa: D102
        self = super().__new__(cls, **parameters)
        records = cls._layout(parameters)
        # A class may have been given other fields since; its functions must not see older ones.
        if cls._compiled is None or not cls._compiled.fits(records):
            cls._compiled = RankFunctions(cls._stated(), records)
        self._functions = cls._compiled
        self._addresses = cls._compiled.addresses
        self._first_words = tuple(record.first_words for record in records[1:])
        return self

    @classmethod
    def _stated(cls) -> dict[str, Any]:
        """Return the functions that the class states, by name."""
        functions = {name: getattr(cls, name) for name in ("eligible", "rank", "served")}
        return {name: one for name, one in functions.items() if one is not getattr(RankScheduler, name)}

    @classmethod
    def _layout(cls, values: Mapping[str, Value]) -> tuple[Record, Record, Record]:
        """Return the records of a packet, a flow and a port with these values of its parameters."""
        if cls.rank is RankScheduler.rank:
            raise TidegateError(f"`{cls.__name__}` has no `rank`")
        flow = FLOW + fields_of(cls.flow_state, "flow_state", FLOW)
        port = PORT + fields_of(cls.parameters, "parameters", PORT)
        port += fields_of(cls.port_state, "port_state", port)
        return PACKET, Record(flow), Record(tuple(field.starting_at(values) for field in port))

    def _raise(self, name: str, *words: Sequence[int]) -> None:
        self._functions.fail(name, *words)
