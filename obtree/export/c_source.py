"""One file of C99 for a fitted model: what it says of itself, its tables and its functions."""

from importlib.metadata import version

import numpy as np

from obtree.core.params import FLAG, check_param
from obtree.estimators.computed import read_model
from obtree.export.c_leaves import COUNTED, PURE, VALUED, Leaves
from obtree.export.c_literals import Table, check_prefix, choose_integer, write_comment
from obtree.export.c_nodes import Nodes
from obtree.export.c_sums import Sums
from obtree.export.c_tables import Tables, add_leaves, add_nodes
from obtree.export.c_walks import Walks
from obtree.tree.leaf_models import ConstantLeaf

#: What stands before code that computes with double, so that it computes what the package does.
ARITHMETIC = """\
#if !defined({upper}_ANY_ARITHMETIC) && (FLT_RADIX != 2 || FLT_MANT_DIG != 24 || \\
    DBL_MANT_DIG != 53 || FLT_EVAL_METHOD < 0 || FLT_EVAL_METHOD > 1 || \\
    defined(__FAST_MATH__))
#error "other results than obtree's: needs IEEE 754 float and double, no x87 and no -ffast-math"
#endif

/* Products are rounded before they are added. */
#if defined(__clang__) || !defined(__GNUC__)
#if defined(_MSC_VER) && !defined(__clang__)
#pragma fp_contract(off)
#else
#pragma STDC FP_CONTRACT OFF
#endif
#elif defined(__FP_FAST_FMA) || defined(__FP_FAST_FMAF)
#pragma GCC optimize ("fp-contract=off")
#endif
"""

_LARGEST = """\
/* The first of the largest of {n} numbers. */
static uint32_t {p}_find_largest(const double *values)
{{
    uint32_t k, best = 0;
    for (k = 1; k < {n}u; ++k) {{
        if (values[k] > values[best]) {{
            best = k;
        }}
    }}
    return best;
}}
"""


def to_c(model: object, *, prefix: str = "obtree", proba: bool = True) -> str:
    """Write a fitted model as one file of C99 that predicts what the model does, bit for bit.

    Parameters
    ----------
    model : estimator object
        A fitted tree or forest that predicts by walking down trees: `ObliqueTreeClassifier`,
        `ObliqueForestClassifier`, `TAOTreeClassifier`, `TAOForestClassifier`,
        `NonGreedyTreeClassifier`, `NonGreedyForestClassifier`, their regressors, and
        `SemiSupervisedForestClassifier`.
    prefix : str, default="obtree"
        What all names in the file begin with: a letter, and then letters, digits and
        underscores, at most 40. Files with different prefixes go into one program.
    proba : bool, default=True
        Whether a classifier gets ``PREFIX_predict_proba`` as well. Without it a single tree
        keeps one class for each leaf in place of the probabilities.

    Returns
    -------
    source : str
        ASCII, the same for the same model.

    Raises
    ------
    TypeError
        For an estimator that predicts in another way, and for trees with leaves of other packages.

    See Also
    --------
    obtree.save_model : A file for Python.

    Notes
    -----
    The file declares, and describes in its head, ::

        int PREFIX_predict(const float *x);                          /* classes */
        void PREFIX_predict_proba(const float *x, double *out);
        double PREFIX_predict(const float *x);                       /* numbers */

    A model of several outputs has ``void PREFIX_predict(const float *x, int *out)``, or with
    ``double *out``. Where the model subtracts a `feature_offset`, x is ``const double *``. See
    :doc:`/user_guide/export_c`. A category is the place of its name in the table of the file that
    has all names of the feature, ``PREFIX_categories_1`` for feature 1; NaN if it is not there.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obtree import ObliqueTreeClassifier
    >>> from obtree.export import to_c
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ObliqueTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> print(to_c(tree, prefix="iris").count("int iris_predict(const float *x)"))
    3
    """
    prefix = check_prefix(prefix)
    proba = check_param("proba", proba, FLAG)
    return Source(read_model(model, "C", with_sets=True), prefix, proba).write()


