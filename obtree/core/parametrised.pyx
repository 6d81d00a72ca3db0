"""Objects that hold parameters, and of which every worker thread gets a clone.

The parameters are the arguments of the subclass's ``__init__``; each must be readable as an
attribute of the same name. A compiled class also lists them in ``parameter_names``, since Python
cannot see the arguments of its ``__init__``.
"""

import inspect
from types import WrapperDescriptorType

from obtree.core.names import expect_name, show


cdef class Parametrised:
    """Base class; scikit-learn's words for parameters."""

    #: Names of the parameters of a compiled class.
    parameter_names = ()

    @classmethod
    def _parameter_names(cls):
        if isinstance(cls.__init__, WrapperDescriptorType):    # compiled
            return sorted(cls.parameter_names)
        signature = inspect.signature(cls.__init__)
        return sorted(
            name for name, parameter in signature.parameters.items()
            if name != "self" and parameter.kind in (parameter.KEYWORD_ONLY,
                                                     parameter.POSITIONAL_OR_KEYWORD)
        )

    def get_params(self, deep=True):
        """Parameters of the object, as scikit-learn's estimators give theirs.

        Parameters
        ----------
        deep : bool, default=True
            Ignored; the object holds no estimators.

        Returns
        -------
        dict
        """
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params):
        """Change parameters; all are checked again.

        Parameters
        ----------
        **params : dict
            New values by name.

        Returns
        -------
        object
            The object itself.
        """
        unknown = sorted(set(params) - set(self._parameter_names()))
        if unknown:
            raise ValueError(
                f"{type(self).__name__} has no parameter {show(unknown[0])}; "
                f"{expect_name(unknown[0], self._parameter_names())}"
            )
        self.__init__(**{**self.get_params(), **params})
        return self

    def clone(self):
        """A new object with the same parameters."""
        return type(self)(**self.get_params())

    def __sklearn_clone__(self):
        return self.clone()

    def __reduce__(self):
        return _rebuild, (type(self), self.get_params())

    # skops asks for the state of an object, and makes another without calling __init__.
    def __getstate__(self):
        return self.get_params()

    def __setstate__(self, state):
        self.__init__(**state)

    def __repr__(self):
        params = ", ".join(
            f"{name}={show(value, limit=None)}" for name, value in self.get_params().items()
        )
        return f"{type(self).__name__}({params})"

    def __eq__(self, other):
        return type(self) is type(other) and self.get_params() == other.get_params()

    def __hash__(self):
        # Equal parameters may be written in different ways, as 1 and 1.0.
        return hash(type(self))


def _rebuild(cls, params):
    return cls(**params)
