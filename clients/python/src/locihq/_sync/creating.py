"""A service that is being made; the twin of this file is _async/creating.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from .services import Service

Creating: TypeAlias = "Service"


def creating(made: Service) -> Service:
    return made
