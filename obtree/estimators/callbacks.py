"""Callbacks of scikit-learn, from version 1.9 on: what is told of a fit, and when.

A fit is a task, and each tree of a forest a task in it. Somebody who listens gets trees in their
order, so a forest that is listened to grows as many at a time as it has threads; the trees are the
same. Where nobody listens nothing is different, and older versions of scikit-learn know no
callbacks.
"""

import copy
import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from tqdm.auto import tqdm

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Has no methods: there are no callbacks."""

    with_callbacks = None

Method = TypeVar("Method", bound=Callable[..., Any])


def report_fit(method: Method) -> Method:
    """Decorate a method that fits an estimator, so that callbacks hear of it.

    Parameters
    ----------
    method : function
        Takes X, and maybe y and sample_weight. The estimator says by ``_count_fit_tasks`` how
        many trees it will tell of.

    Returns
    -------
    method : function
    """
    if with_callbacks is None:
        return method
    signature = inspect.signature(method)

    @with_callbacks
    def reported(estimator, *args, **kwargs):
        if hasattr(estimator, "_fit_task"):  # a fit that another one calls
            return method(estimator, *args, **kwargs)
        given = signature.bind(estimator, *args, **kwargs).arguments
        task = FitTask(estimator, given.get("X"), given.get("y"), given.get("sample_weight"))
        estimator._fit_task = task
        try:
            result = method(estimator, *args, **kwargs)
        finally:
            vars(estimator).pop("_fit_task", None)
        task.end()
        return result

    # The outermost function is one of this package: `advise` looks for it.
    @functools.wraps(method)
    def fit(estimator, *args, **kwargs):
        return reported(estimator, *args, **kwargs)

    return fit  # type: ignore[return-value]


class FitTask:
    """A fit that callbacks may listen to.

    Parameters
    ----------
    estimator : estimator object
    X, y, sample_weight : object
        What the estimator is fitted to.
    """

    def __init__(self, estimator, X, y, sample_weight):
        self._estimator = estimator
        weights = None if sample_weight is None else {"sample_weight": sample_weight}
        self._data = {"X": X, "y": y, "metadata": weights}
        self._context = estimator._init_callback_context(max_subtasks=estimator._count_fit_tasks())
        self._tell(self._context.call_on_fit_task_begin)

    def end(self):
        """Tell that the fit has ended, and left a fitted estimator."""
        self._tell(self._context.call_on_fit_task_end, reconstruction_attributes={})

    def tell_tree(self, show):
        """Tell of a tree that begins and ends.

        Parameters
        ----------
        show : callable
            Returns the attributes of an estimator that has ended with this tree, and is called
            only if some callback wants to see that.

        Returns
        -------
        is_enough : bool
            Whether a callback wants the fit to stop.
        """
        context = self._context.subcontext(task_name="tree")
        self._tell(context.call_on_fit_task_begin)
        return self._tell(context.call_on_fit_task_end, reconstruction_attributes=show)

    def _tell(self, hook, **more):
        return hook(estimator=self._estimator, **self._data, **more)


def is_listened_to(estimator):
    """Tell whether an estimator that is being fitted has callbacks.

    Parameters
    ----------
    estimator : estimator object

    Returns
    -------
    bool
    """
    # Scikit-learn keeps callbacks there, and has no other word for whether there are any. Were it
    # to move them, they would hear of the fit and of no trees.
    return hasattr(estimator, "_fit_task") and bool(getattr(estimator, "_skl_callbacks", ()))


def grow_in_steps(estimator, seeds, grow, store, verbose):
    """Grow the trees of a forest that is listened to, and tell of each.

    Parameters
    ----------
    estimator : forest estimator
    seeds : ndarray of uint32
        One for each tree.
    grow : callable
        Returns the trees of the seeds with given numbers, ``start`` to ``end``.
    store : callable
        Sets the attributes of a fitted forest that has these trees first, on the estimator that
        is its first argument.
    verbose : int
        1 shows a progress bar.

    Returns
    -------
    trees : list
        Fewer than there are seeds if a callback wants no more.
    """
    trees = []
    n_threads = estimator._count_threads()
    with tqdm(total=len(seeds), unit="tree", disable=not verbose) as bar:
        for start in range(0, len(seeds), n_threads):
            for tree in grow(start, min(start + n_threads, len(seeds))):
                trees.append(tree)
                bar.update()
                if tell_of_trees(estimator, trees, store):
                    return trees
    return trees


def tell_of_trees(estimator, trees, store):
    """Tell of the last of some trees.

    Parameters
    ----------
    estimator : forest estimator
    trees : list
        Those that there are so far.
    store : callable
        As for `grow_in_steps`.

    Returns
    -------
    is_enough : bool
        Whether a callback wants the fit to stop.
    """

    def show():
        shown = copy.copy(estimator)
        store(shown, list(trees))
        known = vars(estimator)
        return {
            name: value
            for name, value in vars(shown).items()
            if name not in known or known[name] is not value
        }

    return bool(estimator._fit_task.tell_tree(show))
