"""Background knowledge, built from the key `knowledge` and its csv files, which are validated line by line."""

import csv
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path

import numpy as np

from reanon_core.columns import label as nfc
from reanon_core.inference.bayes.transition_counts import TransitionCounts, truncate_memory, windows
from reanon_core.model.arrays import Float64, Int32
from reanon_core.model.background import START, Automaton, Background, Classes
from reanon_core.model.errors import InvalidSchema, Problem, Unpublishable, collect_problems, require
from reanon_core.model.schema import Kind, QuasiIdentifier, Schema
from reanon_dagster.series.knowledge_config import KnowledgeConfig

MOST_PROBLEMS = 10
"""How many problems of one file are listed; the others are counted."""
_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True)
class Line:
    """One line of a table."""

    number: int
    cells: Mapping[str, str]


@dataclass
class TableProblems:
    """The problems of one file, line by line."""

    what: str
    label: str
    problems: list[Problem] = field(default_factory=list)
    omitted: int = 0

    def add(self, rule: str, value: str, line: int | None = None) -> None:
        """Add a problem; those beyond the first few are only counted."""
        if len(self.problems) >= MOST_PROBLEMS:
            self.omitted += 1
            return
        where = f"{self.label}, line {line}" if line else self.label
        self.problems.append(Problem(self.what, rule, f"{where}: {value}" if value else where))

    def all(self) -> list[Problem]:
        """The problems, and how many more there are."""
        if not self.omitted:
            return self.problems
        return [*self.problems, Problem(self.what, f"be corrected in {self.omitted} more places", self.label)]


def read_lines(path: Path, problems: TableProblems, required: Sequence[str], optional: Sequence[str]) -> list[Line]:
    """The lines of a csv file with these columns; , or ; between the cells.

    Raises: InvalidSchema if it cannot be read or lacks a column.
    """
    what, label = problems.what, problems.label
    try:
        rows = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InvalidSchema(Problem(what, "be encoded as utf-8", label)) from None
    except OSError:
        advice = "paths start at the series' folder"
        raise InvalidSchema(Problem(what, "be a readable file", label, advice)) from None
    head = next((row for row in rows if row.strip()), "")
    separator = ";" if head.count(";") > head.count(",") else ","
    reader = csv.reader(rows, delimiter=separator)
    names: list[str] = []
    lines: list[Line] = []
    for number, cells in enumerate(reader, start=1):
        cleaned = [nfc(cell.strip()) for cell in cells]
        if not any(cleaned):
            continue
        if not names:
            names = cleaned
            _require_columns(names, what, label, required, optional)
        elif len(cleaned) != len(names):
            problems.add(f"have {len(names)} cells on every line", str(len(cleaned)), number)
        else:
            lines.append(Line(number, dict(zip(names, cleaned, strict=True))))
    if not lines and not problems.problems:
        raise InvalidSchema(Problem(what, "have a line with column names and at least one more", label))
    return lines


def _require_columns(names: list[str], what: str, label: str, required: Sequence[str], optional: Sequence[str]) -> None:
    missing = [name for name in required if name not in names]
    unknown = [name for name in names if name not in {*required, *optional}]
    if missing or unknown or len(set(names)) < len(names):
        more = f", and may have {', '.join(optional)}" if optional else ""
        raise InvalidSchema(
            Problem(what, f"have the columns {', '.join(required)}{more}", f"{label}: {', '.join(names)}")
        )


def probability(line: Line, problems: TableProblems) -> float | None:
    """The probability on a line."""
    text = line.cells["probability"]
    try:
        chance = float(text)
    except ValueError:
        chance = -1.0
    if not 0 <= chance <= 1:
        problems.add("hold probabilities between 0 and 1", text, line.number)
        return None
    return chance


