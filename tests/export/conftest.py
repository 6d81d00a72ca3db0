"""Compiling what was exported, as strictly as compilers can, and calling it for many rows."""

import ctypes
import shutil
import subprocess
import sysconfig

import numpy as np
import pytest
from sklearn.base import is_classifier

from obtree.export import to_c

STRICT = (
    "-std=c99",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-pedantic",
    "-Wshadow",
    "-Wmissing-prototypes",
)

DRIVER = """\
#define {upper}_DECLARATIONS
#include "{prefix}.c"
void run_predict(const {row} *x, long n, {kind} *out);
void run_predict_proba(const {row} *x, long n, double *out);

void run_predict(const {row} *x, long n, {kind} *out)
{{
    long r;
    for (r = 0; r < n; ++r) {{
        {predict};
    }}
}}

void run_predict_proba(const {row} *x, long n, double *out)
{{
    long r;
    for (r = 0; r < n; ++r) {{
        {proba};
    }}
    (void)x;
    (void)out;
}}
"""


def find_compiler():
    """Return the command of the C compiler of this system, or None."""
    known = (sysconfig.get_config_var("CC") or "cc").split()[0]
    for name in (known, "cc", "gcc", "clang"):
        if shutil.which(name):
            return name
    return None


@pytest.fixture(scope="session")
def compiler():
    """The C compiler of this system."""
    name = find_compiler()
    if name is None:
        pytest.skip("there is no C compiler")
    return name


class Program:
    """An exported model, compiled and loaded.

    Parameters
    ----------
    library : ctypes.CDLL
    model : estimator object
    source : str
    """

    def __init__(self, library, model, source):
        self._library = library
        self._model = model
        self.source = source

    def predict(self, X):
        """What the program says about the rows of X, in the shape of the model's."""
        outputs = self._model.n_outputs_
        kind = np.dtype(np.intc if is_classifier(self._model) else np.float64)
        out = self._run("run_predict", X, outputs, kind)
        if not is_classifier(self._model):
            return out[:, 0] if outputs == 1 else out
        if outputs == 1:
            return self._model.classes_[out[:, 0]]
        labels = [found[out[:, k]] for k, found in enumerate(self._model.classes_)]
        return np.stack(labels, axis=1)

    def predict_proba(self, X):
        """The probabilities of the program, in the shape of the model's."""
        n_classes = np.atleast_1d(self._model.n_classes_)
        most = int(n_classes.max())
        out = self._run("run_predict_proba", X, len(n_classes) * most, np.dtype(np.float64))
        if self._model.n_outputs_ == 1:
            return out
        out = out.reshape(len(X), len(n_classes), most)
        assert all(not out[:, k, n:].any() for k, n in enumerate(n_classes))
        return [out[:, k, :n] for k, n in enumerate(n_classes)]

    def check(self, X, proba=True):
        """Compare every bit with the model."""
        X = np.asarray(X)
        pairs = [(self._model.predict(X), self.predict(X))]
        if is_classifier(self._model) and proba:
            expected, got = self._model.predict_proba(X), self.predict_proba(X)
            if self._model.n_outputs_ == 1:
                expected, got = [expected], [got]
            pairs += zip(expected, got, strict=True)
        for expected, got in pairs:
            assert expected.dtype == got.dtype
            assert np.ascontiguousarray(expected).tobytes() == np.ascontiguousarray(got).tobytes()

    def _run(self, name, X, n_columns, kind):
        row = np.float64 if "const double *x" in self.source else np.float32
        with np.errstate(over="ignore"):
            X = np.ascontiguousarray(X, dtype=row)
        out = np.empty((len(X), n_columns), dtype=kind)
        getattr(self._library, name)(
            X.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_long(len(X)),
            out.ctypes.data_as(ctypes.c_void_p),
        )
        return out


@pytest.fixture(scope="session")
def export(compiler, tmp_path_factory):
    """Export, compile with all warnings as errors, and load a fitted model."""

    def make(model, *flags, prefix="model", proba=True, standard=STRICT):
        folder = tmp_path_factory.mktemp("exported")
        source = to_c(model, prefix=prefix, proba=proba)
        (folder / f"{prefix}.c").write_text(source, encoding="ascii")
        row = "double" if "const double *x" in source else "float"
        kind = "int" if is_classifier(model) else "double"
        at = f"x + r * {prefix.upper()}_N_FEATURES"
        outputs = f"{prefix.upper()}_N_OUTPUTS"
        many = model.n_outputs_ > 1
        predict = f"out[r] = {prefix}_predict({at})"
        if many:
            predict = f"{prefix}_predict({at}, out + r * {outputs})"
        call = "(void)r"
        if is_classifier(model) and proba:
            at_out = f"out + r * {outputs} * {prefix.upper()}_N_CLASSES"
            call = f"{prefix}_predict_proba({at}, {at_out})"
        driver = DRIVER.format(
            **{"upper": prefix.upper(), "prefix": prefix, "row": row, "kind": kind},
            **{"predict": predict, "proba": call},
        )
        (folder / "driver.c").write_text(driver, encoding="ascii")
        command = [compiler, *standard, *(flags or ("-O1",)), "-fPIC", "-shared"]
        command += [f"{prefix}.c", "driver.c", "-o", "program.so", "-lm"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return Program(ctypes.CDLL(str(folder / "program.so")), model, source)

    return make
