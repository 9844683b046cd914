"""Schema files: kinds and categories of the columns of a table, in TOML; see docs/schema.rst."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from treebound._utils.frozen import set_fields
from treebound._utils.validation import Setting
from treebound.data.columns import Column, Kind

SEPARATOR = Setting("separator", python="[read] separator in the schema")
DECIMAL_COMMA = Setting("decimal", ",", python='[read] decimal = "," in the schema')
MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL")
_KINDS = ("real", "ordinal", "nominal", "ignore")
# A larger file is no description of columns; parsing it could exhaust the memory.
MAX_BYTES = 1 << 16


class SchemaError(ValueError):
    """An invalid schema file; the message names the place.

    ``must`` is the requirement that a value of the file does not meet.
    """

    def __init__(self, message: str, must: str = "") -> None:
        super().__init__(message)
        self.must = must


@dataclass(frozen=True)
class Layout:
    """The layout of a text file, the ``[read]`` table of a schema file."""

    separator: str | None = None  # one character, or "whitespace"; None: by the first line
    decimal: str = "."  # the decimal separator
    encoding: str = "utf-8-sig"  # the text encoding; a byte order mark is skipped
    header: bool = True  # whether the first line has the column names
    skip_rows: int = 0  # lines before the header (or before the data if there is no header)
    sheet: str | None = None  # of an Excel workbook; None for the only one that is not empty

    def __post_init__(self) -> None:
        single = self.separator in (None, "whitespace") or len(str(self.separator)) == 1
        _must(single, "The 'separator' of [read]", "one character or 'whitespace'", self.separator)
        _must(len(self.decimal) == 1, "The 'decimal' of [read]", "one character", self.decimal)
        try:
            encodes = bool("a".encode(self.encoding))
        except (LookupError, UnicodeError):
            encodes = False
        words = "a text encoding, such as utf-8 or latin-1"
        _must(encodes, "The 'encoding' of [read]", words, self.encoding)
        _must(self.skip_rows >= 0, "The 'skip_rows' of [read]", "an int >= 0", self.skip_rows)


def _must(holds: bool, subject: str, be: str, value: object) -> None:
    """Raise a SchemaError unless something is as it must be."""
    if not holds:
        raise SchemaError(f"{subject} must be {be}. Got {value!r} instead.", be)


@dataclass(frozen=True)
class Schema:
    """The kinds and categories of a table's columns.

    Attributes
    ----------
    columns : tuple of Column
        The columns to learn from, in order.
    target : str or None
        The column to predict.
    classes : tuple or None
        The declared classes; None to find them in the data.
    ignored : tuple of str
        Columns to ignore.
    missing : tuple of str
        Texts that mark a missing value.
    undeclared : {"infer", "ignore"}
        How to handle columns that the schema does not name.
    layout : Layout
        The layout of a text file.
    order : tuple of str
        All named columns in the order of the file, target and ignored ones included.
    text_labels : bool
        True to read the labels as texts even if they are numbers.
    drop_unlabelled : bool
        True to drop the rows without a label; otherwise they are an error.

    Examples
    --------
    >>> from treebound.study.datasets import Schema
    >>> schema = Schema.from_toml('''
    ... target = "label"
    ... [columns]
    ... age = "real"
    ... size = { kind = "ordinal", categories = ["small", "medium", "large"] }
    ... ''')
    >>> print(schema)
    column  kind     categories
    age     real
    size    ordinal  small < medium < large
    label   target   (found in the data)
    >>> Schema.from_toml(schema.to_toml()) == schema
    True
    """

    columns: tuple[Column, ...] = ()
    target: str | None = None
    classes: tuple[Any, ...] | None = None
    ignored: tuple[str, ...] = ()
    missing: tuple[str, ...] = MISSING
    undeclared: str = "infer"
    layout: Layout = field(default_factory=Layout)
    order: tuple[str, ...] = ()
    text_labels: bool = False
    drop_unlabelled: bool = False

    def __post_init__(self) -> None:
        set_fields(self, columns=tuple(self.columns))
        if not self.order:
            last = () if self.target is None else (self.target,)
            names = (*(c.name for c in self.columns), *last, *self.ignored)
            set_fields(self, order=names)

    @property
    def names(self) -> list[str]:
        """The names of the columns to learn from."""
        return [column.name for column in self.columns]

    def with_target(self, target: str | None) -> Schema:
        """The same schema with another column to predict; the former target is then ignored."""
        if target is None or target == self.target:
            return self
        named = {column.name: column for column in self.columns}
        chosen = named.pop(target, Column(target))
        former = () if self.target is None else (self.target,)
        return replace(
            self,
            columns=tuple(named.values()),
            target=target,
            classes=chosen.categories,
            ignored=(*(name for name in self.ignored if name != target), *former),
            order=self.order if target in self.order else (*self.order, target),
        )

    # -- written form ----------------------------------------------------------------------

    @classmethod
    def from_toml(cls, text: str, *, name: str = "schema") -> Schema:
        """Read a schema from TOML text.

        Parameters
        ----------
        text : str
            The content of a schema file.
        name : str
            How errors name the schema.

        Raises
        ------
        SchemaError
            If the text is not valid TOML or not a schema.
        """
        try:
            document = tomllib.loads(text + "\n")  # so that an error at the end has a line number
        except tomllib.TOMLDecodeError as error:
            raise SchemaError(f"The schema {name} is not valid TOML: {error}.") from None
        except RecursionError:
            raise SchemaError(f"The schema {name} is not valid: it is nested too deeply.") from None
        try:
            return schema_of(document)
        except SchemaError as error:
            raise SchemaError(f"The schema {name} is not valid: {error}") from None
        except RecursionError:  # of a value that an error would show
            raise SchemaError(f"The schema {name} is not valid: it is nested too deeply.") from None

    def to_toml(self) -> str:
        """Write the schema as TOML text, which :meth:`from_toml` reads back."""
        lines = [] if self.target is None else [f"target = {_toml(self.target)}"]
        if self.missing != MISSING:
            lines.append(f"missing = {_toml(self.missing)}")
        if self.undeclared != "infer":
            lines.append(f"undeclared = {_toml(self.undeclared)}")
        flags = (name for name in ("text_labels", "drop_unlabelled") if getattr(self, name))
        lines += [f"{name} = true" for name in flags]
        read = {f.name: getattr(self.layout, f.name) for f in fields(Layout)}
        changed = [f for f in fields(Layout) if read[f.name] != f.default]
        if changed:
            lines += ["", "[read]", *(f"{f.name} = {_toml(read[f.name])}" for f in changed)]
        lines += ["", "[columns]"]
        named = self._named
        for name in self.order:
            column = named.get(name)
            spec = _toml("ignore" if column is None else column.kind)
            if column is not None and column.categories is not None and column.declared:
                spec = f"{{ kind = {spec}, categories = {_toml(column.categories)} }}"
            bare = re.fullmatch(r"[A-Za-z0-9_-]+", name)
            lines.append(f"{name if bare else _toml(name)} = {spec}")
        return "\n".join(lines).lstrip("\n") + "\n"

    @property
    def _named(self) -> dict[str, Column]:
        """The columns to learn from, and the target."""
        named = {column.name: column for column in self.columns}
        if self.target is not None:
            declared = self.classes is not None
            named[self.target] = Column(self.target, "nominal", self.classes, declared)
        return named

    def rows(self) -> list[tuple[str, str, str]]:
        """Name, kind and categories of each column, target and ignored ones included."""
        named = self._named
        rows = []
        for name in self.order:
            column = named.get(name, Column(name))
            kind = "target" if name == self.target else column.kind
            words = _categories_text(column)
            rows.append((name, kind, words) if name in named else (name, "ignored", ""))
        return rows

    def __str__(self) -> str:
        return "\n".join(lines_of([("column", "kind", "categories"), *self.rows()]))


def lines_of(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """Rows of text as lines of aligned columns; some are aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            text.rjust(width) if at in right else text.ljust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def has_decimal_comma(value: Any) -> bool:
    """Return True if a value is the text of a number with a decimal comma."""
    if not isinstance(value, str) or value.count(",") != 1:
        return False
    whole, _, fraction = value.strip().lstrip("+-").partition(",")
    return fraction.isdecimal() and (whole.isdecimal() or not whole)


