"""The functions that walk down trees, and what all functions are written with.

Each method returns the text of a function of C. What is summed in which order is said in
``data/hyperplane.pxd``.
"""

from obtree.export.c_nodes import LONG


class Writer:
    """Writes functions of one model.

    Parameters
    ----------
    prefix : str
        What all names begin with.
    model : ExportedModel
    tables : Tables
    nodes : Nodes
    leaves : Leaves
        Finished.
    """

    def __init__(self, prefix, model, tables, nodes, leaves):
        self._p = prefix
        self._model = model
        self._tables = tables
        self._nodes = nodes
        self._leaves = leaves
        self._row = f"const {'float' if model.offset is None else 'double'} *x"
        self._n_values = model.n_values

    def _value(self, index):
        """A feature of the row as float32."""
        return f"x[{index}]" if self._model.offset is None else f"{self._p}_read(x, {index})"

    def _write_sum(self, name, n_terms):
        """The sum of the terms of a plane, or of a leaf of one output."""
        p = self._p
        first = f"    const uint32_t begin = {p}_{name}_term[i];\n"
        at = "begin + k"
        if self._tables.has(f"{name}_list"):
            first += f"    const uint32_t list = {p}_{name}_list[i];\n"
            at = "list + k"
        read = f"(double){self._value(f'{p}_{name}_feature[{at}]')}"
        partner = ""
        if self._tables.has(f"{name}_partner"):
            other = self._value(f"(uint32_t){p}_{name}_partner[{at}]")
            partner = f"""\
        if ({p}_{name}_partner[{at}] >= 0) {{
            value *= (double){other};
        }}
"""
        weight = f"(double){p}_{name}_weight[begin + k]"
        if self._tables.has(f"{name}_is_scaled"):
            first += (
                f"    const uint32_t scaled = (uint32_t){p}_{name}_is_scaled[i >> 3] >> (i & 7u);\n"
            )
        if self._tables.has(f"{name}_scale"):
            scale = f"(double){p}_{name}_scale[{p}_{name}_feature[{at}]]"
            # A product of two float32 numbers is exact.
            weight = f"{weight} * {scale}"
            if self._tables.has(f"{name}_is_scaled"):
                weight = f"(double){p}_{name}_weight[begin + k] * (scaled & 1u ? {scale} : 1.0)"
        loop = f"""\
        double value = {read};
{partner}\
        value *= {weight};
"""
        if n_terms < LONG:
            body = f"""\
    for (k = 0; k < n; ++k) {{
{loop}\
        total += value;
    }}
    return total;
"""
            scratch = ""
        else:
            scratch = f"    double lane[{LONG}] = {{0.0}};\n    uint32_t half;\n"
            body = f"""\
    for (k = 0; k < n; ++k) {{
{loop}\
        if (n < {LONG}) {{
            total += value;
        }} else if (k < {LONG}) {{
            lane[k] = value;
        }} else {{
            lane[k % {LONG}] += value;
        }}
    }}
    if (n < {LONG}) {{
        return total;
    }}
    for (half = {LONG // 2}; half > 0; half /= 2) {{
        for (k = 0; k < half; ++k) {{
            lane[k] += lane[k + half];
        }}
    }}
    return lane[0];
"""
        note = (
            f" of {LONG} terms and more in {LONG} parts that are folded" if n_terms >= LONG else ""
        )
        return f"""\
/* The sum of a {name.replace("linear", "leaf")}{note}. */
static double {p}_{name}_sum({self._row}, uint32_t i)
{{
{first}\
    const uint32_t n = (uint32_t){p}_{name}_term[i + 1] - begin;
    double total = 0.0;
    uint32_t k;
{scratch}\
{body}\
}}
"""


