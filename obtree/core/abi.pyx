"""The version of what other packages are compiled against."""

from importlib.metadata import version
from pathlib import Path

ABI_VERSION = <int>BUILT_FOR


def check_abi(built_for, module):
    """Compare the interface a module was compiled against with the one installed.

    Parameters
    ----------
    built_for : int
        The ``ABI_VERSION`` that the compiler saw.
    module : str
        Name of the module; the first part is its package.

    Raises
    ------
    ImportError
        When the two differ, with both versions and what to do.

    Examples
    --------
    >>> from obtree.core.abi import ABI_VERSION, check_abi
    >>> check_abi(ABI_VERSION, "my_package.checked")
    """
    if built_for == ABI_VERSION:
        return
    package = module.partition(".")[0]
    raise ImportError(
        f"{package} was built for version {built_for} of obtree's compiled interface, but obtree "
        f"{version('obtree')} is installed, which has version {ABI_VERSION}. Build {package} "
        "again with this obtree installed (pip install --no-build-isolation --force-reinstall "
        f"--no-deps, from its source), or install a version of {package} or of obtree that "
        "belongs to the other."
    )


def get_include():
    """The folder in which Cython finds obtree's ``.pxd`` files.

    Returns
    -------
    str
        To be passed as ``cython -I``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from obtree.core.abi import get_include
    >>> (Path(get_include()) / "obtree" / "splitter" / "base.pxd").exists()
    True
    """
    # This module is compiled, so that it is never found among the sources.
    return str(Path(__file__).resolve().parents[2])
