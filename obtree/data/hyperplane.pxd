# The one definition of what a node tests, for training and for prediction.
#
# A hyperplane is a short list of (feature, weight) terms and a threshold; an axis
# split is a hyperplane with one term of weight 1. Training and prediction must send
# a row the same way to the last bit, so the sum below has one order: up to 15 terms
# are added one after the other, longer lists go into 16 partial sums (term k into
# sum k mod 16) that are then folded in halves. The build forbids fused operations.

from obtree.core.types cimport X_t, feature_t, idx_t, w_t


cdef struct Hyperplane:
    idx_t n_terms
    feature_t* feature        # n_terms columns of X, owned by the caller
    w_t* weight               # n_terms weights, owned by the caller
    double threshold
    bint missing_left         # where a row goes that lacks one of the features
    # Set by the builder: whether a training row of the node did. If none did, such a row
    # follows the heavier child, whatever missing_left says.
    bint missing_seen


cdef inline double project_row(const feature_t* feature, const w_t* weight, idx_t n_terms,
                               const X_t* row, idx_t stride) noexcept nogil:
    """sum(weight[k] * row[feature[k] * stride]); NaN when a value is missing."""
    cdef double lanes[16]
    cdef double total = 0.0
    cdef idx_t k, lane, width
    if n_terms < 16:
        for k in range(n_terms):
            total += weight[k] * <double>row[feature[k] * stride]
        return total
    for lane in range(16):
        lanes[lane] = weight[lane] * <double>row[feature[lane] * stride]
    for k in range(16, n_terms):
        lanes[k & 15] += weight[k] * <double>row[feature[k] * stride]
    width = 8
    while width > 0:
        for lane in range(width):
            lanes[lane] += lanes[lane + width]
        width >>= 1
    return lanes[0]


cdef inline bint goes_left(const Hyperplane* plane, double projection) noexcept nogil:
    """Whether a row with this projection goes to the left child."""
    return projection <= plane.threshold or (plane.missing_left and projection != projection)
