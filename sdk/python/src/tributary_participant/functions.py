"""The registered functions and their signatures."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from .errors import ParticipantError

OPERATIONS = ("train", "evaluate", "aggregate", "serve")
# Not an operation: a train call with `config.untrained`.
INITIAL = "initial"
_ARGUMENTS = {
    "train": "(parameters, dataset)",
    "evaluate": "(parameters, dataset)",
    "aggregate": "(parameters_list)",
    "serve": "(parameters, input)",
    "initial": "()",
}

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Registered:
    call: Callable[..., Any]
    takes_context: bool


class Functions:
    def __init__(self) -> None:
        self._registered: dict[str, Registered] = {}

    def register(self, operation: str, function: Function) -> Function:
        """Registers a function and returns it, so that this works as a decorator. A later registration replaces an earlier one."""
        if not callable(function):
            raise TypeError(f"register_{operation} takes a function, not {type(function).__name__}")
        self._registered[operation] = Registered(function, _takes_context(operation, function))
        return function

    def find(self, operation: str) -> Registered:
        found = self._registered.get(operation)
        if found is None:
            message = f"This participant has no {operation} function: none is registered."
            raise ParticipantError("NOT_REGISTERED", message, details={"operation": operation, "registered": self.names})
        return found

    @property
    def names(self) -> list[str]:
        return [operation for operation in (*OPERATIONS, INITIAL) if operation in self._registered]


def _takes_context(operation: str, function: Callable[..., Any]) -> bool:
    """Checked at registration, so that a wrong signature fails the program at its start and not the first round."""
    try:
        signature = inspect.signature(function)
    except ValueError:
        # A function in native code may have no signature.
        return False
    wanted = "context" in signature.parameters
    keywords = {"context": None} if wanted else {}
    try:
        signature.bind(*[None] * len(_ARGUMENTS[operation].strip("()").split()), **keywords)
    except TypeError as problem:
        raise TypeError(f"a function for {operation} must take {_ARGUMENTS[operation]} and may take context=...: {problem}") from None
    return wanted
