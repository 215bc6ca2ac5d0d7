"""Sessions of the OpenAI Agents SDK in loci."""

from __future__ import annotations

from .session import LociSession

__all__ = ["LociSession"]
