"""Long-term memory of LangGraph in loci."""

from __future__ import annotations

from .store import LociStore, NotSupportedError, as_data

__all__ = ["LociStore", "NotSupportedError", "as_data"]
