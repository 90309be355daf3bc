"""A session: its context, its prompts, nudges, hand-overs, episodes, and the inbox of hooks."""