def read_schema(path: str | os.PathLike[str]) -> Schema:
    """Read a schema file.

    Parameters
    ----------
    path : path-like
        A TOML file; :doc:`/schema` describes the format.

    Raises
    ------
    SchemaError
        If the file is not valid TOML (the message names the line) or not a schema.
    OSError
        If the file cannot be read.
    """
    try:
        size = Path(path).stat().st_size
        if size > MAX_BYTES:
            raise SchemaError(
                f"The schema {path} has {size:,} bytes; at most {MAX_BYTES:,} are read."
            )
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise OSError(f"Cannot read the schema {path}: {error.strerror or error}.") from None
    except UnicodeDecodeError as error:
        raise SchemaError(f"The schema {path} is not UTF-8 text: {error.reason}.") from None
    return Schema.from_toml(text, name=str(path))


def schema_of(document: Mapping[str, Any]) -> Schema:
    """The schema of a TOML document; a SchemaError names what is wrong in it."""
    keys = ("target", "missing", "undeclared", "read", "columns")
    flags = ("text_labels", "drop_unlabelled")
    _only_known(document, (*keys, *flags), "the top level")
    target, missing, undeclared, read, table = (document.get(key) for key in keys)
    text_labels, drop_unlabelled = (document.get(key, False) for key in flags)
    for key, flag in zip(flags, (text_labels, drop_unlabelled), strict=True):
        _must(isinstance(flag, bool), repr(key), "true or false", flag)
    _must(isinstance(target, str | None), "'target'", "the name of a column", target)
    missing = list(MISSING) if missing is None else missing
    texts = isinstance(missing, list) and all(isinstance(text, str) for text in missing)
    _must(texts, "'missing'", "a list of texts", missing)
    _must(
        undeclared in (None, "infer", "ignore"), "'undeclared'", "'infer' or 'ignore'", undeclared
    )
    _must(isinstance(table, dict | None), "'columns'", "a table", table)
    layout = _layout_of({} if read is None else read)
    specs = {name: _column_spec(name, spec) for name, spec in (table or {}).items()}
    columns = tuple(
        Column(name, kind, categories, declared=categories is not None)  # type: ignore[arg-type]
        for name, (kind, categories) in specs.items()
        if name != target and kind != "ignore"
    )
    ignored = tuple(n for n, (kind, _) in specs.items() if n != target and kind == "ignore")
    order = tuple(specs)
    if target is not None and target not in specs:
        if not layout.header:
            raise SchemaError(
                f"the target {target!r} is not under [columns]; without a header all columns are."
            )
        order += (target,)
    classes = specs[target][1] if target in specs else None
    undeclared = undeclared or "infer"
    return Schema(
        columns,
        target,
        classes,
        ignored,
        tuple(missing),
        undeclared,
        layout,
        order,
        text_labels,
        drop_unlabelled,
    )


