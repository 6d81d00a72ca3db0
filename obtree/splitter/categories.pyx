"""Splits by sets of categories beside those of any splitter.

A splitter that knows nothing of categories, as those of planes do, is shown the other features
only. In every node the best set of some columns of categories competes with what it proposes.
"""

from libc.math cimport INFINITY
from libc.stdint cimport uint64_t

from obtree.core.memory cimport Workspace
from obtree.core.sort cimport make_word
from obtree.core.types cimport FOUND, LEAF, feature_t, idx_t, w_t
from obtree.criterion.base cimport Criterion, Cut, NodeStats
from obtree.data.dataset cimport DataView
from obtree.data.hyperplane cimport goes_left, init_plane
from obtree.data.project cimport project_rows
from obtree.data.targets cimport TargetView
from obtree.splitter.axis cimport AxisSplitter
from obtree.splitter.base cimport NodeTask, SplitResult, SplitSettings, Splitter, TreeTask


cdef class CategoryRival(Splitter):
    """What a splitter proposes, or a set of categories where that is better.

    Parameters
    ----------
    splitter : Splitter
        Of one worker, prepared with the features that are no categories.
    """

    parameter_names = ("splitter",)

    cdef readonly Splitter splitter
    cdef AxisSplitter sets
    cdef DataView numbers
    cdef DataView categories
    cdef SplitSettings own_settings       # of the splitter
    cdef SplitSettings set_settings
    cdef double* projection               # (n_samples)
    cdef uint64_t* words                  # (n_samples)
    cdef uint64_t* right                  # (n_samples)
    cdef feature_t set_feature
    cdef w_t set_weight

    def __init__(self, splitter):
        self.splitter = splitter

    @property
    def reads_whole_nodes(self):
        return self.splitter.reads_whole_nodes

    @property
    def counter_names(self):
        # Nobody counts where there are no numbers, but what nobody counted is asked for.
        return self.splitter.counter_names

    cdef int bind(self, const DataView* view, const TargetView* targets, Criterion criterion,
                  const SplitSettings* settings, Workspace workspace) except -1:
        cdef idx_t n_features = view.n_features, n_categorical = view.n_categorical
        cdef idx_t n_numbers = n_features - n_categorical
        cdef idx_t wanted = settings.max_features
        self._lend_views(view)
        self.own_settings = settings[0]
        self.set_settings = settings[0]
        if not type(self.splitter).max_features_unbounded:
            self.own_settings.max_features = min(wanted, n_numbers)
        # Their share of the candidates, but one at least.
        self.set_settings.max_features = min(
            max((wanted * n_categorical + n_features // 2) // n_features, <idx_t>1), n_categorical
        )
        if settings.monotonic != NULL:
            self.set_settings.monotonic = settings.monotonic + n_numbers
        if settings.relevance != NULL:
            self.set_settings.relevance = settings.relevance + n_numbers
        if n_numbers:
            self.splitter.bind(&self.numbers, targets, criterion, &self.own_settings, workspace)
        self.sets = AxisSplitter()
        self.sets.bind(&self.categories, targets, criterion, &self.set_settings, workspace)
        Splitter.bind(self, view, targets, criterion, settings, workspace)
        if n_numbers:
            self.counters = self.splitter.counters
        self.projection = <double*>workspace.take(view.n_samples, sizeof(double))
        self.words = <uint64_t*>workspace.take(view.n_samples, sizeof(uint64_t))
        self.right = <uint64_t*>workspace.take_shared(view.n_samples, sizeof(uint64_t))
        return 0

    cdef void _lend_views(self, const DataView* view) noexcept nogil:
        """The two parts of the features, as they lie for the current node."""
        cdef idx_t n_numbers = view.n_features - view.n_categorical
        self.numbers = view[0]
        self.numbers.n_features = n_numbers
        self.numbers.n_categorical = 0
        self.categories = view[0]
        self.categories.n_features = view.n_categorical
        self.categories.columns += n_numbers
        if view.X != NULL:
            self.categories.X += n_numbers * view.col_stride

    cdef int begin_tree(self, const TreeTask* task) except -1 nogil:
        Splitter.begin_tree(self, task)
        self._lend_views(self.view)
        self.sets.begin_tree(task)
        if self.numbers.n_features:
            self.splitter.begin_tree(task)
        return 0

    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        cdef int status
        cdef NodeTask own = task[0]
        cdef NodeStats stats
        cdef double score = -INFINITY
        self._lend_views(self.view)
        status = LEAF
        if self.numbers.n_features:
            status = self.splitter.node_split(task, out)
            # It may have loaded other rows.
            self.criterion.load_node(task.rows, task.n, task.weight, &stats)
        if status == FOUND:
            score = self._judge(task, out)
        # Which columns of categories are constant is found out anew, that of others is inherited.
        own.inherited = 0
        return self._offer_set(&own, score, status, out)

    cdef double _judge(self, const NodeTask* task, const SplitResult* out) except? -2.0 nogil:
        """The score of what the splitter proposes."""
        cdef Cut cut
        cdef const double* projection = out.projection
        cdef idx_t p, n_left = 0, n_right = 0
        if projection == NULL:
            project_rows(self.view, &out.plane, task.rows, task.n, self.projection)
            projection = self.projection
        for p in range(task.n):
            if goes_left(&out.plane, projection[p]):
                self.words[n_left] = make_word(0, p)
                n_left += 1
            else:
                self.right[n_right] = make_word(1, p)
                n_right += 1
        for p in range(n_right):
            self.words[n_left + p] = self.right[p]
        cut.score = -INFINITY
        self.criterion.scan(self.words, task.n, &task.limits, &cut)
        return cut.score

    cdef int _offer_set(self, const NodeTask* task, double score, int status,
                        SplitResult* out) except -1 nogil:
        """Replace the proposal by a set that has a better score than it."""
        cdef SplitResult found = out[0]
        cdef idx_t n_numbers = self.numbers.n_features
        init_plane(&found.plane, &self.set_feature, &self.set_weight)
        found.projection = NULL
        if self.sets.node_split(task, &found) != FOUND or not self.sets.best_score > score:
            return status
        init_plane(&out.plane, out.plane.feature, out.plane.weight)
        out.plane.n_terms = 1
        out.plane.feature[0] = found.plane.feature[0] + <feature_t>n_numbers
        out.plane.weight[0] = 1.0
        out.plane.threshold = found.plane.threshold
        out.plane.missing_left = found.plane.missing_left
        out.plane.missing_seen = found.plane.missing_seen
        out.plane.members = found.plane.members
        out.plane.present = found.plane.present
        out.plane.n_words = found.plane.n_words
        out.rank_cut = -1
        out.projection = NULL
        return FOUND
