"""A conversion that is cut anywhere leaves nothing that is taken for a model."""

import itertools
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from depth import depth
from paths import SUPPORT
from power import FailingDisk, FullDisk, PowerCut
from tiny_model import opened, silent, tiny_store, tiny_vendor

from memory_mcp.errors import StoreUnavailableError
from memory_mcp.models.local import MANIFEST, find_damaged_files, read_manifest

CUTS_MIN = 15
"""Three files and a manifest, each with a handful of steps."""


def test_a_power_cut_at_every_step_leaves_a_whole_model_or_none(tmp_path: Path) -> None:
    """Also over an older model, which must not lend its manifest to files of the new one."""
    old, new = tiny_vendor(tmp_path / "old"), tiny_vendor(tmp_path / "new", seed=2)
    for cut_at in itertools.count(0, depth(5, 1)):
        home = tmp_path / str(cut_at)
        before, _ = tiny_store(home, old).add("minilm", str(tmp_path / "old"), silent)
        done = False
        try:
            tiny_store(home, new, FailingDisk(cut_at)).add("minilm", str(tmp_path / "new"), silent)
            done = True
        except PowerCut:
            pass
        found = read_manifest(home / "minilm")
        if found is not None:
            assert find_damaged_files(home / "minilm", found) == []
            assert done or found == before or found.files != before.files
        after, _ = tiny_store(home, new).add("minilm", str(tmp_path / "new"), silent)
        assert find_damaged_files(home / "minilm", after) == []
        if done:
            assert cut_at > CUTS_MIN, "the loop never cut anything worth cutting"
            return


@pytest.mark.parametrize("full_after", [0, 1, 2, 3])
def test_a_full_disk_leaves_no_model_and_says_so(tmp_path: Path, full_after: int) -> None:
    """Room made, the same command does it."""
    recipe = tiny_vendor(tmp_path / "vendor")
    store = tiny_store(tmp_path, recipe, FullDisk(full_after))

    with pytest.raises(StoreUnavailableError, match="the disk is full"):
        store.add("minilm", str(tmp_path / "vendor"), silent)
    assert read_manifest(tmp_path / "minilm") is None
    tiny_store(tmp_path, recipe).add("minilm", str(tmp_path / "vendor"), silent)


_WORKER = """
import sys
from pathlib import Path
sys.path[:0] = [sys.argv[2], sys.argv[3]]
from tiny_model import recipe_of, silent, tiny_store
from memory_mcp.disk import Disk

class Halting(Disk):
    def step(self, name):
        if name == "rename":
            print("now", flush=True)
            sys.stdin.read()

home = Path(sys.argv[1])
tiny_store(home, recipe_of(home / "vendor"), Halting()).add("minilm", str(home / "vendor"), silent)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is killed like this there")
@pytest.mark.anyio
async def test_a_killed_conversion_is_no_model_and_blocks_nobody(tmp_path: Path) -> None:
    """kill -9 also leaves the lock and a temporary file behind."""
    recipe = tiny_vendor(tmp_path / "vendor")
    here = Path(__file__).parent
    with subprocess.Popen(  # noqa: ASYNC220  # nothing else waits for this loop
        [sys.executable, "-c", _WORKER, str(tmp_path), str(SUPPORT), str(here)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as worker:  # fmt: skip
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"now\n"
        worker.kill()
    assert worker.returncode == -signal.SIGKILL

    folder = tmp_path / "minilm"
    assert [path.name for path in folder.iterdir()] != []
    assert not (folder / MANIFEST).exists()
    assert tiny_store(tmp_path, recipe).kept()[0].manifest is None
    tiny_store(tmp_path, recipe).add("minilm", str(tmp_path / "vendor"), silent)
    model = opened(folder)
    await model.question("tea")
    await model.aclose()
    assert len(list(folder.iterdir())) == 4, "the litter of the cut is still there"
