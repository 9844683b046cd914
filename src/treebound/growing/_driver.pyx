"""Best-first growing: the nodes, the frontier, and the rules that all engines share.

A leaf waits on the frontier with its gain, or a bound on it. When it is popped, it is searched if
its split is not known yet, else expanded. An engine, a class below `Driver`, knows the rows: it
searches a node and splits its rows. Ties, limits, thresholds and the side of missing values are
settled here.
"""

import numpy as np

from libc.math cimport INFINITY, NAN, ceil, floor, isinf, log2, sqrt
from libc.stdint cimport uint8_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset
from treebound._utils._pool import blocks, each
from treebound.tree._thresholds cimport OBSERVED, pick
from treebound.growing._layout cimport (
    ENTROPY, MISCLASSIFICATION, NOMINAL, REAL, SQUARED, SQUARES, SUM, TOLERANCE, WEIGHT, allocate,
    c_log_c, enlarged, keeps_order, pure_score, purity_of, rise_of, score_of, spread_of, weight_in,
    xlogx, zeros,
)
from treebound._utils._pool cimport look_for_signals
from treebound.growing._scan cimport no_split
from treebound.growing._sorted cimport add_users, free_sorted


cdef enum:
    MAX_LOGARITHMS = 65536  # in the table, or four per row
    LOGARITHMS = 16384      # computed by a thread at a time


