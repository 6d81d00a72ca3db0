# Types shared by every compiled module, named for the role they play.
#
# Samples are counted with a signed, pointer-sized integer so that products such
# as row * n_features never wrap; what is stored per node or per row is 32 bits wide.

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

ctypedef float X_t            # a feature value
ctypedef double y_t           # a regression target
ctypedef double w_t           # a sample weight, and every sum of weights
ctypedef Py_ssize_t idx_t     # positions and counts of samples
ctypedef int32_t row_t        # a row of X as stored in the sample index
ctypedef int32_t feature_t    # a column of X as stored in a node
ctypedef int32_t node_t       # a node id as stored in a tree

# What `Splitter.node_split` returns when it did not fail (-1).
cdef enum SplitStatus:
    LEAF = 0
    FOUND = 1

# Raised by one whenever a struct, a signature or the order of virtual methods in
# a public .pxd changes; subclasses in other packages compare it on import.
cdef enum:
    ABI_VERSION = 11


cdef inline double impurity_epsilon() noexcept nogil:
    """Nodes whose impurity, a number without a unit, is at most this are pure."""
    return 2.220446049250313e-16


cdef inline double rounding_tolerance() noexcept nogil:
    """Targets that differ by at most this fraction of the largest of them differ by rounding.

    A few digits of the last place: sums of numbers that ought to be equal.
    """
    return 16 * 2.220446049250313e-16
