cdef enum Rule:
    DECIMAL = 0
    MIDPOINT = 1
    OBSERVED = 2


cdef double pick(double low, double high, Rule rule) except? -1.0 nogil
