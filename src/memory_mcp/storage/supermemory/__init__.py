"""The cloud: how records go there and come back, and when to try again."""
