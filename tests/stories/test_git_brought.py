"""Files of memories that git brings and takes without a move of HEAD."""

from pathlib import Path

import pytest
from git_world import A, B, C, parted

from memory_mcp.config.settings import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("patient_git")]


@pytest.mark.files
async def test_files_that_were_taken_from_another_branch_are_recalled_at_once(
    settings: Settings, project: Path
) -> None:
    """They stand here from the checkout on, committed or not: git tracks them in this work tree.

    Nothing had looked since the last of them was committed on the other branch.
    """
    async with parted(settings, project, ignored=False) as w:
        await w.write(C)
        w.git("add", "--all")
        w.git("commit", "-q", "-m", "c")
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A}

        w.git("checkout", "feature", "--", ".claude/memory")
        assert await w.recalled() == {A, B, C}
        w.git("reset", "-q", "--hard")
        assert await w.recalled() == {A}
