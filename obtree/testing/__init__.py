"""Helpers for tests: slow references, and doors to compiled functions.

Nothing else in the package imports this folder.
"""
