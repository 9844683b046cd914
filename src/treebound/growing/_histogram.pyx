"""The best split of one column at a node that has a histogram.

First `reach_of_column`: scores between bins, and bounds inside them. Then, if needed,
`best_of_column`: the rows of bins that may hold the best split are gathered, sorted and scanned by
the kernel of small nodes, with the lower bins on the left. Splits are visited in the same order as
in a scan of all rows, so ties are resolved alike.
"""

from libc.math cimport INFINITY, NAN
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from treebound.growing._binned cimport Binned, Bins
from treebound.growing._bounds cimport Reach, bound_bin, reach_of
from treebound.growing._layout cimport (
    NOMINAL, NodeView, Packing, Problem, Scratch, Source, Split, row_of, value_at, zeros,
)
from treebound.growing._profile cimport (
    Family, Profile, free_profile, init_profile, may_stand, read_profile, score_left,
)
from treebound.growing._pool cimport Pool
from treebound.growing._presort cimport Presorted, key_of, presort
from treebound.growing._scan cimport Segment, scan
from treebound.growing._split cimport keep_heavy

cdef extern from "_loops.h":
    void prefetch(const void* place) noexcept nogil

cdef enum:
    LANES = 4
    AHEAD = 24         # rows to prefetch ahead
    GATHERED = 262144   # rows searched at a time, or one bin
    SHARED_ROWS = 16384 # so many are gathered by several threads, in
    BLOCKS = 16
    RARE = 8           # categories with fewer rows of each of two classes share their scores


cdef int init_finder(Finder* finder, const Binned* data, Scratch* scratch) except -1 nogil:
    finder.scratch = scratch
    init_profile(&finder.profile, data.most_codes, data.problem.n_classes)
    finder.wanted = <uint8_t*>zeros(data.most_codes + 1, 1)
    finder.counts = <int64_t*>zeros(data.problem.n_classes + 1, sizeof(int64_t))
    return 0


cdef void free_finder(Finder* finder) noexcept nogil:
    free_profile(&finder.profile)
    free(finder.wanted)
    free(finder.counts)
    free(finder.gathered)
    free(finder.labels)
    free(finder.weights)


# -- between bins --------------------------------------------------------------------------


cdef Reach reach_of_column(
    const Binned* data, Py_ssize_t j, const void* histogram, const NodeView* node, Finder* finder
) noexcept nogil:
    """Best boundary and bounds of a column, from its histogram; raises the floor."""
    cdef const Bins* column = &data.columns[j]
    cdef Reach reach
    cdef Split split
    if data.sources[j].kind == NOMINAL:
        split = best_category(data, j, histogram, node, finder)
        reach.best = split.score
        reach.bound = -INFINITY
        reach.live_rows = 0
    else:
        read_profile(
            &finder.profile, histogram, column.offset, column.coder.n_bins, &data.counted, node,
            data.problem,
        )
        reach = reach_of(
            &finder.profile, column.coder.single, finder.floor, node, data.problem
        )
    finder.floor = max(finder.floor, reach.best - 4.0 * node.tolerance)
    return reach


cdef Split no_split(Py_ssize_t j) noexcept nogil:
    cdef Split split
    memset(&split, 0, sizeof(Split))
    split.score = -INFINITY
    split.column = j
    split.place = split.follow = split.bin = -1
    return split


cdef Split best_category(
    const Binned* data, Py_ssize_t j, const void* histogram, const NodeView* node, Finder* finder
) noexcept nogil:
    """``x == category`` for every category that occurs; missing is one more."""
    cdef const Bins* column = &data.columns[j]
    cdef Py_ssize_t n_classes = data.problem.n_classes, code, k
    cdef const uint32_t* narrow = <const uint32_t*>histogram + column.offset
    cdef const int64_t* wide = <const int64_t*>histogram + column.offset
    cdef bint weighted = data.problem.weights != NULL
    cdef int64_t* counts = finder.counts
    cdef int64_t rows
    cdef double score
    cdef double* known = NULL
    cdef double[RARE * RARE] scores  # of two counts; NaN: not yet
    cdef Split best = no_split(j)
    if n_classes == 2 and not weighted:
        for k in range(RARE * RARE):
            scores[k] = NAN
    for code in range(column.coder.n_bins + 1):
        rows = 0
        for k in range(n_classes):
            counts[k] = wide[k] if weighted else <int64_t>narrow[k]
            rows += counts[k]
        counts[n_classes] = wide[n_classes] if weighted else rows
        narrow += n_classes
        wide += n_classes + 1
        if rows == 0:
            continue
        known = NULL
        if n_classes == 2 and not weighted and counts[0] < RARE and counts[1] < RARE:
            known = &scores[counts[0] * RARE + counts[1]]
        if known == NULL or known[0] != known[0]:
            score = -INFINITY
            if may_stand(counts, finder.profile.none, node, data.problem):
                score = score_left(
                    counts, finder.profile.none, node, data.problem, finder.profile.left
                )
            if known != NULL:
                known[0] = score
        else:
            score = known[0]
        if score > best.score + node.tolerance and score > finder.floor:
            best.score = score
            best.place = best.bin = code
            best.left_weight = rows
            best.missing_left = code == column.coder.n_bins
    return best


