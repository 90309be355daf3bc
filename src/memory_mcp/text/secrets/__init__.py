"""Takes secrets out of texts."""

from memory_mcp.text.secrets.redact import Redacted, redact, session_name

__all__ = ["Redacted", "redact", "session_name"]
