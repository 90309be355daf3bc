"""The timeline: checkpoints, branches, backtracks, and what stands where."""
