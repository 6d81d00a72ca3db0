"""Parts of other packages that a model file names, and that were not imported."""

from obtree.core.names import unknown_name


class SavedPart:
    """Stands for a part of another package in a model that was read from a file.

    Predicting does not need what learnt the model, and a file must not decide what is imported.
    So name and parameters of a splitter, or of what fits leaves, are kept, and fitting with it is
    refused. The model can be saved again and loses nothing.

    Parameters
    ----------
    what : {"splitter", "leaf"}
        What it is.
    name : str
        Under which its package declares it.
    params : dict or None
        Its parameters; None when the model was given the name alone.
    """

    def __init__(self, what, name, params):
        self.what = what
        self.name = name
        self.params = params

    def __repr__(self):
        return f"SavedPart({self.what!r}, {self.name!r}, {self.params!r})"

    def __eq__(self, other):
        if not isinstance(other, SavedPart):
            return NotImplemented
        return vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def explain(self, known):
        """Say why nothing can be fitted with it.

        Parameters
        ----------
        known : collection of str
            Names of the parts of its sort that are installed.

        Returns
        -------
        str
        """
        if self.name not in known:
            return unknown_name(self.what, self.name, known)
        return (
            f"{self.what} {self.name!r} of another package was not imported when the model was "
            "read from a file; load the model with allow_plugins=True if you trust its package "
            f"and the file, or set another {self.what}"
        )
