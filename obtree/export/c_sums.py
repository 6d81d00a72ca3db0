"""The functions that add up what leaves hold, in the order of the package.

Each method returns the text of a function of C. The orders are those of ``tree/linear_leaf.pxd``,
``tree/linear_gaussian_leaf.pxi``, ``tree/reduce.pxd`` and of boosted chains in
``estimators/auto.py``.
"""

import numpy as np

from obtree.export.c_leaves import COUNTED, LINEAR, LINES, PURE, VALUED
from obtree.export.c_literals import write_number
from obtree.export.c_walks import Writer
from obtree.tree.predict import PROBABILITY_FLOOR


class Sums(Writer):
    """Writes what makes numbers of leaves."""

    @property
    def normalises(self):
        """Whether scores become probabilities."""
        has_scores = self._leaves.has(LINEAR) and self._model.max_n_classes > 1
        return has_scores or any(group.combine == "product" for group in self._model.groups)

    @property
    def takes_logarithms(self):
        """Whether probabilities that are not known in advance are multiplied."""
        return self._leaves.has(LINEAR) and self._model.groups[0].combine == "product"

    def write(self):
        """Return all functions.

        Returns
        -------
        functions : list of str
        """
        parts = []
        if self.normalises:
            parts.append(self._write_normalise())
        if self._leaves.has(LINEAR):
            if self._n_values == 1:
                n_terms = max(map(len, self._leaves.linear["feature"]))
                parts.append(self._write_sum("linear", n_terms))
            parts.append(self._write_linear())
        if self._leaves.has(LINES):
            parts.append(self._write_lines())
        return [*parts, self._write_add_leaf(), self._write_values()]

    def _write_normalise(self):
        """Scores, or sums of logarithms, to probabilities of each output."""
        p, model = self._p, self._model
        n_max = model.max_n_classes
        same = len(set(model.n_classes)) == 1
        head, n = "", str(model.n_classes[0])
        if not same:
            listed = ", ".join(map(str, model.n_classes))
            head = f"    static const uint32_t n_classes[{model.n_outputs}] = {{{listed}}};\n"
            n = "n_classes[output]"
        rest = ""
        if not same:
            rest = f"""\
        for (k = {n}; k < {n_max}u; ++k) {{
            score[k] = 0.0;
        }}
"""
        return f"""\
/* Make probabilities of scores, output by output. */
static void {p}_normalise(double *score)
{{
{head}\
    uint32_t output, k;
    for (output = 0; output < {model.n_outputs}u; ++output, score += {n_max}) {{
        double top = score[0], total = 0.0;
        for (k = 1; k < {n}; ++k) {{
            if (score[k] > top) {{
                top = score[k];
            }}
        }}
        for (k = 0; k < {n}; ++k) {{
            score[k] = exp(score[k] - top);
            total += score[k];
        }}
        for (k = 0; k < {n}; ++k) {{
            score[k] /= total;
        }}
{rest}\
    }}
}}
"""

    def _write_linear(self):
        p, n = self._p, self._n_values
        last = f"    {p}_normalise(score);\n" if self._model.max_n_classes > 1 else ""
        head = f"""\
/* What a linear leaf predicts; 0 if that is not finite, as when a value is missing. */
static int {p}_linear({self._row}, uint32_t leaf, double *score)
{{
"""
        if n == 1:
            return f"""\
{head}\
    score[0] = (double){p}_linear_intercept[leaf][0] + {p}_linear_sum(x, leaf);
    if (!isfinite(score[0])) {{
        return 0;
    }}
{last}\
    return 1;
}}
"""
        weight = f"(double){p}_linear_weight[k * {n}u + v]"
        if self._tables.has("linear_scale"):
            # A product of two float32 numbers is exact.
            weight = f"{weight} * (double){p}_linear_scale[{p}_linear_feature[k]]"
        return f"""\
{head}\
    uint32_t k, v;
    for (v = 0; v < {n}u; ++v) {{
        score[v] = (double){p}_linear_intercept[leaf][v];
    }}
    for (k = {p}_linear_term[leaf]; k < {p}_linear_term[leaf + 1]; ++k) {{
        const double value = (double){self._value(f"{p}_linear_feature[k]")};
        for (v = 0; v < {n}u; ++v) {{
            score[v] += {weight} * value;
        }}
    }}
    for (v = 0; v < {n}u; ++v) {{
        if (!isfinite(score[v])) {{
            return 0;
        }}
    }}
{last}\
    return 1;
}}
"""

    def _write_lines(self):
        p, n, loop, ignored = self._p, self._n_values, "", ""
        if self._tables.has("line_term"):
            loop = f"""\
    for (k = {p}_line_term[leaf]; k < {p}_line_term[leaf + 1]; ++k) {{
        double z = (double){self._value(f"{p}_line_feature[k]")};
        z -= (double){p}_line_centre[k];
        if (z != z) {{
            z = 0.0;
        }}
        for (v = 0; v < {n}u; ++v) {{
            mean[v] += (double){p}_line_weight[k * {n}u + v] * z;
        }}
    }}
"""
        else:
            ignored = "    (void)x;\n"
        return f"""\
/* The line of a leaf, between its bounds; where a value is missing, its mean takes its place. */
static void {p}_line({self._row}, uint32_t leaf, double *mean)
{{
    uint32_t {"k, " if loop else ""}v;
{ignored}\
    for (v = 0; v < {n}u; ++v) {{
        mean[v] = (double){p}_line_mean[leaf][v];
    }}
{loop}\
    for (v = 0; v < {n}u; ++v) {{
        if (!isfinite(mean[v])) {{
            mean[v] = (double){p}_line_mean[leaf][v];
        }}
        if (mean[v] < (double){p}_line_low[leaf][v]) {{
            mean[v] = (double){p}_line_low[leaf][v];
        }}
        if (mean[v] > (double){p}_line_high[leaf][v]) {{
            mean[v] = (double){p}_line_high[leaf][v];
        }}
    }}
}}
"""

    def _add_score(self, combine):
        """Adding what a linear leaf predicts, by the way trees are combined."""
        n, n_classes = self._n_values, self._model.max_n_classes
        if combine == "vote":
            return f"""\
            for (k = 0; k < {self._model.n_outputs}u; ++k) {{
                const double *own = score + k * {n_classes}u;
                sums[k * {n_classes}u + {self._p}_find_largest(own)] += 1.0;
            }}
"""
        added = "score[k]"
        if combine == "product":
            floor = write_number(PROBABILITY_FLOOR, "double")
            added = f"log(score[k] < {floor} ? {floor} : score[k])"
        return f"""\
            for (k = 0; k < {n}u; ++k) {{
                sums[k] += {added};
            }}
"""

    @property
    def _adds_pure(self):
        """Whether pure leaves add to other classes than their own."""
        return self._leaves.has(PURE) and any(g.combine == "product" for g in self._model.groups)

    @property
    def _leaves_read(self):
        """Whether leaves look at the row."""
        return self._leaves.has(LINEAR) or self._leaves.has(LINES)

    def _write_add_leaf(self):
        """Adding what a leaf holds, section by section."""
        p, n, leaves = self._p, self._n_values, self._leaves
        first = leaves.first
        parts, last = [], ""
        if leaves.has(LINES):
            body = (
                f"        double mean[{n}];\n        {p}_line(x, leaf - {first[LINES]}u, mean);\n"
            )
            body += f"        for (k = 0; k < {n}u; ++k) {{\n            sums[k] += mean[k];\n"
            parts.append((LINES, f"{body}        }}\n        return;\n"))
        if leaves.has(LINEAR):
            body = f"        double score[{n}];\n"
            body += f"        if ({p}_linear(x, leaf - {first[LINEAR]}u, score)) {{\n"
            body += self._add_score(self._model.groups[0].combine)
            body += "            return;\n        }\n"
            body += f"        leaf = {p}_linear_fallback[leaf - {first[LINEAR]}u];\n"
            parts.append((LINEAR, body))
        if leaves.has(VALUED):
            row = f"{p}_value[leaf - {first[VALUED]}u]"
            body = f"        for (k = 0; k < {n}u; ++k) {{\n"
            body += f"            sums[k] += (double){row}[k];\n        }}\n        return;\n"
            parts.append((VALUED, body))
        if leaves.has(COUNTED):
            row = f"{p}_count[leaf - {first[COUNTED]}u]"
            body = f"        for (k = 0; k < {n}u; ++k) {{\n"
            body += f"            sums[k] += (double){row}[k] / (double){row}[{n}];\n        }}\n"
            parts.append((COUNTED, f"{body}        return;\n"))
        text = ""
        for section, body in parts:
            if first[section] > 0:
                text += f"    if (leaf >= {first[section]}u) {{\n{body}    }}\n"
            else:
                body = "\n".join(line[4:] for line in body.splitlines()) + "\n"
                last = body.removesuffix("    return;\n")
        if leaves.has(PURE):
            last = "    sums[leaf] += 1.0;\n"
            if self._adds_pure:
                last = f"""\
    if (other != 0.0) {{
        for (k = 0; k < {n}u; ++k) {{
            if (k != leaf) {{
                sums[k] += other;
            }}
        }}
    }}
    sums[leaf] += own;
"""
        row = f"{self._row}, " if self._leaves_read else ""
        pure = ", double own, double other" if self._adds_pure else ""
        k = "    uint32_t k;\n" if "(k = " in text + last else ""
        return f"""\
/* Add what a leaf holds to the sums. */
static void {p}_add_leaf({row}uint32_t leaf{pure}, double *sums)
{{
{k}\
{text}{last}\
}}
"""

    def _call_group(self, group, first, target):
        """Adding up the trees of one group in `target`."""
        p, n, end = self._p, self._n_values, first + len(group.trees)
        tree = ", tree" if len(self._nodes.root) > 1 else ""
        row = "x, " if self._leaves_read else ""
        pure = ""
        if self._adds_pure:
            own, other = 1.0, 0.0
            if group.combine == "product":
                own, other = 0.0, float(np.log(PROBABILITY_FLOOR))
            pure = f", {write_number(own, 'double')}, {write_number(other, 'double')}"
        text = f"    for (k = 0; k < {n}u; ++k) {{\n        {target}[k] = 0.0;\n    }}\n"
        call = f"{p}_add_leaf({row}{p}_walk(x{tree}){pure}, {target});\n"
        if tree:
            text += f"    for (tree = {first}; tree < {end}u; ++tree) {{\n        {call}    }}\n"
        else:
            text += f"    {call}"
        if group.combine == "product":
            text += f"    {p}_normalise({target});\n"
        elif len(group.trees) > 1:
            divisor = write_number(len(group.trees), "double")
            text += (
                f"    for (k = 0; k < {n}u; ++k) {{\n        {target}[k] /= {divisor};\n    }}\n"
            )
        return text

    def _write_values(self):
        """What the model predicts, as numbers."""
        p, n, model = self._p, self._n_values, self._model
        names = "k, tree" if len(self._nodes.root) > 1 else "k"
        own = f"    double own[{n}];\n" if len(model.groups) > 1 else ""
        body, first = "", 0
        for number, group in enumerate(model.groups):
            target = "own" if number else "out"
            body += self._call_group(group, first, target)
            first += len(group.trees)
            if group.factor is None:
                continue
            factor = write_number(group.factor, "double")
            text = f"out[k] += {factor} * own[k]" if number else f"out[k] *= {factor}"
            body += f"    for (k = 0; k < {n}u; ++k) {{\n        {text};\n    }}\n"
        return f"""\
/* All numbers that the model predicts for a row. */
static void {p}_add_up({self._row}, double *out)
{{
    uint32_t {names};
{own}\
{body}\
}}
"""
