"""Pure rules of the timeline: how moves change it, where they lead, and what is visible."""
