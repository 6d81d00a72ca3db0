"""What exported files look like, and what is refused."""

import re
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from obtree import (
    DensityForest,
    DisjunctiveTreeClassifier,
    FernClassifier,
    ForestEmbedding,
    ObliqueForestClassifier,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    TAOTreeClassifier,
)
from obtree.export import to_c

NASTY = [
    '"quote"',
    "line\nend\r\n",
    "*/ int x; /*",
    "??/ ??' trigraph",
    "back\\slash \\",
    "%s %n",
    "Ünï \u202e \U0001f333",
    "nul\0byte",
    "//",
    "#define X",
    "plain",
    "0123",
]


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    return rng.normal(size=(200, 4)).astype(np.float32) + y[:, None], y


@pytest.fixture(scope="module")
def tree(blobs):
    return ObliqueTreeClassifier(splitter="co2", max_depth=3, random_state=0).fit(*blobs)


# ---- text of the user ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", [str, bytes])
def test_labels_arrive_as_they_are(compiler, tmp_path, kind):
    labels = [text.encode() if kind is bytes else text for text in NASTY]
    X = np.arange(len(labels), dtype=np.float32)[:, None]
    model = ObliqueTreeClassifier().fit(X, np.array(labels, dtype=object))
    (tmp_path / "model.c").write_text(to_c(model, prefix="m"), encoding="ascii")
    (tmp_path / "main.c").write_text(
        """\
#include <stdio.h>
#include <string.h>
#define M_DECLARATIONS
#include "model.c"
int main(void)
{
    int k;
    for (k = 0; k < M_N_CLASSES; ++k) {
        fwrite(m_classes[k], 1, strlen(m_classes[k]) + 1, stdout);
    }
    return 0;
}
""",
        encoding="ascii",
    )
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    command = [compiler, *strict, "model.c", "main.c", "-o", "program"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run([str(tmp_path / "program")], capture_output=True, check=True)
    # In C a string ends at its first zero.
    expected = [each.encode() if kind is str else each for each in model.classes_]
    assert done.stdout.split(b"\0")[:-1] == [each.split(b"\0")[0] for each in expected]


def test_names_of_features_stay_in_their_comment(compiler, tmp_path, blobs):
    pd = pytest.importorskip("pandas")
    X, y = blobs
    for k in range(0, len(NASTY), 4):
        names = [name + "x" * 500 * (k == 4) for name in NASTY[k : k + 4]]
        model = ObliqueTreeClassifier(max_depth=2).fit(pd.DataFrame(X, columns=names), y)
        source = to_c(model)
        comment = source[: source.index("*/")]
        assert comment.count("/*") == 1
        assert all(f" *     x[{j}]  " in comment for j in range(4))
        assert "??" not in source
        assert "\\" not in source.replace(" \\\n", "")
        assert max(map(len, source.splitlines())) < 500
        (tmp_path / "model.c").write_text(source, encoding="ascii")
        strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wcomment"]
        subprocess.run([compiler, *strict, "-c", "model.c"], cwd=tmp_path, check=True)


def test_labels_that_no_string_holds(blobs):
    X, y = blobs
    model = ObliqueTreeClassifier(max_depth=1).fit(X, np.array(["a", "b", "c" * 5000])[y])
    with pytest.raises(ValueError, match="5000 bytes; expected at most 4000"):
        to_c(model)


@pytest.mark.parametrize(
    ("labels", "declaration"),
    [
        ([0, 1, 2], "extern const uint8_t obtree_classes[3];"),
        ([-1, 5, 300], "extern const int16_t obtree_classes[3];"),
        ([-(2**63), 0, 2**63 - 1], "extern const int64_t obtree_classes[3];"),
        (np.array([0, 1, 2**64 - 1], dtype=np.uint64), "extern const uint64_t obtree_classes[3];"),
        ([0.0, 1.0, 2.0**60], "extern const double obtree_classes[3];"),
        (np.array([1, 2, 3], dtype=object), "extern const uint8_t obtree_classes[3];"),
        (["a", "b", "c"], "extern const char *const obtree_classes[3];"),
    ],
)
def test_types_of_labels(compiler, tmp_path, blobs, labels, declaration):
    X, y = blobs
    model = ObliqueTreeClassifier(max_depth=2).fit(X, np.asarray(labels)[y])
    source = to_c(model)
    assert declaration in source
    (tmp_path / "model.c").write_text(source, encoding="ascii")
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    subprocess.run([compiler, *strict, "-c", "model.c"], cwd=tmp_path, check=True)


# ---- files -----------------------------------------------------------------------------------


def test_the_same_model_gives_the_same_file(blobs):
    sources = {
        to_c(ObliqueForestClassifier(5, random_state=0, n_jobs=n_jobs).fit(*blobs))
        for n_jobs in (1, 2)
    }
    assert len(sources) == 1
    assert sources.pop().isascii()


def test_two_models_in_one_program(compiler, tmp_path, tree, blobs):
    other = ObliqueTreeRegressor(max_depth=3).fit(blobs[0], blobs[1] + 0.5)
    (tmp_path / "one.c").write_text(to_c(tree, prefix="one"))
    (tmp_path / "two.c").write_text(to_c(other, prefix="two"))
    (tmp_path / "main.c").write_text(
        '#include "one.c"\n#include "two.c"\n#include "one.c"\n'
        "int main(void)\n{\n    const float x[4] = {0.0f, 0.0f, 0.0f, 0.0f};\n"
        "    return one_predict(x) + (int)two_predict(x) < 0;\n}\n".replace(
            '#include "one.c"\nint', "int"
        )
    )
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    subprocess.run([compiler, *strict, "main.c", "-o", "program"], cwd=tmp_path, check=True)
    subprocess.run([str(tmp_path / "program")], check=True)


def test_no_allocation_and_nothing_but_headers_of_the_language(tree, blobs):
    forest = ObliqueForestClassifier(4, combine="product", splitter="axis").fit(*blobs)
    for model in (tree, forest):
        source = to_c(model)
        found = set(re.findall(r"#include <(\w+\.h)>", source))
        assert found <= {"float.h", "math.h", "stdint.h"}
        assert "alloc" not in source.replace("no allocation", "")
    assert "math.h" not in to_c(tree)


def test_classes_alone_take_less_memory(blobs):
    X, y = blobs
    model = ObliqueTreeClassifier(max_depth=4, min_samples_leaf=5).fit(X, y)
    sizes = [
        int(re.search(r"Constant tables: (\d+) bytes", to_c(model, proba=proba))[1])
        for proba in (True, False)
    ]
    assert sizes[1] < sizes[0]
    assert "predict_proba" not in to_c(model, proba=False).replace("predict_proba where", "")


def test_sizes_are_what_the_compiler_says(compiler, tmp_path, tree):
    source = to_c(tree, prefix="m")
    size = int(re.search(r"Constant tables: (\d+) bytes", source)[1])
    names = re.findall(r"^(?:static )?const \w+ (m_\w+)\[", source, flags=re.MULTILINE)
    sums = " + ".join(f"sizeof {name}" for name in names)
    text = '#include <stdio.h>\n#include "model.c"\n'
    text += f'int main(void)\n{{\n    printf("%lu", (unsigned long)({sums}));\n    return 0;\n}}\n'
    (tmp_path / "model.c").write_text(source)
    (tmp_path / "main.c").write_text(text)
    subprocess.run([compiler, "-std=c99", "main.c", "-o", "program"], cwd=tmp_path, check=True)
    done = subprocess.run([str(tmp_path / "program")], capture_output=True, check=True)
    assert int(done.stdout) == size


@pytest.mark.parametrize("flag", ["-ffast-math", "-DMODEL_X=1"])
def test_arithmetic_that_is_not_exact_is_refused(compiler, tmp_path, tree, flag):
    (tmp_path / "model.c").write_text(to_c(tree, prefix="m"))
    command = [compiler, "-std=c99", flag, "-c", "model.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == (flag == "-ffast-math")
    if flag == "-ffast-math":
        assert "other results than obtree's" in done.stderr
        subprocess.run([*command, "-DM_ANY_ARITHMETIC"], cwd=tmp_path, check=True)


# ---- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["", "1a", "a-b", "a b", "é", "_a", "a\n", "a" * 41, "int main"])
def test_names_that_are_none(tree, prefix):
    with pytest.raises(ValueError, match=r"prefix=.* is not valid; expected a letter"):
        to_c(tree, prefix=prefix)


@pytest.mark.parametrize("prefix", [None, 3, b"a"])
def test_names_that_are_no_text(tree, prefix):
    with pytest.raises(TypeError, match="prefix="):
        to_c(tree, prefix=prefix)
    with pytest.raises(TypeError, match="proba="):
        to_c(tree, proba="yes")


@pytest.mark.parametrize(
    "model",
    [
        FernClassifier(3, depth=3),
        DisjunctiveTreeClassifier(max_depth=2),
        DensityForest(3),
        ForestEmbedding(3),
        make_pipeline(StandardScaler(), ObliqueTreeClassifier()),
        BaseEstimator(),
        "model.obtree",
    ],
    ids=lambda model: type(model).__name__,
)
def test_what_cannot_be_exported_is_named(model, blobs):
    if hasattr(model, "fit"):
        model.fit(*blobs)
    with pytest.raises(TypeError, match=f"{type(model).__name__} cannot be exported.*ObliqueTree"):
        to_c(model)


def test_not_fitted():
    with pytest.raises(NotFittedError):
        to_c(TAOTreeClassifier())


def test_leaves_and_nodes_that_are_not_known(tree, monkeypatch):
    monkeypatch.setattr(sys.modules["obtree.estimators.computed"], "KNOWN_LEAVES", ())
    with pytest.raises(TypeError, match=r"ObliqueTreeClassifier .* tree 0 has constant leaves"):
        to_c(tree)
    monkeypatch.undo()
    monkeypatch.setattr(sys.modules["obtree.estimators.computed"], "KNOWN_ARRAYS", {"value"})
    with pytest.raises(TypeError, match=r"tree 0 has .*term_weight"):
        to_c(tree)
