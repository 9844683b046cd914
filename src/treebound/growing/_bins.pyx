"""The bins of a table that is never in memory at once: made from a sample of its rows.

They are those of ``_coder``, kept apart from the rows so that they can be sent to other processes.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from treebound.growing._coder cimport (
    BEYOND, BY_CELL, BY_CODE, Coder, free_coder, make_coder, sample_size,
)
from treebound.growing._coding cimport Extent, code_block
from treebound.growing._layout cimport NOMINAL, Kind, Problem, Scratch, allocate, zeros
from treebound.growing._sorted cimport enlarge_scratch, free_scratch

cdef enum:
    LANES = 4
    BLOCK = 512  # rows coded at a time: a C-ordered matrix is read once, not once a column

TYPES = {"f8": 0, "f4": 1, "i1": 2, "i2": 3, "i4": 4}


cdef Source source_of(values, int kind):
    """Where the values of a column stand; the array must outlive it."""
    cdef Source source
    memset(&source, 0, sizeof(Source))
    source.first = <const char*><size_t>values.ctypes.data
    source.stride = values.strides[0]
    source.type = TYPES[values.dtype.str[1:]]
    source.kind = <Kind>kind
    return source


cdef class Bins:
    """A monotone map from values to bins for every column.

    Parameters
    ----------
    samples : sequence of ndarray
        Values of some rows, a column each, as a ``Matrix`` has them; not read for a column of
        no more categories than bins.
    kinds : sequence of int
        0 real, 1 ordinal, 2 nominal.
    n_categories : sequence of int
    most_bins : int
        Of a real or ordinal column; nominal ones have a bin for each category.
    """

    def __init__(self, samples, kinds, n_categories, Py_ssize_t most_bins):
        cdef Scratch scratch
        cdef Problem problem
        cdef Source source
        cdef Py_ssize_t j, most
        cdef uint32_t[::1] labels
        memset(&scratch, 0, sizeof(Scratch))
        memset(&problem, 0, sizeof(Problem))
        most = max([len(values) for values in samples], default=0)
        labels = np.zeros(max(most, 1), dtype=np.uint32)
        problem.n_classes = 1  # labels have no say
        problem.labels = &labels[0]
        self.n_columns = len(kinds)
        self.kinds = list(kinds)
        self.coders = <Coder*>zeros(self.n_columns, sizeof(Coder))
        try:
            for j, values in enumerate(samples):
                most = max(most_bins, n_categories[j]) if kinds[j] == NOMINAL else most_bins
                source = source_of(values, kinds[j])
                source.n_categories = n_categories[j]
                enlarge_scratch(&scratch, &problem, max(sample_size(len(values), most), 1))
                problem.n_rows = len(values)
                make_coder(&self.coders[j], &source, &problem, most, &scratch)
        finally:
            free_scratch(&scratch)
        self.arrange()

    def __dealloc__(self):
        cdef Py_ssize_t j
        if self.coders != NULL:
            for j in range(self.n_columns):
                free_coder(&self.coders[j])
        free(self.coders)

    cdef void arrange(self):
        """Four columns of one width stand side by side."""
        self.n_bins = [self.coders[j].n_bins for j in range(self.n_columns)]
        self.by_code = [self.coders[j].way == BY_CODE for j in range(self.n_columns)]
        self.panels = []
        for narrow in (True, False):
            columns = [j for j in range(self.n_columns) if (self.n_bins[j] < 256) == narrow]
            self.panels += [columns[i : i + LANES] for i in range(0, len(columns), LANES)]

    # -- to other processes ------------------------------------------------------------------

    cdef bytes bytes_of(self, const void* memory, Py_ssize_t size):
        return b"" if memory == NULL else (<const char*>memory)[:size]

    def __getstate__(self):
        cdef Coder* c
        coders = []
        for j in range(self.n_columns):
            c = &self.coders[j]
            coders.append((
                <int>c.way, c.n_bins, c.low, c.rate, c.n_cells, c.n_steps, c.least, c.most,
                self.bytes_of(c.cells, c.n_cells * sizeof(uint16_t)),
                self.bytes_of(c.cuts, 0 if c.cuts == NULL or c.way == BY_CELL
                              else (c.n_steps + 2) * sizeof(double)),
                self.bytes_of(c.values, c.n_bins * sizeof(double)),
                self.bytes_of(c.single, c.n_bins),
            ))
        return self.kinds, coders

    def __reduce__(self):
        return _restored, self.__getstate__()

    # -- coding ------------------------------------------------------------------------------

    def code(self, columns, Py_ssize_t n_rows):
        """The codes of some rows.

        Parameters
        ----------
        columns : sequence of ndarray
            The values, a column each.
        n_rows : int

        Returns
        -------
        panels : list of ndarray
            Codes of up to four columns, row after row.
        extents : ndarray of shape (n_columns, 2)
            The least and the greatest value of these rows and of the sample.
        missing : list of bool
            Which columns have a missing value.
        single : list of ndarray
            Which bins hold one value only, as far as these rows and the sample tell.
        """
        cdef list panels = []
        cdef list single = []
        cdef Source* sources = <Source*>zeros(self.n_columns, sizeof(Source))
        cdef Coder* coders = <Coder*>zeros(self.n_columns, sizeof(Coder))
        cdef char** first = <char**>zeros(self.n_columns, sizeof(char*))
        cdef Extent* extents = <Extent*>zeros(self.n_columns, sizeof(Extent))
        cdef Py_ssize_t j, lane, start = 0, stop
        cdef size_t place
        cdef int width
        try:
            for group in self.panels:
                width = 1 if self.n_bins[group[0]] < 256 else 2
                panel = np.zeros((n_rows, LANES), dtype=np.uint8 if width == 1 else np.uint16)
                panels.append(panel)
                place = panel.ctypes.data
                for lane, j in enumerate(group):
                    first[j] = <char*>place + lane * width
            for j in range(self.n_columns):
                sources[j] = source_of(columns[j], self.kinds[j])
                coders[j] = self.coders[j]
                kept = np.frombuffer(
                    self.bytes_of(self.coders[j].single, self.n_bins[j]), dtype=np.uint8
                ).copy()
                single.append(kept)
                coders[j].single = <uint8_t*><size_t>kept.ctypes.data
                extents[j].least = coders[j].least
                extents[j].most = coders[j].most
            with nogil:
                while start < n_rows:
                    stop = min(start + BLOCK, n_rows)
                    for j in range(self.n_columns):
                        code_block(
                            &coders[j], &sources[j], start, stop,
                            1 if coders[j].n_bins < 256 else 2, first[j], &extents[j],
                        )
                    start = stop
            ends = np.array([[extents[j].least, extents[j].most] for j in range(self.n_columns)])
            missing = [bool(extents[j].missing) for j in range(self.n_columns)]
        finally:
            free(sources)
            free(coders)
            free(first)
            free(extents)
        return panels, ends.reshape(-1, 2), missing, single

    def values(self, Py_ssize_t j):
        """What each bin of a column holds, where it is single."""
        return np.array([self.coders[j].values[b] for b in range(self.coders[j].n_bins)])

    def edges(self, Py_ssize_t j):
        """About where bins begin, from the second on."""
        cdef const Coder* c = &self.coders[j]
        cdef Py_ssize_t b, cell = 0
        if c.way == BY_CODE:
            return np.arange(1.0, c.n_bins)
        found = np.empty(max(c.n_bins - 1, 0))
        for b in range(c.n_bins - 1):
            if c.way == BY_CELL:
                while (c.cells[cell] & ~BEYOND) <= b:
                    cell += 1
                found[b] = c.low + (cell - 1) / c.rate
            else:
                found[b] = c.cuts[b]
        return found


def _restored(kinds, coders):
    cdef Bins bins = Bins.__new__(Bins)
    cdef Coder* c
    cdef Py_ssize_t j
    bins.n_columns = len(kinds)
    bins.kinds = list(kinds)
    bins.coders = <Coder*>zeros(bins.n_columns, sizeof(Coder))
    for j, (way, n_bins, low, rate, n_cells, n_steps, least, most, *memory) in enumerate(coders):
        c = &bins.coders[j]
        c.way, c.n_bins, c.low, c.rate = way, n_bins, low, rate
        c.n_cells, c.n_steps, c.least, c.most = n_cells, n_steps, least, most
        c.cells = <uint16_t*>copied(memory[0])
        c.cuts = <double*>copied(memory[1])
        c.values = <double*>copied(memory[2])
        c.single = <uint8_t*>copied(memory[3])
    bins.arrange()
    return bins


cdef void* copied(bytes memory) except NULL:
    cdef void* room = allocate(max(len(memory), 8), 1)
    memcpy(room, <const char*>memory, len(memory))
    return room
