# Axis splits that tell one category from the others.
#
# Sets fitted to many categories follow noise along with what is there; single categories have fewer
# ways to, and in a mixture both err on different rows.

from libc.stdint cimport uint32_t, uint64_t

from obtree.core.sort cimport make_word, word_position
from obtree.core.types cimport idx_t
from obtree.criterion.base cimport Cut, ScanLimits
from obtree.data.read cimport gather_codes
from obtree.splitter.base cimport NodeTask


cdef class OneCategorySplitter(AxisSplitter):
    """Axis splits that send one category to one side and all others to the other.

    Columns of numbers are split as by `AxisSplitter`. Each category of a column is tried, and so
    are missing values, as if every category had a column of zeros and ones of its own.

    Examples
    --------
    >>> import pandas
    >>> from obtree import ObliqueTreeRegressor, export_text
    >>> from obtree.splitter import OneCategorySplitter
    >>> town = pandas.DataFrame({"town": ["Bonn", "Graz", "Lyon", "Bonn", "Graz", "Lyon"]})
    >>> tree = ObliqueTreeRegressor(splitter=OneCategorySplitter(), max_depth=1)
    >>> print(export_text(tree.fit(town, [5.0, 1.0, 3.0, 6.0, 2.0, 1.0])), end="")
    town in {Bonn}
    |-- yes: value 5.50 (n=2)
    `-- no: value 1.75 (n=4)
    """

    cdef bint judge_categories(self, const NodeTask* task, idx_t j, const ScanLimits* limits,
                               Cut* best, bint* missing_left) except -1 nogil:
        cdef uint32_t missing = self.view.columns[j].n_values
        cdef uint32_t low, high
        cdef idx_t k, n_kept, n_groups, first, end = 0
        cdef double previous
        gather_codes(self.view, j, task.rows, task.n, self.ranks, &low, &high)
        if low == high:
            return True
        self.sets.begin(task, self.ranks, missing)
        n_kept = self.sets.n_kept
        n_groups = n_kept + (self.group_rows(task.n, missing) < task.n)
        if n_groups < 2:
            return False
        for k in range(n_groups):
            first = end
            end = <idx_t>self.sets.keys[k] if k < n_kept else task.n
            previous = best.score
            self.cut_off(first, end - first, task.n, limits, best)
            if best.score > previous:
                missing_left[0] = k == n_kept
                self.keep_category(j, k)
        return False

    cdef idx_t group_rows(self, idx_t n, uint32_t missing) noexcept nogil:
        """Put rows of the same category side by side; how many of them have one.

        OUT words: the rows, those without a category last; keys of the sets: where each ends.
        """
        cdef uint32_t* end = self.sets.keys
        cdef uint32_t k, rank
        cdef idx_t p, n_known = 0, n_missing = 0
        for k in range(self.sets.n_kept):
            end[k] = <uint32_t>n_known
            n_known += self.sets.n_rows[self.sets.rank[k]]
        for p in range(n):
            rank = self.ranks[p]
            if rank == missing:
                self.words[n_known + n_missing] = make_word(0, p)
                n_missing += 1
                continue
            k = self.sets.place[rank]
            self.words[end[k]] = make_word(0, p)
            end[k] += 1
        return n_known

    cdef int cut_off(self, idx_t first, idx_t n_own, idx_t n, const ScanLimits* limits,
                     Cut* best) except -1 nogil:
        """Improve `best` by the cut between some of the grouped rows and all others."""
        cdef idx_t p, place
        if self.criterion.scans_above:
            return self.criterion.scan_above(&self.words[first], n_own, n, n_own, 1, limits, best)
        for p in range(n):
            place = p - first if p >= first else p + n - first
            self.buffer[place] = make_word(place >= n_own, word_position(self.words[p]))
        return self.criterion.scan(self.buffer, n, limits, best)

    cdef void keep_category(self, idx_t j, idx_t chosen) noexcept nogil:
        """Remember that one category goes left, or, behind the last, what is missing."""
        cdef idx_t k
        for k in range(self.sets.n_kept):
            self.sets.position[self.sets.rank[k]] = k != chosen
        self.sets.keep_set(j, 0, chosen == self.sets.n_kept)
