# Gradients of many planes at once, when a row of a batch concerns but a few of them.
#
# A row pulls at a plane with a factor; the gradient of the plane is the sum of its rows, each
# times its factor. Pulls are noted as they come, in one chain for each plane, the last one
# first, so that a step costs what it touches and not the number of planes.

from libc.stdint cimport int32_t
from libc.string cimport memset

from obtree.core.dispatch cimport kernels
from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t


cdef struct Pulls:
    idx_t n
    idx_t n_touched
    int32_t* touched          # (n_planes) planes that a row pulls at
    int32_t* head             # (n_planes) last pull at a plane, -1 between batches
    int32_t* next             # (max_pulls) the one before it, or -1
    int32_t* row              # (max_pulls) row of the batch
    float* factor             # (max_pulls)
    int32_t* row_here         # (max_here) pulls at one plane
    float* factor_here


cdef inline int take_pulls(Pulls* pulls, idx_t n_planes, idx_t max_pulls, idx_t max_here,
                           Workspace workspace) except -1:
    """Make room for so many pulls of a batch, max_here of them at one plane."""
    pulls.touched = <int32_t*>workspace.take(n_planes, sizeof(int32_t))
    pulls.head = <int32_t*>workspace.take(n_planes, sizeof(int32_t))
    pulls.next = <int32_t*>workspace.take(max_pulls, sizeof(int32_t))
    pulls.row = <int32_t*>workspace.take(max_pulls, sizeof(int32_t))
    pulls.factor = <float*>workspace.take(max_pulls, sizeof(float))
    pulls.row_here = <int32_t*>workspace.take(max_here, sizeof(int32_t))
    pulls.factor_here = <float*>workspace.take(max_here, sizeof(float))
    memset(pulls.head, 0xFF, n_planes * sizeof(int32_t))
    pulls.n = pulls.n_touched = 0
    return 0


cdef inline void begin_pulls(Pulls* pulls) noexcept nogil:
    """Begin a batch; every plane that was touched has been read."""
    pulls.n = pulls.n_touched = 0


cdef inline void add_pull(Pulls* pulls, int32_t plane, idx_t row, float factor) noexcept nogil:
    cdef idx_t k = pulls.n
    if pulls.head[plane] < 0:
        pulls.touched[pulls.n_touched] = plane
        pulls.n_touched += 1
    pulls.row[k] = <int32_t>row
    pulls.factor[k] = factor
    pulls.next[k] = pulls.head[plane]
    pulls.head[plane] = <int32_t>k
    pulls.n = k + 1


cdef inline void read_gradient(Pulls* pulls, int32_t plane, const float* x, idx_t stride,
                               float* gradient) noexcept nogil:
    """Sum the pulls at a plane (OUT gradient, stride) and forget them; x: rows of the batch."""
    cdef int32_t k = pulls.head[plane]
    cdef idx_t n = 0
    pulls.head[plane] = -1
    while k >= 0:
        pulls.row_here[n] = pulls.row[k]
        pulls.factor_here[n] = pulls.factor[k]
        n += 1
        k = pulls.next[k]
    kernels().add_rows(x, stride, pulls.row_here, pulls.factor_here, n, gradient)
