"""Messages about names that are not known."""

import difflib


def unknown_name(what, name, known):
    """Text of an error: what was given, what exists, and what was probably meant."""
    text = f"unknown {what} {name!r}; expected one of {', '.join(map(repr, sorted(known)))}"
    close = difflib.get_close_matches(str(name), list(known), n=1)
    return f"{text}. Did you mean {close[0]!r}?" if close else text
