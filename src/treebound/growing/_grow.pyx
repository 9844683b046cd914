"""From Python to the kernel of growing: arrays, options, and where histograms begin to pay."""

from cpython.buffer cimport PyBUF_FORMAT, PyBUF_STRIDED_RO, PyBuffer_Release, PyObject_GetBuffer
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint32_t

from treebound.growing._grower cimport Grower
from treebound.growing._layout cimport (
    ENTROPY, FLOAT32, FLOAT64, INT8, INT16, INT32, NOMINAL, Source,
)
from treebound.growing._pool cimport Pool


def grow(
    columns, y, weights, n_classes, kinds, n_categories, may_miss, *, criterion, by_impurity,
    max_leaves, max_depth, min_samples_leaf, min_weight, min_samples_split, min_gain, thresholds,
    n_threads, crossing=None, most_bins=None, whole=0, spans=None,
    least_priority=-INFINITY,
):
    """The arrays of the grown tree, and which columns have missing values.

    ``columns`` are one-dimensional arrays of float64, float32, int8, int16 or int32; ``y`` is int32
    and ``weights`` int64 or None. ``max_leaves`` is -1 for no limit. ``crossing`` is the least
    number of rows of a node that is searched by histograms, ``most_bins`` the number of bins.
    Where the rows are those of a node of a larger sample, ``whole`` is its weight and ``spans``
    are the spans of its columns: then the tree is what that sample has below the node. Of its leaves
    none is expanded whose priority is below ``least_priority``, if the number of leaves is limited.
    """
    cdef Py_ssize_t n = len(y), j
    cdef const int32_t[::1] labels = y
    cdef const int64_t[::1] units
    cdef Grower grower
    n_threads = max(1, min(n_threads, len(columns), n // 4096))
    grower = Grower(len(columns), n_classes, max_leaves >= 0, Pool(n_threads))
    grower.arrays = (columns, y, weights)
    for j, values in enumerate(columns):
        point_to(&grower.sources[j], values)
        grower.sources[j].kind = kinds[j]
        grower.sources[j].n_categories = n_categories[j]
        grower.sources[j].may_miss = may_miss[j]
    grower.problem.n_rows = n
    grower.problem.labels = <const uint32_t*>&labels[0]
    if weights is not None:
        units = weights
        grower.problem.weights = &units[0]
        grower.problem.max_weight = weights.max()
    grower.problem.criterion = criterion
    grower.problem.min_leaf = min_samples_leaf
    grower.problem.min_weight = min_weight
    grower.by_impurity = by_impurity
    grower.max_leaves = max_leaves
    grower.max_depth = max_depth
    grower.min_split = max(min_samples_split, 2 * min_samples_leaf)
    grower.min_gain = min_gain
    grower.thresholds = thresholds
    grower.whole = whole
    grower.spans = spans
    grower.least_priority = least_priority
    set_crossing(grower, crossing, most_bins, n_categories)
    with nogil:
        grower.grow()
    missing = [bool(grower.sources[j].may_miss) for j in range(len(columns))]
    return grower.tree.arrays(), missing


cdef int point_to(Source* source, values) except -1:
    """Set the address and type of a column's values. The array must outlive the source."""
    cdef Py_buffer view
    PyObject_GetBuffer(values, &view, PyBUF_STRIDED_RO | PyBUF_FORMAT)
    source.first = <const char*>view.buf
    source.stride = view.strides[0]
    if view.format[0] in b"df":
        source.type = FLOAT64 if view.itemsize == 8 else FLOAT32
    else:
        source.type = INT8 if view.itemsize == 1 else INT16 if view.itemsize == 2 else INT32
    PyBuffer_Release(&view)
    return 0


cdef set_crossing(Grower grower, crossing, most_bins, n_categories):
    """Set the number of bins and the crossing, as measured; see ``benchmarks/growth.py``.

    A bin costs time at every node but narrows the search: a few hundred rows make up for one.
    Bins take longer to bound with more classes, and with logarithms than with squares. Every
    category of a nominal column has a bin, and splits on one leave most rows together.
    """
    cdef Py_ssize_t n_classes = grower.problem.n_classes, n_rows = grower.problem.n_rows
    cdef Py_ssize_t rows_a_bin = 240, bins = 31, categories = 0, j
    if grower.problem.criterion == ENTROPY:
        rows_a_bin = 400 * n_classes
    while bins < (255 if n_classes == 2 else 127) and bins * rows_a_bin < n_rows:
        bins = 2 * bins + 1
    grower.most_bins = most_bins or bins
    grower.crossing = bins // 2 + 1 if n_classes == 2 else 32 * n_classes
    for j in range(grower.n_columns):
        if grower.sources[j].kind == NOMINAL:
            categories += grower.sources[j].n_categories
    grower.root_crossing = max(4096 * (n_classes - 1), 100 * categories)
    grower.sorts_when_needed = crossing is None
    if crossing is not None:
        grower.crossing = grower.root_crossing = crossing
    if max(n_categories, default=0) > 65534 or n_classes > 65535 or n_rows >= 2**32:
        grower.root_crossing = 2**62
