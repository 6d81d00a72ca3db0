"""Criteria: how good is a cut of a node, and what does a leaf predict."""
