"""What tests and the models of leaves are made of, with names: weighted sums, and Gaussians.

Text and pictures of trees are both made from these.
"""

from dataclasses import dataclass

import numpy as np

from obtree.tree.digits import write_number


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """A sum of features, or of their products, with weights.

    Attributes
    ----------
    names : list of str
        What is summed.
    weights : float64 ndarray, one for each name
    intercept : float or None
        What is added; None where there is no such number.
    noise : float or None
        Standard deviation of what the sum predicts, where it is known.
    is_softmax : bool
        Whether names are the features of a softmax, and weights say how far apart each of them
        can bring two classes.
    """

    names: list
    weights: np.ndarray
    intercept: float | None = None
    noise: float | None = None
    is_softmax: bool = False

    def find_largest(self, max_terms):
        """Numbers of the terms with the largest weights, those first.

        Parameters
        ----------
        max_terms : int

        Returns
        -------
        ndarray of at most `max_terms` numbers
        """
        return np.argsort(-np.abs(self.weights), kind="stable")[:max_terms]

    def write(self, decimals, max_terms):
        """The sum as text.

        Parameters
        ----------
        decimals : int
            Digits after the point.
        max_terms : int
            Terms that are written, those with the largest weights.

        Returns
        -------
        str
        """
        if self.is_softmax:
            listed = [self.names[k] for k in np.sort(self.find_largest(max_terms))]
            return f"softmax of {', '.join(listed + self._count_hidden(max_terms))}"
        text = self._write_terms(decimals, max_terms)
        if self.intercept is not None:
            if text:
                sign = "-" if self.intercept < 0 else "+"
                text += f" {sign} {write_number(abs(self.intercept), decimals)}"
            else:
                text = write_number(self.intercept, decimals)
        if self.noise is None:
            return text
        return f"{text} (noise {write_number(self.noise, decimals)})"

    def _write_terms(self, decimals, max_terms):
        text = ""
        for k in np.sort(self.find_largest(max_terms)):
            size = f"{write_number(abs(self.weights[k]), decimals)}*{self.names[k]}"
            if not text:
                text = f"-{size}" if self.weights[k] < 0 else size
            else:
                text += f" {'-' if self.weights[k] < 0 else '+'} {size}"
        return " + ".join([*([text] if text else []), *self._count_hidden(max_terms)])

    def _count_hidden(self, max_terms):
        """What stands for the terms that are not shown, if there are any."""
        n_hidden = len(self.names) - max_terms
        return [f"({n_hidden} smaller terms)"] if n_hidden > 0 else []


@dataclass(frozen=True, eq=False)
class Spread:
    """Where values lie: the mean and the standard deviation of each feature.

    Attributes
    ----------
    names : list of str
    mean, deviation : float64 ndarray, one for each name
    """

    names: list
    mean: np.ndarray
    deviation: np.ndarray

    def write(self, decimals, max_terms):
        """The means as text.

        Parameters
        ----------
        decimals : int
            Digits after the point.
        max_terms : int
            Features that are written.

        Returns
        -------
        str
        """
        pairs = zip(self.names[:max_terms], self.mean, strict=False)
        return "mean " + ", ".join(
            f"{name} {write_number(value, decimals)}" for name, value in pairs
        )
