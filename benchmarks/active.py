"""Labels that it takes to reach an error: asked for one by one, or drawn at random.

    python benchmarks/active.py                        # the table banana of the suite, or OpenML
    python benchmarks/active.py --made --bars
    python benchmarks/active.py --tables ~/suite

Prints, for each target, the mean number of labels over the seeds, and the mean error on the way.
With ``--bars`` it says whether asking takes fewer labels than drawing at random. A run that does
not reach a target counts with the most labels there were.
"""

import argparse
from pathlib import Path

import numpy as np

from obtree.bench.active import count_labels, label_one_by_one, make_banana

KINDS = ("random", "total", "expected", "knowledge")


def load_banana(folder):
    """Return the table, from a folder or else from OpenML."""
    path = None if folder is None else Path(folder) / "c_banana.npz"
    if path is not None and path.exists():
        with np.load(path) as arrays:
            return arrays["X"].astype(np.float64), arrays["y"].astype(int)
    from sklearn.datasets import fetch_openml

    X, y = fetch_openml("banana", version=1, return_X_y=True, as_frame=False)
    return X, np.unique(y, return_inverse=True)[1]


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", help="folder of c_banana.npz; without it OpenML is asked")
    parser.add_argument("--made", action="store_true", help="rows of that shape that are made")
    parser.add_argument("--labels", type=int, default=200)
    parser.add_argument("--targets", nargs="+", type=float, default=[18.0, 16.0, 14.0])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=["random", "total"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--bars", action="store_true", help="say whether asking takes fewer")
    args = parser.parse_args()
    X, y = make_banana() if args.made else load_banana(args.tables)
    curves, needed = {}, {}
    for kind in args.kinds:
        runs = [label_one_by_one(X, y, kind, args.labels, seed)[:2] for seed in range(args.seeds)]
        curves[kind] = runs[0][0], 100.0 * np.mean([errors for _, errors in runs], axis=0)
        for target in args.targets:
            found = [count_labels(counts, 100.0 * errors, target) for counts, errors in runs]
            needed[kind, target] = [args.labels if n is None else n for n in found]
    print(f"{len(y)} rows, {args.seeds} seeds")
    print("mean number of labels (standard error) until the error is at most")
    print(f"{'':>12}" + "".join(f"{target:>12g} %" for target in args.targets))
    for kind in args.kinds:
        cells = [
            f"{np.mean(needed[kind, t]):8.0f} ({np.std(needed[kind, t]) / args.seeds**0.5:3.0f})"
            for t in args.targets
        ]
        print(f"{kind:>12}" + "".join(f"{cell:>14}" for cell in cells))
    print("mean error in % by number of labels")
    counts = curves[args.kinds[0]][0]
    shown = [k for k, n in enumerate(counts) if n % 20 == 0]
    print(f"{'':>12}" + "".join(f"{counts[k]:>7}" for k in shown))
    for kind, (_, errors) in curves.items():
        print(f"{kind:>12}" + "".join(f"{errors[k]:7.1f}" for k in shown))
    if args.bars:
        for target in args.targets:
            known = np.mean(needed["random", target])
            for kind in args.kinds[1:]:
                own = np.mean(needed[kind, target])
                verdict = "holds" if own < known else "FAILS"
                print(
                    f"{kind}: {own:.0f} labels, fewer than {known:.0f} for {target:g} %: {verdict}"
                )


if __name__ == "__main__":
    main()
