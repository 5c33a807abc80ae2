"""The browser driver and the queue on it, in a real page: values, batches, errors, releases."""

from __future__ import annotations

import pytest
from chromium import PageError

pytestmark = pytest.mark.browser

SETUP = """
import numpy as np
from tenferro_wgpu import errors
from tenferro_wgpu.backends.webgpu import device as devices
from tenferro_wgpu.backends.webgpu.drivers import browser
from tenferro_wgpu.backends.webgpu.queue import PipelineSource, Queue

ADD = '''
struct Params { p0: vec4<u32> };
{params}
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> y: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < params.p0.y) { out[id.x] = x[id.x] + y[id.x] * f32(params.p0.z); }
}
'''

def source(wgsl=ADD, label='add'):
    return PipelineSource(
        template=None, context={}, wgsl=wgsl, bindings=('read', 'read', 'read_write'),
        params_words=4, workgroup_size=64, label=label)

def add(queue, x, y, count, factor=1, pipeline=None):
    pipeline = pipeline or queue.pipeline('add', source)
    out = queue.allocate(4 * count)
    params = np.array([0, count, factor, 0], np.uint32).tobytes()
    queue.dispatch(pipeline, [x, y, out], params, (-(-count // 64), 1, 1), 'add', [out])
    return out

def open_queue():
    return Queue(devices.open_device())

def caught(call):
    try:
        call()
    except Exception as error:
        return [type(error).__name__, str(error)]
    return None

await browser.initialize()
"""


@pytest.fixture(scope="session")
def run(py):
    """Runs code after SETUP in the page that can wait."""
    return lambda code: py(SETUP + code)


def test_add_in_a_page_gives_numpys_values(run):
    assert run("""
queue = open_queue()
x = np.linspace(-3, 7, 1001, dtype=np.float32)
y = np.cos(x)
out = add(queue, queue.upload(x), queue.upload(y), x.size, 3)
got = queue.read(out, 0, x.nbytes).view(np.float32)
[bool((got == x + y * np.float32(3)).all()), got.size]
""") == [True, 1001]


def test_a_chain_of_1000_adds_is_few_submits(run):
    result, submits, dispatches = run("""
queue = open_queue()
total, one = queue.upload(np.zeros(100, np.float32)), queue.upload(np.ones(100, np.float32))
for _ in range(1000):
    total = add(queue, total, one, 100)
stats = queue.stats()['queue']
values = queue.read(total, 0, 400).view(np.float32)
[sorted(set(values.tolist())), stats['submits'], stats['dispatches']]
""")
    assert result == [1000.0]
    assert submits < 40
    assert dispatches == 1000


def test_params_of_every_command_of_a_batch_arrive(run):
    assert (
        run("""
queue = open_queue()
zero, one = queue.upload(np.zeros(8, np.float32)), queue.upload(np.ones(8, np.float32))
outs = [add(queue, zero, one, 8, factor) for factor in range(300)]
[queue.read(out, 0, 32).view(np.float32).tolist() for out in outs] == [
    [float(factor)] * 8 for factor in range(300)]
""")
        is True
    )


@pytest.mark.parametrize("size", [1, 4, 17, 70000])
def test_uploads_of_any_size_come_back(run, size):
    assert run(f"""
queue = open_queue()
data = (np.arange({size}) * 37 % 251).astype(np.uint8)
buffer = queue.upload(data)
whole = bool((queue.read(buffer, 0, data.size) == data).all())
start = data.size // 2
part = bool((queue.read(buffer, start, data.size - start) == data[start:]).all())
[whole, part]
""") == [True, True]


def test_async_read_and_synchronize(run):
    assert run("""
queue = open_queue()
x = queue.upload(np.arange(5, dtype=np.float32))
out = add(queue, x, x, 5)
await queue.synchronize_async()
(await queue.read_async(out, 0, 20)).view(np.float32).tolist()
""") == [0.0, 2.0, 4.0, 6.0, 8.0]


def test_a_refused_shader_is_a_shader_error_with_its_line(run):
    name, text, line = run("""
queue = open_queue()
bad = queue.pipeline('bad', lambda: source(ADD.replace('y[id.x]', 'missing'), 'broken add'))
x = queue.upload(np.ones(4, np.float32))
out = add(queue, x, x, 4, pipeline=bad)
try:
    queue.read(out, 0, 16)
    found = ['', '', 0]
except errors.ShaderError as error:
    found = [type(error).__name__, str(error), error.wgsl.splitlines()[error.line - 1]]
found
""")
    assert name == "ShaderError"
    assert "broken add" in text
    assert "missing" in line


def test_work_goes_on_after_a_refused_shader(run):
    assert run("""
queue = open_queue()
bad = queue.pipeline('worse', lambda: source(ADD.replace('u32', 'nothing'), 'worse'))
x = queue.upload(np.ones(4, np.float32))
first = add(queue, x, x, 4, pipeline=bad)
error = caught(queue.synchronize)[0]
again = add(queue, x, x, 4, pipeline=bad)
good = add(queue, x, x, 4)
values = queue.read(good, 0, 16).view(np.float32).tolist()
[error, caught(lambda: queue.read(again, 0, 16))[0], values]
""") == ["ShaderError", "TenferroError", [2.0] * 4]


