"""Warnings that point at the user's own line, however deep in the package they arise."""

import inspect
import os
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).parents[1]) + os.sep


def advise(message, category=UserWarning):
    """Warn, in the name of the line that has called the package.

    Python shows a warning once for each line, so a forest that is fitted in a loop advises once.

    Parameters
    ----------
    message : str
        What has happened, and what to do about it.
    category : type, default=UserWarning
        Class of the warning.
    """
    own, level, frame = 1, 1, inspect.currentframe().f_back
    while frame is not None:
        level += 1
        # Decorators of scikit-learn may stand between two lines of this package.
        if frame.f_code.co_filename.startswith(_PACKAGE):
            own = level
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=own + 1)
