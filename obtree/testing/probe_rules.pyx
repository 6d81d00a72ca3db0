"""CO2 with other rules: what its policy decides, for programs that ask whether a rule pays."""

from obtree.splitter.co2 cimport CO2Splitter


cdef class ChangedCO2Splitter(CO2Splitter):
    """CO2 with some numbers of its policy changed.

    Parameters
    ----------
    rules : dict of str to number, default=None
        Fields of ``co2_policy.pxd``, and what they are to be.
    **params
        Those of CO2.
    """

    parameter_names = (*CO2Splitter.parameter_names, "rules")

    cdef readonly object rules

    def __init__(self, *, rules=None, **params):
        super().__init__(**params)
        self.rules = rules
        known = dict(self._policy)
        for name in rules or ():
            if name not in known:
                raise ValueError(f"unknown rule {name!r}; expected one of {sorted(known)}")
        self._policy = known | (rules or {})
