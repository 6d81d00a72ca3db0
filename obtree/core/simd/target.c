/* One instruction set's table of kernels. Compiled once per target, with
 * OBTREE_TARGET the target's name and the compiler's flags set to match. */
#include "kernels.h"

#include <math.h>
#include <string.h>

#include "vectors.h"
#include "dots.h"

#include "column.h"
#include "bins.h"
#include "entropy.h"
#include "scores.h"
#include "sort.h"
#include "steps.h"
#include "stump.h"
#include "soft.h"
#include "proximal.h"
#include "bytes.h"
#include "tables.h"
#include "traverse.h"
#include "planes.h"

#define OBTREE_JOIN_(a, b) a##b
#define OBTREE_JOIN(a, b) OBTREE_JOIN_(a, b)
#define OBTREE_TEXT_(a) #a
#define OBTREE_TEXT(a) OBTREE_TEXT_(a)

const obtree_kernels OBTREE_JOIN(obtree_kernels_, OBTREE_TARGET) = {
    .name = OBTREE_TEXT(OBTREE_TARGET),
    .gather_codes = gather_codes,
    .gather_above = gather_above,
    .fill_classes = fill_classes,
    .fill_moments = fill_moments,
    .fill_counts = fill_counts,
    .fill_two_counts = fill_two_counts,
    .load_counts = load_counts,
    .sweep_gini = sweep_gini,
    .sweep_gini_counts = sweep_gini_counts,
    .sweep_entropy_words = sweep_entropy_words,
    .sweep_entropy_counts = sweep_entropy_counts,
    .sort_codes = sort_codes,
    .sort_words = sort_words,
    .project_rows = project_rows,
    .add_tables = add_tables,
    .score_range = score_range,
    .score_keys = score_keys,
    .find_steps = find_steps,
    .add_column = add_column,
    .split_rows = split_rows,
    .copy_codes = copy_codes,
    .dot_rows = dot_rows,
    .dot_entries = dot_entries,
    .add_rows = add_rows,
    .exp_differences = exp_differences,
    .add_moments = add_moments,
    .standardise_row = standardise_row,
    .adam_step = adam_step,
    .dot_selected = dot_selected,
    .apply_logistic = apply_logistic,
    .proximal_step = proximal_step,
    .approximate_rows = approximate_rows,
    .approximate_bytes = approximate_bytes,
    .sum_bytes = sum_bytes,
    .add_bytes = add_bytes,
    .scale_bytes = scale_bytes,
    .pack_bytes = pack_bytes,
    .traverse_narrow = traverse_narrow,
    .traverse_wide = traverse_wide,
    .traverse_planes = traverse_planes,
    .traverse_forms = traverse_forms,
    .traverse_trees = traverse_trees,
    .traverse_load = load_rows,
};
