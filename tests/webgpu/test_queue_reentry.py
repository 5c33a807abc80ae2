"""A queue used by a signal handler or finalizer in the middle of its own work, anywhere.

Python runs both between any two calls.  A profile function stands for them: it interrupts after
each call in turn, of Python or of C, and uses the queue.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest
from driver_support import VARIANTS, Queue, add, open_variant, values

COUNT = 64
#: Part of the paths of the files whose calls are interrupted.
INTERRUPTED = "backends/webgpu/"


@pytest.fixture(params=VARIANTS, ids=" ".join)
def queue(request):
    queue = Queue(open_variant(*request.param))
    yield queue
    queue.close()


class Program:
    """A chain of sums with flushes, uploads and reads; ``newest`` is its last result so far."""

    def __init__(self, queue):
        self.queue = queue
        self.one = queue.upload(np.ones(COUNT, np.float32))
        self.newest = (self.one, 1)

    def step(self):
        buffer, value = self.newest
        self.newest = (add(self.queue, buffer, self.one, COUNT), value + 1)

    def check(self):
        buffer, value = self.newest
        assert (values(self.queue, buffer, COUNT) == value).all()

    def run(self):
        self.step()
        self.step()
        self.queue.flush()
        self.step()
        two = self.queue.upload(np.full(COUNT, 2, np.float32))
        self.step()
        self.check()
        self.newest = (add(self.queue, two, self.newest[0], COUNT), self.newest[1] + 2)
        self.step()
        self.queue.synchronize()
        self.check()


def interrupted_at(number, program, handler, but_not=()):
    """Run the program with the handler after its call ``number``; whether there was one."""
    calls = 0

    def profile(frame, event, argument):
        nonlocal calls
        if event not in ("call", "c_return"):
            return
        if frame.f_code.co_name in but_not:
            return
        if INTERRUPTED not in frame.f_code.co_filename.replace("\\", "/"):
            return
        calls += 1
        if calls == number + 1:
            sys.setprofile(None)
            handler()

    sys.setprofile(profile)
    try:
        program.run()
    finally:
        sys.setprofile(None)
    return calls > number


def flush_only(program):
    program.step()
    program.queue.flush()


def read_newest(program):
    buffer, value = program.newest
    total = add(program.queue, buffer, program.one, COUNT)
    assert (values(program.queue, total, COUNT) == value + 1).all()


def upload_and_read(program):
    buffer, value = program.newest
    nine = program.queue.upload(np.full(COUNT, 9, np.float32))
    total = add(program.queue, buffer, nine, COUNT)
    del nine
    assert (values(program.queue, total, COUNT) == value + 9).all()


def record_only(program):
    buffer, value = program.newest
    program.kept = (add(program.queue, buffer, program.one, COUNT), value + 1)


@pytest.mark.parametrize("handler", [record_only, flush_only, read_newest, upload_and_read])
def test_work_stays_in_order_when_interrupted_anywhere(queue, handler):
    Program(queue).run()
    number = 0
    while True:
        program = Program(queue)
        if handler is flush_only:  # its own steps: the program's chain is not its to continue
            aside = Program(queue)
            found = interrupted_at(number, program, lambda aside=aside: flush_only(aside))
            aside.check()
        else:
            found = interrupted_at(number, program, lambda program=program: handler(program))
        if handler is record_only and found:
            buffer, value = program.kept
            assert (values(queue, buffer, COUNT) == value).all(), number
        if not found:
            break
        number += 1
    assert number > 50


def test_an_exception_from_a_signal_handler_anywhere_loses_no_recorded_work(queue):
    Program(queue).run()

    def interrupt():
        raise KeyboardInterrupt  # Python itself swallows what a __del__ raises

    number = 0
    found = True
    while found:
        program = Program(queue)
        try:
            found = interrupted_at(number, program, interrupt, but_not=("__del__",))
        except KeyboardInterrupt:
            program.check()
            program.run()
        number += 1
    assert number > 50
