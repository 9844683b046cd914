"""The compiled part of growing, as one module: its parts call each other without indirection.

`layout` has what all share. Two kernels search a node: `sorted` keeps the rows of small nodes sorted
by every column, for `scan`; `bins` maps values to codes, which `histogram` counts and `search`
searches in large nodes. `driver` has the best-first loop, and its engines are `memory` and `rounds`.
"""

from collections import namedtuple
from heapq import heappop, heappush

import numpy as np

from treebound.growing.options import Progress
from treebound.growing.questions import Question, ShardSplit, Subtree

from cpython.buffer cimport PyBUF_FORMAT, PyBUF_STRIDED_RO, PyBuffer_Release, PyObject_GetBuffer
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, NAN, ceil, floor, isinf, log2, nextafter, sqrt
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memmove, memset, strlen

from treebound.tree._thresholds cimport OBSERVED, Rule, pick

include "layout.pxi"
include "../_utils/pool.pxi"
include "scan.pxi"
include "sorted.pxi"
include "bins.pxi"
include "histogram.pxi"
include "search.pxi"
include "driver.pxi"
include "memory.pxi"
include "wide.pxi"
include "rounds.pxi"
