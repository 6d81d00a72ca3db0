# Splits of categories by sets: some go left, the others right.
#
# There are 2^(k - 1) ways to divide k categories, of which only k - 1 have to be looked at when
# the targets of a node are one number, or one of two classes: those that cut the categories in the
# order of their mean target (Breiman et al., 1984, theorem 4.5; Fisher, 1958, for numbers). With
# more classes or numbers, each category has a mean for each of them. The means are then
# projected on a few directions, and each gives an order: the direction along which the means of
# the node differ most (Coppersmith, Hong and Hosking, 1999), and random ones.
#
# An order becomes ranks, and whatever scans the ranks of a column scans these. Categories whose
# means are equal share a rank: no cut between them could be better than all others.
#
# Where a node has many categories, those of few rows go where missing values go, all together,
# unless their means differ by clearly more than chance.

from libc.math cimport fabs
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset

from obtree.core.memory cimport Workspace
from obtree.core.order cimport sort_scores
from obtree.core.random cimport RandState, normal
from obtree.core.sort cimport word_position
from obtree.core.types cimport X_t, idx_t, row_t, w_t
from obtree.data.dataset cimport ColumnView, DataView
from obtree.data.hyperplane cimport Hyperplane
from obtree.data.targets cimport NO_TARGETS, PARTIAL_TARGETS, REAL_TARGETS, TargetView
from obtree.splitter.base cimport NodeTask

cdef enum:
    # A node that has more categories than this tells only those apart that have so many rows there.
    # Means of fewer rows are noise, and many of them, put in order, fit any targets. In folds of
    # training rows this takes the error of axis forests on flights (4,000 tail numbers) to 0.89 of
    # what it was, and others to 1.00 to 1.01; 8 categories and 10 to 40 rows do about as well.
    FREE_CATEGORIES = 16
    LEAST_ROWS = 20
    # Fewer rows do, too, where the variance between the means of rare categories is so many times
    # that which noise alone would give them (the F ratio): two thirds of what they say is then
    # true. An axis forest tells fifty categories of forty rows each apart by that, with a third of
    # the error. In folds of training rows, errors on flights and adult are the same to 0.1 %; a
    # ratio of 4 does as well there, and 2 has 0.3 % more on flights.
    LEAST_RATIO = 3
    ROWS_FOR_RATIO = 2        # a category on the average, for the ratio to mean something
    N_RANDOM = 2              # random directions beside the one along which means differ most
    N_ROUNDS = 4              # towards that one