# -- inside bins ---------------------------------------------------------------------------


cdef Split best_of_column(
    const Binned* data, Py_ssize_t j, const void* histogram, const NodeView* node, Finder* finder,
    Pool pool,
) noexcept nogil:
    """The best split of a column; score -inf if there is none above the floor.

    ``pool`` has the threads that share the rows; None if each of them searches a column.
    """
    cdef const Bins* column = &data.columns[j]
    cdef Split found[2]
    cdef Split best
    if data.sources[j].kind == NOMINAL:
        best = best_category(data, j, histogram, node, finder)
    else:
        found[0] = found[1] = no_split(j)
        read_profile(
            &finder.profile, histogram, column.offset, column.coder.n_bins, &data.counted, node,
            data.problem,
        )
        walk_bins(data, j, node, finder, found, pool)
        best = found[0]
        if found[1].place >= 0 and (
            found[1].score > best.score + node.tolerance
            or (found[1].score >= best.score - node.tolerance and found[1].place < best.place)
        ):
            best = found[1]
    finder.floor = max(finder.floor, best.score - 4.0 * node.tolerance)
    return best


cdef void walk_bins(
    const Binned* data, Py_ssize_t j, const NodeView* node, Finder* finder, Split* found,
    Pool pool,
) noexcept nogil:
    """Visit all splits that can be above the floor, in order.

    ``found`` has the best one with missing rows on the right, and on the left. Bins are searched
    in batches, to limit the number of rows sorted at once.
    """
    cdef const Profile* profile = &finder.profile
    cdef Py_ssize_t n_classes = data.problem.n_classes, width = n_classes + 1
    cdef Py_ssize_t first = 0, t, rows = 0, size
    cdef const uint8_t* single = data.columns[j].coder.single
    # invariant: bins before ``first`` are done; from there to ``t`` the wanted ones are marked
    for t in range(profile.n_bins):
        size = profile.left[(t + 1) * width + n_classes] - profile.left[t * width + n_classes]
        if size > 1 and not single[profile.bins[t]] and is_live(data, t, node, finder):
            if rows and rows + size > GATHERED:
                meet_bins(data, j, first, t, rows, node, finder, found, pool)
                first = t
                rows = 0
            finder.wanted[profile.bins[t]] = True
            rows += size
    meet_bins(data, j, first, profile.n_bins, rows, node, finder, found, pool)


cdef bint is_live(
    const Binned* data, Py_ssize_t t, const NodeView* node, Finder* finder
) noexcept nogil:
    """Whether a bin may hold a split above the floor."""
    cdef const Profile* profile = &finder.profile
    cdef int side
    for side in range(profile.n_families):
        if bound_bin(
            profile, &profile.families[side], t, finder.floor, node, data.problem
        ) > -INFINITY:
            return True
    return False


cdef void meet_bins(
    const Binned* data, Py_ssize_t j, Py_ssize_t first, Py_ssize_t stop, Py_ssize_t n_rows,
    const NodeView* node, Finder* finder, Split* found, Pool pool,
) noexcept nogil:
    """Visit the splits of the bins from ``first`` to ``stop``; wanted bins hold ``n_rows``."""
    cdef const Profile* profile = &finder.profile
    cdef Py_ssize_t n_classes = data.problem.n_classes, width = n_classes + 1, t, size
    cdef Problem local = data.problem[0]
    cdef const uint64_t* entries = NULL
    cdef int side
    if n_rows:
        entries = gather(data, j, n_rows, node, finder, &local, pool)
        if entries == NULL:
            finder.failed = True
            return
    for t in range(first, stop):
        if finder.wanted[profile.bins[t]]:
            size = profile.left[(t + 1) * width + n_classes] - profile.left[t * width + n_classes]
            for side in range(profile.n_families):
                scan_inside(data, j, t, entries, size, &local, side, node, finder, &found[side])
            entries += size
            finder.wanted[profile.bins[t]] = False
        for side in range(profile.n_families):
            try_boundary(data, t, side, node, finder, &found[side])