class Walks(Writer):
    """Writes what finds the leaf of a row."""

    def write(self):
        """Return all functions.

        Returns
        -------
        functions : list of str
        """
        parts = []
        if self._model.offset is not None:
            parts.append(self._write_read())
        if self._nodes.axis.size:
            parts.append(self._write_walk_axis())
        if self._nodes.planes.size:
            parts.append(self._write_plane_sum())
            if self._tables.has("listed"):
                parts.append(self._write_set())
            parts.append(self._write_walk_planes())
        return [*parts, self._write_walk()]

    def _write_read(self):
        return f"""\
/* A feature as the trees see it: less a constant, and rounded once. */
static float {self._p}_read({self._row}, uint32_t feature)
{{
    return (float)(x[feature] - (double){self._p}_offset[feature]);
}}
"""

    def _write_missing(self, pool):
        """Where rows go that lack a value; to the right where nothing is said."""
        if not self._tables.has(f"{pool}_missing"):
            return ""
        return f"""\
        if (value != value) {{
            right = ~((uint32_t){self._p}_{pool}_missing[i >> 3] >> (i & 7u)) & 1u;
        }}
"""

    def _write_walk_axis(self):
        p = self._p
        return f"""\
/* What the leaf holds that a row reaches, from the first node of a tree with axis splits. */
static uint32_t {p}_walk_axis({self._row}, uint32_t first)
{{
    int32_t at = 0;
    do {{
        const uint32_t i = first + (uint32_t)at;
        const float value = {self._value(f"{p}_axis_feature[i]")};
        uint32_t right = !(value <= {p}_axis_threshold[i]);
{self._write_missing("axis")}\
        at = {p}_axis_child[i][right];
    }} while (at >= 0);
    return (uint32_t)(-(at + 1));
}}
"""

    def _write_plane_sum(self):
        n_terms = int(self._nodes.planes.join("n_terms").max())
        return self._write_sum("plane", n_terms)

    def _write_set(self):
        p, other = self._p, "0.0"
        place = "list" if self._tables.has("plane_list") else "term"
        if self._tables.has("plane_missing"):
            other = f"(double)(((uint32_t){p}_plane_missing[i >> 3] >> (i & 7u)) & 1u)"
        return f"""\
/* What a plane compares; or a node with categories: NaN, as if missing, for those not listed. */
static double {p}_plane_value({self._row}, uint32_t i)
{{
    uint32_t first = {p}_plane_set[i];
    uint32_t end = {p}_plane_set[i + 1];
    float category;
    if (first == end) {{
        return {p}_plane_sum(x, i);
    }}
    category = {self._value(f"{p}_plane_feature[{p}_plane_{place}[i]]")};
    while (first < end) {{
        const uint32_t middle = first + (end - first) / 2u;
        const float found = (float){p}_listed[middle];
        if (found < category) {{
            first = middle + 1u;
        }} else if (found > category) {{
            end = middle;
        }} else if (found == category) {{
            return {other};
        }} else {{
            break;
        }}
    }}
    return (double)NAN;
}}
"""

    def _write_walk_planes(self):
        p, lower = self._p, ""
        what = "value" if self._tables.has("listed") else "sum"
        if self._tables.has("plane_lower"):
            lower = f"""\
        if (value <= (double){p}_plane_lower[i]) {{
            right = 1u;
        }}
"""
        return f"""\
/* The same from the first node of a tree of planes. */
static uint32_t {p}_walk_planes({self._row}, uint32_t first)
{{
    int32_t at = 0;
    do {{
        const uint32_t i = first + (uint32_t)at;
        const double value = {p}_plane_{what}(x, i);
        uint32_t right = !(value <= (double){p}_plane_threshold[i]);
{self._write_missing("plane")}\
{lower}\
        at = {p}_plane_child[i][right];
    }} while (at >= 0);
    return (uint32_t)(-(at + 1));
}}
"""

    def _write_walk(self):
        """What a row finds in a tree."""
        p, nodes = self._p, self._nodes
        axis, planes = (f"{p}_walk_axis(x, {{}})", f"{p}_walk_planes(x, {{}})")
        if len(nodes.root) == 1:
            root = nodes.root[0]
            body = f"    return {(planes if nodes.planes.size else axis).format(0)};\n"
            if root < 0:
                body = f"    (void)x;\n    return {-1 - root}u;\n"
            head = f"static uint32_t {p}_walk({self._row})"
            return f"/* What the leaf of a row holds. */\n{head}\n{{\n{body}}}\n"
        body = f"    const int32_t root = {p}_root[tree];\n"
        leaf = "(uint32_t)(-(root + 1))"
        if not (nodes.axis.size or nodes.planes.size):
            body += f"    (void)x;\n    return {leaf};\n"
        else:
            if min(nodes.root) < 0:
                body += f"    if (root < 0) {{\n        return {leaf};\n    }}\n"
            if nodes.axis.size and nodes.planes.size:
                body += f"    if ((uint32_t){p}_is_plane[tree >> 3] >> (tree & 7u) & 1u) {{\n"
                body += f"        return {planes.format('(uint32_t)root')};\n    }}\n"
            last = axis if nodes.axis.size else planes
            body += f"    return {last.format('(uint32_t)root')};\n"
        head = f"static uint32_t {p}_walk({self._row}, uint32_t tree)"
        return f"/* What the leaf of a row holds in a tree. */\n{head}\n{{\n{body}}}\n"