def _layout_of(table: Any) -> Layout:
    defaults = {f.name: f.default for f in fields(Layout)}
    _must(isinstance(table, Mapping), "'read'", "a table", table)
    _only_known(table, tuple(defaults), "[read]")
    for name, value in table.items():
        wanted = type(defaults[name]) if defaults[name] is not None else str
        right = type(value) is wanted
        _must(right, f"the {name!r} of [read]", f"a {wanted.__name__}", value)
    return Layout(**table)


def _column_spec(name: str, spec: Any) -> tuple[Kind | str, tuple[Any, ...] | None]:
    if isinstance(spec, str):
        spec = {"kind": spec}
    _must(isinstance(spec, dict), f"column {name!r}", "a kind or a table", spec)
    _only_known(spec, ("kind", "categories"), f"column {name!r}")
    categories = spec.get("categories")
    kind = spec.get("kind", "nominal" if categories is not None else None)
    words = f"one of {', '.join(map(repr, _KINDS))}"
    _must(kind in _KINDS, f"the 'kind' of column {name!r}", words, kind)
    if categories is None:
        if kind == "ordinal":
            raise SchemaError(
                f"column {name!r} is ordinal but lists no categories. "
                'Hint: categories = ["lowest", ..., "highest"].'
            )
        return kind, None
    if kind in ("real", "ignore"):
        raise SchemaError(f"column {name!r} is {kind!r} and so has no categories.")
    plain = (str, int, float, bool)
    right = isinstance(categories, list) and all(isinstance(c, plain) for c in categories)
    words = "a list of texts, numbers or booleans"
    _must(right and bool(categories), f"the categories of column {name!r}", words, categories)
    counts = Counter(str(category) for category in categories)
    twice = sorted(text for text, count in counts.items() if count > 1)
    if twice:
        raise SchemaError(f"column {name!r} lists a category twice: {', '.join(twice)}.")
    return kind, tuple(categories)


def _only_known(table: Mapping[str, Any], keys: Sequence[str], where: str) -> None:
    for key in table:
        if key not in keys:
            raise SchemaError(f"{where} has no key {key!r}. Hint: it may have {', '.join(keys)}.")


# -- writing -------------------------------------------------------------------------------


def _toml(value: Any) -> str:
    """Texts, whole numbers and booleans are written as in JSON."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _categories_text(column: Column) -> str:
    """The categories in a row, abbreviated if there are many, and if they are found in the data."""
    if column.kind == "real":
        return ""
    texts, many = list(map(str, column.categories or ())), ""
    if len(texts) > 12:
        texts, many = [*texts[:8], "...", texts[-1]], f" ({len(texts)})"
    words = (" < " if column.kind == "ordinal" else ", ").join(texts) + many
    return " ".join(filter(None, [words, "" if column.declared else "(found in the data)"]))
