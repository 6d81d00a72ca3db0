# The policy of CO2: every number and rule that is not in the paper, in one place.
#
# `CO2Policy` holds the numbers, `NodeKind` what a node is like; from both follow how its rows
# and columns are drawn and scaled, where the descent starts, how far and how long it goes, and
# when its bound is evaluated. The other files do what is decided here.
#
# A node is of one of these kinds:
#
#   numbers   regression: columns have one variance, and the plane has to beat the axis split;
#   binary    most of the spread is in columns of two values, so that rows are corners of a cube;
#   wide      classes, seen through more than `many_columns` columns;
#   others    classes.
#
# Data of classes are a *table* where features are in different units, or few. Planes, sums of
# many features, are then less of a matter of course than with pixels, spectra or strokes: they
# are compared with axis splits on rows set aside, and in nodes that are not wide columns count as
# much as they tell the classes apart. Elsewhere columns count as much as they vary.
#
# Which rules pay, and which are no longer here since they did not, is told in the benchmarks of the
# documentation.

from libc.math cimport sqrt

from obtree.core.types cimport idx_t

cdef enum:
    HALF = -1                 # of the columns, as max_columns


cdef struct CO2Policy:
    # ---- radius: the bound of |w|^2, for rows of mean squared length 1 ----
    double nu                 # the same for all nodes; 0: by the kind of the node
    double max_nu
    double min_nu             # of nodes that are not wide
    double free_columns       # up to so many columns it is max_nu
    # ---- scaling ----
    double least_spread       # added to a column's variance, in means of them
    double least_separation   # added to the fraction of its variance between the classes
    bint is_table             # of the data; see above
    bint units_differ         # of its features
    double min_binary_spread  # of the spread in columns of two values, that makes a node binary
    idx_t many_columns        # beyond, a node is wide
    bint single_tree          # no part of a forest: it looks at all features
    # ---- rate: length of a step in each weight, as a fraction of the root of the radius ----
    double rate
    double binary_rate        # binary nodes: times the rate; 1 where a rate is asked for
    double leaf_rate          # of a leaf's parameters: logarithms, or standardised means
    # ---- epochs ----
    idx_t n_epochs            # most passes over the rows
    idx_t binary_epochs       # binary nodes: times as many; 1 where a number is asked for
    idx_t min_steps           # least steps, where epochs are shorter
    idx_t batch_size
    # ---- start: length of the weights, as a fraction of the root of the radius ----
    double start_length
    double binary_length
    double least_length       # fraction of it that makes rows active, where it is shortened
    double pseudo_count       # rows of each class that a leaf has besides its own
    # ---- evaluations of the bound ----
    idx_t judged_rows         # most rows of a node that it is measured on
    idx_t eval_steps          # least steps between two of them
    idx_t wide_eval_steps
    idx_t stretch_steps       # after which a step's length is judged, in nodes of one batch
    idx_t patience            # stretches that brought nothing until the step is halved
    idx_t max_halvings        # of the step, until it matters no more
    # ---- draws ----
    idx_t min_rows            # from which a node is optimised; 0: by the kind of the node
    idx_t least_rows
    idx_t binary_rows
    idx_t compared_rows       # from which a plane of classes is compared with an axis split, ...
    double held_fraction      # on so many of the rows, ...
    idx_t trial_divisor       # after this part of the epochs and steps
    idx_t max_rows            # that a node is looked at through
    idx_t max_columns         # the same, or HALF
    idx_t min_columns         # that are never divided
    idx_t table_columns       # fewer features are a table
    idx_t sparse_columns      # in nodes of mostly zeros, or ...
    idx_t sparse_columns_per_row


cdef struct NodeKind:
    bint is_class
    idx_t n_columns           # that are looked at
    bint binary
    bint wide                 # moments: w has one second moment instead of many
    bint weighed              # whether columns count by their separation
    bint standardised         # whether each is scaled by itself, whatever its unit


cdef struct DescentPlan:
    # ---- start: an axis split ----
    idx_t column              # of those that the node uses
    double threshold          # in the unit of the feature
    double nu                 # radius
    double length             # of the weights
    bint shorten              # whether they may be as short as makes rows active
    # ---- steps ----
    double rate
    idx_t n_epochs
    idx_t min_steps
    idx_t batch_size


