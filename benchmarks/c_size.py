"""How small models are as C: test error and bytes, on scikit-learn's digits.

    python benchmarks/c_size.py
    python benchmarks/c_size.py --compiler "zig cc -target thumb-freestanding-eabi -mcpu=cortex_m4"
    python benchmarks/c_size.py --only "axis tree" --seeds 1

Error in per cent on a quarter of the rows; "tables" are the constant tables by what the file
says, "object" is code and tables in what the compiler makes of it (``-Os -c``, by ``readelf``).
Means over splits. Only classes are exported, not probabilities.
"""

import argparse
import re
import shlex
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from obtree import ObliqueForestClassifier, ObliqueTreeClassifier, TAOForestClassifier
from obtree import TAOTreeClassifier as TAOTree
from obtree.bench.report import format_table
from obtree.export import to_c

MODELS = {
    "axis tree": ObliqueTreeClassifier(),
    "TAO, l1=0.01": TAOTree(max_depth=6),
    "TAO, l1=0.3": TAOTree(max_depth=6, l1=0.3),
    "TAO, l1=1": TAOTree(max_depth=6, l1=1.0),
    "TAO, l1=3": TAOTree(max_depth=6, l1=3.0),
    "axis forest of 10": ObliqueForestClassifier(10, splitter="axis"),
    "TAO forest of 10, vote": TAOForestClassifier(10, max_depth=6, l1=1.0, combine="vote"),
}


def measure_object(source, compiler):
    """Compile, and add up the sections that a chip has to keep.

    Parameters
    ----------
    source : str
        C.
    compiler : list of str
        Command.

    Returns
    -------
    size : int
        Bytes.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.c"
        path.write_text(source, encoding="ascii")
        command = [*compiler, "-std=c99", "-Os", "-c", "model.c", "-o", "model.o"]
        subprocess.run(command, cwd=folder, check=True)
        done = subprocess.run(
            ["readelf", "-SW", "model.o"], cwd=folder, check=True, capture_output=True, text=True
        )
    sections = re.findall(r"(\.\S+)\s+PROGBITS\s+\w+\s+\w+\s+(\w+)", done.stdout)
    kept = (".text", ".rodata", ".data")
    return sum(int(size, 16) for name, size in sections if name.startswith(kept))


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=MODELS)
    parser.add_argument("--compiler", default="cc")
    args = parser.parse_args()
    X, y = load_digits(return_X_y=True)
    X = X.astype(np.float32)
    rows = []
    for name in args.only:
        figures = []
        for seed in range(args.seeds):
            train, test, labels, truth = train_test_split(X, y, random_state=seed)
            model = MODELS[name].set_params(random_state=seed).fit(train, labels)
            source = to_c(model, proba=False)
            tables = int(re.search(r"Constant tables: (\d+) bytes", source)[1])
            size = measure_object(source, shlex.split(args.compiler))
            figures.append((100.0 * (1.0 - model.score(test, truth)), tables, size))
        error, tables, size = np.mean(figures, axis=0)
        rows.append([name, f"{error:.1f}", f"{tables:.0f}", f"{size:.0f}"])
    print(format_table(["model", "error %", "tables", "object"], rows))


if __name__ == "__main__":
    main()
