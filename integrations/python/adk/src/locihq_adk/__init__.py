"""Memory of agents of Google ADK in loci."""

from __future__ import annotations

from .service import LociMemoryService

__all__ = ["LociMemoryService"]