cdef inline void init_policy(CO2Policy* policy) noexcept nogil:
    """The numbers that are nobody's parameters; those that are, are zero."""
    policy.nu = 0.0
    policy.max_nu = 100.0
    policy.min_nu = 20.0
    policy.free_columns = 16.0
    policy.least_spread = 0.01
    policy.least_separation = 0.02
    policy.min_binary_spread = 0.5
    policy.many_columns = 128
    policy.single_tree = policy.is_table = policy.units_differ = False
    policy.rate = 0.0
    policy.binary_rate = 0.5
    policy.leaf_rate = 0.1
    policy.n_epochs = policy.min_steps = policy.batch_size = 0
    policy.binary_epochs = 4
    policy.start_length = 0.8
    policy.binary_length = 0.3
    policy.least_length = 0.1
    policy.pseudo_count = 0.5
    policy.judged_rows = 2048
    policy.eval_steps = 80
    policy.wide_eval_steps = 8
    policy.stretch_steps = 8
    policy.patience = 2
    policy.max_halvings = 4
    policy.min_rows = 0
    policy.held_fraction = 0.0
    policy.least_rows = 2
    policy.binary_rows = 200
    policy.compared_rows = 10
    policy.trial_divisor = 2
    policy.max_rows = policy.max_columns = 0
    policy.min_columns = 16
    policy.table_columns = 16
    policy.sparse_columns = 1024
    policy.sparse_columns_per_row = 4


cdef inline bint is_weighed(const CO2Policy* policy, idx_t n_features) noexcept nogil:
    """Whether nodes that are not wide weigh their columns.

    Of very many columns some seem relevant by chance, and more so the smaller the node.
    """
    return policy.is_table and n_features < 2 * policy.many_columns


cdef inline NodeKind find_kind(const CO2Policy* policy, bint is_class, idx_t n_columns,
                               idx_t n_features) noexcept nogil:
    """All but whether it is binary."""
    cdef NodeKind kind
    kind.is_class = is_class
    kind.n_columns = n_columns
    kind.binary = False
    kind.wide = is_class and n_columns > policy.many_columns
    kind.weighed = is_weighed(policy, n_features) and not kind.wide
    kind.standardised = not is_class or kind.weighed or policy.units_differ
    return kind


cdef inline void mark_binary(const CO2Policy* policy, double binary_spread,
                             NodeKind* kind) noexcept nogil:
    """IN binary_spread: the part of the columns' spread that is in columns of two values."""
    kind.binary = binary_spread > policy.min_binary_spread


# ---- draws ---------------------------------------------------------------------------

