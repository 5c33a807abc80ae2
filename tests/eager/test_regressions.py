"""Misuses and races that were once wrong: each test failed before its fix."""

from __future__ import annotations

import asyncio
import collections
import contextvars
import gc
import pickle
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import tenferro_wgpu as tw
from tenferro_wgpu import errors


def test_nested_jvp_does_not_confuse_perturbations(cpu):
    one, three = cpu.constant_from(1.0), cpu.constant_from(3.0)

    def inner(x):
        return tw.jvp(lambda y: x * y, (one,), (one,))[1]

    assert tw.jvp(lambda x: x * inner(x), (three,), (one,))[1].item() == 6.0

    def third(x):
        return tw.jvp(lambda y: tw.jvp(lambda z: z * z * z * x, (y,), (one,))[1], (x,), (one,))[1]

    assert tw.jvp(third, (three,), (one,))[1].item() == 12 * 3.0


def test_control_flow_inside_jvp_looks_at_the_primal(cpu):
    zero, one = cpu.constant_from(0.0), cpu.constant_from(1.0)
    assert tw.jvp(lambda x: x if x else -x, (zero,), (one,))[1].item() == -1.0
    for read in (float, lambda x: x.item(), lambda x: x.numpy()):
        with pytest.raises(errors.DTypeError, match="detach"):
            tw.jvp(lambda x, read=read: x * read(x), (one,), (one,))


def test_numpy_functions_inside_jvp(cpu):
    one = cpu.constant_from(1.0)
    value, tangent = tw.jvp(lambda x: np.exp(x) * np.float32(2.0), (one,), (one,))
    assert value.item() == tangent.item() == pytest.approx(2 * np.e)


def test_jvp_of_unusual_results(cpu):
    Pair = collections.namedtuple("Pair", "first second")
    one = cpu.constant_from(1.0)
    values, tangents = tw.jvp(lambda x: Pair(x * 2.0, 5.0), (one,), (one,))
    assert isinstance(values, Pair) and values.second.runtime is cpu
    assert (tangents.first.item(), tangents.second.item()) == (2.0, 0.0)
    with pytest.raises(TypeError, match="iteration"):
        tw.jvp(lambda x: sum(x), (one,), (one,))


def test_saved_bytes_count_what_the_tape_keeps(fresh_rt):
    x = fresh_rt.variable_from(np.ones(1000, np.float32))
    y = (tw.exp(x) * x).sum()
    assert 8000 <= fresh_rt.stats()["saved_bytes"] <= 16000
    del y
    gc.collect()
    assert fresh_rt.stats()["saved_bytes"] == 0


def test_dead_variables_cost_no_kernels(rt):
    x, w = rt.variable_from(np.ones((2, 2))), rt.variable_from(np.ones((2, 2)))
    y = (x @ w).sum()
    del w
    with rt.profile() as measured:
        y.backward()
    assert measured.operations["dot_general"].calls == 1


def test_every_in_place_operator_guards_variables(rt):
    x = rt.variable_from([[1.0]])
    with pytest.raises(errors.InPlaceOnVariableError):
        x @= x
    with tw.no_grad():
        x @= rt.constant_from([[3.0]])
    assert x.is_leaf and x.requires_grad and x.tolist() == [[3.0]]


def test_gradients_of_two_variables_are_two_objects(rt):
    x, y = rt.variable_from([1.0]), rt.variable_from([1.0])
    (x + y).sum().backward()
    x.grad.requires_grad_()
    assert not y.grad.requires_grad
    (x + y).sum().backward()
    assert not x.grad.requires_grad and x.grad.tolist() == [2.0]


def test_toggling_leaves_no_slots(fresh_rt):
    x = fresh_rt.constant_from([1.0])
    for _ in range(50):
        x.requires_grad_().requires_grad_(False)
    assert fresh_rt.stats()["grad_slots"] == 0


def test_check_nans_blames_the_operation_that_made_it(rt):
    nan = rt.constant_from([np.nan])
    with rt.check_nans():
        _ = nan + 1.0
        with pytest.raises(errors.NanError, match="log"):
            tw.log(rt.constant_from([-1.0]))


def test_check_nans_is_this_threads(rt):
    failures = []

    def other():
        try:
            tw.log(rt.constant_from([-1.0]))
        except errors.NanError as error:
            failures.append(error)

    with rt.check_nans():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert not failures


def test_memory_that_can_change_is_not_shared(cpu):
    owner = np.ones(3)
    view = owner.view()
    view.flags.writeable = False
    x = cpu.constant_from(view, copy=False)
    owner[0] = 5
    assert x.tolist() == [1.0, 1.0, 1.0]
    owner.flags.writeable = False
    assert np.shares_memory(cpu.constant_from(owner, copy=False).numpy(copy=False), owner)


