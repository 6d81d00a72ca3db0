# The table of innermost loops in use; see simd/kernels.h for what each does.

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef extern from "simd/kernels.h":
    ctypedef struct NarrowNode "obtree_narrow_node":
        uint32_t packed
        uint32_t threshold

    ctypedef struct WideNode "obtree_wide_node":
        double threshold
        int32_t feature
        uint32_t child

    ctypedef struct PlaneNode "obtree_plane_node":
        double threshold
        double weight
        int32_t feature
        uint32_t child
        uint32_t first
        int32_t n_more

    ctypedef struct Term "obtree_term":
        double weight
        int32_t feature
        int32_t partner

    ctypedef struct PlaneTerms "obtree_plane_terms":
        const Term* term
        Py_ssize_t n_terms
        const double* long_weight
        const int32_t* long_feature
        const uint16_t* categories

    enum:
        OBTREE_UINT8
        OBTREE_INT16
        OBTREE_FLOAT32
        OBTREE_FLOAT64

    enum:
        OBTREE_SET

    enum:
        OBTREE_FLOAT_ROWS
        OBTREE_KEY_ROWS
        OBTREE_KEY_GROUPS

    uint32_t obtree_make_key(float value) noexcept nogil

    ctypedef struct Kernels "obtree_kernels":
        const char* name
        void (*gather_codes)(const void* codes, int32_t width, Py_ssize_t stride,
                             const int32_t* rows, Py_ssize_t n, uint32_t* out,
                             uint32_t* low, uint32_t* high) noexcept nogil
        Py_ssize_t (*gather_above)(const void* codes, int32_t width, Py_ssize_t stride,
                                   const int32_t* rows, Py_ssize_t n, uint64_t* words,
                                   uint32_t* bits) noexcept nogil
        void (*fill_classes)(const void* codes, int32_t width, Py_ssize_t stride,
                             const int32_t* rows, Py_ssize_t n, uint32_t low,
                             const int32_t* slot, const double* w, Py_ssize_t n_slots,
                             double* bins) noexcept nogil
        void (*fill_moments)(const void* codes, int32_t width, Py_ssize_t stride,
                             const int32_t* rows, Py_ssize_t n, uint32_t low,
                             const double* records, Py_ssize_t n_fields,
                             double* bins) noexcept nogil
        Py_ssize_t (*sweep_gini)(double* bins, Py_ssize_t n_bins, Py_ssize_t n_slots,
                                 const double* total, double* left, double weight,
                                 double squares, double min_weight, double margin,
                                 double* score, uint32_t* low_key,
                                 uint32_t* high_key) noexcept nogil
        void (*fill_counts)(const void* codes, int32_t width, Py_ssize_t stride,
                            const int32_t* rows, Py_ssize_t n, uint32_t low,
                            const uint32_t* packed, Py_ssize_t n_slots,
                            uint32_t* counts) noexcept nogil
        void (*fill_two_counts)(const void* codes, const void* others, int32_t width,
                                Py_ssize_t stride, const int32_t* rows, Py_ssize_t n,
                                const uint32_t* packed, Py_ssize_t n_slots, uint32_t* counts,
                                uint32_t* other_counts) noexcept nogil
        void (*load_counts)(const uint32_t* of_row, const int32_t* rows, Py_ssize_t n,
                            uint32_t* packed, Py_ssize_t n_slots,
                            uint32_t* counts) noexcept nogil
        Py_ssize_t (*sweep_gini_counts)(uint32_t* bins, Py_ssize_t n_bins, Py_ssize_t n_slots,
                                        const double* total, double* left, double weight,
                                        double squares, double min_weight, double margin,
                                        double* score, uint32_t* low_key,
                                        uint32_t* high_key) noexcept nogil
        void (*sweep_entropy_words)(const uint64_t* words, Py_ssize_t n, const uint32_t* packed,
                                    const uint32_t* total, uint32_t* left, Py_ssize_t n_slots,
                                    const double* xlogx, double inside, uint32_t weight,
                                    Py_ssize_t min_rows, double min_weight, double margin,
                                    double* score, uint32_t* low_key,
                                    uint32_t* high_key) noexcept nogil
        Py_ssize_t (*sweep_entropy_counts)(uint32_t* bins, Py_ssize_t n_bins,
                                           Py_ssize_t n_slots, const uint32_t* total,
                                           uint32_t* left, const double* xlogx,
                                           double inside, uint32_t weight,
                                           double min_weight, double margin, double* score,
                                           uint32_t* low_key,
                                           uint32_t* high_key) noexcept nogil
        void (*sort_codes)(const uint32_t* codes, Py_ssize_t n, uint32_t low, uint32_t high,
                           uint64_t* words, uint64_t* buffer) noexcept nogil
        void (*sort_words)(uint64_t* words, Py_ssize_t n, uint32_t high,
                           uint64_t* buffer) noexcept nogil
        void (*project_rows)(const float* X, Py_ssize_t row_stride, Py_ssize_t col_stride,
                             const int32_t* feature, const double* weight, Py_ssize_t n_terms,
                             const int32_t* rows, Py_ssize_t n, double* out) noexcept nogil
        void (*add_tables)(const uint8_t* const* codes, Py_ssize_t stride,
                           const int32_t* const* table, const int32_t* factor,
                           Py_ssize_t n_terms, int32_t offset, const int32_t* rows,
                           Py_ssize_t n, uint32_t* keys, uint32_t* low,
                           uint32_t* high) noexcept nogil
        Py_ssize_t (*score_range)(const double* score, Py_ssize_t n, double* low,
                                  double* high) noexcept nogil
        void (*score_keys)(const double* score, Py_ssize_t n, double low, double scale,
                           uint32_t* keys) noexcept nogil
        Py_ssize_t (*find_steps)(const double* score, const float* x, const uint32_t* token,
                                 Py_ssize_t n, uint64_t* words,
                                 Py_ssize_t* n_down) noexcept nogil
        void (*add_column)(double* score, const float* x, double step,
                           Py_ssize_t n) noexcept nogil
        Py_ssize_t (*split_rows)(const void* codes, int32_t width, Py_ssize_t stride,
                                 uint32_t cut, const int32_t* places, int32_t* rows,
                                 Py_ssize_t n, int32_t* buffer) noexcept nogil
        void (*copy_codes)(const uint8_t* codes, Py_ssize_t row_bytes, const int32_t* rows,
                           Py_ssize_t n, uint8_t* out, uint8_t* bits) noexcept nogil
        void (*dot_rows)(const float* x, Py_ssize_t stride, Py_ssize_t n, const float* w,
                         float* out) noexcept nogil
        void (*dot_entries)(const int64_t* start, const int32_t* column, const float* value,
                            Py_ssize_t n, const float* w, float level,
                            float* out) noexcept nogil
        void (*add_rows)(const float* x, Py_ssize_t stride, const int32_t* at,
                         const float* factor, Py_ssize_t n, float* out) noexcept nogil
        void (*exp_differences)(const float* x, Py_ssize_t n, float top,
                                float* out) noexcept nogil
        void (*add_moments)(const float* x, Py_ssize_t n, Py_ssize_t n_columns,
                            const float* origin, const double* weight, double* sum,
                            double* squares) noexcept nogil
        void (*standardise_row)(const float* x, const int32_t* column, Py_ssize_t n_columns,
                                const float* origin, const float* mean, const float* scale,
                                float* out) noexcept nogil
        void (*adam_step)(float* w, float* m, float* v, const float* gradient, Py_ssize_t n,
                          float rate, float v_correction) noexcept nogil
        void (*dot_selected)(const float* w, Py_ssize_t stride, const int32_t* at, Py_ssize_t n,
                             const float* x, float* out) noexcept nogil
        void (*apply_logistic)(const float* score, Py_ssize_t n, float* below,
                               float* above) noexcept nogil
        void (*proximal_step)(float* w, float* squares, float* total, const float* gradient,
                              Py_ssize_t n, float rate, float shrink,
                              float decay) noexcept nogil
        void (*approximate_rows)(const float* x, Py_ssize_t n_columns, const int32_t* rows,
                                 Py_ssize_t n, const float* w, double* out) noexcept nogil
        void (*approximate_bytes)(const uint8_t* x, Py_ssize_t n_columns, const int32_t* rows,
                                  Py_ssize_t n, const float* w, double* out) noexcept nogil
        void (*sum_bytes)(const uint8_t* x, Py_ssize_t n_columns, const int32_t* rows,
                          Py_ssize_t n, const int16_t* w, double* out) noexcept nogil
        void (*add_bytes)(const uint8_t* x, Py_ssize_t n_columns, const int32_t* rows,
                          const float* factor, Py_ssize_t n, float* out) noexcept nogil
        void (*scale_bytes)(const uint8_t* x, Py_ssize_t n, const float* origin,
                            const float* scale, float* out) noexcept nogil
        int64_t (*pack_bytes)(const float* x, Py_ssize_t n, uint8_t* out) noexcept nogil
        void (*traverse_narrow)(const NarrowNode* nodes, const uint32_t* x, Py_ssize_t n_rows,
                                Py_ssize_t n_features, int32_t shift, uint32_t mask,
                                int32_t n_unchecked, int32_t has_missing, uint32_t* found,
                                uint32_t* scratch) noexcept nogil
        void (*traverse_wide)(const WideNode* nodes, const float* x, Py_ssize_t n_rows,
                              Py_ssize_t n_features, int32_t n_unchecked, uint32_t* found,
                              uint32_t* scratch) noexcept nogil
        void (*traverse_planes)(const PlaneNode* nodes, const PlaneTerms* terms,
                                Py_ssize_t n_slots, const float* x, Py_ssize_t n_rows,
                                Py_ssize_t n_features, uint32_t* found) noexcept nogil
        void (*traverse_forms)(const PlaneNode* nodes, const PlaneTerms* terms,
                               const double* lower, const float* x, Py_ssize_t n_rows,
                               Py_ssize_t n_features, uint32_t* found) noexcept nogil
        void (*traverse_trees)(const NarrowNode* nodes, const int64_t* start, Py_ssize_t n_trees,
                               const uint32_t* x, int32_t shift, uint32_t mask,
                               uint32_t* found) noexcept nogil
        int32_t (*traverse_load)(const void* source, int32_t type, Py_ssize_t row_stride,
                                 Py_ssize_t column_stride, Py_ssize_t n_rows,
                                 Py_ssize_t n_features, int32_t layout, void* x) noexcept nogil


cdef const Kernels* kernels() noexcept nogil
