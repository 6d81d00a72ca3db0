#!/usr/bin/env python
"""Damage model files and tree states at random: ``python tools/fuzz_models.py --mutations 2000``.

A small model of every kind is saved. Each mutation damages one of the files, or the state of one
of the trees, in one of many ways, and loads it with a limit of memory. It must be refused with
ValueError, or predict a few rows. Whatever else happens is printed with the number of the
mutation, which ``--only`` repeats: another exception, a crash, a mutation that takes longer
than ``--timeout`` seconds, and memory that grows by more than 20 times ``--max-bytes``.
The program then exits with status 1.

The mutations run in a process of their own, so that a crash can be reported, and so
that memory that was needed to fit the models hides nothing.
"""

import argparse
import collections
import faulthandler
import mmap
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import warnings

import numpy as np
from fuzzing.memory import MemoryGauge
from fuzzing.mutate_files import FileMutator, Seed
from fuzzing.mutate_states import mutate_state
from fuzzing.seeds import make_rows, save_models

from obtree import load_model
from obtree.tree.normal_form import NormalForm, form_from_state, form_to_state
from obtree.tree.normal_predict import NormalPredictor
from obtree.tree.predict import Predictor
from obtree.tree.state import tree_from_state, tree_to_state

MEMORY_FACTOR = 20
MAX_COLUMNS = 256
STATE_FRACTION = 0.35


def parse_arguments(argv=None):
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(
        description="Damage model files and tree states at random, and load them."
    )
    parser.add_argument("--mutations", type=int, default=2000, help="how many (default: 2000)")
    parser.add_argument("--seed", type=int, default=0, help="of all randomness (default: 0)")
    parser.add_argument(
        "--max-bytes", type=int, default=2**22, help="given to load_model (default: 2**22)"
    )
    parser.add_argument(
        "--timeout", type=float, default=60.0, help="seconds for one mutation (default: 60)"
    )
    parser.add_argument(
        "--max-failures", type=int, default=20, help="stop after so many (default: 20)"
    )
    parser.add_argument("--only", type=int, help="repeat this mutation, with its traceback")
    parser.add_argument("--keep", help="with --only: write the damaged file here")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


class Fuzzer:
    """Runs mutations by their numbers.

    Parameters
    ----------
    folder : pathlib.Path
        Holds the files of undamaged models in ``models``; damaged ones are written here.
    seed, max_bytes : int
    """

    def __init__(self, folder, seed, max_bytes):
        self.path = folder / "damaged"
        self.seed = seed
        self.max_bytes = max_bytes
        self.files = FileMutator(max_bytes)
        self.names = list(self.files.ways)
        self.weights = [weight for _, weight in self.files.ways.values()]
        self.seeds = [
            Seed(path.name, path.read_bytes()) for path in sorted((folder / "models").iterdir())
        ]
        self.rows = {}
        self.states = []
        for seed_file in self.seeds:
            model = self.load(seed_file.data)
            self.use_model(model)
            for tree in model._list_trees():
                soft = isinstance(tree, NormalForm)
                state = form_to_state(tree) if soft else tree_to_state(tree)
                self.states.append((seed_file.name, state, soft))

    def load(self, data):
        """Load a model from the bytes of a file."""
        self.path.write_bytes(data)
        return load_model(self.path, max_bytes=self.max_bytes)

    def mutate(self, number):
        """Make a mutation.

        Returns
        -------
        way, name : str
            What is done, and to which model.
        run : callable
            Loads it; returns what predicts.
        damaged : bytes or object
        """
        rng = random.Random(self.seed * 2**40 + number)
        if rng.random() < STATE_FRACTION:
            name, state, soft = rng.choice(self.states)
            state = mutate_state(rng, state)
            return "edit state", name, lambda: self.use_state(state, soft), state
        seed_file = rng.choice(self.seeds)
        (way,) = rng.choices(self.names, self.weights)
        data = self.files.ways[way][0](rng, seed_file)
        return way, seed_file.name, lambda: self.use_file(data), data

    def use_file(self, data):
        """Load a model file and predict; return what became of it."""
        try:
            model = self.load(data)
        except ValueError as error:
            # The message must be one that can be shown.
            str(error).encode()
            return "refused"
        return self.use_model(model)

    def use_model(self, model):
        """Call what needs the arrays of a model."""
        X = self.find_rows(model.n_features_in_)
        if X is None:
            return "loaded, too wide to predict"
        first = ("predict", "transform", "score_samples")
        for method in (*first, "predict_proba", "apply", "decision_path"):
            if hasattr(model, method):
                getattr(model, method)(X)
        if getattr(model, "_training", None) is not None:
            model.predict(X, quantiles=[0.1, 0.9])
            model.log_prob(X, np.zeros((len(X), model.n_outputs_)))
            model.predict_quantiles(X, [0.0, 0.5])
        return "predicted"

    def use_state(self, state, soft):
        """Make a tree or a form of a state and predict."""
        try:
            tree = form_from_state(state) if soft else tree_from_state(state)
        except ValueError as error:
            str(error).encode()
            return "refused"
        X = self.find_rows(tree.n_features)
        if X is None or (soft and tree.n_classes > MAX_COLUMNS):
            return "loaded, too wide to predict"
        predictor = NormalPredictor([tree]) if soft else Predictor([tree])
        predictor.predict(X)
        if not soft:
            predictor.apply(X)
            if tree.max_n_classes > 1:
                predictor.classify(X)
            tree.compute_feature_importances()
        return "predicted"

    def find_rows(self, n_features):
        """Return rows to predict, None when they would be very long."""
        if n_features > MAX_COLUMNS:
            return None
        if n_features not in self.rows:
            self.rows[n_features] = make_rows(n_features)
        return self.rows[n_features]


