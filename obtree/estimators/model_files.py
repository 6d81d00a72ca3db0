"""Model files for the user: one estimator or a pipeline, by name or as an open file."""

import io
from os import PathLike
from typing import Any, BinaryIO

from sklearn.pipeline import Pipeline

from obtree.core.params import FLAG, Integer, check_param
from obtree.estimators.archive import is_stream, name_file, read_archive, write_archive
from obtree.estimators.io import ESTIMATORS, describe_estimator, restore_estimator
from obtree.estimators.packed_states import TREE_BYTES
from obtree.estimators.saved_pipeline import describe_pipeline, is_pipeline, restore_pipeline

MAX_BYTES = 2**32


def save_model(model: object, path: str | PathLike[str] | BinaryIO) -> None:
    """Write a fitted estimator, or a pipeline with such in it, to a file.

    Parameters
    ----------
    model : estimator object
        A fitted obtree estimator, or a `sklearn.pipeline.Pipeline` whose steps are such, or
        transformers of scikit-learn; see :doc:`/user_guide/model_files`. Class labels must be
        numbers, booleans or strings.
    path : str, path-like or binary file
        File to write; replaced when it exists. To a file that is open the bytes are written where
        it stands.

    Notes
    -----
    Up to version 0.5 the path came first. That order is still understood.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from obtree import ObliqueTreeClassifier, load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ObliqueTreeClassifier(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.obtree")
    ...     save_model(tree, path)
    ...     same = load_model(path)
    >>> bool((same.predict(X) == tree.predict(X)).all())
    True
    """
    if _is_place(model) and not _is_place(path):
        model, path = path, model
    write_archive(path, *_describe(model))


def load_model(
    path: str | PathLike[str] | BinaryIO,
    *,
    max_bytes: int = MAX_BYTES,
    allow_plugins: bool = False,
) -> Any:
    """Read a fitted estimator from a file written by `save_model`.

    Parameters
    ----------
    path : str, path-like or binary file
        File to read; one that is open is read from where it stands to its end.
    max_bytes : int, default=2**32
        Refuse a file that is larger, or whose contents are. Each tree counts for at least
        4096 bytes, and the header for what it takes once it is parsed. Whatever the file
        declares, loading takes no more memory than a small multiple of this.
    allow_plugins : bool, default=False
        Whether splitters and leaf fitters of other packages that the file names may be imported
        and made with the parameters in the file. Predicting does not need them. By default the
        model keeps names and parameters, and only refuses to grow new trees.

    Returns
    -------
    estimator : estimator object
        Ready to predict.

    Raises
    ------
    ValueError
        When the file is damaged, hostile or too large, saying what is wrong with it.
    OSError
        When there is no such file, or it cannot be read.

    Examples
    --------
    >>> import io
    >>> from sklearn.datasets import load_iris
    >>> from obtree import ObliqueTreeClassifier, load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> stream = io.BytesIO()
    >>> save_model(ObliqueTreeClassifier(random_state=0).fit(X, y), stream)
    >>> tree = load_model(io.BytesIO(stream.getvalue()))
    >>> tree.predict(X[:2])
    array([0, 0])
    """
    max_bytes = check_param("max_bytes", max_bytes, Integer(1))
    allow_plugins = check_param("allow_plugins", allow_plugins, FLAG)
    header, arrays = read_archive(path, max_bytes)
    try:
        return _restore(header, arrays, max_bytes, allow_plugins)
    except (KeyError, MemoryError, OverflowError, TypeError, ValueError) as error:
        text = f"{name_file(path)} is not a valid model: {_explain(error)}"
        raise ValueError(text) from error


def _is_place(thing):
    """Tell whether something says where a file is, rather than what it holds."""
    return isinstance(thing, (str, bytes)) or hasattr(thing, "__fspath__") or is_stream(thing)


def _describe(model):
    """Return the header and the arrays of a file."""
    if isinstance(model, Pipeline):
        return describe_pipeline(model, _to_bytes)
    if ESTIMATORS.get(type(model).__name__) is not type(model):
        found = " Its best_estimator_ may be one." if hasattr(model, "best_estimator_") else ""
        raise ValueError(
            f"{type(model).__name__} cannot be saved to a model file; expected one of "
            f"{', '.join(ESTIMATORS)}, or a Pipeline of them and of transformers of scikit-learn."
            f"{found}"
        )
    return describe_estimator(model)


def _restore(header, arrays, max_bytes, allow_plugins):
    """Make what a file holds, trusting none of it."""
    if not is_pipeline(header):
        return restore_estimator(header, arrays, max_bytes, allow_plugins)

    def read_step(data, max_bytes):
        if max_bytes < 1:
            raise ValueError("there are no bytes left of max_bytes")
        found, parts = read_archive(io.BytesIO(data), max_bytes)
        n_bytes = sum(array.nbytes for array in parts.values())
        model = restore_estimator(found, parts, max_bytes, allow_plugins)
        return model, max(n_bytes, TREE_BYTES * len(model._list_trees()))

    return restore_pipeline(header, arrays, max_bytes, read_step)


def _to_bytes(model):
    """Return a model of ours as the bytes of a file, or None if it is none."""
    if ESTIMATORS.get(type(model).__name__) is not type(model):
        return None
    stream = io.BytesIO()
    write_archive(stream, *describe_estimator(model))
    return stream.getvalue()


def _explain(error):
    """Say what an error means for a file."""
    if isinstance(error, KeyError):
        return f"it lacks {error}"
    if isinstance(error, MemoryError):
        return "it takes more memory than there is"
    return str(error)