def test_numbers_that_do_not_fit_are_refused(rt):
    for value, options in (
        (2**63, {}),
        ([2**40], {"dtype": tw.int32}),
        ([-1], {"dtype": tw.uint32}),
        ([np.nan], {"dtype": tw.int32}),
        (10**30, {}),
    ):
        with pytest.raises(OverflowError, match="out of range"):
            rt.constant_from(value, **options)
    with pytest.raises(errors.DTypeError, match="real"):
        rt.constant_from([1j], dtype=tw.float32)
    with np.errstate(all="raise"):
        assert rt.constant_from(np.array([1e300]), dtype=tw.float32).tolist() == [np.inf]


def test_callers_context_is_not_kept_alive():
    class Token:
        pass

    variable = contextvars.ContextVar("variable")

    def run():
        token = Token()
        variable.set(token)
        with tw.EagerRuntime("cpu") as rt:
            _ = rt.constant_from([1.0]) + 1.0
        return weakref.ref(token)

    reference = contextvars.Context().run(run)
    gc.collect()
    assert reference() is None


def test_overlapping_profiles(rt):
    x = rt.constant_from([1.0])
    first, second = rt.profile(), rt.profile()
    first.__enter__()
    _ = x + x
    second.__enter__()
    _ = x + x
    first.__exit__(None, None, None)
    _ = x + x
    second.__exit__(None, None, None)
    _ = x + x
    assert first.operations["add"].calls == 2
    assert second.operations["add"].calls == 2


def test_closed_runtime_refuses_everything():
    rt = tw.EagerRuntime("cpu")
    x = rt.constant_from([1.0])
    rt.close()
    for use in (
        x.to_tensor,
        x.materialize,
        x.tensor_read,
        rt.cache_stats,
        lambda: rt.extension_caches().__enter__(),
        lambda: rt.as_default().__enter__(),
    ):
        with pytest.raises(errors.RuntimeClosedError):
            use()


@pytest.mark.parametrize("variable", ["TENFERRO_SYNC", "TENFERRO_FUSION", "TENFERRO_LIMITS"])
def test_environment_nonsense_is_named(variable, monkeypatch):
    monkeypatch.setenv(variable, "banana")
    with pytest.raises(errors.EnvironmentVariableError, match=f"{variable}.*choose"):
        tw.EagerRuntime("webgpu" if variable == "TENFERRO_LIMITS" else "cpu")


def test_wrong_kinds_of_arguments(rt):
    with pytest.raises(errors.DTypeError, match="AdContext"):
        tw.EagerRuntime("cpu", ad_context=5)
    x = rt.constant_from([1.0])
    for move in (x.to, x.detach_into):
        with pytest.raises(errors.DTypeError, match="EagerRuntime"):
            move(5)


def test_cache_refuses_what_cannot_fit(cpu):
    with cpu.extension_caches() as caches:
        caches.put(("example.cache.v1", "plans", 1), "small", nbytes=10)
        cpu.set_cache_limits("extensions", max_retained_bytes=100)
        caches.put(("example.cache.v1", "plans", 2), "large", nbytes=1000)
        assert caches.get(("example.cache.v1", "plans", 1)) == "small"
        assert caches.get(("example.cache.v1", "plans", 2)) is None
        caches.clear()


def test_scalars_format_as_numbers(rt):
    x = rt.constant_from([1.5])
    assert f"{x[0]:.2f} {x:.1e}" == "1.50 1.5e+00"
    assert f"{x}" == str(x)
    with pytest.raises(TypeError, match="one element"):
        f"{rt.constant_from([1.0, 2.0]):.2f}"


def test_requires_grad_is_assignable(rt):
    x = rt.constant_from([1.0])
    x.requires_grad = True
    assert x.tracks_grad
    x.requires_grad = False
    assert not x.requires_grad


@pytest.mark.parametrize(
    "error",
    [
        errors.ShapeError("add", "shapes differ", [(1, 2), (3,)]),
        errors.AxisError("sum", "axis 3 is out of bounds", axis=3, ndim=2),
        errors.DTypeError("exp", "no", (np.dtype("int32"),)),
        errors.IndexOutOfBoundsError("take", index=7, axis=0, size=3),
        errors.NonScalarGradError((2, 3)),
        errors.RangeError("full", 300, np.dtype("uint8")),
        errors.UnsupportedOperationError("sort", dtype="float32", backend="webgpu", hint="later"),
        errors.TensorTooLargeError("add", 10, 5, "binding limit"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_exceptions_cross_processes(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_default_runtime_from_a_log_handler():
    program = """
import logging, os
os.environ.pop("TENFERRO_BACKEND", None)
import tenferro_wgpu as tw
class Handler(logging.Handler):
    def emit(self, record):
        tw.default_runtime()
logging.getLogger("tenferro_wgpu").addHandler(Handler())
print(tw.zeros(2).tolist())
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60, capture_output=True)


def test_grad_modes_are_reusable_and_decorate_coroutines(cpu):
    x = cpu.variable_from([1.0])
    mode = tw.no_grad()
    for _ in range(2):
        with mode:
            assert not (x * 2.0).requires_grad
    assert (x * 2.0).requires_grad

    @tw.no_grad()
    async def run():
        return (x * 2.0).requires_grad

    assert asyncio.run(run()) is False
