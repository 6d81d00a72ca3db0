"""Messages: values as a user would write them, and names that are not known."""

import difflib
import re

import numpy as np

#: Digits that are read or typed for letters.
_LOOKALIKES = str.maketrans("015", "ols")
_MOST_COMPARED = 5000
_DEEPEST = 4
_LARGEST_ARRAY = 20


def show(value, limit=160):
    """Text of a value for a message.

    Numbers and text of NumPy look like Python's, also inside lists and dicts; what takes
    several lines is put into one, and what is long is cut.

    Parameters
    ----------
    value : object
        What the user gave.
    limit : int or None, default=160
        Most characters; None for all.

    Returns
    -------
    text : str
    """
    text = re.sub(r"\s*\n\s*", " ", _write(value, 0))
    return text if limit is None or len(text) <= limit else f"{text[: limit - 4]} ..."


def _write(value, depth):
    """Return the text of a value, and of what it holds."""
    if isinstance(value, np.generic):
        plain = isinstance(value, (np.number, np.bool_, np.datetime64, np.timedelta64))
        return str(value) if plain else repr(value.item())
    if depth == _DEEPEST:
        return repr(value)  # which knows lists that hold themselves
    if isinstance(value, np.ndarray) and value.size <= _LARGEST_ARRAY:
        return f"array({_write(value.tolist(), depth + 1)})"
    if type(value) is dict:
        pairs = (f"{_write(k, depth + 1)}: {_write(v, depth + 1)}" for k, v in value.items())
        return f"{{{', '.join(pairs)}}}"
    if type(value) in (list, tuple, set):
        items = [_write(item, depth + 1) for item in value]
        if type(value) is list:
            return f"[{', '.join(items)}]"
        if type(value) is set:
            return f"{{{', '.join(items)}}}" if items else "set()"
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
    if isinstance(value, (str, bytes)):
        return repr(value)
    return re.sub(r" at 0x[0-9A-Fa-f]+>", ">", repr(value))  # an address tells nobody anything


def name_column(j, names):
    """Describe column j by its number and, where known, its name."""
    return f"column {j}" if names is None else f"column {j} ({show(names[j])})"


def suggest(name, known):
    """Return the known name that was probably meant, or None.

    Case, separators and digits that look like letters do not count: "C02" means "co2".

    Parameters
    ----------
    name : object
        What the user gave.
    known : collection of str
        Names there are.

    Returns
    -------
    nearest : str or None
    """
    if not isinstance(name, str):
        return None
    by_fold = {}
    for each in known:
        by_fold.setdefault(_fold(str(each)), []).append(each)
    found = by_fold.get(_fold(name))
    if found is None and len(by_fold) <= _MOST_COMPARED:
        near = difflib.get_close_matches(_fold(name), list(by_fold), n=1)
        found = by_fold[near[0]] if near else None
    if not found:
        return None
    return (difflib.get_close_matches(name, found, n=1, cutoff=0.0) or found)[0]


def list_names(names):
    """Return names in quotes, in alphabetical order, as one text."""
    return ", ".join(map(show, sorted(names)))


def unknown_name(what, name, known):
    """Text of an error: what was given, what exists, and what was probably meant.

    Parameters
    ----------
    what : str
        What the name is for.
    name : object
        What the user gave.
    known : collection of str
        Names there are.

    Returns
    -------
    text : str
    """
    return f"unknown {what} {show(name)}; {expect_name(name, known)}"


def expect_name(name, known):
    """Return the second half of such a text: which names there are, and which was meant."""
    if not known:
        return "there is none to choose from"
    some = "one of " if len(known) > 1 else ""
    return f"expected {some}{list_names(known)}{ask_if_meant(name, known)}"


def ask_if_meant(name, known):
    """Return what `suggest` finds as a question that ends a message; nothing if that is None."""
    nearest = suggest(name, known)
    return "" if nearest is None else f". Did you mean {show(nearest)}?"


def _fold(name):
    """Return what is left of a name without case, separators and look-alikes."""
    return re.sub(r"[\W_]+", "", name.casefold().translate(_LOOKALIKES)) or name
