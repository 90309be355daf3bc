"""Takes secrets out of texts."""

from memory_mcp.text.secrets.redact import Redacted, hide_secret_name, redact

__all__ = ["Redacted", "hide_secret_name", "redact"]
