"""Builders: apply the splits that a splitter proposes, and prune what was grown."""