def work(arguments):
    """Run all mutations and print a report; return the exit status."""
    folder = pathlib.Path(arguments.worker)
    fuzzer = Fuzzer(folder, arguments.seed, arguments.max_bytes)
    outcomes = collections.Counter()
    failures = 0
    slowest = (0.0, 0, "")
    with open(folder / "progress", "r+b") as stream, mmap.mmap(stream.fileno(), 8) as progress:
        gauge = MemoryGauge()
        started = time.perf_counter()
        for number in range(arguments.mutations):
            struct.pack_into("<q", progress, 0, number)
            way, name = "mutate", "no model"
            begin = time.perf_counter()
            try:
                way, name, run, _ = fuzzer.mutate(number)
                begin = time.perf_counter()
                outcome = run()
            except Exception as error:
                outcome = "FAILED"
                failures += 1
                print(f"mutation {number} ({way}, {name}): {type(error).__name__}: {error}"[:300])
            slowest = max(slowest, (time.perf_counter() - begin, number, way))
            outcomes[way, outcome] += 1
            if failures >= arguments.max_failures:
                print("too many failures; stopped")
                break
        seconds = time.perf_counter() - started
    print_outcomes(outcomes)
    print(
        f"{sum(outcomes.values())} mutations of {len(fuzzer.seeds)} models in {seconds:.0f} s; "
        f"slowest {slowest[0]:.3f} s (mutation {slowest[1]}, {slowest[2]}); {failures} failures"
    )
    bounded = report_memory(gauge, arguments.max_bytes)
    return int(failures > 0 or not bounded)


def print_outcomes(outcomes):
    """Print how many mutations of each kind ended how."""
    ways = sorted({way for way, _ in outcomes})
    ends = sorted({end for _, end in outcomes})
    print(f"{'':24}" + "".join(f"{end:>30}" for end in ends))
    for way in ways:
        print(f"{way:24}" + "".join(f"{outcomes[way, end]:>30}" for end in ends))


def report_memory(gauge, max_bytes):
    """Print by how much memory grew, and return whether that is allowed."""
    growth = gauge.measure()
    if growth is None:
        print("memory was not measured: this system does not tell")
        return True
    print(
        f"memory grew by {growth / 2**20:.1f} MB at most, {growth / max_bytes:.1f} times max_bytes "
        f"({max_bytes}); allowed are {MEMORY_FACTOR} times"
    )
    return growth < MEMORY_FACTOR * max_bytes


def supervise(arguments, folder):
    """Start the worker and watch it; return the exit status."""
    progress = folder / "progress"
    progress.write_bytes(struct.pack("<q", -1))
    worker = subprocess.Popen(
        [sys.executable, *sys.argv, "--worker", str(folder)],
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    last, since = -2, time.monotonic()
    while True:
        try:
            status = worker.wait(1.0)
            break
        except subprocess.TimeoutExpired:
            (number,) = struct.unpack("<q", progress.read_bytes())
            if number != last:
                last, since = number, time.monotonic()
            elif time.monotonic() - since > arguments.timeout:
                worker.kill()
                worker.wait()
                print(f"mutation {number} took longer than {arguments.timeout} s")
                return 1
    if status not in (0, 1):
        (number,) = struct.unpack("<q", progress.read_bytes())
        print(f"mutation {number} ended the process with status {status}")
    if status:
        print(
            f"repeat one: python tools/fuzz_models.py --seed {arguments.seed} "
            f"--max-bytes {arguments.max_bytes} --only NUMBER"
        )
    return int(status != 0)


def repeat(arguments, folder):
    """Run one mutation in this process."""
    fuzzer = Fuzzer(folder, arguments.seed, arguments.max_bytes)
    way, name, run, damaged = fuzzer.mutate(arguments.only)
    print(f"mutation {arguments.only}: {way}, {name}")
    if arguments.keep and isinstance(damaged, bytes):
        pathlib.Path(arguments.keep).write_bytes(damaged)
    try:
        print(run())
    except Exception:
        traceback.print_exc()
        return 1
    return 0


def main(argv=None):
    """Run the program.

    Returns
    -------
    status : int
        0 when all mutations were refused or predicted.
    """
    arguments = parse_arguments(argv)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    if arguments.worker:
        faulthandler.enable()
        return work(arguments)
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        (folder / "models").mkdir()
        save_models(folder / "models")
        if arguments.only is not None:
            return repeat(arguments, folder)
        return supervise(arguments, folder)


if __name__ == "__main__":
    sys.exit(main())
