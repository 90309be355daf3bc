"""The tests' fake of the cloud, as a process of its own: it takes no time from what is measured.

It reads `hang`, `requests` or `documents` and answers each with a line.
"""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

__all__ = ["Fake", "fake_cloud"]

_TESTS: Final = Path(__file__).resolve().parent.parent / "tests" / "support"


class Fake:
    """A running one, at `url`."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.url = self._heard()

    def hang(self) -> None:
        """Answer nothing any more."""
        self._asked("hang")

    @property
    def requests(self) -> int:
        """How many arrived so far."""
        return int(self._asked("requests"))

    @property
    def documents(self) -> int:
        """How many were handed over so far."""
        return int(self._asked("documents"))

    def _asked(self, what: str) -> str:
        if self._process.stdin is None:
            raise AssertionError("no pipe")
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        return self._heard()

    def _heard(self) -> str:
        said = self._process.stdout.readline().strip() if self._process.stdout else ""
        if not said:
            raise SystemExit("The fake cloud does not run: pip install '.[test]'")
        return said


@contextmanager
def fake_cloud() -> Generator[Fake]:
    """The fake, until the block ends."""
    with subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Fake(process)
        finally:
            process.kill()


def _serve() -> None:
    sys.path.insert(0, str(_TESTS))
    from cloud import Cloud  # noqa: PLC0415  # only here are the tests on the path
    from cloud_server import serving  # noqa: PLC0415

    cloud = Cloud()
    with serving(cloud):
        print(cloud.url, flush=True)
        for line in sys.stdin:
            match line.strip():
                case "hang":
                    cloud.faults.hang_seconds = 3_600
                    cloud.faults.always("hang")
                    print("hangs", flush=True)
                case "requests":
                    print(len(cloud.requests), flush=True)
                case "documents":
                    print(len(cloud.posted), flush=True)
                case other:
                    raise AssertionError(other)


if __name__ == "__main__":
    _serve()
