"""Memory for agents: the client of loci."""

from __future__ import annotations

from ._async.creating import AsyncCreating
from ._async.loci import AsyncLoci
from ._async.pages import AsyncPaged
from ._async.services import AsyncService
from ._async.user import AsyncUser
from ._sync.loci import Loci
from ._sync.pages import Page, Paged
from ._sync.services import Service
from ._sync.user import User
from .attenuate import Delegation, attenuate, delegate
from .calls import Answer, CallOptions, KeyedOptions, Options
from .capabilities import CapabilityStore, KeptCapability
from .error import LociError
from .frames import ServiceEvent
from .people import database_of
from .progress import Progress
from .recall import Hit, Hits
from .spans import Telemetry

__all__ = [
    "Answer",
    "AsyncCreating",
    "AsyncLoci",
    "AsyncPaged",
    "AsyncService",
    "AsyncUser",
    "CallOptions",
    "CapabilityStore",
    "Delegation",
    "Hit",
    "Hits",
    "KeptCapability",
    "KeyedOptions",
    "Loci",
    "LociError",
    "Options",
    "Page",
    "Paged",
    "Progress",
    "Service",
    "ServiceEvent",
    "Telemetry",
    "User",
    "attenuate",
    "database_of",
    "delegate",
]
