"""What must never kill or hang the process: each case runs in one of its own.

wgpu-native aborts on an invalid submit, and destructors at interpreter exit or after fork are easy
to get wrong.  Every case must end with return code 0 and a Python exception where one is due.
"""

from __future__ import annotations

import os

import pytest
from driver_support import DRIVERS, LAVAPIPE, SWIFTSHADER, run_python

OPEN = """
import os, sys
import numpy as np
from driver_support import *
from tenferro_wgpu.errors import *
device = open_variant({adapter!r}, {driver!r})
queue = Queue(device)
x = queue.upload(np.ones(64, np.float32))

def raises(error, function, *arguments):
    try:
        function(*arguments)
    except error as caught:
        return caught
    raise AssertionError(f"{{error.__name__}} was not raised by {{function}}")
"""
CASES = {
    "exit with queued work": "total = add(queue, x, x, 64)",
    "exit with submitted work": "total = add(queue, x, x, 64); queue.flush()",
    "exit after a read": "assert values(queue, add(queue, x, x, 64), 64)[0] == 2",
    "exit after close": "total = add(queue, x, x, 64); queue.close(); device.close()",
    "exit with everything in a cycle": "ring = [queue, device, x]; ring.append(ring); del queue, x",
    "exit while a thread uses the queue": """
import threading
def work():
    while True:
        add(queue, x, x, 64)
threading.Thread(target=work, daemon=True).start()
values(queue, x, 64)
""",
    "close with queued work, then use": """
total = add(queue, x, x, 64)
queue.close()
raises(RuntimeClosedError, values, queue, total, 64)
raises(RuntimeClosedError, add, queue, x, x, 64)
""",
    "device lost with queued work": """
total = add(queue, x, x, 64)
device.driver._device.destroy()
raises(DeviceLostError, queue.synchronize)
raises(DeviceLostError, queue.flush)
raises(DeviceLostError, values, queue, total, 64)
raises(DeviceLostError, queue.upload, np.ones(4, np.float32))
raises(DeviceLostError, queue.allocate, 1 << 20)
assert "add" in str(raises(DeviceLostError, add, queue, x, x, 64))
queue.close()
""",
    "device lost before a read": """
add(queue, x, x, 64)
device.driver._device.destroy()
raises(DeviceLostError, values, queue, x, 64)
""",
    "device lost before an upload": """
device.driver._device.destroy()
raises(DeviceLostError, queue.upload, np.ones(4, np.float32))
""",
    "device lost before an allocation": """
device.driver._device.destroy()
raises(DeviceLostError, queue.allocate, 1 << 20)
""",
    "device lost before a bind group": """
pipeline, output = add_pipeline(queue), queue.allocate(256)
device.driver._device.destroy()
raises(DeviceLostError, lambda: (add(queue, x, x, 64), queue.flush()))
""",
    "device lost before a pipeline": """
device.driver._device.destroy()
raises(DeviceLostError, add_pipeline, queue)
""",
    "device lost hits every queue on it": """
other = Queue(device)
y = other.upload(np.ones(64, np.float32))
device.driver._device.destroy()
raises(DeviceLostError, values, queue, x, 64)
raises(DeviceLostError, values, other, y, 64)
raises(DeviceLostError, lambda: (add(other, y, y, 64), other.flush()))
""",
    "device lost while a read is under way": """
token, _ = queue._begin_read([(x, 0, 4)])
device.driver._device.destroy()
try:
    device.driver.finish_read(token)
except DeviceLostError:
    pass
""",
    "buffers dropped after recording": """
total = add(queue, x, x, 64)
del x
queue.clear_caches()
assert values(queue, total, 64)[0] == 2
""",
    "pipelines dropped after recording": """
import gc
total = add(queue, x, x, 64)
device.pipelines.clear()
gc.collect()
assert values(queue, total, 64)[0] == 2
""",
    "memory exhausted": """
import resource
assert values(queue, add(queue, x, x, 64), 64)[0] == 2
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
held = []
size = min(device.limits.max_buffer_size, 1 << 28)
caught = None
for _ in range(20):
    try:
        held.append(queue.allocate(size, "zeros"))
    except DeviceOutOfMemoryError as error:
        caught = error
        break
assert caught is not None and caught.op == "zeros", caught
held.clear()
assert values(queue, add(queue, x, x, 64), 64)[0] == 2
again = queue.allocate(size, "zeros")
""",
}
INTERRUPTED = """
import signal, threading, time
# Whoever started this process in the background may have it ignore interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
# The device needs long for this, and the signal arrives while the process waits for it in C.
count = 64 * 10000
long = queue.upload(np.ones(count, np.float32))
def compute():
    total = long
    for _ in range(8):
        total = add(queue, total, long, count)
    return total
values(queue, compute(), count)
begin = time.monotonic()
assert (values(queue, compute(), count) == 9).all()
duration = time.monotonic() - begin
for _ in range(2):
    total = compute()
    timer = threading.Timer(duration / 2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    raises(KeyboardInterrupt, lambda: (values(queue, total, count), timer.join(), time.sleep(9)))
    assert (values(queue, total, count) == 9).all()
    assert (values(queue, compute(), count) == 9).all()
"""
if hasattr(os, "fork"):
    CASES["fork"] = """
total = add(queue, x, x, 64)
child = os.fork()
if child == 0:
    from tenferro_wgpu.backends.webgpu.device import open_device
    message = str(raises(RuntimeClosedError, values, queue, total, 64))
    raises(RuntimeClosedError, queue.upload, np.ones(4))
    raises(RuntimeClosedError, open_device)
    queue.close()
    sys.exit(0 if "fork" in message else 3)
assert os.waitpid(child, 0)[1] == 0
assert values(queue, total, 64)[0] == 2
"""


@pytest.mark.parametrize("adapter", [LAVAPIPE, SWIFTSHADER])
def test_an_interrupt_during_a_read_leaves_the_queue_usable(adapter):
    code = OPEN.format(adapter=adapter, driver="fast") + INTERRUPTED + "\nprint('reached the end')"
    done = run_python(code, LP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    assert "reached the end" in done.stdout
    assert "Traceback" not in done.stderr, done.stderr


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("adapter", [LAVAPIPE, SWIFTSHADER])
@pytest.mark.parametrize("case", CASES)
def test_the_process_survives(case, adapter, driver):
    code = OPEN.format(adapter=adapter, driver=driver) + CASES[case] + "\nprint('reached the end')"
    done = run_python(code)
    assert done.returncode == 0, done.stderr
    assert "reached the end" in done.stdout
    assert "Traceback" not in done.stderr, done.stderr
    assert "Warning" not in done.stderr, done.stderr
