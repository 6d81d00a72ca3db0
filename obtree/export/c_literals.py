"""Numbers, names and tables as C writes them, so that every compiler reads the same bits.

Floating-point numbers are written in hexadecimal unless they are whole: C99 rounds decimal ones
as it likes, hexadecimal ones not at all. Text of the user (labels, names of features) is written
with nothing but harmless characters, so that no text can end a string or a comment.
"""

import re
from dataclasses import dataclass

import numpy as np

from obtree.core.names import show
from obtree.core.params import refuse_param

#: Whole numbers below this are written as such.
PLAIN_LIMIT = 1e6

#: Bytes of a string literal that every C99 compiler takes (5.2.4.1 has 4095).
MAX_STRING = 4000

LINE = 96

INTEGERS = (
    ("uint8_t", 0, 2**8 - 1),
    ("int8_t", -(2**7), 2**7 - 1),
    ("uint16_t", 0, 2**16 - 1),
    ("int16_t", -(2**15), 2**15 - 1),
    ("uint32_t", 0, 2**32 - 1),
    ("int32_t", -(2**31), 2**31 - 1),
    ("uint64_t", 0, 2**64 - 1),
    ("int64_t", -(2**63), 2**63 - 1),
)
FLOATS = ("float", "double")
WIDTHS = {name: int(re.sub(r"\D", "", name)) // 8 for name, _, _ in INTEGERS}
WIDTHS |= {"float": 4, "double": 8}

_PLAIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
_MAX_NAME = 40


def check_prefix(prefix):
    """Refuse what no name in C can begin with.

    Parameters
    ----------
    prefix : str
        What the user gave.

    Returns
    -------
    prefix : str
    """
    expected = f"a letter and up to {_MAX_NAME - 1} letters, digits and underscores"
    if not isinstance(prefix, str):
        refuse_param("prefix", prefix, expected=expected)
    if not _PLAIN_NAME.match(prefix) or len(prefix) > _MAX_NAME:
        refuse_param("prefix", prefix, expected=expected, wrong_type=False)
    return prefix


def choose_integer(values):
    """Return the narrowest type of integers that holds some numbers.

    Parameters
    ----------
    values : array-like of int

    Returns
    -------
    ctype : str
    """
    values = np.asarray(values)
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    for name, least, most in INTEGERS:
        if least <= low and high <= most:
            return name
    raise ValueError(f"no integer of C holds {low} and {high}")


def choose_float(values, integers=False):
    """Return the narrowest type that holds some numbers exactly.

    Parameters
    ----------
    values : ndarray of float64
    integers : bool, default=False
        Whether small whole numbers may become integers: minus zero is none.

    Returns
    -------
    ctype : str
    """
    if integers and np.isfinite(values).all() and (np.abs(values) < 2.0**15).all():
        whole = (values == np.rint(values)) & ~((values == 0.0) & np.signbit(values))
        if whole.all():
            return choose_integer(values.astype(np.int64))
    with np.errstate(over="ignore"):
        exact = (values.astype(np.float32) == values) | np.isnan(values)
    return "float" if exact.all() else "double"


def write_number(value, ctype):
    """Return a number as a constant of a type.

    Parameters
    ----------
    value : int or float
    ctype : str
        One of `WIDTHS`.

    Returns
    -------
    text : str
    """
    if ctype not in FLOATS:
        value = int(value)
        if value == -(2**63):
            return "(-9223372036854775807 - 1)"
        return f"{value}u" if value >= 2**31 and ctype.startswith("u") else str(value)
    value = float(value)
    if not np.isfinite(value):
        return "NAN" if value != value else "INFINITY" if value > 0.0 else "(-INFINITY)"
    end = "f" if ctype == "float" else ""
    if value == int(value) and abs(value) < PLAIN_LIMIT:
        return f"{value:.1f}{end}"
    mantissa, power = value.hex().split("p")
    return f"{mantissa.rstrip('0').rstrip('.')}p{int(power)}{end}"


def write_string(text):
    """Return text as a string literal of C, in UTF-8.

    Parameters
    ----------
    text : str or bytes

    Returns
    -------
    literal : str
        Of printable ASCII; other bytes are octal.
    """
    data = encode_text(text)
    if len(data) > MAX_STRING:
        raise ValueError(
            f"the label or category {show(text, 40)} has {len(data)} bytes; expected at most "
            f"{MAX_STRING}, which is what a string of C may have"
        )
    plain = re.compile(rb"[A-Za-z0-9 _.,:;=+()<>/\[\]-]")
    parts = [chr(byte) if plain.match(bytes([byte])) else f"\\{byte:03o}" for byte in data]
    return f'"{"".join(parts)}"'


def encode_text(text):
    """Return text as bytes, which bytes are already.

    Parameters
    ----------
    text : str or bytes

    Returns
    -------
    data : bytes
    """
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


def write_comment(text, limit=80):
    """Return text as it may stand in a comment: printable ASCII that cannot end it.

    Parameters
    ----------
    text : str
    limit : int, default=80
        Most characters.

    Returns
    -------
    text : str
    """
    parts = [
        character if " " <= character <= "~" and character not in "*\\?" else _name_code(character)
        for character in text[: limit + 1]
    ]
    shown = "".join(parts)
    return shown if len(text) <= limit and len(shown) <= 4 * limit else f"{shown[:limit]} ..."


def _name_code(character):
    """Return the code of a character, as Unicode writes it."""
    return f"<U+{ord(character):04X}>"


@dataclass
class Table:
    """A constant array.

    Parameters
    ----------
    name : str
    ctype : str
        Type of its numbers, one of `WIDTHS`, or ``"char *"`` for strings.
    values : ndarray, or list of str or bytes
        Of one dimension or two.
    note : str
        What it holds.
    public : bool, default=False
        Whether other files see it.
    """

    name: str
    ctype: str
    values: object
    note: str
    public: bool = False

    @property
    def size(self):
        """Bytes that it takes; of strings those of the text, not of the pointers."""
        if self.ctype == "char *":
            return sum(len(encode_text(text)) + 1 for text in self.values)
        return int(np.size(self.values)) * WIDTHS[self.ctype]

    @property
    def declaration(self):
        """What stands before the values."""
        shape = "".join(f"[{length}]" for length in np.shape(self.values))
        kind = "const char *const " if self.ctype == "char *" else f"const {self.ctype} "
        return f"{kind}{self.name}{shape}"

    def write(self):
        """Return the definition."""
        if self.ctype == "char *":
            items = [write_string(text) for text in self.values]
        elif np.ndim(self.values) == 2:
            items = [
                "{" + ", ".join(write_number(value, self.ctype) for value in row) + "}"
                for row in np.asarray(self.values).tolist()
            ]
            # Lines of 4095 characters are what every compiler takes.
            items = [re.sub(r"(.{80}[^,]*,) ", r"\1\n     ", item) for item in items]
        else:
            items = [write_number(v, self.ctype) for v in np.asarray(self.values).tolist()]
        static = "" if self.public else "static "
        lines = [f"/* {self.note} */", f"{static}{self.declaration} = {{", *fill(items), "};"]
        return "\n".join(lines) + "\n"


def fill(items):
    """Return items as lines of a limited width, a comma after each item.

    Parameters
    ----------
    items : list of str

    Returns
    -------
    lines : list of str
    """
    lines, line = [], "   "
    for item in items:
        if len(line) + len(item) + 2 > LINE and line.strip():
            lines.append(line)
            line = "   "
        line += f" {item},"
    return [*lines, line]
