# A decision stump that gradient steps move: the bound of CO2 on the loss of a split.
#
# Rows are float32, centred and scaled by whoever fills them in, `stride` floats apart and
# padded with zeros. The score of a row is w.x - bias; it goes left when that is negative.

from libc.stdint cimport int32_t, int64_t

from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t


cdef struct Batch:
    # Rows to judge, and what is to be predicted for them.
    const float* x            # (n * stride)
    # Rows of few non-zeros, see hollow_node.pyx: row p differs from `base` by value[e] in
    # column[e], for e from start[p] to start[p + 1]. NULL: they are in x.
    const int64_t* start      # (n + 1)
    const int32_t* column
    const float* value
    const float* base         # (stride)
    const float* weight       # (n)
    const int32_t* slot       # (n * n_outputs) classes as slots of the stump
    const float* y            # (n * n_outputs) numbers
    idx_t n


cdef struct StumpLoss:
    # Weighted sums over rows.
    double weight
    double surrogate          # equation 5
    double loss               # equation 2: of the split as it is


cdef struct Stump:
    idx_t n_outputs
    bint is_class             # log loss of classes, or squared error of numbers
    bint together             # whether w has one second moment instead of many
    # (n_outputs + 1) where the slots of an output begin; a slot for each class, or one for
    # the number. The leaves' arrays hold the slots of the left leaf, then of the right one.
    const idx_t* first
    idx_t stride
    idx_t n_columns           # before the zeros
    float nu                  # bound of |w|^2
    float* w                  # (stride)
    float bias
    float* theta              # leaves: log-probabilities or means
    float* share              # leaves: probabilities
    float* table              # leaves: loss of each class
    float* hits               # leaves: gradient
    float* theta_m            # leaves: moments
    float* theta_v
    float* grad               # (stride)
    float* m                  # (stride) moments
    float* v                  # v[0] for all weights together, where `together` says so
    float bias_m
    float bias_v
    float decay_m             # 0.9 ** steps and 0.99 ** steps
    float decay_v
    float* score              # (batch)
    int32_t* at               # (batch) rows that pull at the plane
    float* factor             # (batch) and how much


# Take scratch for so many columns, slots and rows a batch.
cdef int take_stump(Stump* stump, Workspace workspace, idx_t max_stride, idx_t max_slots,
                    idx_t max_batch) except -1

# Start with w = 0 and without moments; first, stride, nu, n_outputs and is_class are set.
cdef void reset_stump(Stump* stump) noexcept nogil

# Set the leaves to what is best for the plane as it is: log-probabilities, with so many rows
# more of each class, or means. SCRATCH counts (2 * (n_slots + 1)).
cdef void fit_leaves(Stump* stump, const Batch* batch, double pseudo_count,
                     double* counts) noexcept nogil

# Shorten w and bias together, to no less than a share of what they are, until the rows on the
# side that is worse for them are, on average, near enough to pull at the plane.
cdef void shorten_stump(Stump* stump, const Batch* batch, float least) noexcept nogil

# Add the losses of a batch to `sums`. OUT at, factor, hits: its gradient. Returns how many
# rows pull at the plane.
cdef idx_t judge_batch(Stump* stump, const Batch* batch, StumpLoss* sums) noexcept nogil

# One step down the gradient of a batch, whose losses before the step are added to `sums`.
cdef void move_stump(Stump* stump, const Batch* batch, float rate, float leaf_rate,
                     StumpLoss* sums) noexcept nogil
