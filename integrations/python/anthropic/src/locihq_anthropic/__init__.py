"""Files of Claude's memory tool in loci."""

from __future__ import annotations

from .tool import LociAsyncMemoryTool, LociMemoryTool

__all__ = ["LociAsyncMemoryTool", "LociMemoryTool"]
