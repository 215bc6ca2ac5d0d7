"""Memory and history of Microsoft Agent Framework in loci."""

from __future__ import annotations

from .context import LociContextProvider
from .history import LociHistoryProvider

__all__ = ["LociContextProvider", "LociHistoryProvider"]