class Source:
    """The parts of a file.

    Parameters
    ----------
    model : ExportedModel
    prefix : str
    proba : bool
        Whether probabilities are wanted, of a classifier.
    """

    def __init__(self, model, prefix, proba):
        self._model = model
        self._p = prefix
        self._upper = prefix.upper()
        self._is_classifier = model.labels is not None
        self._proba = proba and self._is_classifier
        self._row = f"const {'float' if model.offset is None else 'double'} *x"
        # The class of a leaf is known in advance if there is nothing to add to it.
        self._names_class = (
            self._is_classifier
            and model.is_one_tree
            and model.n_outputs == 1
            and model.max_n_classes > 1
            and model.groups[0].combine != "product"
            and model.trees[0].leaf_kind is ConstantLeaf
        )
        self._adds = self._proba or not self._names_class
        self._leaves = Leaves(model, only_classes=not self._adds)
        for group in model.groups:
            self._leaves.add_group(group)
        self._nodes = Nodes()
        for tree, number in zip(model.trees, self._leaves.finish(), strict=True):
            self._nodes.add_tree(tree, number)
        self._tables = Tables(prefix)
        add_nodes(self._tables, self._nodes)
        add_leaves(self._tables, self._leaves, self._names_class and self._adds)
        if model.offset is not None:
            note = "what is subtracted from the features"
            self._tables.add_numbers("offset", model.offset, note, integers=True)
        parts = (prefix, model, self._tables, self._nodes, self._leaves)
        self._walks, self._sums = Walks(*parts), Sums(*parts)

    def write(self):
        """Return the text of the file."""
        labels = self._list_labels()
        named = labels + self._list_categories()
        head = [self._write_head(labels, named), self._write_declarations(named)]
        code = "\n".join([*self._walks.write(), *self._write_sums(), *self._write_public()])
        tables = [table.write() for table in self._tables.tables + named]
        text = "\n".join(tables) + code
        includes = ["#include <float.h>"]
        uses_math = any(word in text for word in ("INFINITY", "NAN", "isfinite", "exp(", "log("))
        includes += ["#include <math.h>"] * uses_math + ["#include <stdint.h>"]
        computes = self._adds or self._nodes.planes.size
        arithmetic = [ARITHMETIC.format(upper=self._upper)] if computes else []
        if not computes:
            includes.remove("#include <float.h>")
        return "\n".join(
            [
                *head,
                f"#ifndef {self._upper}_DECLARATIONS\n",
                "\n".join(includes) + "\n",
                *arithmetic,
                *tables,
                code,
                f"#endif /* {self._upper}_DECLARATIONS */\n",
            ]
        )

    # ---- what the file says of itself --------------------------------------------------------

    def _write_head(self, labels, named):
        model = self._model
        n_leaves = sum(tree.n_leaves for tree in model.trees)
        n_trees = len(model.trees)
        size = self._tables.size + sum(table.size for table in named)
        lines = [
            f"{write_comment(model.name)}, exported by obtree {version('obtree')}: C99, no "
            "dependencies, no allocation.",
            "",
            f"{n_trees} tree{'s' * (n_trees > 1)} with {n_leaves} leaves, {model.n_features} "
            f"features. Constant tables: {size} bytes;",
            f"arrays on the stack: {self._count_stack()} bytes.",
            "",
            *(f"    {line}" for line in self._list_declarations()),
            "",
            f"x: the {model.n_features} features of a row in the order of training, NaN where one "
            "is missing" + (", rounded to float." if model.offset is None else "."),
        ]
        lines += self._describe_results(labels)
        if self._sums.normalises:
            lines += ["", "Probabilities take exp() of the C library (-lm)."]
        lines += [
            "",
            "Results have the bits of predict and predict_proba where float and double are those "
            "of IEEE 754",
            "and sums are not rearranged: compile without -ffast-math, and GCC for x87 with "
            "-msse2 -mfpmath=sse.",
            f"With {self._upper}_ANY_ARITHMETIC defined, other arithmetic is taken as it is.",
            "",
            f'Other files of a program see the declarations by "#define {self._upper}_DECLARATIONS"'
            " before",
            "they include this file.",
        ]
        if len(named) > len(labels):
            lines += [
                "",
                "Categories are numbers: places in the tables of their names, NaN for others.",
            ]
        if model.feature_names is not None:
            lines += ["", "Features:", ""]
            lines += [
                f"    x[{j}]  {write_comment(name)}" for j, name in enumerate(model.feature_names)
            ]
        return "\n".join(["/* " + lines[0], *(f" * {x}".rstrip() for x in lines[1:]), " */"]) + "\n"

    def _count_stack(self):
        """Return bytes of arrays on the stack, all functions together."""
        n = self._model.n_values
        n_arrays = 1 + (len(self._model.groups) > 1)
        n_arrays += self._tables.has("linear_fallback") + self._tables.has("line_mean")
        size = 8 * n * n_arrays if self._adds else 0
        return size + 128 * any("lane[" in text for text in self._walks.write())

    def _describe_results(self, labels):
        """Return lines on what functions return."""
        model, upper = self._model, self._upper
        if not self._is_classifier:
            return [] if model.n_outputs == 1 else [f"out: {model.n_outputs} numbers."]
        many = model.n_outputs > 1
        lines = [
            f"predict {'writes' if many else 'returns'} the number of the class, an index of "
            f"{' and '.join(table.name for table in labels[:3])}{' ...' * (len(labels) > 3)}."
        ]
        if self._proba:
            lines.append(
                f"predict_proba writes {model.n_values} numbers"
                + (f", {upper}_N_CLASSES for each output, the last of them 0" * many)
                + (" where an output has fewer classes." if many else ", one for each class.")
            )
        return lines

    def _list_declarations(self):
        """Return the public functions without a semicolon."""
        p, row, many = self._p, self._row, self._model.n_outputs > 1
        kind = "int" if self._is_classifier else "double"
        found = [
            f"void {p}_predict({row}, {kind} *out);" if many else f"{kind} {p}_predict({row});"
        ]
        if self._proba:
            found.append(f"void {p}_predict_proba({row}, double *out);")
        return found

    def _write_declarations(self, labels):
        model, upper = self._model, self._upper
        guard = f"{upper}_DECLARED"
        lines = [
            f"#ifndef {guard}",
            f"#define {guard}\n",
            *(["#include <stdint.h>\n"] if any("int" in table.ctype for table in labels) else []),
            f"#define {upper}_N_FEATURES {model.n_features}",
            f"#define {upper}_N_OUTPUTS {model.n_outputs}",
        ]
        if self._is_classifier:
            lines.append(f"#define {upper}_N_CLASSES {model.max_n_classes}")
        lines += [
            "\n#ifdef __cplusplus",
            'extern "C" {',
            "#endif",
            *self._list_declarations(),
            *(f"extern {table.declaration};" for table in labels),
            "#ifdef __cplusplus",
            "}",
            "#endif\n",
            f"#endif /* {guard} */\n",
        ]
        return "\n".join(lines)

    def _list_labels(self):
        """Return a table of the class labels of each output."""
        tables = []
        for k, labels in enumerate(self._model.labels or ()):
            name = f"{self._p}_classes" + (f"_{k}" if self._model.n_outputs > 1 else "")
            note = "class labels" + (f" of output {k}" if self._model.n_outputs > 1 else "")
            tables.append(_make_names(name, labels, note))
        return tables

    def _list_categories(self):
        """Return a table of the categories of each feature that has some."""
        return [
            _make_names(f"{self._p}_categories_{j}", known, f"categories of feature {j}")
            for j, known in enumerate(self._model.categories or ())
            if known is not None and len(known)
        ]

    # ---- functions ---------------------------------------------------------------------------

    def _write_sums(self):
        """Return what adds up leaves, if something has to."""
        if not self._adds:
            return []
        largest = _LARGEST.format(p=self._p, n=self._model.max_n_classes)
        code = self._sums.write()
        needs = (self._is_classifier and not self._names_class) or any(
            "_find_largest(" in text for text in code
        )
        return [largest] * needs + code

    def _write_public(self):
        """Return the functions that other files call."""
        found = [self._write_predict()]
        if self._proba:
            found.append(
                f"void {self._p}_predict_proba({self._row}, double *out)\n{{\n"
                f"    {self._p}_add_up(x, out);\n}}\n"
            )
        return found

    def _write_predict(self):
        p, model = self._p, self._model
        head = self._list_declarations()[0].rstrip(";")
        if self._names_class:
            return f"{head}\n{{\n{self._write_class()}}}\n"
        if not self._is_classifier:
            body = f"    {p}_add_up(x, out);\n"
            if model.n_outputs == 1:
                body = f"    double out[1];\n    {p}_add_up(x, out);\n    return out[0];\n"
            return f"{head}\n{{\n{body}}}\n"
        body = f"    double sums[{model.n_values}];\n"
        if model.n_outputs == 1:
            body += f"    {p}_add_up(x, sums);\n    return (int){p}_find_largest(sums);\n"
        else:
            body += f"""\
    uint32_t k;
    {p}_add_up(x, sums);
    for (k = 0; k < {model.n_outputs}u; ++k) {{
        out[k] = (int){p}_find_largest(sums + k * {model.max_n_classes}u);
    }}
"""
        return f"{head}\n{{\n{body}}}\n"

    def _write_class(self):
        """Return what finds the class of one leaf."""
        p, leaves = self._p, self._leaves
        if not (leaves.has(COUNTED) or leaves.has(VALUED)):
            return f"    return (int){p}_walk(x);\n"
        if not leaves.has(PURE):
            return f"    return {p}_class_of[{p}_walk(x)];\n"
        n_pure = leaves.first[COUNTED]
        return f"""\
    const uint32_t leaf = {p}_walk(x);
    return leaf < {n_pure}u ? (int)leaf : {p}_class_of[leaf - {n_pure}u];
"""


def _make_names(name, labels, note):
    """Return a table of class labels, or of categories."""
    numbers = (bool, int, float, np.number, np.bool_)
    if labels.dtype.kind == "O" and all(isinstance(each, numbers) for each in labels):
        labels = np.asarray(labels.tolist())
    if labels.dtype.kind in "biu":
        values = labels.astype(np.int64) if labels.dtype.kind == "b" else labels
        return Table(name, choose_integer(values), values, note, public=True)
    if labels.dtype.kind == "f" and labels.dtype.itemsize <= 8:
        return Table(name, "double", labels.astype(np.float64), note, public=True)
    texts = [label if isinstance(label, bytes) else str(label) for label in labels.tolist()]
    return Table(name, "char *", texts, note, public=True)