cdef class Nodes:
    """Nodes in order of creation; `arrays` gives them in pre-order."""

    def __cinit__(self, Py_ssize_t n_classes, bint in_order):
        self.n_classes = n_classes
        self.in_order = in_order

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.n_nodes):
            free(self.nodes[i].histogram)
        for i in range(self.n_frontier):
            leave(self.nodes[self.frontier[i]].home)
        free(self.nodes)
        free(self.counts)
        free(self.limits)
        free(self.frontier)

    cdef int32_t add(self, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t depth) except -1 nogil:
        """Add a leaf with zero counts. Invalidates pointers to nodes and counts."""
        cdef GrownNode* node
        cdef int32_t index = <int32_t>self.n_nodes
        if self.n_nodes == self.capacity:
            self.enlarge(max(2 * self.capacity, 64))
        node = &self.nodes[index]
        memset(node, 0, sizeof(GrownNode))
        node.start = start
        node.stop = stop
        node.depth = depth
        node.left = node.right = node.category = -1
        node.age = index
        node.split.column = -1
        node.threshold = NAN
        memset(self.counts_of(index), 0, self.n_classes * sizeof(int64_t))
        self.n_nodes += 1
        return index

    cdef int enlarge(self, Py_ssize_t capacity) except -1 nogil:
        self.nodes = <GrownNode*>enlarged(self.nodes, capacity * sizeof(GrownNode))
        self.counts = <int64_t*>enlarged(self.counts, capacity * self.n_classes * sizeof(int64_t))
        self.frontier = <int32_t*>enlarged(self.frontier, capacity * sizeof(int32_t))
        if self.n_limits:
            self.limits = <double*>enlarged(
                self.limits, capacity * self.n_limits * sizeof(double)
            )
        self.capacity = capacity
        return 0

    cdef int64_t* counts_of(self, int32_t index) noexcept nogil:
        return self.counts + index * self.n_classes

    cdef double* limits_of(self, int32_t index) noexcept nogil:
        return self.limits + index * self.n_limits

    cdef Py_ssize_t rows_in(self, int32_t index) noexcept nogil:
        return self.nodes[index].stop - self.nodes[index].start

    # -- the frontier ------------------------------------------------------------------------

    cdef bint before(self, int32_t a, int32_t b) noexcept nogil:
        """Return True if leaf ``a`` comes before ``b``: the better one, else the older one."""
        # One whose priority is only a bound comes before all it may tie with.
        cdef double difference = self.nodes[a].priority - self.nodes[b].priority
        cdef bint a_found = self.nodes[a].state == FOUND, b_found = self.nodes[b].state == FOUND
        if difference > self.tolerance:
            return True
        if difference < -self.tolerance:
            return False
        return self.nodes[a].age < self.nodes[b].age if a_found == b_found else b_found

    cdef void swap(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        self.frontier[i], self.frontier[j] = self.frontier[j], self.frontier[i]

    cdef void push(self, int32_t index) noexcept nogil:
        cdef Py_ssize_t i = self.n_frontier
        if self.nodes[index].home != NULL:
            add_users(self.nodes[index].home, 1)
        self.frontier[i] = index
        self.n_frontier += 1
        while self.in_order and i > 0 and self.before(index, self.frontier[(i - 1) // 2]):
            self.swap(i, (i - 1) // 2)
            i = (i - 1) // 2

    cdef int32_t pop(self) noexcept nogil:
        """Pop the next leaf; without order the last one, whose rows are in the cache."""
        # The caller must `leave` its sorted rows.
        cdef Py_ssize_t i = 0, child = 1
        self.n_frontier -= 1
        if not self.in_order:
            return self.frontier[self.n_frontier]
        self.swap(0, self.n_frontier)
        # invariant: the frontier is a heap but for place i
        while child < self.n_frontier:
            if child + 1 < self.n_frontier and self.before(
                self.frontier[child + 1], self.frontier[child]
            ):
                child += 1
            if not self.before(self.frontier[child], self.frontier[i]):
                break
            self.swap(i, child)
            i = child
            child = 2 * i + 1
        return self.frontier[self.n_frontier]

    # -- the result --------------------------------------------------------------------------

    def arrays(self):
        """The nodes as the arrays of a ``Tree``; counts are integers."""
        cdef int32_t[::1] order = np.empty(self.n_nodes, dtype=np.int32)
        cdef int32_t[::1] place = np.empty(self.n_nodes, dtype=np.int32)
        cdef Py_ssize_t n = self.preorder(order, place)
        arrays = {
            name: np.full(n, -1, dtype=np.int32) for name in ("feature", "category", "left", "right")
        } | {
            "threshold": np.full(n, NAN), "missing_left": np.zeros(n, dtype=bool),
            "counts": np.empty((n, self.n_classes), dtype=np.int64),
            "rows": np.empty(n, dtype=np.int64),
        }
        each(lambda ends: self.write(arrays, order, place, *ends), blocks(n))
        return arrays

    def write(
        self, arrays, const int32_t[::1] order, const int32_t[::1] place, Py_ssize_t start,
        Py_ssize_t stop,
    ):
        """Write some nodes into the arrays, in pre-order."""
        cdef int32_t[::1] feature = arrays["feature"], category = arrays["category"]
        cdef int32_t[::1] left = arrays["left"], right = arrays["right"]
        cdef double[::1] threshold = arrays["threshold"]
        cdef uint8_t[::1] missing_left = arrays["missing_left"].view(np.uint8)
        cdef int64_t[:, ::1] counts = arrays["counts"]
        cdef int64_t[::1] rows = arrays["rows"]
        cdef const GrownNode* node
        cdef Py_ssize_t new, k
        with nogil:
            for new in range(start, stop):
                node = &self.nodes[order[new]]
                rows[new] = node.stop - node.start
                for k in range(self.n_classes):
                    counts[new, k] = self.counts_of(order[new])[k]
                if node.expanded:
                    threshold[new] = node.threshold
                    category[new] = node.category
                    feature[new] = <int32_t>node.split.column
                    missing_left[new] = node.split.missing_left
                    left[new] = place[node.left]
                    right[new] = place[node.right]

    cdef Py_ssize_t preorder(self, int32_t[::1] order, int32_t[::1] place):
        """The inner nodes and leaves in pre-order, and the position of each; how many they are."""
        cdef int32_t[::1] stack = np.zeros(self.n_nodes + 1, dtype=np.int32)
        cdef Py_ssize_t new = 0, depth = 1
        cdef int32_t old
        while depth:
            depth -= 1
            old = stack[depth]
            order[new] = old
            place[old] = <int32_t>new
            new += 1
            if self.nodes[old].expanded:
                stack[depth] = self.nodes[old].right
                stack[depth + 1] = self.nodes[old].left
                depth += 2
        return new


cdef void leave(Sorted* home) noexcept nogil:
    """Release a leaf's reference to its sorted rows; the last one frees them."""
    if home != NULL and add_users(home, -1) == 0:
        free_sorted(home)


cdef struct Logarithms:
    # The table of c log c.
    const Problem* problem
    int64_t* table
    int64_t n_counts


cdef void tabulate(void* context, Py_ssize_t block, int thread) noexcept nogil:
    """Compute a block of the table of c log c."""
    cdef const Logarithms* logarithms = <const Logarithms*>context
    cdef int64_t start = block * LOGARITHMS, count
    for count in range(start, min(start + LOGARITHMS, logarithms.n_counts)):
        logarithms.table[count] = xlogx(count, logarithms.problem)


cdef class Driver:
    """Grows a tree: options, nodes, and the operations that an engine implements."""

    def __cinit__(self, Py_ssize_t n_columns, Py_ssize_t n_classes, dict options, *others):
        self.n_columns = n_columns
        self.sources = <Source*>zeros(n_columns, sizeof(Source))
        self.problem.n_classes = n_classes
        self.problem.max_weight = 1
        self.min_priority = -INFINITY
        self.tree = Nodes(n_classes, options["max_leaves"] >= 0)
        self.set_options(options)

    def __dealloc__(self):
        free(self.sources)
        free(self.xlogx_table)
        free(self.firsts)

    cdef int set_options(self, dict options) except -1:
        """Take the options as ``for_kernels`` gives them."""
        self.problem.criterion = options["criterion"]
        self.problem.min_leaf = options["min_samples_leaf"]
        self.problem.min_weight = options["min_weight"]
        self.by_impurity = options["by_impurity"]
        self.max_leaves = options["max_leaves"]
        self.max_depth = options["max_depth"]
        self.min_split = max(options["min_samples_split"], 2 * options["min_samples_leaf"])
        self.min_gain = options["min_gain"]
        self.thresholds = options["thresholds"]
        if options.get("rules") is not None:
            self.set_rules(options["rules"])
        return 0

    cdef int set_rules(self, dict rules) except -1:
        """Take the rules as ``kernel_rules`` gives them."""
        cdef KernelSplit* split
        cdef const int32_t[::1] signs = rules["signs"], order = rules["order"]
        cdef const uint64_t[::1] groups = rules["groups"]
        self.rules_as_given = rules
        self.problem.rules = &self.rules
        self.rules.groups = &groups[0] if self.n_columns else NULL
        if order.shape[0] > 1:
            self.rules.signs = &signs[0]
            self.rules.order = &order[0]
            self.tree.n_limits = 2 * (order.shape[0] - 1)
        self.n_firsts = len(rules["first"])
        self.firsts = <KernelSplit*>zeros(self.n_firsts, sizeof(KernelSplit))
        for i, (column, threshold, category, missing_left) in enumerate(rules["first"]):
            split = &self.firsts[i]
            split[0] = no_split(column)
            split.low = split.high = threshold
            split.place = category
            split.misses = missing_left is not None
            split.missing_left = bool(missing_left)
            split.has_ends = split.exact = True
        return 0

    cdef int set_criterion(self) except -1 nogil:
        """From the counts of the root: tolerances, the width of sums, the table of c log c."""
        cdef Logarithms logarithms
        cdef int64_t total
        cdef Py_ssize_t n_blocks, block
        cdef double largest
        total = weight_in(self.tree.counts_of(0), NULL, &self.problem)
        self.whole = max(self.whole, total)
        # the paper's priorities are impurities, at most a few units; gains are weights
        self.tree.tolerance = TOLERANCE * (1.0 if self.by_impurity else <double>self.whole)
        if self.problem.criterion == SQUARED:  # gains are squares
            self.whole_spread = max(self.whole_spread, self.spread(0))
            self.tree.tolerance = TOLERANCE * self.whole_spread
        self.problem.wide = self.whole >= <int64_t>1 << 31
        if self.problem.criterion != ENTROPY:
            return 0
        # a sum of c log c is at most whole log2 whole: leave it 60 bits
        largest = max(<double>self.whole, c_log_c(<double>self.whole))
        self.problem.xlogx_unit = 2.0 ** (60.0 - ceil(log2(largest)))
        if total > max(MAX_LOGARITHMS, 4 * <int64_t>self.problem.n_rows):
            return 0
        self.xlogx_table = <int64_t*>allocate(total + 1, sizeof(int64_t))
        logarithms.problem = &self.problem
        logarithms.table = self.xlogx_table
        logarithms.n_counts = total + 1
        n_blocks = (total + LOGARITHMS) // LOGARITHMS
        if self.pool is None:
            for block in range(n_blocks):
                tabulate(&logarithms, block, 0)
        else:
            self.pool.run(&tabulate, &logarithms, n_blocks)
        self.problem.xlogx = self.xlogx_table
        return 0

    cdef int add_root(self, Py_ssize_t n_rows) except -1 nogil:
        """Add the root; in a part of a larger tree it has the rules of a node there."""
        cdef Py_ssize_t i
        cdef GrownNode* root
        self.tree.add(0, n_rows, 0)
        if self.problem.rules == NULL:
            return 0
        root = &self.tree.nodes[0]
        with gil:
            root.n_first, root.groups, limits = self.rules_as_given["root"]
            for i in range(self.tree.n_limits):
                self.tree.limits[i] = limits[i]
        return 0

    # -- the loop ----------------------------------------------------------------------------

    cdef int run(self) except -1 nogil:
        """Expand leaves until no split gains or the maximum number of leaves is reached."""
        cdef int32_t index
        cdef Sorted* home
        while (
            self.tree.n_frontier and self.n_leaves != self.max_leaves and not self.hands_over()
        ):
            if look_for_signals(&self.looked):
                self.pause()
            index = self.tree.pop()
            home = self.tree.nodes[index].home
            try:
                if self.tree.in_order and self.tree.nodes[index].priority < self.min_priority:
                    return 0
                if self.tree.nodes[index].state == FOUND:
                    self.expand(index)
                else:
                    self.search(index)
            finally:
                leave(home)
        return 0

    # -- verbs of an engine ------------------------------------------------------------------

    cdef int pause(self) except -1 nogil:
        """Called some times a second."""
        return 0

    cdef bint hands_over(self) noexcept nogil:
        """Return True if the leaves on the frontier are grown elsewhere from here on."""
        return False

    cdef int search(self, int32_t index) except -1 nogil:
        """Push a leaf with its split, or with a tighter bound on its gain."""
        return 0

    cdef int expand(self, int32_t index) except -1 nogil:
        """Make an inner node of a leaf, and push the children that may be split."""
        return 0

    cdef void find_ends(self, const GrownNode* node, KernelSplit* split) noexcept nogil:
        """Set the neighbours of a threshold, if they are not known."""

    cdef int part_first(self, int32_t index, KernelSplit* split, int64_t* left) except -1 nogil:
        """Set where the rows of a node go, and the sums on the left: class weights, then rows."""
        return 0

    # -- splits that come first --------------------------------------------------------------

    cdef bint takes_first(self, int32_t index) except -1 nogil:
        """Take the next of the splits that come first and part the node, if there is one."""
        cdef GrownNode* node = &self.tree.nodes[index]
        cdef KernelSplit split
        cdef int64_t* left
        cdef int64_t rows
        if node.n_first == self.n_firsts:
            return False
        left = <int64_t*>zeros(self.problem.n_classes + 1, sizeof(int64_t))
        try:
            while node.n_first < self.n_firsts:
                split = self.firsts[node.n_first]
                node.n_first += 1
                memset(left, 0, (self.problem.n_classes + 1) * sizeof(int64_t))
                self.part_first(index, &split, left)
                rows = left[self.problem.n_classes]
                if self.problem.min_leaf <= rows <= self.tree.rows_in(index) - self.problem.min_leaf:
                    self.check_first(index, left, &split)
                    node.split = split
                    node.priority = INFINITY
                    node.state = FOUND
                    return True
        finally:
            free(left)
        return False

    cdef int check_first(
        self, int32_t index, const int64_t* left, const KernelSplit* split
    ) except -1 nogil:
        """Raise a ValueError if a split that comes first breaks an order."""
        cdef Task task
        cdef bint by_value = self.sources[split.column].kind != NOMINAL and not isinf(split.low)
        self.set_task(&task, index, True)
        if not keeps_order(left, split.column, by_value, &task.view):
            with gil:
                name = self.rules_as_given["names"][split.column]
                raise ValueError(
                    f"A split on {name!r} in 'forced_splits' breaks the order that 'monotonic_cst' "
                    "requires. Hint: leave one of them out."
                )
        return 0

    cdef int pass_rules_on(self, int32_t index) except -1 nogil:
        """Set the columns that the children of a node may split on, and their limits."""
        cdef const GrownNode* node = &self.tree.nodes[index]
        cdef Py_ssize_t i, column = node.split.column
        cdef GrownNode* child
        cdef double middle, weight = <double>node.weight
        cdef double left_weight = <double>self.tree.nodes[node.left].weight
        cdef int64_t left_sum = 0, right_sum = 0
        cdef int32_t low = node.left, high = node.right
        if self.problem.rules == NULL:
            return 0
        for i in range(2):
            child = &self.tree.nodes[high if i else low]
            child.n_first = node.n_first
            child.groups = node.groups & self.rules.groups[column]
            memcpy(
                self.tree.limits_of(high if i else low), self.tree.limits_of(index),
                self.tree.n_limits * sizeof(double),
            )
        if self.tree.n_limits == 0:
            return 0
        if node.category >= 0 or isinf(node.threshold) or self.rules.signs[column] == 0:
            return 0
        if self.rules.signs[column] < 0:
            low, high = high, low
        for i in range(self.tree.n_limits // 2):
            left_sum += self.tree.counts_of(node.left)[self.rules.order[i]]
            right_sum += self.tree.counts_of(node.right)[self.rules.order[i]]
            middle = 0.5 * (
                <double>left_sum / left_weight + <double>right_sum / (weight - left_weight)
            )
            self.tree.limits_of(low)[2 * i + 1] = middle
            self.tree.limits_of(high)[2 * i] = middle
        return 0

    # -- nodes that are known already ---------------------------------------------------------

    cdef int32_t[::1] attach(self, int32_t index, dict arrays):
        """Put a subtree, as `Nodes.arrays` gives it, in the place of a leaf; the nodes' numbers."""
        cdef const int32_t[::1] feature = arrays["feature"], category = arrays["category"]
        cdef const int32_t[::1] left = arrays["left"], right = arrays["right"]
        cdef const double[::1] threshold = arrays["threshold"]
        cdef const uint8_t[::1] missing_left = arrays["missing_left"].view(np.uint8)
        cdef const int64_t[:, ::1] counts = arrays["counts"]
        cdef const int64_t[::1] rows = arrays["rows"]
        cdef int32_t[::1] numbers = np.empty(len(feature), dtype=np.int32)
        cdef Py_ssize_t i
        cdef GrownNode* node
        numbers[0] = index
        for i in range(feature.shape[0]):
            if feature[i] < 0:
                continue
            self.add_children(numbers[i])
            node = &self.tree.nodes[numbers[i]]
            numbers[left[i]] = node.left
            numbers[right[i]] = node.right
            self.set_counts(node.left, counts[left[i]], rows[left[i]])
            self.set_counts(node.right, counts[right[i]], rows[right[i]])
            node.split.column = feature[i]
            node.split.missing_left = missing_left[i]
            node.threshold = threshold[i]
            node.category = category[i]
            node.split.place = category[i]
            self.set_known(numbers[i])
        return numbers

    cdef int set_counts(self, int32_t index, const int64_t[::1] counts, int64_t rows) except -1:
        cdef Py_ssize_t k
        self.tree.nodes[index].start = 0
        self.tree.nodes[index].stop = rows
        for k in range(self.tree.n_classes):
            self.tree.counts_of(index)[k] = counts[k]
        self.settle(index)
        return 0

    cdef int set_known(self, int32_t index) except -1:
        """Set the priority of a node whose split and children are known."""
        cdef GrownNode* node = &self.tree.nodes[index]
        cdef const KernelSplit* first
        cdef Task task
        self.set_task(&task, index, True)
        node.state = FOUND
        node.priority = self.priority_with(
            node, score_of(self.tree.counts_of(node.left), NULL, &task.view)
        )
        # one of those that come first is then used up
        while node.n_first < self.n_firsts and node.priority < INFINITY:
            first = &self.firsts[node.n_first]
            node.n_first += 1
            if node.split.column == first.column and (
                node.category == first.place if node.category >= 0
                else node.threshold == first.low
            ):
                node.priority = INFINITY
        return self.pass_rules_on(index)

    # -- leaves ------------------------------------------------------------------------------

    cdef bint settle(self, int32_t index) noexcept nogil:
        """Weight and purity from the counts; whether the node may be split at all."""
        cdef GrownNode* node = &self.tree.nodes[index]
        cdef const int64_t* counts = self.tree.counts_of(index)
        node.weight = weight_in(counts, NULL, &self.problem)
        node.purity = purity_of(counts, node.weight, &self.problem)
        return self.may_split(counts, self.tree.rows_in(index), node.depth)

    cdef bint may_split(
        self, const int64_t* counts, Py_ssize_t n_rows, Py_ssize_t depth
    ) noexcept nogil:
        """Return True if rows and depth of a node allow a split, and its rows are not all alike."""
        cdef Py_ssize_t k, classes = 0
        if n_rows < self.min_split or depth >= self.max_depth:
            return False
        if self.problem.criterion == SQUARED:
            return spread_of(counts[WEIGHT], counts[SUM], counts[SQUARES], &self.problem) > 0.0
        for k in range(self.tree.n_classes):
            classes += counts[k] > 0
        return classes > 1

    cdef int add_children(self, int32_t index) except -1 nogil:
        """Add two leaves with all rows of the node and zero counts."""
        cdef GrownNode node = self.tree.nodes[index]
        cdef int32_t left = self.tree.add(node.start, node.stop, node.depth + 1)
        cdef int32_t right = self.tree.add(node.start, node.stop, node.depth + 1)
        self.tree.nodes[index].left = left
        self.tree.nodes[index].right = right
        return 0

    cdef void count_right(self, int32_t index) noexcept nogil:
        """Set the counts of the right child to those of the node minus the left child's."""
        cdef const GrownNode* node = &self.tree.nodes[index]
        cdef Py_ssize_t k
        for k in range(self.tree.n_classes):
            self.tree.counts_of(node.right)[k] = (
                self.tree.counts_of(index)[k] - self.tree.counts_of(node.left)[k]
            )

    cdef void wait(self, int32_t index) noexcept nogil:
        """Push a leaf on the frontier with its gain if both children were pure."""
        cdef GrownNode* node = &self.tree.nodes[index]
        node.state = WAITING
        node.priority = self.max_priority(index)
        self.tree.push(index)

    cdef double spread(self, int32_t index) noexcept nogil:
        """At least the sum of squares of a node of numbers."""
        cdef const int64_t* counts = self.tree.counts_of(index)
        return spread_of(counts[WEIGHT], counts[SUM], counts[SQUARES], &self.problem)

    cdef double max_priority(self, int32_t index) noexcept nogil:
        """The priority of a node whose children would both be pure."""
        # one that may take a split that comes first is looked at before all others
        cdef const GrownNode* node = &self.tree.nodes[index]
        if node.n_first < self.n_firsts:
            return INFINITY
        if self.problem.criterion == SQUARED:
            return self.spread(index)
        return self.priority_with(node, pure_score(<double>node.weight, &self.problem))

    cdef double priority_with(self, const GrownNode* node, double score) noexcept nogil:
        """The gain, or in the paper's order minus the mean impurity of the children (ERRATA 15)."""
        if not self.by_impurity:
            return score - node.purity
        return score / <double>node.weight - pure_score(1.0, &self.problem)

    # -- the split ---------------------------------------------------------------------------

    cdef int set_test(self, GrownNode* node) except -1 nogil:
        """Set threshold or category; without missing rows, missing goes to the heavier child."""
        cdef const Source* source = &self.sources[node.split.column]
        cdef KernelSplit* split = &node.split
        cdef bint learned = source.may_miss
        cdef double surplus
        if source.kind == NOMINAL:
            node.category = <int32_t>split.place
        elif split.exact:
            learned = split.misses
            node.threshold = split.low
        else:
            self.find_ends(node, split)
            learned = learned and split.misses
            if not split.bounded:
                node.threshold = INFINITY
            elif source.kind == REAL or self.thresholds == OBSERVED:
                node.threshold = pick(split.low, split.high, self.thresholds)
            else:
                node.threshold = floor(0.5 * split.low + 0.5 * split.high)
        if not learned:
            # rounded weights may miss a tie by a few units
            surplus = <double>(2 * self.tree.nodes[node.left].weight - node.weight)
            split.missing_left = surplus >= -TOLERANCE * <double>node.weight
        return self.pass_rules_on(<int32_t>(node - self.tree.nodes))

    cdef void set_task(self, Task* task, int32_t index, bint wanted) noexcept nogil:
        """Prepare the search of a node."""
        cdef const GrownNode* node = &self.tree.nodes[index]
        cdef double tolerance = TOLERANCE * <double>node.weight, least, error
        if self.problem.criterion == ENTROPY:  # c log c is rounded to integers
            tolerance += (2 * self.problem.n_classes + 2) / self.problem.xlogx_unit
        if self.problem.criterion == SQUARED:
            # rounding moves the square root of a gain by at most that of a quarter of the error
            error = self.problem.weight_error * <double>node.weight
            error += self.problem.row_error * <double>(node.stop - node.start)
            tolerance = self.spread(index)
            tolerance = TOLERANCE * tolerance + 2.0 * sqrt(tolerance * error) + error
        # A split without gain may lead to splits that gain (exclusive or); if impurities are not
        # strictly concave, or leaves are ordered by impurity, it would only delay them. Of numbers
        # that are all equal, sums do not show that they are: their splits must gain as well.
        least = self.min_gain * <double>self.whole - tolerance
        if self.by_impurity or self.problem.criterion >= MISCLASSIFICATION:
            least = max(least, tolerance)
        task.index = index
        task.wanted = wanted
        task.every = False
        task.view.problem = &self.problem if node.home == NULL else &node.home.problem
        task.view.start = node.start
        task.view.stop = node.stop
        task.view.weight = node.weight
        task.view.purity = node.purity
        task.view.counts = self.tree.counts_of(index)
        task.view.tolerance = tolerance
        task.view.rise = rise_of(node.weight, &self.problem)
        task.view.groups = node.groups
        task.view.limits = self.tree.limits_of(index)
        task.least = node.purity + least

    cdef bint choose(self, GrownNode* node, const Task* task) noexcept nogil:
        """Take the best of the columns' splits; whether it gains enough."""
        cdef Py_ssize_t j
        node.split.score = -INFINITY
        for j in range(self.n_columns):
            if task.splits[j].place >= 0 and self.wins(
                node, &task.splits[j], task.view.tolerance
            ):
                node.split = task.splits[j]
        if not node.split.score > task.least:
            node.split.column = -1
            return False
        node.priority = self.priority_with(node, node.split.score)
        node.state = FOUND
        return True

    cdef bint wins(self, GrownNode* node, KernelSplit* split, double tolerance) noexcept nogil:
        """Return True if a column's split is better than that of the previous columns."""
        if split.score > node.split.score + tolerance:
            return True
        if split.score < node.split.score - tolerance:
            return False
        if self.by_impurity:
            return split.left_weight < node.split.left_weight
        return self.gap_of(node, split) > self.gap_of(node, &node.split)

    cdef double gap_of(self, const GrownNode* node, KernelSplit* split) noexcept nogil:
        """Gap between the two sides of a split, relative to the column's range."""
        # 1 for a category, 0 if only missing rows go right. On ties the widest gap wins, so that
        # the order of the columns does not matter.
        if self.sources[split.column].kind == NOMINAL:
            return 1.0
        self.find_ends(node, split)
        if not split.bounded:
            return 0.0
        return (split.high - split.low) / self.sources[split.column].span
