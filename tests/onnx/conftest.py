"""Converting models, and predicting with onnxruntime."""

from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import make_classification, make_regression

# Without the packages there is nothing to test but the import, whose tests say what is missing.
if all(find_spec(name) for name in ("onnx", "onnxruntime", "skl2onnx")):
    import onnx
    import onnxruntime
    import skl2onnx
else:
    collect_ignore = ["test_models.py", "test_thresholds.py", "test_types.py", "test_walks.py"]


class Session:
    """A converted model, loaded.

    Parameters
    ----------
    model : estimator object
        Fitted.
    X : ndarray
        Whose first row says what the input is.
    **options
        Of `skl2onnx.to_onnx`; classifiers get no maps unless they ask for them.
    """

    def __init__(self, model, X, **options):
        import obtree.onnx  # noqa: F401

        if is_classifier(model):
            options.setdefault("options", {id(model): {"zipmap": False}})
        self.proto = skl2onnx.to_onnx(model, X[:1], **options)
        onnx.checker.check_model(self.proto, full_check=True)
        self._session = onnxruntime.InferenceSession(
            self.proto.SerializeToString(), providers=["CPUExecutionProvider"]
        )

    def run(self, X):
        """Return all outputs for some rows."""
        return self._session.run(None, {"X": X})

    @property
    def size(self):
        """Bytes of the file."""
        return self.proto.ByteSize()

    def count(self, kind):
        """Return how many nodes of the main graph are of a kind."""
        return sum(node.op_type == kind for node in self.proto.graph.node)


def join_outputs(proba):
    """Return probabilities of several outputs as skl2onnx does: padded with 0, outputs first."""
    if not isinstance(proba, list):
        return proba
    most = max(own.shape[1] for own in proba)
    return np.stack([np.pad(own, ((0, 0), (0, most - own.shape[1]))) for own in proba])


def compare(model, X, session=None, proba_atol=1e-6):
    """Convert a model, and compare what it predicts for all rows."""
    session = session or Session(model, X)
    found = session.run(X)
    if is_classifier(model):
        np.testing.assert_array_equal(found[0], model.predict(X))
        expected = join_outputs(model.predict_proba(X))
        assert found[1].dtype == (np.float64 if X.dtype == np.float64 else np.float32)
        np.testing.assert_allclose(found[1], expected, rtol=0, atol=proba_atol)
    else:
        expected = model.predict(X).reshape(len(X), -1)
        scale = np.abs(expected).max()
        rtol = 1e-12 if X.dtype == np.float64 else 2e-7
        np.testing.assert_allclose(found[0], expected, rtol=rtol, atol=1e-12 * scale)
    return session


@pytest.fixture(scope="session")
def classes():
    """Rows of three classes, float32."""
    X, y = make_classification(300, 6, n_informative=5, n_redundant=0, n_classes=3, random_state=0)
    return X.astype(np.float32), y


@pytest.fixture(scope="session")
def numbers():
    """Rows with a target, float32."""
    X, y = make_regression(300, 6, noise=5.0, random_state=0)
    return X.astype(np.float32), y


def hide(X, fraction=0.1, seed=0):
    """Return X with some values missing."""
    X = X.copy()
    X[np.random.default_rng(seed).random(X.shape) < fraction] = np.nan
    return X
