"""Parts of ``tools/fuzz_models.py``."""
