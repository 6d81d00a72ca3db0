"""Forests: many trees at once, on threads, without the GIL."""
