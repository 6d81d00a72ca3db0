"""Benchmarks of obtree for asv."""