cdef inline void try_boundary(
    const Binned* data, Py_ssize_t t, int side, const NodeView* node, Finder* finder, Split* best
) noexcept nogil:
    """The split after a bin."""
    cdef const Profile* profile = &finder.profile
    cdef const Family* family = &profile.families[side]
    cdef Py_ssize_t n_classes = data.problem.n_classes, k
    cdef const int64_t* left = profile.left + (t + 1) * (n_classes + 1)
    if family.scores[t] <= finder.floor or not family.first <= t <= family.last or (
        family.scores[t] <= best.score + node.tolerance
    ):
        return
    best.score = family.scores[t]
    best.place = left[n_classes]
    best.bin = profile.bins[t]
    best.follow = profile.bins[t + 1] if t + 1 < profile.n_bins else -1
    best.inside = best.known = False
    best.missing_left = side
    best.left_weight = 0
    for k in range(n_classes):
        best.left_weight += left[k]


cdef void scan_inside(
    const Binned* data, Py_ssize_t j, Py_ssize_t t, const uint64_t* entries, Py_ssize_t n_rows,
    const Problem* local, int side, const NodeView* node, Finder* finder, Split* best,
) noexcept nogil:
    """The splits between two values of a bin, with the lower bins on the left."""
    cdef const Profile* profile = &finder.profile
    cdef Py_ssize_t n_classes = local.n_classes, k, i, n_node = node.stop - node.start
    cdef const int64_t* left = profile.left + t * (n_classes + 1)
    cdef const int64_t* base = profile.families[side].base
    cdef int64_t rows = left[n_classes] + base[n_classes], weight = 0
    cdef Scratch* scratch = finder.scratch
    cdef const Source* source = &data.sources[j]
    cdef Segment segment
    cdef Split found = no_split(j)
    for k in range(n_classes):
        scratch.left[k] = left[k] + base[k]
        scratch.right[k] = node.counts[k] - scratch.left[k]
        weight += scratch.left[k]
    segment.entries = entries
    segment.present = n_rows
    segment.first = max(1, local.min_leaf - rows)
    segment.last = min(n_node - local.min_leaf - rows, n_rows - 1)
    keep_heavy(&segment, node, local, weight)
    scratch.floor = max(finder.floor, best.score + node.tolerance)
    scan(&segment, node, local, scratch, &found)
    if found.place < 0:
        return
    best.score = found.score
    best.place = found.place + left[n_classes]
    best.bin = best.follow = profile.bins[t]
    best.inside = best.known = True
    best.missing_left = side
    best.low = value_at(source, finder.gathered[row_of(entries[found.place - 1], &local.packing)])
    best.high = value_at(source, finder.gathered[row_of(entries[found.place], &local.packing)])
    best.left_weight = 0
    for k in range(n_classes):
        best.left_weight += left[k]
    for i in range(found.place):
        k = row_of(entries[i], &local.packing)
        best.left_weight += 1 if local.weights == NULL else local.weights[k]


cdef struct Gathering:
    const Binned* data
    const Source* source
    const Bins* column
    const uint8_t* wanted
    Problem* problem
    Py_ssize_t start
    Py_ssize_t stop
    Py_ssize_t size           # of a block
    uint32_t* found           # rows, block by block
    Py_ssize_t* n_found       # by block
    Finder* finder


cdef const uint64_t* gather(
    const Binned* data, Py_ssize_t j, Py_ssize_t n_rows, const NodeView* node, Finder* finder,
    Problem* local, Pool pool,
) noexcept nogil:
    """Entries of the rows of wanted bins, sorted by value; NULL if out of memory."""
    cdef Scratch* scratch = finder.scratch
    cdef Gathering gathering
    cdef Py_ssize_t[BLOCKS] n_found
    cdef Py_ssize_t n_blocks = 1, block, total = 0
    if not enlarge_finder(finder, n_rows, local):
        return NULL
    gathering.data = data
    gathering.source = &data.sources[j]
    gathering.column = &data.columns[j]
    gathering.wanted = finder.wanted
    gathering.problem = local
    gathering.start = node.start
    gathering.stop = node.stop
    gathering.finder = finder
    gathering.n_found = n_found
    if pool is not None and node.stop - node.start >= SHARED_ROWS:
        n_blocks = BLOCKS
    gathering.size = (node.stop - node.start + n_blocks - 1) // n_blocks
    if n_blocks == 1:
        gathering.found = finder.gathered
        gather_block(&gathering, 0, 0)
        gathering.size = n_rows
        read_block(&gathering, 0, 0)
    else:
        gathering.found = data.other
        pool.run(&gather_block, &gathering, n_blocks)
        for block in range(n_blocks):
            memcpy(
                finder.gathered + total, data.other + block * gathering.size,
                n_found[block] * sizeof(uint32_t),
            )
            total += n_found[block]
        gathering.size = (n_rows + n_blocks - 1) // n_blocks
        gathering.stop = gathering.start + n_rows
        pool.run(&read_block, &gathering, n_blocks)
    local.labels = finder.labels
    if local.weights != NULL:
        local.weights = finder.weights
    set_packing(&local.packing, n_rows, local.n_classes)
    return presort(
        scratch.keys, n_rows, local.labels, &local.packing, scratch.entries, scratch.other
    ).entries


