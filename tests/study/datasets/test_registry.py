"""The registry agrees with itself and, where it is at hand, with the manifest of the raw files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from treebound.study import datasets
from treebound.study.datasets.registry import DatasetInfo

NAMES = datasets.list()


@pytest.fixture(params=NAMES)
def entry(request: pytest.FixtureRequest) -> DatasetInfo:
    return datasets.info(request.param)


def test_there_are_the_25_data_sets_of_the_paper():
    assert len(NAMES) == 25
    assert sorted(NAMES) == NAMES


def test_the_columns_have_the_kinds_the_caption_counts(entry):
    for kind in ("real", "ordinal", "nominal"):
        count = sum(column.kind == kind for column in entry.paper.columns)
        assert count == getattr(entry.counts, kind), kind


def test_every_category_is_declared(entry):
    for schema in (entry.paper, entry.declared):
        for column in schema.columns:
            assert column.declared == (column.kind != "real")
        assert schema.classes is not None
        assert len(schema.classes) == len(entry.counts.classes)
    assert sum(entry.counts.classes) == entry.counts.examples


def test_both_typings_read_the_same_file(entry):
    assert entry.paper.order == entry.declared.order
    assert entry.paper.layout == entry.declared.layout
    assert entry.paper.classes == entry.declared.classes
    assert set(entry.declared.names) <= set(entry.paper.names)


def test_nominal_categories_of_the_paper_stand_in_text_order(entry):
    for column in entry.paper.columns:
        if column.kind == "nominal":
            assert [*map(str, column.categories)] == sorted(map(str, column.categories))


def test_source_and_citation_are_complete(entry):
    assert re.fullmatch(r"[0-9a-f]{64}", entry.sha256)
    assert entry.size > 0
    assert entry.url.startswith("https://archive.ics.uci.edu/machine-learning-databases/")
    assert entry.page.startswith("https://archive.ics.uci.edu/dataset/")
    assert re.search(r"\((19|20)\d\d\)", entry.citation)
    assert entry.sha256 in str(entry)
    assert entry.citation in str(entry)


def test_four_sets_have_no_recorded_checksum():
    assert [name for name in NAMES if not datasets.info(name).recorded] == [
        "amphibians",
        "cardiotocography10",
        "diabetic_retinopathy_debrecen",
        "vertebral_column3_c",
    ]


def test_one_set_comes_in_an_archive():
    archives = {name: datasets.info(name).archive for name in NAMES if datasets.info(name).archive}
    assert archives == {"vertebral_column3_c": "vertebral_column_data.zip"}


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"Got 'iriss' instead.*iris, mushroom"):
        datasets.info("iriss")


def test_an_unknown_typing_is_refused():
    with pytest.raises(ValueError, match=r"'typing' parameter .* Got 'best' instead"):
        datasets.load("wine", typing="best")


def test_a_star_import_leaves_the_builtin_list_alone():
    space: dict[str, object] = {}
    exec("from treebound.study.datasets import *", space)
    assert "list" not in space
    assert "load" in space


def test_the_registry_equals_the_manifest(entry, raw_files: Path):
    manifest = json.loads((raw_files / "MANIFEST.json").read_text())["datasets"]
    assert sorted(manifest) == NAMES
    facts = manifest[entry.name]
    assert entry.title == facts["name"]
    assert [f"{entry.name}/{entry.file}"] == facts["files"]
    assert (entry.sha256, entry.size) == (facts["sha256"], facts["bytes"])
    assert entry.recorded == facts["sha256_equals_recorded_uci_checksum"]
    assert entry.path == facts["uci_path"].split(" ")[0]
    kinds = [feature["type"] for feature in facts["feature_types_as_in_reference"]]
    assert [column.kind for column in entry.paper.columns] == kinds
