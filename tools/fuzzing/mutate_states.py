"""Ways to tamper with the state of a tree or of a disjunctive normal form."""

import copy

import numpy as np

from fuzzing.values import INTEGERS, VALUES, change_items, change_layout


def mutate_state(rng, state):
    """Change one to four things.

    Parameters
    ----------
    rng : random.Random
    state : dict
        Of numbers and arrays.

    Returns
    -------
    dict or other object
    """
    if rng.random() < 0.005:
        return rng.choice((None, [], 3, "state", list(state.items())))
    state = dict(state)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        rng.choice(WAYS)(rng, state)
    return state


def _change_array(change):
    def apply(rng, state):
        name = rng.choice(sorted(state, key=str))
        if isinstance(state[name], np.ndarray):
            state[name] = change(rng, state[name])
        else:
            state[name] = rng.choice((*INTEGERS, *VALUES))

    return apply


def _drop(rng, state):
    if state:
        del state[rng.choice(sorted(state, key=str))]


def _add(rng, state):
    key = rng.choice(("extra", "", 3, None, "term_partner", "lower_threshold", "leaf_ptr"))
    state[key] = copy.copy(rng.choice(list(state.values()))) if state else 1


def _exchange(rng, state):
    if len(state) > 1:
        one, other = rng.sample(sorted(state, key=str), 2)
        state[one], state[other] = state[other], state[one]


def _replace(rng, state):
    if state:
        state[rng.choice(sorted(state, key=str))] = rng.choice(
            (*VALUES, np.zeros(()), np.zeros(0), np.array([None]), np.zeros(2, dtype="M8[s]"))
        )


def _swap_order(rng, state):
    """Arrays of the other byte order, or with strides, are as good as any."""
    name = rng.choice(sorted(state, key=str)) if state else None
    array = state.get(name)
    if isinstance(array, np.ndarray) and array.ndim:
        state[name] = np.repeat(array, 2, axis=0)[::2].astype(array.dtype.newbyteorder(">"))


WAYS = (
    *(_change_array(change_items),) * 6,
    *(_change_array(change_layout),) * 2,
    *(_drop, _add, _exchange, _replace, _swap_order),
)
