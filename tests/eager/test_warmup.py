"""`warmup`: after it, a function compiles nothing, at other sizes of the same kind neither."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

import tenferro_wgpu as tw
from tenferro_wgpu.errors import ArgumentError, DTypeError

Layer = namedtuple("Layer", "weights bias")


SPECS = ((64, 32), "float32"), ((32, 48), "float32"), ((48,), "float32")
#: Other sizes of the kind that `normalized` is warmed up with: multiples of 4, a few dozen.
OTHERS = ((64, 32), (80, 48), (96, 40))


def built(rt) -> int:
    """Pipelines the runtime has compiled; 0 on backends that compile nothing."""
    return rt.stats()["backend"].get("pipelines", {}).get("built", 0)


def loss(x, weights, bias):
    hidden = tw.tanh(x @ weights + bias)
    return (hidden * hidden).sum(axis=1).mean()


def normalized(x):
    shifted = tw.exp(x - x.max(axis=1, keepdims=True))
    return (shifted / shifted.sum(axis=1, keepdims=True)).sum()


@pytest.fixture
def cold_rt(fresh_rt):
    """A runtime of its own on a device whose pipelines are forgotten."""
    fresh_rt.clear_caches()
    return fresh_rt


def test_later_calls_compile_nothing(cold_rt):
    rt = cold_rt
    before = built(rt)
    report = tw.warmup(normalized, (OTHERS[0], "float32"))
    assert report.pipelines == built(rt) - before
    assert (report.pipelines > 0) == ("pipelines" in rt.stats()["backend"])
    assert 2 <= report.runs <= 4
    assert report.seconds > 0
    after = built(rt)
    rng = np.random.default_rng(1)
    for shape in OTHERS:
        x = rt.constant_from(rng.standard_normal(shape, np.float32))
        for _ in range(3):
            assert normalized(x).item() == pytest.approx(shape[0], rel=1e-4)
    assert built(rt) == after


def test_gradients_are_warmed_up_where_asked(cold_rt):
    rt = cold_rt
    forward = tw.warmup(loss, *SPECS)
    both = tw.warmup(loss, *SPECS, grad=True)
    assert (both.pipelines > 0) == (forward.pipelines > 0)
    after = built(rt)
    x, w, b = (rt.variable_from(np.ones(shape, np.float32)) for shape, _ in SPECS)
    for _ in range(3):
        gradients = loss(x, w, b).backward()
        tw.device_get([gradients[each] for each in (x, w, b)])
    assert built(rt) == after


def test_a_second_warmup_finds_everything(cold_rt):
    tw.warmup(loss, *SPECS)
    again = tw.warmup(loss, *SPECS)
    assert (again.pipelines, again.runs) == (0, 2)


def test_inputs_are_what_the_specs_say(rt):
    seen = []

    def f(x, tree, index, number, *, text=None):
        seen.append((x, tree, index, number))
        return x, {"y": tree["layer"].weights}, number

    spec = {"layer": Layer(((2, 0), "float32"), tw.ShapeDtype((3,), np.dtype("float32"))), "n": []}
    tw.warmup(f, rt.variable_from([[1.0, 2.0]]), spec, ([4], tw.int64), 0.5, device=rt)
    x, tree, index, number = seen[0]
    assert x.interpreter is rt
    assert (x.shape, x.dtype, x.requires_grad) == ((1, 2), np.dtype("float32"), False)
    assert x.tolist() == [[1, 1]]
    assert type(tree["layer"]) is Layer
    assert tree["layer"].weights.shape == (2, 0)
    assert tree["layer"].bias.shape == (3,)
    assert tree["n"] == []
    assert index.tolist() == [0, 0, 0, 0]
    assert number == 0.5
    assert len(seen) == 2


def test_results_may_be_many_and_need_not_be_scalars(rt):
    def f(x, n):
        return {"a": x * 2, "b": (x.sum(), n + 1, None)}

    assert tw.warmup(f, ((3, 2), "float32"), ((2,), "int64"), grad=True, device=rt).runs >= 2


def test_it_stops_where_every_run_compiles(cold_rt):
    calls = []

    def growing(x):
        calls.append(1)
        return tw.stack([x] * len(calls)).reshape((len(calls), *(1,) * len(calls), -1)).sum(axis=0)

    assert tw.warmup(growing, ((3,), "float32")).runs <= 4
    assert len(calls) <= 4


def test_mistakes_are_named(rt):
    with pytest.raises(ArgumentError, match="no result depends"):
        tw.warmup(lambda n: n + 1, ((3,), "int64"), grad=True, device=rt)
    with pytest.raises(DTypeError):
        tw.warmup(lambda x: x, ((3,), "no such dtype"), device=rt)
    with pytest.raises(ZeroDivisionError):
        tw.warmup(lambda x: 1 / 0, ((3,), "float32"), device=rt)
