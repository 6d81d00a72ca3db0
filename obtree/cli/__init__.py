"""The command ``obtree``."""