def code_of(column: QuasiIdentifier, text: str) -> int | None:
    """The code of a value of a quasi-identifier; None if it has none."""
    if column.taxonomy is not None:
        return column.taxonomy.leaves.index(text) if text in column.taxonomy.leaves else None
    try:
        if column.kind is Kind.DATE:
            return date.fromisoformat(text).toordinal() - _EPOCH
        steps = Decimal(text) / column.granularity
    except (ValueError, InvalidOperation):
        return None
    return int(steps) if steps == steps.to_integral_value() and abs(steps) < 2**31 else None


def sums_wrong(sums: Mapping[tuple[str, int], float]) -> Iterator[tuple[str, float]]:
    """The rows of a table whose probabilities do not sum to 1, each name once."""
    listed = set()
    for (name, _), total in sums.items():
        if abs(total - 1) > 0.01 and name not in listed:
            listed.add(name)
            yield name, total


EACH = ("each",)
MOST_CLASSES = 10_000


def build_background(config: KnowledgeConfig, schema: Schema, folder: Path, key: str = "knowledge") -> Background:
    """The knowledge that a series file describes.

    Raises: InvalidSchema with every problem at once.
    """
    problems: list[Problem] = []
    named = [name for name in ("prior", "transitions", "corpus") if getattr(config, name) is not None]
    if named and not schema.sensitive.closed:
        rule = f"be declared, because {key}.{named[0]} names them"
        problems.append(Problem("sensitive.values", rule, help="list the values: {column: name, values: [..]}"))
    classes = collect_problems(problems, _classes, config, schema, key)
    require(problems, InvalidSchema)
    if classes is None:
        raise AssertionError("classes without problems are there")
    tables = _Tables(schema, classes, [schema.names[attribute] for attribute in classes.attributes], folder, key)
    prior = collect_problems(problems, tables.prior, config.prior) if config.prior else None
    memory = config.memory or 1
    following: Int32 | None = None
    emission: Float64 | None = None
    if config.transitions:
        read = collect_problems(problems, tables.transitions, config.transitions)
        following, emission = read if read is not None else (None, None)
    elif config.corpus:
        read = collect_problems(problems, tables.corpus, config.corpus, memory, config.normalised)
        following, emission = read if read is not None else (None, None)
    require(problems, InvalidSchema)
    background = Background(
        classes=classes,
        prior=prior,
        following=following,
        emission=emission,
        memory=memory,
        normalised=config.normalised,
        source=config.source,
    )
    if config.source == "domain" and config.memory is not None:
        return _shortened(background, config.memory, key)
    return background


def _shortened(background: Background, memory: int, key: str) -> Background:
    if background.prior is None or background.following is None or background.emission is None:
        rule = "be given if memory is given with `source: domain`: the table is averaged over the prior"
        raise InvalidSchema(Problem(f"{key}.prior", rule))
    try:
        short = truncate_memory(Automaton(background.prior, background.following, background.emission), memory)
    except Unpublishable as error:
        raise InvalidSchema(Problem(f"{key}.memory", "be smaller for so many values", str(memory))) from error
    return Background(
        classes=background.classes,
        prior=short.prior,
        following=short.following,
        emission=short.emission,
        memory=memory,
        source="domain",
    )


def _classes(config: KnowledgeConfig, schema: Schema, key: str) -> Classes:
    problems: list[Problem] = []
    attributes, cuts = [], []
    for name, listed in config.classes.items():
        what = f"{key}.classes.{name}"
        if name not in schema.names:
            problems.append(Problem(what, f"be one of the quasi-identifiers ({', '.join(schema.names)})"))
            continue
        attribute = schema.names.index(name)
        codes = collect_problems(problems, _cuts, what, schema.quasi_identifiers[attribute], listed)
        if codes is not None:
            attributes.append(attribute)
            cuts.append(np.array(codes, dtype=np.int32))
    require(problems, InvalidSchema)
    classes = Classes(tuple(attributes), tuple(cuts))
    if classes.count > MOST_CLASSES:
        raise InvalidSchema(Problem(f"{key}.classes", f"make at most {MOST_CLASSES:,} classes", f"{classes.count:,}"))
    return classes