cdef inline idx_t count_columns(const CO2Policy* policy, idx_t n_complete,
                                idx_t n_binary) noexcept nogil:
    """Columns that a node of n_complete is looked at through, n_binary of them of two values.

    Other ones in each tree, which makes the trees of a forest differ.
    """
    if policy.max_columns != HALF:
        return policy.max_columns
    # Columns of two values are often several for one thing, and worth less by themselves.
    if 2 * n_binary > n_complete:
        return n_complete
    return max(policy.min_columns, (n_complete + 1) // 2)


cdef inline idx_t count_sparse_columns(const CO2Policy* policy, idx_t n_rows) noexcept nogil:
    """Columns, those with most non-zeros, of a node of so many rows of mostly zeros."""
    return max(policy.sparse_columns, policy.sparse_columns_per_row * n_rows)


cdef inline idx_t count_least_rows(const CO2Policy* policy, const NodeKind* kind) noexcept nogil:
    """Rows from which a node is optimised.

    A plane with a margin separates nearly any few corners of a cube, and means little.
    """
    if policy.min_rows > 0:
        return policy.min_rows
    return policy.binary_rows if kind.binary else policy.least_rows


cdef inline bint compares_splits(const CO2Policy* policy, idx_t n_rows) noexcept nogil:
    """Whether a plane has to be better than an axis split for rows set aside.

    Rows are set aside by their number: in trees by themselves a weight of two would no longer
    be the same as two rows.
    """
    return (policy.is_table and not policy.single_tree and policy.held_fraction > 0.0
            and n_rows >= policy.compared_rows)


cdef inline idx_t count_held(const CO2Policy* policy, idx_t n_rows) noexcept nogil:
    """Rows of a node that are set aside to compare a plane and an axis split."""
    return <idx_t>(policy.held_fraction * n_rows)


# ---- scaling -------------------------------------------------------------------------

cdef inline double scale_column(const CO2Policy* policy, const NodeKind* kind, double variance,
                                double mean, double separation) noexcept nogil:
    """What multiplies a column, up to a number for all; `mean` is that of the variances.

    Standardised columns are divided by their own deviation. Weighed ones are then multiplied by
    the root of their separation of the classes, since Adam's steps are equally long in all weights,
    also in those of columns that say nothing. Where that is not known, columns that hardly
    vary, such as the rim of an image, are to count for less: they are multiplied by the root of
    their deviation; in wide nodes steps follow the gradient, which is already proportional to
    the deviation, and they are divided by that root.
    """
    cdef double root
    if kind.weighed:
        return sqrt((separation + policy.least_separation) / variance)
    if kind.standardised:
        return 1.0 / sqrt(variance)
    root = sqrt(sqrt(variance / mean + policy.least_spread))
    return 1.0 / root if kind.wide else root


# ---- radius, start, rate and epochs --------------------------------------------------

cdef inline double find_nu(const CO2Policy* policy, const NodeKind* kind) noexcept nogil:
    """Radius for the columns of a node.

    The more there are, the easier it is to separate rows, and the less a plane that does so
    with a narrow margin is worth. In wide nodes, whose columns are scaled in another way, it
    falls with the root of their number only.
    """
    cdef double column_ratio = kind.n_columns / policy.free_columns
    if not kind.is_class or column_ratio <= 1.0 or kind.binary:
        return policy.max_nu
    if kind.wide:
        return policy.max_nu / sqrt(column_ratio)
    return max(policy.min_nu, policy.max_nu / (column_ratio * sqrt(column_ratio)))


cdef inline void plan_descent(const CO2Policy* policy, const NodeKind* kind,
                              bint is_trial, DescentPlan* plan) noexcept nogil:
    """OUT plan: all but its column and threshold."""
    cdef idx_t divisor = policy.trial_divisor if is_trial else 1
    plan.nu = policy.nu if policy.nu > 0.0 else find_nu(policy, kind)
    plan.length = (policy.binary_length if kind.binary else policy.start_length) * sqrt(plan.nu)
    # All corners are equally far from a plane along an axis: there is no average to go by.
    plan.shorten = not kind.binary
    plan.rate = policy.rate * (policy.binary_rate if kind.binary else 1.0) * sqrt(plan.nu)
    plan.n_epochs = policy.n_epochs * (policy.binary_epochs if kind.binary else 1)
    plan.n_epochs = max(<idx_t>1, plan.n_epochs // divisor)
    plan.min_steps = policy.min_steps // divisor
    plan.batch_size = policy.batch_size


# ---- evaluations ---------------------------------------------------------------------

cdef inline idx_t count_eval_epochs(const CO2Policy* policy, const NodeKind* kind,
                                    idx_t n_batches) noexcept nogil:
    """Epochs between two evaluations of the bound.

    Among few columns they are rare: the lowest of many points is fitted so closely to the
    rows of the node that trees become alike, and forests of them worse.
    """
    cdef idx_t steps = policy.wide_eval_steps if kind.wide else policy.eval_steps
    return (steps + n_batches - 1) // n_batches


cdef inline idx_t count_stretch_epochs(const CO2Policy* policy, const NodeKind* kind,
                                       idx_t n_batches) noexcept nogil:
    """Epochs after which the step's length is judged: in wide nodes by the evaluation at their end,
    in others by the bound that their batches had on the way."""
    if kind.wide:
        return count_eval_epochs(policy, kind, n_batches)
    return policy.stretch_steps if n_batches == 1 else 1