def test_a_late_refusal_names_the_dispatch(run):
    name, text = run("""
queue = open_queue()
driver = queue.device.driver
pipeline = queue.pipeline('add', source)
raw = driver.create_buffer(256)
group = driver.create_bind_group(('read', 'read', 'read_write'), [(raw, 0, 256)] * 3)
command = (pipeline.raw, group, bytes(16), (1, 1, 1), 'aliased', (), ())
driver.submit([command])  # one buffer read and written in one dispatch
caught(queue.synchronize)
""")
    assert name == "TenferroError"
    assert "add" in text
    assert "usage" in text


def test_a_refused_allocation_is_an_out_of_memory_error(run):
    name, text = run("""
queue = open_queue()
queue.device.driver.create_buffer(1 << 40)  # past every limit, so nothing is allocated
caught(queue.synchronize)
""")
    assert name == "DeviceOutOfMemoryError"
    assert f"{1 << 40:,} bytes" in text


def test_reads_may_overlap(run):
    assert run("""
import asyncio
queue = open_queue()
buffers = [queue.upload(np.full(1000, index, np.float32)) for index in range(12)]
found = await asyncio.gather(*[queue.read_async(buffer, 0, 4000) for buffer in buffers])
[sorted(set(bytes_read.view(np.float32).tolist())) for bytes_read in found]
""") == [[float(index)] for index in range(12)]


def test_many_ranges_share_staging_buffers_of_a_limited_size(run):
    assert run("""
from tenferro_wgpu.backends.webgpu.drivers import browser_driver
queue = open_queue()
arrays = [np.arange(n, dtype=np.float32) + n for n in (1, 70, 3, 4000, 2, 5000, 1)]
buffers = [queue.upload(each) for each in arrays]
twice = [add(queue, each, each, one.size) for each, one in zip(buffers, arrays)]
ranges = [(each, 0, one.nbytes) for each, one in zip(twice, arrays)]
right = []
for limit in (64 << 20, 16384, 4):
    browser_driver.STAGING_BYTES = limit
    found = [each.view(np.float32) for each in queue.read_many(ranges)]
    right.append(all((got == 2 * one).all() for got, one in zip(found, arrays)))
browser_driver.STAGING_BYTES = 64 << 20
right
""") == [True, True, True]


def test_a_profiled_batch_runs_without_durations(run):
    assert run("""
queue = open_queue()
seen = []
queue.profile_hook = lambda operation, duration: seen.append([operation, duration])
x = queue.upload(np.ones(4, np.float32))
out = add(queue, x, x, 4)
queue.flush()
[queue.read(out, 0, 16).view(np.float32).tolist(), seen]
""") == [[2.0] * 4, [["add", None]]]


def test_released_buffers_are_destroyed(run):
    before, after = run("""
queue = open_queue()
device = queue.device.driver._device
for _ in range(20):
    x = queue.upload(np.zeros(1 << 18, np.float32))
    add(queue, x, x, x.size // 4)
held = device.buffers.size
del x
queue.synchronize()
queue.clear_caches()
queue.synchronize()
[held, device.buffers.size]
""")
    assert after < before


def test_the_device_takes_the_adapters_buffer_sizes(run):
    assert run("""
limits = devices.open_device(limits='native').limits
[limits.max_buffer_size > 256 << 20, limits.max_storage_buffers_per_shader_stage]
""") == [True, 8]


def test_browser_limits_give_the_defaults(run):
    assert run("""
await browser.initialize(default_limits=True)
limits = devices.open_device(limits='browser').limits
[limits.max_buffer_size, limits.max_storage_buffer_binding_size]
""") == [256 << 20, 128 << 20]


def test_a_lost_device_is_reported_and_can_be_opened_again(run):
    assert run("""
import asyncio
# Not the device that other tests share.
await browser.initialize(default_limits=True)
queue = Queue(devices.open_device(limits='browser'))
x = queue.upload(np.ones(4, np.float32))
queue.device.driver._device.device.destroy()
await asyncio.sleep(0.1)
error = caught(lambda: queue.read(add(queue, x, x, 4), 0, 16))[0]
await browser.initialize(default_limits=True)
fresh = Queue(devices.open_device(limits='browser'))
y = fresh.upload(np.ones(4, np.float32))
[error, fresh.read(add(fresh, y, y, 4), 0, 16).view(np.float32).tolist()]
""") == ["DeviceLostError", [2.0] * 4]


def test_without_suspension_waiting_raises_and_names_the_async_form(py_async_only):
    async_result, error = py_async_only(
        SETUP
        + """
queue = open_queue()
x = queue.upload(np.ones(4, np.float32))
out = add(queue, x, x, 4)
error = caught(lambda: queue.read(out, 0, 16))
[(await queue.read_async(out, 0, 16)).view(np.float32).tolist(), error]
"""
    )
    assert async_result == [2.0] * 4
    assert error[0] == "SyncUnavailableError"
    assert "numpy_async" in error[1]
    assert "runPythonAsync" in error[1]


def test_an_exception_in_the_page_is_a_page_error(py):
    with pytest.raises(PageError, match="ZeroDivisionError"):
        py("1 / 0")
