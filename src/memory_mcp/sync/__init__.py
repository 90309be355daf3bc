"""This machine and the cloud: what is pulled, what is pushed, and when."""
