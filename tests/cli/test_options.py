"""Options that state how a table is read; help, completion, and the modules a start loads."""

import subprocess
import sys

import pandas as pd
import pytest
from commands import refused, run

import treebound as tb
from treebound.cli.app import COMMANDS, app, load_all

ROWS = [
    (i % 7, "süß" if i % 3 else "sauer", i % 4, "ja" if i % 7 > 3 else "nein") for i in range(60)
]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "export.csv"
    frame = pd.DataFrame(ROWS, columns=["n", "taste", "code", "y"])
    frame.to_csv(path, index=False, sep=";", encoding="latin-1")
    return path


LAYOUT = ["--sep", ";", "--encoding", "latin-1"]


def columns_of(capsys, table, *options):
    path = table.parent / "m.json"
    code, _, err = run(capsys, "fit", table, "--target", "y", "-o", path, *LAYOUT, *options)
    assert code == 0, err
    return {column.name: column for column in tb.BoundTreeClassifier.load(path).columns_}, err


def test_separator_and_encoding(table, capsys):
    columns, _ = columns_of(capsys, table)
    assert columns["taste"].kind == "nominal"
    model = table.parent / "m.json"
    for argv in (["predict", model, table], ["evaluate", model, table], ["prune", model, table],
                 ["certify", model, table, "--kind", "training"]):  # fmt: skip
        code, out, err = run(capsys, *argv, *LAYOUT)
        assert code == 0, err
        assert out
    assert run(capsys, "predict", model, table, "--encoding", "latin-1")[0] == 0
    line = refused(capsys, "predict", model, table, "--sep", ";")
    assert line.endswith("Hint: name its encoding with --encoding latin-1.")


def test_a_tab_has_a_name(tmp_path, capsys):
    path = tmp_path / "t.txt"
    path.write_text("a\ty\n" + "".join(f"{i}\t{i % 2}\n" for i in range(30)))
    for name in ("tab", "\\t", "\t"):
        assert run(capsys, "check", path, "--target", "y", "--sep", name)[0] == 0
    line = refused(capsys, "check", path, "--target", "y", "--sep", ",")
    assert "has one column only" in line
    assert "separated by '\\t' (--sep)" in line


def test_options_state_the_kinds_of_columns(table, capsys):
    columns, err = columns_of(capsys, table, "--nominal", "code", "--ordinal", "n", "--quiet")
    assert err == ""
    assert columns["code"].kind == "nominal"
    assert columns["n"].kind == "ordinal"
    assert not columns["n"].declared
    assert columns["n"].categories == (0, 1, 2, 3, 4, 5, 6)
    given = ["--ordinal", "taste=sauer,süß", "--nominal", "code=0,1,2,3,4", "--ignore", "n"]
    columns, err = columns_of(capsys, table, *given)
    assert list(columns) == ["taste", "code"]
    assert columns["taste"].kind == "ordinal"
    assert columns["taste"].declared
    assert columns["taste"].categories == ("sauer", "süß")
    assert set(columns["code"].categories) <= {"0", "1", "2", "3", "4"}  # those that splits name
    assert columns["code"].n_categories == 5
    model = table.parent / "m.json"
    assert run(capsys, "predict", model, table, *LAYOUT)[0] == 0


def test_options_win_over_the_schema(table, tmp_path, capsys):
    schema = tmp_path / "s.toml"
    schema.write_text(
        '[read]\nseparator = ","\n[columns]\nn = "ignore"\ncode = "real"\ntaste = "nominal"\n'
    )
    columns, _ = columns_of(capsys, table, "--schema", schema, "--nominal", "code,n")
    assert {name: column.kind for name, column in columns.items()} == {
        "n": "nominal", "taste": "nominal", "code": "nominal",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sep", ";;"], "The option --sep must be one character, 'tab' or 'whitespace'"),
        (["--encoding", "klingon"], "The option --encoding must be a text encoding"),
        (["--ignore", "nope"], "has no column 'nope'"),
        (["--ignore", "n,,code"], "The option --ignore must name columns"),
        (["--nominal", "y"], "The target 'y' is named in"),
        (["--ignore", "y"], "The target 'y' is named in"),
        (["--ignore", "n,taste,code"], "has no column to learn from besides 'y'"),
        (["--ordinal", "taste"], "Column 'taste' holds texts, whose order only you know"),
        (["--ordinal", "taste=süß,süß"], "NAME=A,B,C with each category once"),
        (["--ordinal", "taste=süß"], "'sauer' is not one of its categories"),
    ],
)
def test_a_wrong_option_is_named(table, capsys, options, message):
    merged = dict(zip(LAYOUT[::2], LAYOUT[1::2], strict=True))
    merged.update(zip(options[::2], options[1::2], strict=True))
    flat = [part for pair in merged.items() for part in pair]
    for command in ("check", "fit"):
        assert message in refused(capsys, command, table, "--target", "y", *flat)