cdef void gather_block(void* context, Py_ssize_t block, int thread) noexcept nogil:
    """Gather the rows with wanted codes, without branches; needs one extra element."""
    cdef const Gathering* gathering = <const Gathering*>context
    cdef const Bins* column = gathering.column
    cdef const void* codes = gathering.data.panels[column.panel].codes
    cdef const uint8_t* narrow = <const uint8_t*>codes + column.lane
    cdef const uint16_t* wide = <const uint16_t*>codes + column.lane
    cdef const uint8_t* wanted = gathering.wanted
    cdef const uint32_t* rows = gathering.data.rows
    cdef uint32_t* gathered = gathering.found + block * gathering.size
    cdef Py_ssize_t start = min(gathering.start + block * gathering.size, gathering.stop)
    cdef Py_ssize_t stop = min(start + gathering.size, gathering.stop)
    cdef Py_ssize_t i, found = 0, last = stop - 1
    cdef size_t row
    if column.width == 1:
        for i in range(start, stop):
            prefetch(narrow + LANES * <size_t>rows[min(i + AHEAD, last)])
            row = rows[i]
            gathered[found] = <uint32_t>row
            found += wanted[narrow[LANES * row]]
    else:
        for i in range(start, stop):
            prefetch(wide + LANES * <size_t>rows[min(i + AHEAD, last)])
            row = rows[i]
            gathered[found] = <uint32_t>row
            found += wanted[wide[LANES * row]]
    gathering.n_found[block] = found


cdef void read_block(void* context, Py_ssize_t block, int thread) noexcept nogil:
    """Read the values, labels and weights of gathered rows."""
    cdef const Gathering* gathering = <const Gathering*>context
    cdef const Source* source = gathering.source
    cdef const Problem* problem = gathering.problem
    cdef Finder* finder = gathering.finder
    cdef Py_ssize_t n_rows = gathering.stop - gathering.start
    cdef Py_ssize_t start = min(block * gathering.size, n_rows), i
    cdef Py_ssize_t stop = min(start + gathering.size, n_rows)
    cdef uint32_t row
    for i in range(start, stop):
        prefetch(source.first + finder.gathered[min(i + AHEAD, stop - 1)] * source.stride)
        row = finder.gathered[i]
        finder.scratch.keys[i] = key_of(value_at(source, row))
        finder.labels[i] = problem.labels[row]
        if problem.weights != NULL:
            finder.weights[i] = problem.weights[row]


cdef void set_packing(
    Packing* packing, Py_ssize_t n_rows, Py_ssize_t n_classes
) noexcept nogil:
    packing.row_shift = 0
    while (n_classes - 1) >> packing.row_shift:
        packing.row_shift += 1
    packing.rank_shift = packing.row_shift
    while n_rows >> (packing.rank_shift - packing.row_shift):
        packing.rank_shift += 1
    packing.label_mask = (<uint64_t>1 << packing.row_shift) - 1
    packing.row_mask = (<uint64_t>1 << (packing.rank_shift - packing.row_shift)) - 1


cdef bint enlarge_finder(
    Finder* finder, Py_ssize_t n_rows, const Problem* problem
) noexcept nogil:
    """Allocate memory for ``n_rows`` rows; return whether it succeeded."""
    cdef Scratch* scratch = finder.scratch
    if n_rows > finder.n_gathered:
        free(finder.gathered)
        free(finder.labels)
        free(finder.weights)
        finder.n_gathered = 0
        finder.gathered = <uint32_t*>malloc((n_rows + 1) * sizeof(uint32_t))
        finder.labels = <uint32_t*>malloc(n_rows * sizeof(uint32_t))
        finder.weights = <int64_t*>malloc(
            (n_rows if problem.weights != NULL else 1) * sizeof(int64_t)
        )
        if finder.gathered == NULL or finder.labels == NULL or finder.weights == NULL:
            return False
        finder.n_gathered = n_rows
    if n_rows > scratch.n_entries:
        free(scratch.keys)
        free(scratch.entries)
        free(scratch.other)
        scratch.n_entries = 0
        scratch.keys = <uint64_t*>malloc(n_rows * sizeof(uint64_t))
        scratch.entries = <uint64_t*>malloc(n_rows * sizeof(uint64_t))
        scratch.other = <uint64_t*>malloc(n_rows * sizeof(uint64_t))
        if scratch.keys == NULL or scratch.entries == NULL or scratch.other == NULL:
            return False
        scratch.n_entries = n_rows
    return True
