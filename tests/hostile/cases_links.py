"""Links: what stands where a file or a folder belongs leads out of the repository."""

import json
import os

from attack import FOREIGN, Case, Verdict, World
from builders import (
    SHELL,
    dump,
    head,
    init,
    link,
    memory_dir,
    move,
    other_project,
    plant,
    put,
    put_head,
    record,
    state,
    uid,
    victim,
    victims,
)
from verdicts import absent, also, nothing_stolen, still


def _link(relative: str) -> Verdict:
    """The link is still there, neither followed nor deleted."""
    return still(relative, os.path.islink)


def history_link(world: World) -> None:
    """A line of the history is appended through a link to ~/.bashrc and is shell code there."""
    init(world.repo)
    plant(world.repo)
    victims(world.home)
    put(world.repo, move(world.repo, 100, name=SHELL, step={"branch": "main"}))
    put(
        world.repo,
        move(
            world.repo,
            101,
            act="fork",
            name="",
            kind="move",
            parents=[uid(600)],
            step={"branch": SHELL, "opens": {SHELL: uid(601)}, "checkpoint": None},
        ),
    )
    link(state(world.repo) / "history.jsonl", world.home / ".bashrc")


def inbox_link(world: World) -> None:
    """Working off a linked inbox reads, moves and deletes files that look like events."""
    init(world.repo)
    plant(world.repo)
    for n in range(3):
        victim(
            world.home / "mail" / f"0179534303974016395{n}-b8d7a5b6.json",
            json.dumps(
                {
                    "v": 1,
                    "at": "2020-01-01T00:00:00.000Z",
                    "event": "post-compact",
                    "session": "s1",
                    "branch": "main",
                    "compact_summary": "The PELICAN-5521 letter to my sister",
                }
            ),
        )
    victim(world.home / "mail" / "letter.txt")
    link(state(world.repo) / "inbox", world.home / "mail")


def rendered_link(world: World) -> None:
    """Rendering and tidying through a linked folder overwrite and delete another's files."""
    init(world.repo)
    plant(world.repo)
    victim(world.home / ".config" / "app" / "main.json", '{"theme": "dark"}')
    victim(world.home / ".config" / "app" / "stale.json", '{"theme": "light"}')
    link(state(world.repo) / "rendered", world.home / ".config" / "app")


def month_link(world: World) -> None:
    """A linked month folder reads, and by a tombstone erases, another project's memories."""
    init(world.repo)
    other = other_project(world.home)
    theirs = memory_dir(other) / "2026-01"
    link(memory_dir(world.repo) / "2026-01", theirs)
    # A tombstone of this repository orders their records erased.
    put(
        world.repo,
        record(
            world.repo,
            20,
            f"{FOREIGN} gone",
            kind="tombstone",
            layer="archival",
            erases=[uid(300), uid(301)],
            supersedes=[uid(300), uid(301)],
        ),
        month="2026-02",
    )


def months_to_come_link(world: World) -> None:
    """The month folders that the next memories go to are links out of the project."""
    init(world.repo)
    (world.outside / "drop").mkdir(parents=True, exist_ok=True)
    for year in range(2025, 2029):
        for month in range(1, 13):
            link(memory_dir(world.repo) / f"{year}-{month:02d}", world.outside / "drop")


def views_link(world: World) -> None:
    """Views rendered through links overwrite dotfiles, or make one that did not exist."""
    init(world.repo)
    plant(world.repo)
    victims(world.home)
    link(memory_dir(world.repo) / "MEMORY.md", world.home / ".bashrc")
    link(memory_dir(world.repo) / "HISTORY.md", world.home / ".ssh" / "authorized_keys")
    link(world.repo / ".claude" / "session-context.md", world.home / ".profile")


def state_link(world: World) -> None:
    """.state is a link to the home folder: everything in it would be written there."""
    init(world.repo)
    plant(world.repo)
    victims(world.home)
    link(world.repo / ".state", world.home)


def locks_link(world: World) -> None:
    """Opening a lock file through a link truncates or makes a file elsewhere."""
    init(world.repo)
    plant(world.repo)
    victims(world.home)
    names = (
        "memory-head.lock",
        "rendered.lock",
        "inbox.lock",
        "index.lock",
        "outbox.lock",
        "memory-head.json.lock",
        "history.lock",
        "records.lock",
        "project.lock",
    )
    for number, name in enumerate(names):
        to = (
            world.home / ".ssh" / "authorized_keys"
            if number % 2
            else world.home / f".made-by-{name}"
        )
        link(state(world.repo) / name, to)
        link(memory_dir(world.repo) / f".{name}", to)


