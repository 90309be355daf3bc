"""The profile of the user, kept in step with what the memories of the user scope say."""

from memory_mcp.profile.sync import profile_sync, read_profile, user_profile

__all__ = ["profile_sync", "read_profile", "user_profile"]
