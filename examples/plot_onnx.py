"""
Out of Python: ONNX and C
=========================

A model is trained once and used for years, often where there is no Python. There are two ways
out: ONNX, a format that programs on phones, servers and in browsers read, and C, for everything
else. The picture shows how large the files become.
"""

import ctypes
import subprocess
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
import skl2onnx
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import obtree.onnx  # noqa: F401, makes obtree known to skl2onnx
from obtree import ObliqueForestClassifier, TAOTreeClassifier, save_model
from obtree.export import to_c

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X.astype("float32"), y, random_state=0)
models = {
    "TAO tree": TAOTreeClassifier(max_depth=6, l1=0.3, random_state=0),
    "axis forest of 30": ObliqueForestClassifier(30, splitter="axis", random_state=0),
    "oblique forest of 30": ObliqueForestClassifier(30, splitter="co2", random_state=0),
}
scratch = tempfile.TemporaryDirectory()
folder = Path(scratch.name)
sizes = {"obtree": [], "ONNX": [], "C": []}
for k, model in enumerate(models.values()):
    model.fit(X_train, y_train)
    save_model(model, folder / f"{k}.obtree")
    onnx = skl2onnx.to_onnx(model, X_train[:1], options={"zipmap": False})
    (folder / f"{k}.onnx").write_bytes(onnx.SerializeToString())
    (folder / f"{k}.c").write_text(to_c(model, prefix="digit"))
    for kind, suffix in (("obtree", "obtree"), ("ONNX", "onnx"), ("C", "c")):
        sizes[kind].append((folder / f"{k}.{suffix}").stat().st_size / 1000)

figure, ax = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
for k, (kind, colour) in enumerate(zip(sizes, ("#b0b0b0", "#3d7fc1", "#e08244"), strict=True)):
    bars = ax.barh(np.arange(3) + 0.27 * (k - 1), sizes[kind], 0.25, color=colour, label=kind)
    ax.bar_label(bars, fmt=lambda size: f"{size:,.0f} kB", padding=3, fontsize=8)
ax.set_yticks(range(3), models)
ax.set(xscale="log", xlabel="size of the file in kB")
ax.invert_yaxis()
ax.margins(x=0.15)
ax.legend()

# %%
# ONNX
# ----
# ``import obtree.onnx`` tells skl2onnx about obtree's estimators, and ``skl2onnx.to_onnx(model,
# X[:1])`` converts any that predicts classes or numbers, also as a step of a pipeline. To run the
# file takes neither scikit-learn nor obtree; here the forest is asked as well, for comparison:

session = onnxruntime.InferenceSession(folder / "2.onnx")
label, probability = session.run(None, {"X": X_test})
forest = models["oblique forest of 30"]
print("same labels:", (label == forest.predict(X_test)).mean())
print("probabilities differ by", np.abs(probability - forest.predict_proba(X_test)).max())

# %%
# Plain C
# -------
# :func:`obtree.export.to_c` writes one file of C99 without dependencies. Here it is compiled and
# called from Python, as it could be from anything else:

command = ["cc", "-O2", "-shared", "-fPIC", "2.c", "-o", "digit.so", "-lm"]
subprocess.run(command, cwd=folder, check=True)
digit_predict = ctypes.CDLL(str(folder / "digit.so")).digit_predict
row = np.ascontiguousarray(X_test[0])
print("digit:", digit_predict(row.ctypes.data_as(ctypes.c_void_p)), "- in truth:", y_test[0])

scratch.cleanup()
plt.show()

# %%
# All numbers of ``digit_predict_proba`` are those of ``predict_proba``, to the last bit. More in
# :doc:`/user_guide/onnx` and :doc:`/user_guide/export_c`; a model of two kilobytes is in
# :ref:`sphx_glr_auto_examples_plot_microcontroller.py`.
