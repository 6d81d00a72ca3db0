"""A tree in disjunctive normal form, as plain arrays, and back from arrays nobody knows."""

import numpy as np

from obtree.data.offset import OffsetModel
from obtree.tree.state import check_count, check_format, check_names, check_type

# 1: the arrays every form has. 2: an offset of the features as well.
FORMATS = (1, 2)

# Units and features are counted with 31 bits. No array is as long as there are classes, so
# that a state could ask for any number of them: every row to predict needs room for all.
MAX_COUNT = 2**31 - 64
MAX_CLASSES = 2**20

FIELDS = {
    "root": (np.int32, 1),
    "child_left": (np.int32, 1),
    "child_right": (np.int32, 1),
    "weight": (np.float32, 2),
    "mean": (np.float64, 1),
    "scale": (np.float64, 1),
}
COUNTS = {"n_features": MAX_COUNT, "n_classes": MAX_CLASSES}


class NormalForm(OffsetModel):
    """A disjunctive normal tree that has been fitted.

    Units are the soft decisions of the tree. Unit ``u`` passes a fraction of a row on to
    ``child_right[u]``, ::

        1 / (1 + exp(-(weight[u, :-1] @ z + weight[u, -1]))),  z = (x - mean) * scale

    and the rest to ``child_left[u]``; a missing feature has ``z = 0``. A child is the number of
    a unit, -1 when nothing is there, or ``-2 - c`` for a leaf of class ``c``. Rows start at
    every entry of `root`, which are coded as children are: one tree of units for each class,
    or one for all. With ``g`` the fractions that arrive at the leaves of a class, the value of
    the class is ``1 - prod(1 - g)``. Branches that less than a thousandth of the row reaches
    are left out.

    When there are two classes, one root and no leaf of class 0, the value of class 0 is one
    minus that of class 1.

    When `feature_offset` is not None, it is subtracted from the features in float64 before they
    become float32, and the form keeps the means of these shifted features. The `mean` shown is
    that of the features as they are.

    The arrays are read-only. Make forms with :meth:`from_arrays`, or from untrusted data with
    :func:`form_from_state`.

    Attributes
    ----------
    root : int32 (n_roots,)
    child_left, child_right : int32 (n_units,)
        A child has a higher number than its parent.
    weight : float32 (n_units, n_features + 1)
        Weights of the standardised features, and the constant.
    mean, scale : float64 (n_features,)
        Mean and inverse standard deviation of the features; `scale` is 0 for constant ones.
    feature_offset : float64 (n_features,) or None
        What is subtracted from each feature first. None when nothing is.
    n_features, n_classes : int
    """

    #: Forms are for one output.
    n_outputs = 1

    @classmethod
    def from_arrays(cls, *, n_features, n_classes, **arrays):
        """Make a form from arrays that are known to be consistent.

        Parameters
        ----------
        n_features, n_classes : int
        **arrays : array-like
            Every array attribute of the class, by name; `feature_offset` may be left out, and
            `mean` is that of shifted features if it is not. Arrays that own their memory and
            have the right type are kept, not copied, and become read-only.

        Returns
        -------
        NormalForm
        """
        offset = arrays.pop("feature_offset", None)
        if arrays.keys() != FIELDS.keys():
            wrong = sorted(arrays.keys() ^ FIELDS.keys())
            raise TypeError(f"missing or unexpected arrays: {', '.join(wrong)}")
        form = cls.__new__(cls)
        form.n_features = int(n_features)
        form.n_classes = int(n_classes)
        for name, (dtype, _) in FIELDS.items():
            array = np.require(arrays[name], dtype=dtype, requirements=["C", "O"])
            array.flags.writeable = False
            setattr(form, name, array)
        if offset is not None:
            offset = np.require(offset, dtype=np.float64, requirements=["C", "O"])
            offset.flags.writeable = False
        return form.with_offset(offset)

    def __init__(self):
        raise TypeError("make forms with NormalForm.from_arrays or form_from_state")

    def _move(self, offset):
        """Rewrite the constants for features that are larger by `offset`."""
        self.mean = self.mean + offset
        self.mean.flags.writeable = False

    def __reduce__(self):
        return form_from_state, (form_to_state(self),)

    # skops asks for the state of an object; what it brings back is checked as well.
    def __getstate__(self):
        return form_to_state(self)

    def __setstate__(self, state):
        vars(self).update(vars(form_from_state(state)))

    def __repr__(self):
        return (
            f"NormalForm(n_units={self.n_units}, n_leaves={self.n_leaves}, "
            f"n_features={self.n_features}, n_classes={self.n_classes})"
        )

    @property
    def n_units(self):
        """Number of soft decisions."""
        return self.child_left.shape[0]

    @property
    def n_leaves(self):
        """Number of conjunctions, over all classes."""
        return sum(
            int(np.count_nonzero(codes <= -2))
            for codes in (self.root, self.child_left, self.child_right)
        )

    @property
    def complement(self):
        """Whether the value of class 0 is one minus that of class 1."""
        codes = (self.root, self.child_left, self.child_right)
        return (
            self.n_classes == 2 and len(self.root) == 1 and not any((c == -2).any() for c in codes)
        )


