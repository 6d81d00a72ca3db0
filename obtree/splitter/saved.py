"""Splitters of other packages that a model file names, and that were not imported."""

from obtree.core.names import unknown_name


class SavedSplitter:
    """Stands for a splitter of another package in a model that was read from a file.

    Predicting does not need the splitter, and a file must not decide what is imported. So
    its name and parameters are kept, and growing new trees with it is refused. The model can be
    saved again and loses nothing.

    Parameters
    ----------
    name : str
        Under which its package declares it.
    params : dict or None
        Its parameters; None when the model was given the name alone.
    """

    def __init__(self, name, params):
        self.name = name
        self.params = params

    def __repr__(self):
        return f"SavedSplitter({self.name!r}, {self.params!r})"

    def __eq__(self, other):
        if not isinstance(other, SavedSplitter):
            return NotImplemented
        return (self.name, self.params) == (other.name, other.params)

    __hash__ = None

    def explain(self, known):
        """Say why no tree can grow with it.

        Parameters
        ----------
        known : collection of str
            Names of the splitters that are installed.

        Returns
        -------
        str
        """
        if self.name not in known:
            return unknown_name("splitter", self.name, known)
        return (
            f"splitter {self.name!r} of another package was not imported when the model was "
            "read from a file; load the model with allow_plugins=True if you trust its package "
            "and the file, or set another splitter"
        )
