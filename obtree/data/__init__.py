"""Input data: checked once, encoded once, shared by every tree."""