def form_to_state(form):
    """Describe a form with plain arrays.

    Parameters
    ----------
    form : NormalForm

    Returns
    -------
    dict
        ``format``, the counts and the array attributes of `NormalForm`, as
        `NormalForm.from_arrays` takes them.
    """
    offset, form = form.feature_offset, form.shifted
    state = {"format": 1}
    state.update((name, getattr(form, name)) for name in COUNTS)
    state.update((name, np.asarray(getattr(form, name))) for name in FIELDS)
    if offset is not None:
        state.update(format=2, feature_offset=np.asarray(offset))
    return state


def form_from_state(state):
    """Make a form from a state that may be damaged.

    Parameters
    ----------
    state : dict
        As made by `form_to_state`.

    Returns
    -------
    NormalForm

    Raises
    ------
    ValueError
        Naming the field that cannot belong to a form.
    """
    check_format("the state of a form", state, FORMATS)
    fields = dict(FIELDS)
    if state["format"] == 2:
        fields["feature_offset"] = (np.float64, 1)
    check_names("the state of a form", state, {*COUNTS, *fields})
    for name, most in COUNTS.items():
        check_count(name, state[name], most)
    for name, (dtype, n_dimensions) in fields.items():
        check_type(name, state[name], dtype, n_dimensions)
    # A private copy in native order: what was checked is what is used.
    arrays = {name: np.array(state[name], dtype=dtype) for name, (dtype, _) in fields.items()}
    counts = {name: int(state[name]) for name in COUNTS}
    _check_shapes(arrays, counts["n_features"])
    _check_values(arrays)
    _check_links(arrays, counts["n_classes"])
    return NormalForm.from_arrays(**counts, **arrays)


def _check_shapes(arrays, n_features):
    n_units = len(arrays["child_left"])
    shapes = {
        "child_right": (n_units,),
        "weight": (n_units, n_features + 1),
        "mean": (n_features,),
        "scale": (n_features,),
        "feature_offset": (n_features,),
    }
    for name, shape in shapes.items():
        if name in arrays and arrays[name].shape != shape:
            raise ValueError(f"{name} has shape {arrays[name].shape}; expected {shape}")
    if len(arrays["root"]) < 1 or len(arrays["root"]) + n_units > MAX_COUNT // 4:
        raise ValueError(f"root has length {len(arrays['root'])}; expected a reasonable number")


def _check_values(arrays):
    for name in ("weight", "mean", "scale", "feature_offset"):
        if name in arrays and not np.isfinite(arrays[name]).all():
            raise ValueError(f"{name} must be finite")
    if (arrays["scale"] < 0).any():
        raise ValueError("scale must not be negative")


def _check_links(arrays, n_classes):
    """Every unit is named once, by a root or by a unit of a lower number: no cycles."""
    n_units = len(arrays["child_left"])
    names = ("root", "child_left", "child_right")
    for name in names:
        codes = arrays[name]
        if len(codes) and (codes.min() < -1 - n_classes or codes.max() >= n_units):
            raise ValueError(f"{name} must be in {-1 - n_classes}..{n_units - 1}")
    for name in names[1:]:
        inner = arrays[name] >= 0
        if (arrays[name][inner] <= np.flatnonzero(inner)).any():
            raise ValueError(f"{name} must be higher than its parent")
    codes = np.concatenate([arrays[name] for name in names])
    if (np.bincount(codes[codes >= 0], minlength=n_units) != 1).any():
        raise ValueError("root, child_left and child_right must name every unit exactly once")
