"""Whole-tree optimisers: they take a tree as it is and make it better as a whole."""
