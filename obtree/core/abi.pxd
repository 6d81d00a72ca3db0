# What a package compiled against obtree's .pxd files does first.
#
# A splitter of another package has the layout of obtree's structs and the order of its
# virtual methods compiled in. Cython notices some differences when the module is imported
# and none between virtual methods, where a wrong order would crash. So such a package has a
# module of two lines that it imports before its others:
#
#     from obtree.core.abi cimport require_abi
#     require_abi(__name__)

from obtree.core.types cimport ABI_VERSION as BUILT_FOR


cdef inline int require_abi(object module) except -1:
    """Raise ImportError unless the obtree installed is the one compiled against."""
    from obtree.core.abi import check_abi
    check_abi(<int>BUILT_FOR, module)
    return 0
