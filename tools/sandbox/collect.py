"""Following a box to its end: output, input, time, cancellation and limits."""

from __future__ import annotations

import codecs
import contextlib
import os
import selectors
import time
from collections.abc import Callable
from dataclasses import dataclass

from tools.backends.base import ExecutionResult
from tools.sandbox.process import Sandboxed

KEPT_OUTPUT = 1_000_000
# Nobody reads so much; a command that goes on like this is stopped.
_FLOOD = 64 * 1024 * 1024
_CHUNK = 65536
_POLL = 0.1


class Output:
    """Text in the order it came: all of it up to ``limit`` characters, then the beginning and
    the end. ``on_output`` sees the first ``limit`` characters only."""

    def __init__(self, on_output: Callable[[str], None] | None, limit: int = KEPT_OUTPUT) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._on_output, self._limit = on_output, limit
        self._head: list[str] = []
        self._tail = ""
        self._kept, self._left_out, self.seen = 0, 0, 0

    def feed(self, data: bytes, *, final: bool = False) -> None:
        self.seen += len(data)
        text = self._decoder.decode(data, final)
        room = self._limit - self._kept
        shown = text[: max(room, 0)]
        if shown and self._on_output:
            self._on_output(shown)
        self._kept += len(shown)
        self._head.append(shown)
        rest = self._tail + text[len(shown) :]
        self._left_out += max(0, len(rest) - self._limit // 2)
        self._tail = rest[-(self._limit // 2) :]

    @property
    def truncated(self) -> bool:
        return bool(self._tail)

    def text(self) -> str:
        """What is kept; the middle of a long output is replaced by a note."""
        head = "".join(self._head)
        if not self.truncated:
            return head
        half = self._limit // 2
        both = head[half:] + self._tail
        left_out = self._left_out + len(both) - half
        return f"{head[:half]}\n[… {left_out} characters left out …]\n{both[-half:]}"


@dataclass
class _Pump:
    """The three descriptors of a run in one selector; ``stdin`` is what is left to write."""

    running: Sandboxed
    output: Output
    stdin: bytes

    def __post_init__(self) -> None:
        popen = self.running.popen
        assert popen.stdout is not None
        self.exit = os.pidfd_open(popen.pid)
        self.selector = selectors.DefaultSelector()
        os.set_blocking(popen.stdout.fileno(), False)
        self.selector.register(popen.stdout, selectors.EVENT_READ, self.read)
        self.selector.register(self.exit, selectors.EVENT_READ, self._ended)
        self.ended = False
        if popen.stdin is not None:
            os.set_blocking(popen.stdin.fileno(), False)
            self.selector.register(popen.stdin, selectors.EVENT_WRITE, self._write)

    def step(self) -> None:
        for key, _ in self.selector.select(_POLL):
            key.data()

    def read(self) -> bool:
        """Take one piece of output; False when there is none now or will be none."""
        stream = self.running.popen.stdout
        assert stream is not None
        try:
            data = os.read(stream.fileno(), _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            with contextlib.suppress(KeyError):
                self.selector.unregister(stream)
            return False
        self.output.feed(data)
        return True

    def _write(self) -> None:
        stream = self.running.popen.stdin
        assert stream is not None
        try:
            self.stdin = self.stdin[os.write(stream.fileno(), self.stdin[:_CHUNK]) :]
        except BrokenPipeError:
            self.stdin = b""
        if not self.stdin:
            self.selector.unregister(stream)
            stream.close()

    def _ended(self) -> None:
        self.ended = True

    def close(self) -> None:
        self.selector.close()
        os.close(self.exit)


def follow(
    running: Sandboxed,
    *,
    timeout: float,
    stdin: str | None = None,
    on_output: Callable[[str], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> ExecutionResult:
    """Run a box to its end and tell how it went; it is destroyed in every case."""
    output = Output(on_output)
    pump = _Pump(running, output, (stdin or "").encode("utf-8", "surrogatepass"))
    deadline = time.monotonic() + timeout
    reason, timed_out = None, False
    try:
        while not pump.ended and reason is None:
            pump.step()
            timed_out = time.monotonic() >= deadline and not pump.ended
            if timed_out:
                reason = f"Timed out after {timeout:g} s; everything it started was ended."
            elif cancelled is not None and cancelled():
                reason = "Cancelled."
            elif output.seen > _FLOOD:
                reason = f"Stopped: more than {_FLOOD >> 20} MiB of output."
            else:
                reason = running.watch.problem()
        while output.seen <= _FLOOD and pump.read():
            pass
        output.feed(b"", final=True)
    finally:
        pump.close()
        code = running.destroy()
    return ExecutionResult(
        output=output.text(),
        exit_code=code if reason is None else None,
        timed_out=timed_out,
        truncated=output.truncated,
        error=reason,
    )