def head_link(world: World) -> None:
    """The head is a link to a valid head elsewhere, which would be believed and replaced."""
    init(world.repo)
    plant(world.repo)
    world.outside.mkdir(parents=True, exist_ok=True)
    (world.outside / "head.json").write_bytes(dump(head(world.repo)))
    link(state(world.repo) / "memory-head.json", world.outside / "head.json")


def ignores_link(world: World) -> None:
    """Writing .gitignore through a dangling link makes an autostart entry."""
    init(world.repo)
    plant(world.repo)
    for folder in (state(world.repo), memory_dir(world.repo), world.repo / ".claude"):
        link(folder / ".gitignore", world.home / ".config" / "autostart" / "x.desktop")
    (world.home / ".config" / "autostart").mkdir(parents=True)


def record_link_secret(world: World) -> None:
    """A record that is a link brings another project's memory, or a key, into this one."""
    init(world.repo)
    other = other_project(world.home)
    there = memory_dir(other) / "2026-01" / f"{uid(301)}.json"
    link(
        memory_dir(world.repo) / "2026-01" / f"{uid(301)}.json",
        os.path.relpath(there, memory_dir(world.repo) / "2026-01"),
    )
    victims(world.home)
    link(memory_dir(world.repo) / "2026-01" / f"{uid(302)}.json", world.home / ".ssh" / "id_note")


def claude_link(world: World) -> None:
    """.claude is a link to the user's own: what is written below it would lie among their files."""
    init(world.repo)
    victim(world.home / ".claude" / "settings.json", "{}")
    victim(world.home / ".claude" / "session-context.md", "# mine\n")
    link(world.repo / ".claude", world.home / ".claude")


def records_link(world: World) -> None:
    """The whole folder of records is a link to another project's."""
    init(world.repo)
    other = other_project(world.home)
    link(memory_dir(world.repo), memory_dir(other))
    put_head(world.repo, head(world.repo))


def hard_links(world: World) -> None:
    """No link can be seen: the same file has a name in the repository and one in the home."""
    init(world.repo)
    plant(world.repo)
    victims(world.home)
    for path in (
        state(world.repo) / "history.jsonl",
        state(world.repo) / "memory-head.json",
        memory_dir(world.repo) / "MEMORY.md",
        memory_dir(world.repo) / ".gitignore",
        world.repo / ".claude" / "session-context.md",
    ):
        path.hardlink_to(world.home / ".bashrc")


def links_in_a_circle(world: World) -> None:
    """Links that lead to themselves, to each other, and to the folder that they are in."""
    init(world.repo)
    plant(world.repo)
    link(memory_dir(world.repo) / "2026-02", "2026-03")
    link(memory_dir(world.repo) / "2026-03", "2026-02")
    link(memory_dir(world.repo) / "2026-04", ".")
    link(state(world.repo) / "memory-head.json", "memory-head.json")
    link(world.repo / "notes", "..")
    link(world.repo / "CLAUDE.md", "CLAUDE.md")


CASES = (
    Case(history_link, also(nothing_stolen, _link(".state/history.jsonl"))),
    Case(inbox_link, also(nothing_stolen, _link(".state/inbox"))),
    Case(rendered_link, also(_link(".state/rendered"))),
    Case(month_link, also(nothing_stolen, _link(".claude/memory/2026-01"))),
    Case(months_to_come_link),
    Case(views_link, also(nothing_stolen, absent(".profile"))),
    Case(
        state_link,
        also(nothing_stolen, absent("history.jsonl"), absent("memory-head.json"), _link(".state")),
    ),
    Case(
        locks_link,
        also(nothing_stolen, absent(".made-by-memory-head.lock"), absent(".made-by-inbox.lock")),
    ),
    Case(head_link),
    Case(ignores_link, also(absent(".config/autostart/x.desktop"))),
    Case(record_link_secret, also(nothing_stolen)),
    Case(claude_link, _link(".claude")),
    Case(records_link, also(nothing_stolen, _link(".claude/memory"))),
    Case(hard_links),
    Case(links_in_a_circle),
)
