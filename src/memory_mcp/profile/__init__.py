"""The profile of the user, kept in step with what the memories of the user scope say."""
