"""Tasks that worker processes can import: one fails, some never end, one ends its process."""

import time

from evidence import Figures, Task

TASKS = [Task(table, draw, "ours", "1") for table in "ab" for draw in range(3)]


def work(task: Task) -> Figures:
    """Return the figures of a task, or misbehave."""
    if task == TASKS[1]:
        raise ValueError("no such thing")
    while task in TASKS[2:4]:
        time.process_time()
    if task == TASKS[4]:
        raise SystemExit(3)
    return {"accuracy": float(task.draw)}