def test_missing_texts_of_a_file_to_predict(table, tmp_path, capsys):
    columns_of(capsys, table)
    other = tmp_path / "new.csv"
    other.write_text("n;taste;code\n3;?;1\n-;sauer;2\n", encoding="latin-1")
    model = table.parent / "m.json"
    assert (
        "'-' is not a number. Hint: declare the column as nominal (its kind in the schema), or the "
        "text as missing (--missing)." in (refused(capsys, "predict", model, other, *LAYOUT))
    )
    given = ["--missing", "?", "--missing", "-"]
    code, out, err = run(capsys, "predict", model, other, *LAYOUT, *given)
    assert code == 0, err
    assert len(out.splitlines()) == 3


def test_kept_columns_are_written_as_they_are(table, tmp_path, capsys):
    columns_of(capsys, table)
    other = tmp_path / "new.csv"
    other.write_text('n;note;taste;code\n3.10;"a, ""b""";sauer;01\n;;NA;2\n', encoding="latin-1")
    code, out, err = run(capsys, "predict", table.parent / "m.json", other, "--keep", *LAYOUT)
    assert code == 0, err
    lines = out.splitlines()
    assert lines[0] == "n,note,taste,code,y"
    assert lines[1].startswith('3.10,"a, ""b""",sauer,01,')
    assert lines[2].startswith(",,NA,2,")


# -- help, completion, start ----------------------------------------------------------------------


def test_the_outline_has_the_first_lines_of_the_commands(capsys):
    load_all()
    for name, (_, first_line) in COMMANDS.items():
        command = app[name]
        assert command.help.strip().splitlines()[0] == first_line, name
    named = {name for name in app if not name.startswith("-")}
    assert named == set(COMMANDS)
    code, out, _ = run(capsys, "--help")
    assert code == 0
    for name in COMMANDS:
        assert f" {name} " in out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_has_examples(name, capsys):
    code, out, _ = run(capsys, name, "--help")
    assert code == 0
    assert "Examples:" in out
    assert f"treebound {name} " in out


def test_daily_commands_come_first_and_research_has_groups(capsys):
    daily = ["check", "fit", "predict", "evaluate", "explain", "show", "edit", "compare", "prune",
             "certify", "monitor"]  # fmt: skip
    assert list(COMMANDS) == [*daily, "completion", "study", "theory"]
    load_all()
    groups = {name: {key for key in app[name] if not key.startswith("-")} for name in COMMANDS}
    assert groups["study"] == {"run", "report", "data"}
    assert groups["theory"] == {"vcdim", "growth", "partitions", "shapes", "witness"}
    out = run(capsys, "--help")[1]
    assert out.index(" monitor ") < out.index(" study ")


def test_fit_has_few_options():
    load_all()
    options = [one for one in app["fit"].assemble_argument_collection() if one.show and one.names]
    named = [one for one in options if any(name.startswith("--") for name in one.names)]
    assert len(named) <= 34


def test_a_command_that_is_none(capsys):
    assert "fitt" in refused(capsys, "fitt", "data.csv")


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_completion_knows_commands_and_options(name, capsys):
    code, out, err = run(capsys, "completion", name)
    assert (code, err) == (0, "")
    for word in ("evaluate", "chunk-rows", "kearns-mansour", "treebound"):
        assert word in out


HEAVY = ("sklearn", "pandas", "scipy", "joblib", "narwhals", "matplotlib", "pyarrow")


def loaded_by(*argv) -> set[str]:
    """Which heavy packages a command loads, in a process of its own."""
    code = (
        "import sys\nfrom treebound.cli import main\n"
        f"try:\n    main({[str(part) for part in argv]!r})\n"
        "except SystemExit as stop:\n    assert not stop.code, stop.code\n"
        f"print('LOADED', *[name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rsplit("LOADED", 1)[1].split())


def test_commands_start_light(table, tmp_path):
    model = tmp_path / "m.json"
    for argv in (["--version"], ["--help"]):
        assert loaded_by(*argv) == set()
    fit = ["fit", table, "--target", "y", "-o", model, *LAYOUT]
    assert loaded_by(*fit) <= {"pyarrow", "scipy"}  # scipy inverts the tail of the certificate
    assert loaded_by("predict", model, table, *LAYOUT, "--keep", "--proba") == {"pyarrow"}
    assert loaded_by("show", model) == set()
    assert loaded_by("prune", model, table, *LAYOUT) <= {"pyarrow", "scipy"}
    assert loaded_by("check", table, "--target", "y", *LAYOUT) == {"pyarrow"}
