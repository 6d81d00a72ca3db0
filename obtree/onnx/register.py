"""Telling skl2onnx which function converts which estimator."""

from skl2onnx import update_registered_converter
from sklearn.base import is_classifier

import obtree.estimators
from obtree.estimators.base import BaseModel
from obtree.onnx.convert import convert
from obtree.onnx.outputs import shape_classifier, shape_regressor

#: What users may ask of classifiers; see skl2onnx.
OPTIONS = {
    "zipmap": [True, False, "columns"],
    "nocl": [True, False],
    "output_class_labels": [False, True],
}


def register_converters() -> None:
    """Register the converters of all estimators with skl2onnx.

    Importing ``obtree.onnx`` does this; a second call changes nothing, unless somebody else has
    registered converters of these classes in between.
    """
    for name in obtree.estimators.__all__:
        kind = getattr(obtree.estimators, name)
        if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
            continue
        if getattr(kind, "_target_kind", "none") == "none":
            update_registered_converter(kind, f"Obtree{name}", refuse, convert)
            continue
        classifies = is_classifier(kind())
        update_registered_converter(
            kind,
            f"Obtree{name}",
            shape_classifier if classifies else shape_regressor,
            convert,
            options=OPTIONS if classifies else None,
        )


def refuse(operator):
    """Refuse an estimator that predicts neither classes nor numbers."""
    raise TypeError(
        f"{type(operator.raw_operator).__name__} cannot be exported to ONNX; expected an estimator "
        "that predicts classes or numbers"
    )
