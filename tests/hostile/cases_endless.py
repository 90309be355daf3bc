"""What blocks or has no end: pipes, devices, sparse files."""

from attack import Case, World
from builders import (
    fifo,
    gitdir,
    init,
    memory_dir,
    plant,
    sparse,
    state,
    uid,
    unix_socket,
    zero,
)


def record_fifo(world: World) -> None:
    """A named pipe in a record's place blocks whoever opens it."""
    init(world.repo)
    plant(world.repo)
    fifo(memory_dir(world.repo) / "2026-01" / f"{uid(50)}.json")
    fifo(memory_dir(world.repo) / "2026-12" / f"{uid(51)}.json")


def head_fifo(world: World) -> None:
    """A named pipe in the head's place blocks server, hooks and commands."""
    init(world.repo)
    plant(world.repo)
    fifo(state(world.repo) / "memory-head.json")


def git_config_zero(world: World) -> None:
    """.git/config is a link to /dev/zero: reading it never ends and takes all memory."""
    gitdir(world.repo / ".git")
    plant(world.repo)
    zero(world.repo / ".git" / "config")


def git_files_fifo(world: World) -> None:
    """HEAD, packed-refs, the branch's ref and commondir are named pipes."""
    gitdir(world.repo / ".git", '[remote "origin"]\n\turl = https://github.com/acme/shop.git\n')
    plant(world.repo)
    for name in (
        "HEAD",
        "packed-refs",
        "refs/heads/main",
        "commondir",
        "logs/HEAD",
        "config.worktree",
    ):
        fifo(world.repo / ".git" / name)


def views_fifo(world: World) -> None:
    """Views and ignore files are named pipes: comparing them before writing blocks."""
    init(world.repo)
    plant(world.repo)
    fifo(memory_dir(world.repo) / "MEMORY.md")
    fifo(memory_dir(world.repo) / "HISTORY.md")
    fifo(world.repo / ".claude" / "session-context.md")
    fifo(memory_dir(world.repo) / ".gitignore")
    fifo(state(world.repo) / ".gitignore")


def sparse_everywhere(world: World) -> None:
    """Head, history, a record and a view are 6 GB long and take no room."""
    init(world.repo)
    plant(world.repo)
    sparse(state(world.repo) / "history.jsonl")
    sparse(state(world.repo) / "memory-head.json", begin=b'{"schema_version": 1, "project": "')
    sparse(memory_dir(world.repo) / "2026-01" / f"{uid(52)}.json", begin=b'{"content": "')
    sparse(memory_dir(world.repo) / "MEMORY.md")


def hook_files_block(world: World) -> None:
    """What a hook reads first (rendered, sessions, inbox, locks) never ends."""
    init(world.repo)
    plant(world.repo)
    fifo(state(world.repo) / "rendered" / "main.json")
    for session in ("s1", "session", "test", "abc", "harness"):
        fifo(state(world.repo) / "sessions" / f"{session}.json")
    zero(state(world.repo) / "inbox" / "01795343039740163953-b8d7a5b6.json")
    fifo(state(world.repo) / "rendered.lock")
    fifo(state(world.repo) / "memory-head.lock")


def sockets(world: World) -> None:
    """Sockets stand where the head, a record and a page belong."""
    init(world.repo)
    plant(world.repo)
    for path in (
        state(world.repo) / "memory-head.json",
        memory_dir(world.repo) / "2026-01" / f"{uid(53)}.json",
        memory_dir(world.repo) / "MEMORY.md",
    ):
        unix_socket(path)


def git_index_large(world: World) -> None:
    """Git's index has 120 MB, which is looked through before a page is written."""
    init(world.repo)
    plant(world.repo)
    sparse(world.repo / ".git" / "index", 120 << 20, b"DIRC\0\0\0\2")


def import_pipe(world: World) -> None:
    """What is to be imported is a named pipe, and the notes in it have no end."""
    init(world.repo)
    fifo(world.repo / "import.json")
    zero(world.repo / "CLAUDE.md")


CASES = (
    Case(record_fifo),
    Case(head_fifo),
    Case(git_config_zero),
    Case(git_files_fifo),
    Case(views_fifo),
    Case(sparse_everywhere),
    Case(hook_files_block),
    Case(sockets),
    Case(git_index_large),
    Case(import_pipe),
)
