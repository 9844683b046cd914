"""Split search and best-first growth: the compiled kernel."""


def placeholder():
    return 0
