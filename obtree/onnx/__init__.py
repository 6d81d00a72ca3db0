"""Converters of all estimators for skl2onnx; importing this package registers them.

``skl2onnx.to_onnx(model, X[:1])`` then makes a model that onnxruntime predicts with, wherever
there is no Python. See :doc:`/user_guide/onnx`.
"""

try:
    import onnx  # noqa: F401
    import skl2onnx  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"obtree.onnx needs the packages onnx and skl2onnx ({error}); expected them to be "
        "installed, as by pip install 'obtree[onnx]'"
    ) from error

from obtree.onnx.register import register_converters

__all__ = ["register_converters"]

register_converters()