def _cuts(what: str, column: QuasiIdentifier, listed: tuple[str, ...]) -> list[int]:
    """The codes at which a new range begins."""
    if listed == EACH:
        if column.bounds is None:
            raise InvalidSchema(
                Problem(what, "list the values at which a range begins, because it has no domain", "each")
            )
        return list(range(column.bounds[0] + 1, column.bounds[1] + 1))
    codes = [code_of(column, text) for text in listed]
    odd = [text for text, code in zip(listed, codes, strict=True) if code is None]
    if odd:
        raise InvalidSchema(Problem(what, "list values of that column, or be `each`", ", ".join(odd[:5])))
    found = [code for code in codes if code is not None]
    if sorted(set(found)) != found:
        raise InvalidSchema(Problem(what, "ascend, each value once", ", ".join(listed[:5])))
    return found


@dataclass(frozen=True)
class _Tables:
    """Reads the files of one `knowledge`."""

    schema: Schema
    classes: Classes
    columns: list[str]
    """The columns that define the classes."""
    folder: Path
    key: str

    def prior(self, label: str) -> Float64:
        """The expected values of a person of each class, [classes, values]."""
        problems = TableProblems(f"{self.key}.prior", label)
        lines = read_lines(self.folder / label, problems, ("value", "probability"), self.columns)
        table = np.zeros((self.classes.count, self._values))
        total_of: dict[tuple[str, int], float] = defaultdict(float)
        for line in lines:
            value, chance = self._value(line, "value", problems), probability(line, problems)
            for kind in self._kinds(line, problems):
                if value is not None and chance is not None:
                    if table[kind, value]:
                        problems.add("give each value of a class once", line.cells["value"], line.number)
                    table[kind, value] = chance
                    total_of[self._class_name(line), kind] += chance
        self._require_sums(total_of, problems)
        without = self.classes.count - len({kind for _, kind in total_of})
        if without and not problems.problems:
            problems.add(f"have probabilities for all of the {self.classes.count} classes", f"{without} have none")
        require(problems.all(), InvalidSchema)
        table /= table.sum(axis=1, keepdims=True)
        return table

    def transitions(self, label: str) -> tuple[Int32, Float64]:
        """The automaton of a table: the state after each value, and the expected values in each state, by class."""
        problems = TableProblems(f"{self.key}.transitions", label)
        optional = (*self.columns, "then")
        lines = read_lines(self.folder / label, problems, ("from", "to", "probability"), optional)
        names = dict.fromkeys([line.cells.get("then") or line.cells["to"] for line in lines])
        names |= dict.fromkeys(line.cells["from"] for line in lines)
        state = {name: number for number, name in enumerate(names, start=START + 1)}
        values = self.schema.sensitive.values
        # A value that the table does not mention leads to the state of that name, if there is one.
        following = np.tile([state.get(value, START) for value in values], (len(state) + 1, 1)).astype(np.int32)
        emission = np.zeros((self.classes.count, len(state) + 1, len(values)))
        led: dict[tuple[int, int], int] = {}
        total_of: dict[tuple[str, int], float] = defaultdict(float)
        for line in lines:
            value, chance = self._value(line, "to", problems), probability(line, problems)
            if value is None or chance is None:
                continue
            before, after = state[line.cells["from"]], state[line.cells.get("then") or line.cells["to"]]
            if led.setdefault((before, value), after) != after:
                problems.add("lead from a state by a value to one state only", line.cells["from"], line.number)
            following[before, value] = after
            for kind in self._kinds(line, problems):
                if emission[kind, before, value]:
                    problems.add("give each step of a class once", line.cells["from"], line.number)
                emission[kind, before, value] = chance
                total_of[line.cells["from"], kind * len(names) + before] += chance
        self._require_sums(total_of, problems)
        self._require_reachable(lines, values, problems)
        require(problems.all(), InvalidSchema)
        total = emission.sum(axis=2, keepdims=True)
        emission = np.where(total > 0, emission / np.where(total > 0, total, 1), 0)
        same = bool(np.all(emission == emission[:1]))
        return following, emission[:1] if same else emission

    def corpus(self, label: str, memory: int, normalised: bool) -> tuple[Int32, Float64]:  # noqa: FBT001
        """Algorithm 5 of [RPB12] on other people's data."""
        problems = TableProblems(f"{self.key}.corpus", label)
        lines = read_lines(self.folder / label, problems, ("person", "time", "value"), ())
        views: dict[str, dict[str, int]] = defaultdict(dict)
        for line in lines:
            value = self._value(line, "value", problems)
            if line.cells["person"] in views[line.cells["time"]]:
                problems.add("have one value for each person and time", "", line.number)
            if value is not None:
                views[line.cells["time"]][line.cells["person"]] = value
        require(problems.all(), InvalidSchema)
        number = {person: i for i, person in enumerate(sorted({line.cells["person"] for line in lines}))}
        try:
            following = windows(self._values, memory).following
        except Unpublishable as error:
            raise InvalidSchema(Problem(f"{self.key}.memory", "be smaller for so many values", str(memory))) from error
        counts = TransitionCounts.empty(1, memory).with_values(self._values)
        for time in sorted(views, key=_time_order):
            rows = sorted((number[person], value) for person, value in views[time].items())
            persons, value = np.array(rows, dtype=np.int64).T
            counts = counts.with_view(persons, value.astype(np.int32), np.zeros(len(rows), np.int32))
        return following, counts.emission(normalised=normalised)[None]

    @property
    def _values(self) -> int:
        return len(self.schema.sensitive.values)

    def _value(self, line: Line, column: str, problems: TableProblems) -> int | None:
        text, values = line.cells[column], self.schema.sensitive.values
        if text not in values:
            problems.add(f"name values of {self.schema.sensitive.name} only", text, line.number)
            return None
        return values.index(text)

    def _kinds(self, line: Line, problems: TableProblems) -> list[int]:
        """The classes that a line applies to; an empty cell stands for all."""
        picked = np.zeros(1, dtype=np.int64)
        for attribute, cuts in zip(self.classes.attributes, self.classes.cuts, strict=True):
            column = self.schema.quasi_identifiers[attribute]
            text = line.cells.get(column.name, "")
            ranges = np.arange(len(cuts) + 1)
            if text:
                code = code_of(column, text)
                if code is None:
                    problems.add(f"name values of {column.name}", text, line.number)
                    return []
                ranges = np.array([np.searchsorted(cuts, code, side="right")])
            picked = (picked[:, None] * (len(cuts) + 1) + ranges).ravel()
        return [int(kind) for kind in picked]

    def _class_name(self, line: Line) -> str:
        return ", ".join(line.cells.get(name) or "all" for name in self.columns) or "everyone"

    @staticmethod
    def _require_sums(total_of: dict[tuple[str, int], float], problems: TableProblems) -> None:
        for name, total in sums_wrong(total_of):
            problems.add("have probabilities that sum to 1", f"{name} has {total:g}")

    @staticmethod
    def _require_reachable(lines: list[Line], values: tuple[str, ...], problems: TableProblems) -> None:
        reached = {line.cells.get("then") or line.cells["to"] for line in lines} | set(values)
        for line in {line.cells["from"]: line for line in reversed(lines)}.values():  # the first line of each
            if line.cells["from"] not in reached:
                problems.add(
                    "start from a value, or from a state that some line leads to", line.cells["from"], line.number
                )


def _time_order(text: str) -> tuple[int, float, str]:
    """Numbers by size, everything else as text."""
    try:
        return (0, float(text), text)
    except ValueError:
        return (1, 0.0, text)
