"""The catalogue of tables: its entries, its halves and its checksums, without the packages."""

import hashlib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import catalogue
import pandas as pd
import pytest
from catalogue import CLASSIFICATION, PACKAGES, ChecksumError, TableSpec, available, half, load

import treebound as tb

CSV = b"id,size,colour,kind\n" + b"".join(
    b"%d,%d,%s,%s\n" % (i, i % 7, b"red" if i % 3 else b"", b"a" if i % 2 else b"b")
    for i in range(60)
)


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TableSpec:
    """A table in a package that is a folder."""
    (tmp_path / "made_up_tables" / "datasets").mkdir(parents=True)
    (tmp_path / "made_up_tables" / "__init__.py").write_text("raise AssertionError('imported')")
    (tmp_path / "made_up_tables" / "datasets" / "things.csv").write_bytes(CSV)
    monkeypatch.syspath_prepend(str(tmp_path))
    package = catalogue.Package(
        "made_up_tables", catalogue._file("datasets/{0}.csv"), catalogue._csv
    )
    monkeypatch.setitem(PACKAGES, "made-up-tables", package)
    checksum = hashlib.sha256(CSV).hexdigest()
    return TableSpec(
        "made-up/things", "made-up-tables", "kind", ("id",), "MIT", "unknown", checksum, "classes"
    )


def test_halves_depend_on_the_name_alone_and_never_change() -> None:
    names = ["AER/BankWages", "AER/CreditCard", "keel/pima", "palmerpenguins/penguins", "a", ""]
    assert [half(name) for name in names] == [
        "development", "test", "test", "development", "test", "test",
    ]  # fmt: skip
    counts = Counter(half(spec.name) for spec in CLASSIFICATION)
    assert min(counts.values()) >= 60


def test_a_table_has_its_columns_and_target(spec: TableSpec) -> None:
    X, y = load(spec)
    assert list(X.columns) == ["size", "colour"]
    assert [str(dtype) for dtype in X.dtypes] == ["float64", "object"]
    assert X["colour"].isna().sum() == 20
    assert sorted(y.unique()) == ["a", "b"]


def test_a_changed_file_is_refused(spec: TableSpec) -> None:
    with pytest.raises(ChecksumError, match=r"made-up/things.*checksum"):
        load(replace(spec, sha256="0" * 64))


def test_an_unknown_column_is_an_error(spec: TableSpec) -> None:
    with pytest.raises(ValueError, match="no column 'weight'"):
        load(replace(spec, drop=("weight",)))


def test_rare_classes_and_rows_without_a_target_are_removed(spec: TableSpec) -> None:
    rare = CSV + b"60,1,red,\n" + b"61,1,red,c\n" * 9
    folder = catalogue._folder("made_up_tables")
    assert folder is not None
    (folder / "datasets" / "things.csv").write_bytes(rare)
    _, y = load(replace(spec, sha256=hashlib.sha256(rare).hexdigest()))
    assert len(y) == 60


def test_large_tables_are_sampled_once_and_for_all(
    spec: TableSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "MAX_ROWS", 25)
    X, y = load(spec)
    assert len(X) == len(y) == 25
    pd.testing.assert_frame_equal(X, load(spec)[0])


def test_missing_packages_skip_their_tables(
    spec: TableSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = catalogue.Package("no_such_package", catalogue._r_file, catalogue._pickle)
    monkeypatch.setitem(PACKAGES, "no-such-package", missing)
    absent = replace(spec, name="other", package="no-such-package")
    assert available([spec, absent]) == ([spec], {"no-such-package": [absent]})
    with pytest.raises(ModuleNotFoundError, match=r"treebound\[bench\]"):
        load(absent)


def test_names_and_studies_are_unique_and_packages_known() -> None:
    for field in ("name", "study"):
        counts = Counter(getattr(spec, field) for spec in CLASSIFICATION)
        assert [value for value, count in counts.items() if count > 1] == []
    assert {spec.package for spec in CLASSIFICATION} <= set(PACKAGES)
    assert all(len(spec.sha256) == 64 and spec.licence for spec in CLASSIFICATION)
    assert {spec.task for spec in CLASSIFICATION} == {"classes"}
    assert len(CLASSIFICATION) >= 60


# Names that the data sets of the paper, their copies and their subsets have in packages.
PAPER = (
    "acute", "amphibian", "anneal", "biopsy", "brca", "breast_cancer", "cancer_wisconsin",
    "cardiotocography", "cleveland", "climate", "diabetic_retinopathy", "fertility_diagnosis",
    "german", "haberman", "heart_disease", "image_segmentation", "ionosphere", "iris", "mushroom",
    "parkinson", "planning", "qsar_biodegradation", "robot", "seeds", "segment", "sonar", "spam7",
    "spambase", "statlog", "vertebral", "wdbc", "wisconsin", "yeast", "zoo",
)  # fmt: skip


def test_no_table_is_one_of_the_paper() -> None:
    names = {spec.name.split("/")[-1].lower() for spec in CLASSIFICATION}
    assert not names & {name.lower() for name in tb.study.datasets.list()}
    assert [name for name in names if any(text in name for text in PAPER)] == []
    assert not names & {"wine", "heart", "hearts", "digits"}


def test_installed_tables_are_as_described() -> None:
    """Load the tables of one package of data, if it is installed."""
    specs, _ = available(spec for spec in CLASSIFICATION if spec.package == "palmerpenguins")
    if not specs:
        pytest.skip("needs the package palmerpenguins")
    X, y = load(specs[0])
    assert X.shape == (344, 6)
    assert y.nunique() == 3
