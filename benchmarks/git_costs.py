"""What following git and checking citations cost, in the processor's time of this process.

`python benchmarks/git_costs.py`: a call when nothing moved, with and without git; a checkout with
1,000 memories on the other branch; ten citations in ten files that changed, at the first look and
at the next; `stale` over 10,000 memories. Git's own time is waiting, and is printed beside it.
"""

import asyncio
import os
import secrets
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from memory_mcp import code
from memory_mcp.build import open_workspace
from memory_mcp.code.citations import check_citation, make_citation, name_change
from memory_mcp.code.symbols import list_symbols
from memory_mcp.config.settings import Settings
from memory_mcp.disk import Disk
from memory_mcp.domain.record import Citation, Draft
from memory_mcp.engine.head import load_head, load_head_to_write, make_writing
from memory_mcp.engine.workspace import Workspace
from memory_mcp.storage.files.code import LocalCode
from memory_mcp.storage.files.git import LocalGit
from memory_mcp.storage.files.work_trees import WorkTrees
from memory_mcp.text.drafts import build_record

_IGNORED: Final = ".claude/\n.state/\n"
_CALLS: Final = 500
_COMMITS: Final = 20
_BRANCH_MEMORIES: Final = 1_000
_STALE_MEMORIES: Final = 10_000
_FILES: Final = 200
_TEN: Final = 10
_LINES_MIN: Final = 3
_WHO: Final = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"))
}


def git(folder: Path, *arguments: str) -> None:
    """Have git do it, without anybody's settings."""
    environment = {**os.environ, **_WHO, "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", *arguments], cwd=folder, check=True, env=environment)  # noqa: S607


