"""Facts that appear in several files of the project are the same in all of them."""

import re
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


def workflow(name):
    return yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text())


def test_the_version_is_stated_once():
    build = (ROOT / "meson.build").read_text()
    (stated,) = re.findall(r"^  version: '(.*)',$", build, re.MULTILINE)
    assert "version" in PROJECT["project"]["dynamic"]
    assert version("treebound") == stated
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == stated
    assert cited["license"] == PROJECT["project"]["license"]


def test_the_same_pythons_everywhere():
    classifiers = PROJECT["project"]["classifiers"]
    named = [one.rpartition(" ")[2] for one in classifiers if re.search(r":: 3\.\d+$", one)]
    assert named == PYTHONS
    assert PROJECT["project"]["requires-python"] == f">={PYTHONS[0]}"
    built = PROJECT["tool"]["cibuildwheel"]["build"]
    assert built == [f"cp{name.replace('.', '')}-*" for name in PYTHONS]
    systems = workflow("tests")["jobs"]["systems"]["strategy"]["matrix"]["include"]
    assert {one["python"] for one in systems} == set(PYTHONS)
    assert {one["os"].split("-")[0] for one in systems} == {"ubuntu", "macos", "windows"}


def test_workflows_call_targets_that_there_are():
    made = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = {
        name for path in WORKFLOWS for name in re.findall(r"run: make ([a-z-]+)", path.read_text())
    }
    assert {"docs", "coverage", "test-oldest"} <= called <= made
    assert {"wheel-test", "test-all"} <= made


def test_only_the_release_may_publish():
    for path in WORKFLOWS:
        workflow = yaml.safe_load(path.read_text())
        assert workflow["permissions"] == {"contents": "read"}, path.name
        for name, job in workflow["jobs"].items():
            allowed = job.get("permissions", {})
            expected = {"id-token": "write"} if (path.stem, name) == ("release", "publish") else {}
            assert allowed == expected, (path.name, name)


def test_the_oldest_versions_are_the_floors():
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        from oldest import oldest
    finally:
        sys.path.remove(str(ROOT / "tools"))
    pinned = dict(line.split("==") for line in oldest(["plot", "study"]))
    floors = (
        PROJECT["project"]["dependencies"] + PROJECT["project"]["optional-dependencies"]["study"]
    )
    for requirement in floors:
        name, _, floor = requirement.partition(">=")
        assert pinned[name] == floor
    with pytest.raises(KeyError):
        oldest(["none"])


def test_growth_of_the_code_is_noticed():
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        from size import grown, statements_in
    finally:
        sys.path.remove(str(ROOT / "tools"))
    assert statements_in('"""Module."""\ndef f():\n    """Function."""\n    return 1\n') == 2
    recorded = {"data": {"statements": 10, "characters": 99}}
    assert grown(recorded, recorded) == []
    assert grown({"data": {"statements": 9, "characters": 98}}, recorded) == []
    assert grown({"data": {"statements": 11, "characters": 99}}, recorded) == [
        "data: 11 statements, recorded 10"
    ]
    assert len(grown({"new": {"statements": 1, "characters": 1}}, recorded)) == 2


def test_links_lead_to_the_same_repository():
    urls = PROJECT["project"]["urls"]
    assert {"Homepage", "Documentation", "Changelog", "Issues"} <= set(urls)
    home = urls["Homepage"]
    for name in ("SECURITY.md", "CITATION.cff", ".github/ISSUE_TEMPLATE/config.yml"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert all(
            link.startswith(home) for link in re.findall(r"https://github\.com[^\s>]*", text)
        )


def test_files_to_touch_exist():
    """The table "To add ..." names files below src/treebound, or files of growing/."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("### To add")[2].partition("\n## ")[0]
    named = {
        name
        for name in re.findall(r"`([\w/.]+)`", table)
        if "/" in name or name.endswith((".py", ".pyx", ".pxd"))
    }
    source = ROOT / "src" / "treebound"
    folders = (source, source / "growing", source / "tree", ROOT)
    absent = {name for name in named if not any((folder / name).exists() for folder in folders)}
    assert named
    assert not absent


def test_files_to_touch_are_counted():
    """Each row of "To add ..." states how many files it names, here or in its paragraph below."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table, _, below = text.partition("### To add")[2].partition("\n## ")[0].partition("\n\n**")
    counted = 0
    for subject, number, files in re.findall(r"^\| ([\w ]+) \| (\d+) \| (.*) \|$", table, re.M):
        if files == "see below":
            files = f"**{below}".partition(f"**{subject.capitalize()}")[2]
            files = re.split(r"\n\n(?!- )", files.replace(", such as sets of categories.\n\n", ""))[
                0
            ]
        named = set(re.findall(r"`([\w/]+\.\w+)`", files))
        named |= set(re.findall(r"its (?:file|package) in `[\w/]+`", files))
        assert len(named) == int(number), (subject, sorted(named))
        counted += 1
    assert counted == 9


def test_lines_for_contributors_fit_a_screen():
    lines = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > 120] == []


def test_the_listing_of_packages_is_that_of_the_folder():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listing = text.partition("```text\nsrc/treebound/\n")[2].partition("```")[0]
    listed = re.findall(r"^  ([\w.]+)/? ", listing, re.M)
    there = {
        path.name
        for path in (ROOT / "src" / "treebound").iterdir()
        if not path.name.startswith("__") and path.name != "py.typed"
    }
    assert {*listed} == there
    assert len(listed) == len(there)
