"""Pipelines that compile in threads of their own while the program goes on recording.

Used by native_public.  Where a driver compiles when a pipeline is made (most do; llvmpipe waits
for the first dispatch), the kernels of a new program then compile side by side on all cores, and
only the submission that needs them waits.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from tenferro_wgpu.backends.webgpu.drivers.native import NativePipeline, translate_error
from tenferro_wgpu.backends.webgpu.drivers.protocol import Command

__all__ = ["PipelineCompiler"]


#: Seconds after which a wait looks again whether its compilation is over.
LOOK_AGAIN = 0.02


class Compilation:
    """One compilation under way.

    A signal handler may wait for the compilation that it interrupted a wait for, at any point;
    ``Thread.join`` would then wait for itself.
    """

    def __init__(self, compile_it: Callable[[], None]) -> None:
        self._compile = compile_it
        self._over = False
        self._running = threading.Lock()
        self._running.acquire()
        threading.Thread(target=self._run, name="tenferro pipeline").start()

    def _run(self) -> None:
        try:
            self._compile()
        finally:
            self._over = True
            self._running.release()

    def wait(self) -> None:
        """Return when it is over."""
        while not self._over:
            if self._running.acquire(timeout=LOOK_AGAIN):
                self._running.release()


class PipelineCompiler:
    """Starts compilations, and waits for them before a submission."""

    def __init__(self) -> None:
        self.under_way: deque[Compilation] = deque()
        self._at_once = threading.BoundedSemaphore(os.cpu_count() or 1)
        #: Whether a pipeline was refused; then submissions look for it.
        self._any_refused = False

    def start(self, make: Callable[..., Any], uniform_size: int, **options: Any) -> NativePipeline:
        """A pipeline that ``make(**options)`` is compiling; see ``finish``."""
        pipeline = NativePipeline(None, None, uniform_size)

        def compile_it() -> None:
            with self._at_once:
                try:
                    raw = make(**options)
                except Exception as error:
                    pipeline.refusal = translate_error(error, "create_pipeline")
                    self._any_refused = True
                else:
                    pipeline.raw, pipeline.internal = raw, getattr(raw, "_internal", None)

        self.under_way.append(Compilation(compile_it))
        return pipeline

    def finish(self, commands: Sequence[Command] = ()) -> None:
        """Wait for everything started.

        Raises ``BatchRejectedError`` if the pipeline of one of ``commands`` was refused, or what
        else kept it from being compiled.
        """
        while self.under_way:
            first = self.under_way[0]
            first.wait()
            # A signal handler may have been here in between.
            if self.under_way and self.under_way[0] is first:
                self.under_way.popleft()
        if self._any_refused:
            for command in commands:
                if command[0].refusal is not None:
                    raise command[0].refusal.with_traceback(None)
