"""The files for those who run a server: they parse, and name what there is."""

import re
import tomllib
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import yaml

from memory_mcp.cli.main import make_parser
from memory_mcp.config.settings import SETTINGS

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def test_every_setting_and_option_that_they_name_exists() -> None:
    """A misspelt one would be found by whoever runs it."""
    parser = make_parser(["serve"])
    for file in DEPLOY.iterdir():
        text = file.read_text("utf-8")
        named = set(re.findall(r"\bMEMORY_[A-Z_]+\b", text)) - {"MEMORY_HOST", "MEMORY_UPSTREAM"}
        named -= {"MEMORY_POSTGRES_URL"}  # in a comment, for when there is that provider
        assert named <= set(SETTINGS), file.name
        for line in re.findall(r"memory-mcp (serve .*)", text):
            parser.parse_args(line.split())


def test_the_image_serves_without_rights_and_looks_after_itself() -> None:
    """As the unit of systemd does."""
    image = (DEPLOY / "Dockerfile").read_text("utf-8")
    last = image[image.rindex("FROM ") :]
    assert "USER 10001" in last
    assert "VOLUME /var/lib/memory-mcp" in last
    assert "/readyz" in last
    (command,) = re.findall(r"^CMD \[(.*)\]$", last, re.MULTILINE)
    make_parser(["serve"]).parse_args(re.findall(r'"([^"]+)"', command))
    unit = ConfigParser(strict=False, interpolation=None)
    unit.read(DEPLOY / "memory-mcp.service", "utf-8")
    assert unit["Service"]["User"] == "memory"
    assert unit["Service"]["NoNewPrivileges"] == "yes"


def test_the_compose_file_mounts_what_there_is() -> None:
    compose: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    services = compose["services"]
    assert set(services) == {"memory", "proxy", "database"}
    assert (ROOT / services["memory"]["build"]["dockerfile"]).is_file()
    for service in services.values():
        for volume in service["volumes"]:
            source = volume.partition(":")[0]
            assert source in compose["volumes"] or (DEPLOY / source).is_file(), source
    assert "ports" not in services["memory"], "the proxy alone reaches it"
    grace = int(services["memory"]["stop_grace_period"].removesuffix("s"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert grace > 5
    assert "deploy" in str(project["tool"]["hatch"]["build"])