cdef class CategorySets:
    """Orders the categories of a column in a node, and writes the sets that cuts make."""

    cdef int bind(self, const DataView* view, const TargetView* targets,
                  Workspace workspace) except -1:
        cdef const ColumnView* column
        cdef idx_t j, most = 0, max_words = 0
        self.view = view
        self.targets = targets
        for j in range(view.n_features - view.n_categorical, view.n_features):
            column = &view.columns[j]
            most = max(most, <idx_t>column.n_values)
            if column.n_values:
                max_words = max(max_words, <idx_t>column.values[column.n_values - 1] // 32 + 1)
        self.n_slots = 1
        if targets.kind == REAL_TARGETS:
            self.n_slots = targets.n_outputs
        elif targets.kind != NO_TARGETS and (targets.kind == PARTIAL_TARGETS
                                             or targets.n_outputs > 1
                                             or targets.max_n_classes > 2):
            self.n_slots = targets.n_outputs * targets.max_n_classes
        self.direction = <double*>workspace.take(self.n_slots, sizeof(double))
        self.slope = <double*>workspace.take(self.n_slots, sizeof(double))
        self.weight = <w_t*>workspace.take(most + 1, sizeof(w_t))
        self.n_rows = <uint32_t*>workspace.take(most + 1, sizeof(uint32_t))
        self.total = <double*>workspace.take(most + 1, sizeof(double))
        self.place = <uint32_t*>workspace.take(most + 1, sizeof(uint32_t))
        self.position = <uint32_t*>workspace.take(most + 1, sizeof(uint32_t))
        self.rank = <uint32_t*>workspace.take(most + 1, sizeof(uint32_t))
        self.mean = <double*>workspace.take(most + 1, sizeof(double))
        self.keys = <uint32_t*>workspace.take(most + 1, sizeof(uint32_t))
        self.words = <uint64_t*>workspace.take(most + 1, sizeof(uint64_t))
        self.buffer = <uint64_t*>workspace.take(most + 1, sizeof(uint64_t))
        self.members = 1 + <uint32_t*>workspace.take(1 + max_words, sizeof(uint32_t))
        self.present = <uint32_t*>workspace.take(max_words, sizeof(uint32_t))
        memset(self.weight, 0, (most + 1) * sizeof(w_t))
        return 0

    cdef void begin(self, const NodeTask* task, uint32_t* codes, uint32_t missing) noexcept nogil:
        """Collect the categories of a node's rows, in the order in which they come up.

        IN codes (task.n) ranks; `missing` is that of rows without a category. OUT codes: that of
        rare categories as well.
        """
        cdef idx_t p
        cdef uint32_t rank
        for p in range(self.n_present):
            self.weight[self.rank[p]] = 0.0
        self.n_present = 0
        for p in range(task.n):
            rank = codes[p]
            if rank == missing:
                continue
            # Rows of a node weigh something.
            if self.weight[rank] == 0.0:
                self.place[rank] = <uint32_t>self.n_present
                self.rank[self.n_present] = rank
                self.n_present += 1
                self.n_rows[rank] = 0
            self.weight[rank] += task.weight[task.rows[p]]
            self.n_rows[rank] += 1
        self.n_kept = self.n_present
        if self.n_present > FREE_CATEGORIES:
            self._set_rare_aside(task, codes, missing)

    cdef void _set_rare_aside(self, const NodeTask* task, uint32_t* codes,
                              uint32_t missing) noexcept nogil:
        """Move categories of few rows behind the others, and let these rows be missing."""
        cdef idx_t p
        cdef uint32_t rank
        self.n_kept = 0
        for p in range(self.n_present):
            rank = self.rank[p]
            if self.n_rows[rank] >= LEAST_ROWS:
                self.rank[p] = self.rank[self.n_kept]
                self.place[self.rank[p]] = <uint32_t>p
                self.rank[self.n_kept] = rank
                self.place[rank] = <uint32_t>self.n_kept
                self.n_kept += 1
        if self.n_kept == self.n_present:
            return
        if rare_ones_differ(self, task, codes, missing):
            self.n_kept = self.n_present
            return
        for p in range(task.n):
            if codes[p] != missing and self.n_rows[codes[p]] < LEAST_ROWS:
                codes[p] = missing

    cdef idx_t count_orders(self) noexcept nogil:
        """How many orders are worth a look."""
        return 1 if self.n_slots == 1 or self.n_kept <= 2 else 1 + N_RANDOM

    cdef idx_t find_order(self, const NodeTask* task, const uint32_t* codes, uint32_t missing,
                          idx_t number, RandState* rng) noexcept nogil:
        """Find the positions of the categories in an order; returns how many there are.

        The first order is that of the direction along which means differ most.
        """
        cdef idx_t p, k, n_missing, n = self.n_kept
        cdef uint32_t position = 0, rank
        cdef double last
        if self.n_slots == 1:
            self.direction[0] = 1.0
        else:
            for k in range(self.n_slots):
                self.direction[k] = normal(rng)
        self._find_means(task, codes, missing)
        if self.n_slots > 1 and number == 0:
            for k in range(N_ROUNDS):
                if not self._turn(task, codes, missing):
                    break
                self._find_means(task, codes, missing)
        if not sort_scores(self.mean, n, self.keys, self.words, self.buffer, &n_missing):
            # All are alike: one order is as good as another.
            for p in range(n):
                self.position[self.rank[p]] = <uint32_t>p
            return n
        last = self.mean[word_position(self.words[0])]
        for p in range(n):
            k = word_position(self.words[p])
            if self.mean[k] != last:
                position += 1
                last = self.mean[k]
            rank = self.rank[k]
            self.position[rank] = position
        return position + 1

    cdef double _read_target(self, row_t row) noexcept nogil:
        """The targets of a row along the direction."""
        cdef const TargetView* targets = self.targets
        cdef idx_t n_outputs = targets.n_outputs, o
        cdef double sum_ = 0.0
        cdef int code
        if targets.kind == NO_TARGETS:
            return 0.0
        if targets.kind == REAL_TARGETS:
            for o in range(n_outputs):
                sum_ += self.direction[o] * targets.values[row * n_outputs + o]
            return sum_
        if self.n_slots == 1:
            return <double>targets.codes[row]
        for o in range(n_outputs):
            code = targets.codes[row * n_outputs + o]
            if code >= 0:
                sum_ += self.direction[o * targets.max_n_classes + code]
        return sum_

    cdef void _find_means(self, const NodeTask* task, const uint32_t* codes,
                          uint32_t missing) noexcept nogil:
        """Means of the categories along the direction."""
        cdef idx_t p
        cdef uint32_t rank
        cdef row_t row
        for p in range(self.n_kept):
            self.total[self.rank[p]] = 0.0
        for p in range(task.n):
            rank = codes[p]
            if rank != missing:
                row = task.rows[p]
                self.total[rank] += task.weight[row] * self._read_target(row)
        for p in range(self.n_kept):
            rank = self.rank[p]
            self.mean[p] = self.total[rank] / self.weight[rank]

    cdef bint _turn(self, const NodeTask* task, const uint32_t* codes,
                    uint32_t missing) noexcept nogil:
        """Turn the direction to where the means differ more; False when they do not differ."""
        cdef const TargetView* targets = self.targets
        cdef idx_t n_outputs = targets.n_outputs, p, k, o
        cdef double centre = 0.0, weight = 0.0, apart, largest = 0.0
        cdef row_t row
        cdef int code
        for p in range(self.n_kept):
            weight += self.weight[self.rank[p]]
            centre += self.total[self.rank[p]]
        centre /= weight
        memset(self.slope, 0, self.n_slots * sizeof(double))
        for p in range(task.n):
            if codes[p] == missing:
                continue
            row = task.rows[p]
            apart = task.weight[row] * (self.mean[self.place[codes[p]]] - centre)
            for o in range(n_outputs):
                if targets.kind == REAL_TARGETS:
                    self.slope[o] += apart * targets.values[row * n_outputs + o]
                    continue
                code = targets.codes[row * n_outputs + o]
                if code >= 0:
                    self.slope[o * targets.max_n_classes + code] += apart
        for k in range(self.n_slots):
            largest = max(largest, fabs(self.slope[k]))
        if not 0.0 < largest < INFINITY:
            return False
        for k in range(self.n_slots):
            self.direction[k] = self.slope[k] / largest
        return True

    cdef void keep_set(self, idx_t j, uint32_t last, bint missing_left) noexcept nogil:
        """Remember the categories up to a position of the order as the set that goes left.

        Rare ones go where missing values do.
        """
        cdef const X_t* values = self.view.columns[j].values
        cdef idx_t p
        cdef uint32_t category, highest = 0
        for p in range(self.n_present):
            highest = max(highest, <uint32_t>values[self.rank[p]])
        self.n_words = highest // 32 + 1
        self.members[-1] = self.n_kept < self.n_present
        memset(self.members, 0, self.n_words * sizeof(uint32_t))
        memset(self.present, 0, self.n_words * sizeof(uint32_t))
        for p in range(self.n_present):
            category = <uint32_t>values[self.rank[p]]
            self.present[category >> 5] |= <uint32_t>1 << (category & 31)
            if missing_left if p >= self.n_kept else self.position[self.rank[p]] <= last:
                self.members[category >> 5] |= <uint32_t>1 << (category & 31)

    cdef void write_set(self, Hyperplane* plane) noexcept nogil:
        """Let a plane test the set; valid until the next node."""
        plane.threshold = 0.5
        plane.members = self.members
        plane.present = self.present
        plane.n_words = self.n_words
        # Rare ones have shown where missing ones go, even if there are none.
        plane.missing_seen = self.members[-1] != 0


cdef bint rare_ones_differ(CategorySets sets, const NodeTask* task, const uint32_t* codes,
                           uint32_t missing) noexcept nogil:
    """Whether the means of rare categories, the last in `rank`, differ by more than chance.

    The sums of squares are those of all numbers that a row's targets consist of.
    """
    cdef idx_t n_rare = sets.n_present - sets.n_kept, n_rows = 0, p, slot
    cdef double weight = 0.0, centre, target, between = 0.0, around = 0.0
    cdef uint32_t rank
    cdef row_t row
    for p in range(sets.n_kept, sets.n_present):
        n_rows += sets.n_rows[sets.rank[p]]
        weight += sets.weight[sets.rank[p]]
    if n_rare < 2 or n_rows < ROWS_FOR_RATIO * n_rare or sets.targets.kind == NO_TARGETS:
        return False
    for slot in range(sets.n_slots):
        centre = 0.0
        for p in range(task.n):
            if codes[p] != missing and sets.n_rows[codes[p]] < LEAST_ROWS:
                centre += task.weight[task.rows[p]] * read_slot(sets, task.rows[p], slot)
        centre /= weight
        for p in range(sets.n_kept, sets.n_present):
            sets.total[sets.rank[p]] = 0.0
        for p in range(task.n):
            rank = codes[p]
            if rank != missing and sets.n_rows[rank] < LEAST_ROWS:
                row = task.rows[p]
                target = read_slot(sets, row, slot) - centre
                sets.total[rank] += task.weight[row] * target
                around += task.weight[row] * target * target
        for p in range(sets.n_kept, sets.n_present):
            rank = sets.rank[p]
            between += sets.total[rank] * (sets.total[rank] / sets.weight[rank])
    return between * (n_rows - n_rare) > LEAST_RATIO * (around - between) * (n_rare - 1)


cdef double read_slot(CategorySets sets, row_t row, idx_t slot) noexcept nogil:
    """One of the numbers that the targets of a row consist of."""
    cdef const TargetView* targets = sets.targets
    cdef idx_t n_classes = targets.max_n_classes
    if targets.kind == REAL_TARGETS:
        return targets.values[row * targets.n_outputs + slot]
    if sets.n_slots == 1:
        return <double>targets.codes[row]
    return targets.codes[row * targets.n_outputs + slot // n_classes] == slot % n_classes
