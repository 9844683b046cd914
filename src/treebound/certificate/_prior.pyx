"""The prior over trees that some rows A define, and the search for trees with all rows.

At a node, the rows of A that reach it give the splits that may be sent and their probabilities;
the other rows B only steer the search. Nodes met in several runs are stored once, with the best of
their candidates, so that the last step, exact pruning by ``price of an error * errors on B - ln
prior``, may combine the subtrees of all runs.
"""

import numpy as np

from libc.math cimport INFINITY, exp, isnan, log, log1p, rint
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

from treebound.tree._thresholds import RULES

from treebound.tree._route cimport RouteSplit, side_of
from treebound.tree._thresholds cimport Rule, pick

cdef enum:
    REAL = 0
    ORDINAL = 1
    NOMINAL = 2


cdef struct PriorCandidate:
    double score         # what the search goes by
    double price         # -ln of its probability among the splits of the node
    double threshold     # NaN for a category
    double gain          # log evidence on the rows A
    double log_share     # ln mu: the same for all splits of one column
    int64_t missing_left
    int32_t column
    int32_t category     # -1 for a threshold; the number of categories means missing
    int32_t left         # the children, -1 if not visited
    int32_t right


cdef struct PriorNode:
    double go            # -ln of the probability to split, infinite without candidates
    double stop          # -ln of the probability to be a leaf
    int64_t first        # its candidates in the pool
    int32_t n_kept         # how many; -1 before the node is evaluated
    int32_t depth


cdef struct Span:        # the rows of a node: places in ``rows_a`` and ``rows_b``
    Py_ssize_t a0
    Py_ssize_t a1
    Py_ssize_t b0
    Py_ssize_t b1


cdef struct Run:         # how a run of the search goes; see ``run``
    double trust
    double noise
    double max_error_price
    uint64_t state


cdef PriorCandidate _blank
CANDIDATE = np.asarray(<PriorCandidate[:1]>&_blank).dtype


cdef candidates_at(PriorCandidate* first, Py_ssize_t n):
    """Candidates as a structured array, not copied."""
    return np.asarray(<PriorCandidate[:n]>first) if n else np.empty(0, CANDIDATE)


cdef void* grown(void* block, size_t size) except NULL:
    cdef void* larger = realloc(block, size)
    if larger == NULL:
        raise MemoryError
    return larger


cdef inline double uniform(uint64_t* state) noexcept nogil:
    """A number in (0, 1) by splitmix64."""
    cdef uint64_t z
    state[0] += 0x9E3779B97F4A7C15ULL
    z = state[0]
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL
    z ^= z >> 31
    return ((z >> 11) + 0.5) * (1.0 / 9007199254740992.0)


