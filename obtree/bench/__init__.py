"""Experiments of the papers, and comparisons with other libraries: ``obtree bench``.

Lowest first: ``data`` and ``folder`` (the loaders), ``report`` (tables), ``results`` (what was
measured, in a file that grows), ``plan`` (what an experiment is), ``measure`` (fitting and
testing), ``libraries`` and ``models`` (what is compared), ``summary`` (means over seeds),
``comparison`` and ``ranking`` (models over many tables), ``published`` (the papers' figures),
``draw`` (pictures), one module for each experiment, and ``run``, which puts them together.
"""
