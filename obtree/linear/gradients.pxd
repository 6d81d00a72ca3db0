# Gradients of many planes at once, when a row of a batch concerns but a few of them.
#
# A row has a factor for a plane; the gradient of the plane is the sum of its rows, each
# times its factor. Terms are noted as they come, in one chain for each plane, the last one
# first, so that a step costs what it touches and not the number of planes.

from libc.stdint cimport int32_t
from libc.string cimport memset

from obtree.core.dispatch cimport kernels
from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t


cdef struct PlaneGradients:
    idx_t n
    idx_t n_touched
    int32_t* touched          # (n_planes) planes that a row of the batch moves
    int32_t* head             # (n_planes) last term of a plane, -1 between batches
    int32_t* next             # (max_terms) the one before it, or -1
    int32_t* row              # (max_terms) row of the batch
    float* factor             # (max_terms)
    int32_t* row_here         # (max_here) terms of one plane
    float* factor_here


cdef inline int take_gradients(PlaneGradients* gradients, idx_t n_planes, idx_t max_terms,
                               idx_t max_here, Workspace workspace) except -1:
    """Make room for so many terms of a batch, max_here of them of one plane."""
    gradients.touched = <int32_t*>workspace.take(n_planes, sizeof(int32_t))
    gradients.head = <int32_t*>workspace.take(n_planes, sizeof(int32_t))
    gradients.next = <int32_t*>workspace.take(max_terms, sizeof(int32_t))
    gradients.row = <int32_t*>workspace.take(max_terms, sizeof(int32_t))
    gradients.factor = <float*>workspace.take(max_terms, sizeof(float))
    gradients.row_here = <int32_t*>workspace.take(max_here, sizeof(int32_t))
    gradients.factor_here = <float*>workspace.take(max_here, sizeof(float))
    memset(gradients.head, 0xFF, n_planes * sizeof(int32_t))
    gradients.n = gradients.n_touched = 0
    return 0


cdef inline void begin_gradients(PlaneGradients* gradients) noexcept nogil:
    """Begin a batch; every plane that was touched has been read."""
    gradients.n = gradients.n_touched = 0


cdef inline void add_gradient(PlaneGradients* gradients, int32_t plane, idx_t row,
                              float factor) noexcept nogil:
    cdef idx_t k = gradients.n
    if gradients.head[plane] < 0:
        gradients.touched[gradients.n_touched] = plane
        gradients.n_touched += 1
    gradients.row[k] = <int32_t>row
    gradients.factor[k] = factor
    gradients.next[k] = gradients.head[plane]
    gradients.head[plane] = <int32_t>k
    gradients.n = k + 1


cdef inline void read_gradient(PlaneGradients* gradients, int32_t plane, const float* x,
                               idx_t stride, float* gradient) noexcept nogil:
    """Sum the terms of a plane (OUT gradient, stride) and forget them; x: rows of the batch."""
    cdef int32_t k = gradients.head[plane]
    cdef idx_t n = 0
    gradients.head[plane] = -1
    while k >= 0:
        gradients.row_here[n] = gradients.row[k]
        gradients.factor_here[n] = gradients.factor[k]
        n += 1
        k = gradients.next[k]
    kernels().add_rows(x, stride, gradients.row_here, gradients.factor_here, n, gradient)
