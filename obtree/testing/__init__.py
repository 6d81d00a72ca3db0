"""Checks of splitters and criteria, for packages that have their own; helpers for tests.

`check_splitter` and `check_criterion` are public. The rest are slow references and, in a build
with ``-Dprobes=true``, wrappers of compiled functions, for obtree's own tests. Nothing else in the
package imports this folder.
"""

from obtree.testing.check_criterion import check_criterion
from obtree.testing.check_splitter import ContractError, check_splitter

__all__ = ["ContractError", "check_criterion", "check_splitter"]