def make_repository(folder: Path, files: dict[str, str], *, committed: bool = False) -> Path:
    """A work tree with one commit of these files; records are ignored, or `committed`."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    ignored = ".state/\n" if committed else _IGNORED
    for name, text in {".gitignore": ignored, **files}.items():
        (folder / name).write_text(text, "utf-8")
    git(folder, "add", "--all")
    git(folder, "commit", "-q", "-m", "begin")
    return folder


async def fill(workspace: Workspace, count: int, cites: Sequence[Citation] = ()) -> None:
    """Write so many memories, which cite one of these each."""
    timeline = (await load_head_to_write(workspace)).timeline
    records = [
        build_record(
            Draft(content=f"Fact {n} of {secrets.token_hex(8)} says {secrets.token_hex(4)}."),
            make_writing(workspace, timeline, workspace.clock.now()),
        ).model_copy(update={"cites": (cites[n % len(cites)],) if cites else ()})
        for n in range(count)
    ]
    await workspace.project.keep_all(records)


async def measure_following(folder: Path, *, committed: bool) -> None:
    """A checkout, and a call when nothing moved; with `committed`, git takes and brings records."""
    how = "committed" if committed else "ignored"
    project = make_repository(folder / "shop", {}, committed=committed)
    settings = Settings(project_dir=project, home=folder / "home", user="ada", git="follow")
    async with open_workspace(settings) as built:
        workspace = built.workspace
        await load_head(workspace)
        git(project, "switch", "-q", "-c", "feature")
        for n in range(_COMMITS):
            await fill(workspace, _BRANCH_MEMORIES // _COMMITS)
            git(project, "add", "--all")
            git(project, "commit", "-q", "--allow-empty", "-m", str(n))
            await load_head(workspace)
        for branch in ("main", "feature") * 3:
            git(project, "switch", "-q", branch)
            begun, clock = time.process_time(), time.perf_counter()
            await load_head(workspace)
            spent, waited = time.process_time() - begun, time.perf_counter() - clock
            print(f"checkout, {_BRANCH_MEMORIES:,} memories, {how}: {spent * 1e3:.1f} ms, "
                  f"{waited * 1e3:.0f} ms with git")  # fmt: skip
        for name, each in (("with", workspace), ("without", replace(workspace, git=None))):
            begun = time.process_time()
            for _ in range(_CALLS):
                await load_head(each)
            spent = (time.process_time() - begun) / _CALLS
            print(f"nothing moved, {how}, {name} git: {spent * 1e3:.4f} ms")


def measure_citations(folder: Path) -> None:
    """Ten citations of lines, and ten of functions, in ten real files, all of which changed."""
    sources = sorted(Path(code.__file__).parents[1].rglob("*.py"), key=lambda p: p.stat().st_size)
    read = [path.read_text("utf-8") for path in sources]
    some = [text for text in read if _list_functions("f.py", text)][-4 * _TEN :: 4]
    texts = {f"f{n}.py": text for n, text in enumerate(some)}
    project = make_repository(folder / "ten", texts)
    tree = WorkTrees(project, project)
    history = LocalGit(tree, folder, Disk(), os.environ)
    commit = history.look().commit
    files = LocalCode(project)
    functions = {name: _choose_function(name, text) for name, text in texts.items()}
    kinds = {
        "lines": [make_citation(files, f"{name}:100-120", commit) for name in texts],
        "functions": [make_citation(files, f"{n}#{f}", commit) for n, (f, _) in functions.items()],
    }
    for name, text in texts.items():
        lines = text.splitlines(keepends=True)
        lines[functions[name][1] - 1 : functions[name][1]] = ["    changed()\n"]
        lines[105:106] = ["changed()\n", "and()\n"]
        (project / name).write_text(f"# moved\n{''.join(lines)}", "utf-8")
    git(project, "commit", "-q", "--all", "-m", "changed")
    for kind, made in kinds.items():
        cites = [each for each in made if isinstance(each, Citation)]
        for _ in range(3):
            files = LocalCode(project, list_versions=history.list_versions)
            first, again = (_check_all(files, cites) for _ in range(2))
            pairs = [(each, check_citation(files, each)) for each in cites]
            named = sum(bool(name_change(files, *pair, wait=True).commit) for pair in pairs)
            print(f"ten citations of {kind} in changed files: {first:.2f} ms, again {again:.2f} ms;"
                  f" with the commit: {named}")  # fmt: skip


def _choose_function(path: str, text: str) -> tuple[str, int]:
    """A function in the middle of the file, of some lines, and the last of them."""
    known = _list_functions(path, text)
    name = list(known)[len(known) // 2]
    return name, known[name][1]


def _list_functions(path: str, text: str) -> dict[str, tuple[int, int]]:
    return {name: places[0] for name, places in list_symbols(path, text).items()
            if len(places) == 1 and "." not in name and places[0][1] - places[0][0] > _LINES_MIN
            and not places[0][0] <= 106 <= places[0][1]}  # fmt: skip


def _check_all(files: LocalCode, cites: Sequence[Citation]) -> float:
    """What the call waits for; git is asked beside it."""
    begun = time.thread_time()
    checked = [check_citation(files, each) for each in cites]
    for pair in zip(cites, checked, strict=True):
        name_change(files, *pair)
    return (time.thread_time() - begun) * 1e3


async def measure_stale(folder: Path) -> None:
    """`stale` over memories that cite 200 files, half of which changed."""
    body = "".join(f"def f{n}():\n    return {n}\n\n" for n in range(150))
    project = make_repository(folder / "big", {f"m{n}.py": body for n in range(_FILES)})
    settings = Settings(project_dir=project, home=folder / "home", user="ada", git="mark")
    async with open_workspace(settings) as built:
        places = [f"m{n}.py:{10 + 7 * k}-{20 + 7 * k}" for n in range(_FILES) for k in range(3)]
        cites = [c for place in places for c in code.cite_places(built.workspace, [place], "")[0]]
        await fill(built.workspace, _STALE_MEMORIES, cites)
        for n in range(0, _FILES, 2):
            (project / f"m{n}.py").write_text(f"import os\n{body.replace('return 5', 'x')}")
        for when in ("first", "again"):
            begun = time.process_time()
            report = await code.find_stale(built.workspace)
            spent = time.process_time() - begun
            if isinstance(report, code.StaleReport):
                print(f"stale, {report.citing:,} memories, {len(report.stale):,} of them stale, "
                      f"{when}: {spent:.2f} s")  # fmt: skip


def main() -> None:
    """Measure each in a folder of its own."""
    with tempfile.TemporaryDirectory() as name:
        for committed in (False, True):
            asyncio.run(measure_following(Path(name, f"one{committed}"), committed=committed))
        measure_citations(Path(name, "two"))
        asyncio.run(measure_stale(Path(name, "three")))


if __name__ == "__main__":
    main()