cdef class PriorSearch:
    """The prior of the rows A, and the nodes that the search has visited.

    ``a`` and ``b`` have one row for each column: floats, NaN where missing, codes for categories.
    ``order`` sorts each row of ``a``, missing values last. ``costs`` has the cost of each true class
    for each predicted class, ``weight`` the weight of each row of B; None: all the same.
    ``options`` are the constants of the prior; the search keeps ``n_kept`` candidates per node.
    """

    cdef const double[:, ::1] a, b
    cdef const int32_t[:, ::1] order
    cdef const int32_t[::1] y_a, y_b, kinds, sizes
    cdef const double[:, ::1] costs
    cdef const double[::1] weight
    cdef double[::1] log_factorial
    cdef int32_t[:, ::1] rows_a
    cdef int32_t[::1] rows_b, spare
    cdef unsigned char[::1] goes_left
    cdef Py_ssize_t d, n, m_a, m_b, top
    cdef double tilt, share_uniform, clip, label_power, hand
    cdef int cap, depth
    cdef Rule rule
    # the candidates of the node at hand
    cdef PriorCandidate* scratch
    cdef Py_ssize_t n_scratch, room
    cdef int64_t* left_a     # class counts left of a candidate, on A and B
    cdef int64_t* left_b
    cdef int64_t[::1] node_a, node_b, none_a, none_b
    cdef double[::1] cuts
    cdef int32_t[::1] place
    # what the search has visited
    cdef PriorNode* nodes
    cdef PriorCandidate* pool
    cdef int64_t* count_a
    cdef int64_t* count_b
    cdef double* labels      # -ln of the probability of each label
    cdef double* losses      # what the rows of B cost with each label
    cdef Py_ssize_t n_nodes, room_nodes, n_pool, room_pool
    cdef readonly int64_t work  # values looked at by all runs

    def __cinit__(self, a, b, order, y_a, y_b, kinds, sizes, costs, weight, options, n_kept):
        self.costs, self.weight = costs, weight
        self.a, self.b, self.order = a, b, order
        self.y_a, self.y_b, self.kinds, self.sizes = y_a, y_b, kinds, sizes
        self.d, self.m_a, self.m_b = a.shape[0], a.shape[1], b.shape[1]
        self.n, self.top, self.rule = len(costs), n_kept, RULES[options.thresholds]
        self.tilt, self.share_uniform, self.clip = options.tilt, options.uniform, options.clip
        self.cap, self.label_power = options.cap, options.label_power
        self.depth, self.hand = options.depth, options.hand
        logs = np.log(np.maximum(np.arange(self.m_a + self.m_b + self.n + 1), 1.0))
        self.log_factorial = np.cumsum(logs)
        self.rows_a = np.empty((self.d, self.m_a), dtype=np.int32)
        self.rows_b = np.empty(self.m_b, dtype=np.int32)
        self.spare = np.empty(max(self.m_a, self.m_b, 1), dtype=np.int32)
        self.goes_left = np.zeros(max(self.m_a, self.m_b, 1), dtype=np.uint8)
        self.node_a, self.node_b = np.zeros(self.n, np.int64), np.zeros(self.n, np.int64)
        self.none_a, self.none_b = np.zeros(self.n, np.int64), np.zeros(self.n, np.int64)
        self.cuts = np.empty(max(self.m_a, self.cap) + 1)
        self.place = np.full(max(sizes, default=0) + 1, -1, dtype=np.int32)

    def __dealloc__(self):
        free(self.scratch)
        free(self.left_a)
        free(self.left_b)
        free(self.nodes)
        free(self.pool)
        free(self.count_a)
        free(self.count_b)
        free(self.labels)
        free(self.losses)

    # -- the prior at a node ---------------------------------------------------------------

    def candidates(self, const unsigned char[::1] inside, int depth):
        """The splits of the node that the rows ``inside`` of A reach, and its prior.

        Returns the candidates, and the log probabilities to split and to stop.
        """
        cdef Py_ssize_t f, i, n = 0
        cdef double go, stop
        for f in range(self.d):
            n = 0
            for i in range(self.m_a):
                if inside[self.order[f, i]]:
                    self.rows_a[f, n] = self.order[f, i]
                    n += 1
        cdef Span here = Span(0, n, 0, 0)
        self.count_node(here)
        self.collect(here, depth)
        go, stop = self.weigh()
        return candidates_at(self.scratch, self.n_scratch).copy(), -go, -stop

    cdef void count_node(self, Span here) noexcept:
        cdef Py_ssize_t i
        self.node_a[:] = 0
        self.node_b[:] = 0
        if self.d == 0:
            return
        for i in range(here.a0, here.a1):
            self.node_a[self.y_a[self.rows_a[0, i]]] += 1
        for i in range(here.b0, here.b1):
            self.node_b[self.y_b[self.rows_b[i]]] += 1

    cdef int collect(self, Span here, int depth) except -1:
        """All candidates of a node, with the class counts left of each."""
        cdef Py_ssize_t f, first, i, columns = 0
        self.n_scratch = 0
        if here.a1 - here.a0 < 2 or depth >= self.depth:
            return 0
        for f in range(self.d):
            first = self.n_scratch
            if self.kinds[f] == NOMINAL:
                self.collect_categories(f, here)
            else:
                self.collect_thresholds(f, here)
            for i in range(first, self.n_scratch):
                self.scratch[i].log_share = -log(<double>(self.n_scratch - first))
            columns += self.n_scratch > first
        for i in range(self.n_scratch):
            self.scratch[i].log_share -= log(<double>columns)
        return 0

    cdef PriorCandidate* append(self, Py_ssize_t f) except NULL:
        """Room for one more candidate, its counts zero."""
        cdef Py_ssize_t n = self.n
        cdef PriorCandidate* last
        if self.n_scratch == self.room:
            self.room = max(256, 2 * self.room)
            self.scratch = <PriorCandidate*>grown(self.scratch, self.room * sizeof(PriorCandidate))
            self.left_a = <int64_t*>grown(self.left_a, self.room * n * sizeof(int64_t))
            self.left_b = <int64_t*>grown(self.left_b, self.room * n * sizeof(int64_t))
        memset(&self.left_a[self.n_scratch * n], 0, n * sizeof(int64_t))
        memset(&self.left_b[self.n_scratch * n], 0, n * sizeof(int64_t))
        last = &self.scratch[self.n_scratch]
        last.column, last.category, last.missing_left = f, -1, 0
        last.threshold = 0.0
        last.left = last.right = -1
        self.n_scratch += 1
        return last

    cdef int collect_categories(self, Py_ssize_t f, Span here) except -1:
        """``x == category`` for the categories of A at the node, missing too; of two the first."""
        cdef Py_ssize_t i, at, n = self.n, first = self.n_scratch
        cdef int32_t row, code, size = self.sizes[f]
        cdef PriorCandidate* last
        for i in range(here.a0, here.a1):
            row = self.rows_a[f, i]
            code = size if isnan(self.a[f, row]) else <int32_t>self.a[f, row]
            if code < 0:  # a category that the column does not list
                continue
            if self.place[code] < 0:
                self.place[code] = self.n_scratch
                last = self.append(f)
                last.category, last.threshold = code, float("nan")
                last.missing_left = code == size
            self.left_a[self.place[code] * n + self.y_a[row]] += 1
        if self.n_scratch > first + 1:
            for i in range(here.b0, here.b1):
                row = self.rows_b[i]
                code = size if isnan(self.b[f, row]) else <int32_t>self.b[f, row]
                at = self.place[code] if code >= 0 else -1
                if at >= 0:
                    self.left_b[at * n + self.y_b[row]] += 1
        for at in range(first, self.n_scratch):
            self.place[self.scratch[at].category] = -1
        if self.n_scratch == first + 1:
            self.n_scratch = first
        elif self.n_scratch == first + 2:  # one of two: the other swaps the children
            if self.scratch[first + 1].category < self.scratch[first].category:
                self.scratch[first] = self.scratch[first + 1]
                memcpy(&self.left_a[first * n], &self.left_a[(first + 1) * n], n * sizeof(int64_t))
                memcpy(&self.left_b[first * n], &self.left_b[(first + 1) * n], n * sizeof(int64_t))
            self.n_scratch = first + 1
        return 0

    cdef int collect_thresholds(self, Py_ssize_t f, Span here) except -1:
        """Thresholds between neighbouring values of A at the node, missing on either side."""
        cdef Py_ssize_t a0 = here.a0, a1 = here.a1, present = a1, first = self.n_scratch
        cdef Py_ssize_t i, j, k, gap, n = self.n, cut = 0, gaps = 0, copies
        cdef double low, high, step
        cdef int32_t row
        cdef PriorCandidate* last
        while present > a0 and isnan(self.a[f, self.rows_a[f, present - 1]]):
            present -= 1
        if present == a0:
            return 0
        for i in range(a0, present - 1):
            gaps += self.a[f, self.rows_a[f, i]] < self.a[f, self.rows_a[f, i + 1]]
        if gaps == 0 and present == a1:
            return 0
        # the gaps that count: all, or ``cap`` of them evenly by rank
        step = (gaps - 1) / <double>(self.cap - 1) if gaps > self.cap else 1.0
        gap = 0
        copies = 1 if present == a1 else 2
        for i in range(a0, present - 1):
            low, high = self.a[f, self.rows_a[f, i]], self.a[f, self.rows_a[f, i + 1]]
            if not low < high:
                continue
            if gap == <Py_ssize_t>rint(cut * step):
                self.cuts[cut] = self.between(f, low, high)
                cut += 1
                for j in range(copies):
                    last = self.append(f)
                    last.threshold, last.missing_left = self.cuts[cut - 1], j
            gap += 1
        if copies == 2:
            last = self.append(f)
            last.threshold = INFINITY
        # class counts between the cuts, then up to each cut
        j = 0
        for i in range(a0, present):
            row = self.rows_a[f, i]
            while j < cut and self.a[f, row] > self.cuts[j]:
                j += 1
            if j < cut:
                self.left_a[(first + j * copies) * n + self.y_a[row]] += 1
        self.none_a[:] = 0
        self.none_b[:] = 0
        for i in range(present, a1):
            self.none_a[self.y_a[self.rows_a[f, i]]] += 1
        self.count_between(f, first, copies, cut, here)
        for j in range(cut):
            for k in range(n):
                i = (first + j * copies) * n + k
                if j:
                    self.left_a[i] += self.left_a[i - copies * n]
                    self.left_b[i] += self.left_b[i - copies * n]
        self.place_missing(first, copies, cut)
        return 0

    cdef double between(self, Py_ssize_t f, double low, double high) except? -1.0:
        if self.kinds[f] == ORDINAL:
            return low  # halfway would depend on the categories of B in between
        return pick(low, high, self.rule)

    cdef void count_between(
        self, Py_ssize_t f, Py_ssize_t first, Py_ssize_t copies, Py_ssize_t cut, Span here
    ) noexcept nogil:
        """Count the rows of B between the cuts by binary search without branches."""
        cdef Py_ssize_t i, low, width, half, n = self.n
        cdef int32_t row
        cdef double value
        cdef const double* cuts = &self.cuts[0]
        cdef const double* column = &self.b[f, 0] if self.m_b else NULL
        for i in range(here.b0, here.b1):
            row = self.rows_b[i]
            value = column[row]
            if isnan(value):
                self.none_b[self.y_b[row]] += 1
                continue
            low, width = 0, cut
            while width > 0:  # the number of cuts below the value
                half = (width + 1) >> 1
                low += half if cuts[low + half - 1] < value else 0
                width -= half
            if low < cut:
                self.left_b[(first + low * copies) * n + self.y_b[row]] += 1

    cdef void place_missing(self, Py_ssize_t first, Py_ssize_t copies, Py_ssize_t cut) noexcept:
        """Add the missing rows to the side of each candidate that they go to."""
        cdef Py_ssize_t j, k, at, n = self.n
        cdef int64_t left, all_a = 0
        if copies == 1:
            for k in range(n):
                all_a += self.node_a[k]
            for j in range(first, first + cut):
                left = 0
                for k in range(n):
                    left += self.left_a[j * n + k]
                self.scratch[j].missing_left = 2 * left >= all_a
                if self.scratch[j].missing_left:
                    for k in range(n):
                        self.left_b[j * n + k] += self.none_b[k]
            return
        for j in range(cut):
            at = (first + 2 * j) * n
            for k in range(n):
                self.left_a[at + n + k] = self.left_a[at + k] + self.none_a[k]
                self.left_b[at + n + k] = self.left_b[at + k] + self.none_b[k]
        at = (first + 2 * cut) * n
        for k in range(n):
            self.left_a[at + k] = self.node_a[k] - self.none_a[k]
            self.left_b[at + k] = self.node_b[k] - self.none_b[k]

    cdef double gain_of(self, const int64_t* left, const int64_t* left_too) noexcept:
        """Log evidence of a split; ``left_too`` is added where it is not NULL."""
        cdef Py_ssize_t k, n = self.n
        cdef int64_t on_left, total, m_left = 0, m = 0
        cdef const double* lf = &self.log_factorial[0]
        cdef double gain = 0.0
        for k in range(n):
            on_left, total = left[k], self.node_a[k]
            if left_too != NULL:
                on_left += left_too[k]
                total += self.node_b[k]
            gain += lf[on_left] + lf[total - on_left] - lf[total]
            m_left += on_left
            m += total
        return gain + lf[n - 1] + lf[m + n - 1] - lf[m_left + n - 1] - lf[m - m_left + n - 1]

    cdef (double, double) weigh(self):
        """Prices of the candidates in ``scratch``; returns those to split and to stop."""
        cdef Py_ssize_t i
        cdef double most = -INFINITY, max_tilted = -INFINITY, total = 0.0, tilted = 0.0
        cdef double log_odds, p, share
        cdef PriorCandidate* candidate
        if self.n_scratch == 0:
            return INFINITY, -log1p(-self.hand * self.clip)
        for i in range(self.n_scratch):
            candidate = &self.scratch[i]
            candidate.gain = self.gain_of(&self.left_a[i * self.n], NULL)
            most = max(most, candidate.log_share + candidate.gain)
            max_tilted = max(max_tilted, candidate.log_share + self.tilt * candidate.gain)
        for i in range(self.n_scratch):
            candidate = &self.scratch[i]
            total += exp(candidate.log_share + candidate.gain - most)
            tilted += exp(candidate.log_share + self.tilt * candidate.gain - max_tilted)
        log_odds = min(30.0, max(-30.0, most + log(total)))
        max_tilted += log(tilted)
        p = min(1.0 - self.clip, max(self.clip, 1.0 / (1.0 + exp(-log_odds))))
        for i in range(self.n_scratch):
            candidate = &self.scratch[i]
            share = (1.0 - self.share_uniform) * exp(self.tilt * candidate.gain - max_tilted)
            candidate.price = -candidate.log_share - log(share + self.share_uniform) - log1p(-self.hand)
        return -log(p), -log1p(-p)

    # -- the search ------------------------------------------------------------------------

    def run(self, double trust, double noise, uint64_t seed, double max_error_price):
        """Grow one tree: at each node the candidate of largest score plus Gumbel noise.

        The score is ``ln P + trust * (evidence on all rows - evidence on A)``. A node is not split
        if that cannot pay even at the price ``max_error_price`` of an error.
        """
        cdef Run run = Run(trust, noise, max_error_price, seed)
        cdef Span whole = Span(0, self.m_a, 0, self.m_b)
        if self.m_a and self.d:
            memcpy(&self.rows_a[0, 0], &self.order[0, 0], self.d * self.m_a * sizeof(int32_t))
        cdef Py_ssize_t i
        for i in range(self.m_b):
            self.rows_b[i] = i
        if self.n_nodes == 0:
            self.new_node(whole, 0)
        self.descend(0, whole, &run)

    cdef int new_node(self, Span here, int depth) except -1:
        cdef Py_ssize_t k, n = self.n, at = self.n_nodes
        cdef double total = 0.0
        if at == self.room_nodes:
            self.room_nodes = max(256, 2 * at)
            self.nodes = <PriorNode*>grown(self.nodes, self.room_nodes * sizeof(PriorNode))
            self.count_a = <int64_t*>grown(self.count_a, self.room_nodes * n * sizeof(int64_t))
            self.count_b = <int64_t*>grown(self.count_b, self.room_nodes * n * sizeof(int64_t))
            self.labels = <double*>grown(self.labels, self.room_nodes * n * sizeof(double))
            self.losses = <double*>grown(self.losses, self.room_nodes * n * sizeof(double))
        self.n_nodes += 1
        self.count_node(here)
        for k in range(n):
            self.count_a[at * n + k] = self.node_a[k]
            self.count_b[at * n + k] = self.node_b[k]
            self.labels[at * n + k] = (self.node_a[k] + 0.5) ** self.label_power
            total += self.labels[at * n + k]
        for k in range(n):
            self.labels[at * n + k] = log(total) - log(self.labels[at * n + k])
        self.add_losses(&self.losses[at * n], here)
        self.nodes[at].depth = depth
        self.nodes[at].n_kept = -1
        return at

    cdef void add_losses(self, double* losses, Span here) noexcept:
        """Costs of the rows of B at a node with each label."""
        cdef Py_ssize_t i, j, k, n = self.n
        cdef double weight
        memset(losses, 0, n * sizeof(double))
        if self.weight is None:
            for j in range(n):
                for k in range(n):
                    losses[k] += self.costs[j, k] * self.node_b[j]
            return
        for i in range(here.b0, here.b1):
            j, weight = self.y_b[self.rows_b[i]], self.weight[self.rows_b[i]]
            for k in range(n):
                losses[k] += weight * self.costs[j, k]

    cdef int descend(self, Py_ssize_t node, Span here, Run* run) except -1:
        cdef Py_ssize_t i
        cdef Span on_left = here, on_right = here
        cdef int64_t best
        cdef int32_t left, right, depth = self.nodes[node].depth
        cdef double score, most = -INFINITY
        self.work += (here.a1 - here.a0) * self.d
        if self.nodes[node].n_kept < 0:
            self.work += (here.a1 - here.a0 + here.b1 - here.b0) * self.d
            self.evaluate(node, here, run)
        if self.nodes[node].n_kept == 0:
            return 0
        for i in range(self.nodes[node].first, self.nodes[node].first + self.nodes[node].n_kept):
            score = self.pool[i].score
            if run.noise > 0.0:
                score -= run.noise * log(-log(uniform(&run.state)))
            if score > most:
                most, best = score, i
        on_left.a1 = on_right.a0 = self.divide_a(&self.pool[best], here)
        on_left.b1 = on_right.b0 = self.divide_b(&self.pool[best], here)
        if self.pool[best].left < 0:
            left, right = self.new_node(on_left, depth + 1), self.new_node(on_right, depth + 1)
            self.pool[best].left, self.pool[best].right = left, right
        left, right = self.pool[best].left, self.pool[best].right
        self.descend(left, on_left, run)
        self.descend(right, on_right, run)
        return 0

    cdef int evaluate(self, Py_ssize_t node, Span here, Run* run) except -1:
        """Price the splits of a node and keep the best of them, if any can pay."""
        cdef Py_ssize_t i, n = self.n
        cdef double least = INFINITY, as_leaf
        cdef PriorNode* entry
        cdef PriorCandidate* candidate
        self.count_node(here)
        self.collect(here, self.nodes[node].depth)
        entry = &self.nodes[node]
        entry.go, entry.stop = self.weigh()
        entry.first, entry.n_kept = self.n_pool, 0
        for i in range(self.n_scratch):
            least = min(least, self.scratch[i].price)
        as_leaf = self.leaf_cost(node, run.max_error_price)[0]
        if as_leaf <= entry.go + least:
            return 0
        for i in range(self.n_scratch):
            candidate = &self.scratch[i]
            candidate.score = run.trust * (
                self.gain_of(&self.left_a[i * n], &self.left_b[i * n]) - candidate.gain
            ) - candidate.price
        self.keep_best(node)
        return 0

    cdef int keep_best(self, Py_ssize_t node) except -1:
        """Move the best candidates to the pool, by insertion, as they are few."""
        cdef Py_ssize_t i, j, n_kept = 0, first = self.n_pool
        if first + self.top + 1 > self.room_pool:
            self.room_pool = max(1024, 2 * (first + self.top + 1))
            self.pool = <PriorCandidate*>grown(self.pool, self.room_pool * sizeof(PriorCandidate))
        for i in range(self.n_scratch):
            if n_kept == self.top and self.scratch[i].score <= self.pool[first + n_kept - 1].score:
                continue
            j = first + min(n_kept, self.top - 1)
            while j > first and self.pool[j - 1].score < self.scratch[i].score:
                self.pool[j] = self.pool[j - 1]
                j -= 1
            self.pool[j] = self.scratch[i]
            n_kept = min(n_kept + 1, self.top)
        self.nodes[node].n_kept = n_kept
        self.n_pool += n_kept
        return 0

    cdef Py_ssize_t divide_a(self, const PriorCandidate* candidate, Span here) noexcept:
        """Order the rows of A: those that go left first, each part as before in every column."""
        cdef Py_ssize_t f, i, left = here.a0
        cdef int32_t row
        cdef RouteSplit split = split_of(candidate)
        cdef const double* column = &self.a[candidate.column, 0]
        for i in range(here.a0, here.a1):
            row = self.rows_a[0, i]
            self.goes_left[row] = side_of(&split, column[row])
        for f in range(self.d):
            left = self.divide(&self.rows_a[f, 0], here.a0, here.a1)
        return left

    cdef Py_ssize_t divide_b(self, const PriorCandidate* candidate, Span here) noexcept:
        cdef Py_ssize_t i
        cdef int32_t row
        if here.b0 == here.b1:
            return here.b0
        cdef RouteSplit split = split_of(candidate)
        cdef const double* column = &self.b[candidate.column, 0]
        for i in range(here.b0, here.b1):
            row = self.rows_b[i]
            self.goes_left[row] = side_of(&split, column[row])
        return self.divide(&self.rows_b[0], here.b0, here.b1)

    cdef Py_ssize_t divide(self, int32_t* rows, Py_ssize_t start, Py_ssize_t stop) noexcept:
        cdef Py_ssize_t i, left = start, right = 0
        cdef int32_t row
        cdef int32_t* spare = &self.spare[0]
        for i in range(start, stop):
            row = rows[i]
            rows[left] = row
            spare[right] = row
            left += self.goes_left[row]
            right += 1 - self.goes_left[row]
        memcpy(&rows[left], spare, right * sizeof(int32_t))
        return left

    # -- pruning ---------------------------------------------------------------------------

    cdef (double, int) leaf_cost(self, Py_ssize_t node, double an_error) noexcept:
        """The least cost as a leaf, and its label."""
        cdef Py_ssize_t k, best = 0, n = self.n
        cdef double cost, least = INFINITY
        for k in range(n):
            cost = an_error * self.losses[node * n + k] + self.labels[node * n + k]
            if cost < least:
                least, best = cost, k
        return least + self.nodes[node].stop, best

    def least(self, double an_error):
        """The tree of least ``an_error * errors on B - ln prior`` among all that were visited.

        Returns its arrays in pre-order, with the counts of A and B at each node.
        """
        cdef Py_ssize_t node, i, n = self.n
        cdef double below
        cdef int label
        choice_array = np.full(self.n_nodes, -1, dtype=np.int64)
        cost_array, label_array = np.empty(self.n_nodes), np.empty(self.n_nodes, dtype=np.int32)
        cdef int64_t[::1] choice = choice_array
        cdef double[::1] cost = cost_array
        cdef int32_t[::1] labels = label_array
        cdef PriorNode* entry
        for node in range(self.n_nodes - 1, -1, -1):
            entry = &self.nodes[node]
            if entry.n_kept < 0:
                raise AssertionError("a node was created and not evaluated")
            cost[node], label = self.leaf_cost(node, an_error)
            labels[node] = label
            for i in range(entry.first, entry.first + entry.n_kept):
                if self.pool[i].left < 0:
                    continue
                below = entry.go + self.pool[i].price
                below += cost[self.pool[i].left] + cost[self.pool[i].right]
                if below < cost[node]:
                    cost[node], choice[node] = below, i
        return self.arrays(choice_array, label_array)

    cdef dict arrays(self, choice, label):
        """The chosen tree in pre-order."""
        splits = candidates_at(self.pool, self.n_pool)
        stack, chosen, left, right = [(0, -1)], [], [], []
        while stack:
            node, parent = stack.pop()
            at = len(chosen)
            if parent >= 0:
                right[parent] = at
            inner = choice[node] >= 0
            chosen.append(node)
            left.append(at + 1 if inner else -1)
            right.append(-1)
            if inner:
                split = splits[choice[node]]
                stack += [(split["right"], at), (split["left"], -1)]
        size, inner, label = len(chosen), choice[chosen] >= 0, label[chosen]
        split = splits[choice[chosen][inner]]
        nodes = np.asarray(<PriorNode[:self.n_nodes]>self.nodes)[chosen]
        labels = np.asarray(<double[:self.n_nodes, :self.n]>self.labels)[chosen, label]
        log_splits, log_stops = np.zeros(size), -nodes["stop"]
        log_splits[inner] = -nodes["go"][inner] - split["price"]
        arrays = {
            name: np.full(size, blank)
            for name, blank in (("column", -1), ("threshold", np.nan), ("category", -1),
                                ("missing_left", False))
        }
        for name, values in arrays.items():
            values[inner] = split[name]
        return {
            "feature": arrays.pop("column"), **arrays, "left": np.array(left, np.int32),
            "right": np.array(right, np.int32), "label": label,
            "counts_a": np.asarray(<int64_t[:self.n_nodes, :self.n]>self.count_a)[chosen],
            "counts_b": np.asarray(<int64_t[:self.n_nodes, :self.n]>self.count_b)[chosen],
            "log_prior": float(log_splits.sum() + (log_stops - labels)[~inner].sum()),
            "log_splits": log_splits, "log_stops": log_stops,
        }


cdef inline RouteSplit split_of(const PriorCandidate* candidate) noexcept nogil:
    """A candidate as a split of a tree, in values that have no unknown categories."""
    cdef RouteSplit split
    cdef bint nominal = candidate.category >= 0
    split.low = candidate.category if nominal else -INFINITY
    split.high = candidate.category if nominal else candidate.threshold
    split.least = -INFINITY
    split.missing = candidate.missing_left
    return split
