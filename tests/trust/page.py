"""docs/trust.md from build/trust.json: every number on the page comes from there."""

from collections.abc import Iterator, Mapping
from textwrap import fill
from typing import Any

from trust.result import KINDS

COLUMNS = {
    "lost": "lost",
    "second version": "second versions",
    "half release": "half releases",
    "bricked": "bricked",
    "traceback": "tracebacks",
    "wrong code": "wrong exit codes",
    "silent": "silent",
    "leak": "leaks",
}
TITLES = {
    "kills": "`kill -9` at file calls, by the command",
    "torn": "`kill -9` in the middle of a write",
    "kills-dagster": "`kill -9` at file calls, by the Dagster asset",
    "errors": "disk full, input/output error, permission denied, by the command",
    "errors-dagster": "the same, by the Dagster asset",
    "power": "power cuts",
    "corruption": "corruption",
    "maintenance": "`kill -9` at file calls of withdraw, forget, doctor, backup and restore",
    "races": "races",
    "clock": "a wrong clock",
    "swapped": "a snapshot that changes while it is read",
    "fuzz": "fuzzed inputs",
    "leaks": "leak scan",
    "series": "many series",
    "releases": "many releases",
    "soak": "soak",
}
AGAIN = (
    "These parts were measured later than the others, in a run of their own: {}. Where the code changed in between, "
    "the rows of the table are not all of one state of it."
)
INTRO = """\
`make trust` attacks reanon and writes this page. Every number below comes from `build/trust.json`, which the scripts in
`tests/trust/` write; `make trust SHORT=1` takes a sample in less than 90 seconds, and `make test` a smaller one. The
[threat model](guarantees.md#threat-model) says who may see what, and what closes each side channel.
"""
RECOVERY = """\
After every fault the series is judged from outside, with its commands and the published folder alone: `status` must
work, `publish` must finish or repeat the release and then publish the next one, `verify` and `audit` must pass. A
witness records the sha256 of every manifest that is ever visible. Faults are injected by a library that is loaded with
`LD_PRELOAD` and sees the calls of Python, DuckDB and Arrow alike. Where gcc is missing, these parts are skipped.
"""
POWER = """\
**Power cuts** are simulated. All file calls of a run are recorded and replayed on a model of a disk; the model with all
calls equals the real folder byte for byte, otherwise the run stops. A file's content is durable after its `fsync`, and
so is its name where it was created; a rename, a link or a removal is durable after the `fsync` of a folder that it
changed. Each point is tried in three ways: nothing that was not flushed survives; all names survive, but no content
that was not flushed; a random part survives.
"""
NOT_COVERED = (
    "Real disks that reorder flushed writes or lie about flushing, and network file systems.",
    "Errors while a file is read; only calls that change files are met.",
    "Calls that the C library makes inside itself, which the library does not see.",
    "Dagster runs in several processes: the asset runs in one process, with an instance of its own.",
    "Kills of techniques other than m-invariance and sequential; they share all code that writes.",
    "An adversary who rewrites the private and the published folder consistently, heads included.",
    "Memory, swap and core dumps; deleted blocks of the disk.",
    "Sources in Postgres, releases that are computed in parts, and the Spark engine; tests of their own kill these.",
)


def page_of(content: Mapping[str, Any]) -> str:
    """The whole page."""
    parts = content["parts"]
    again = content.get("again")
    sections = [
        "# Trust figures\n",
        INTRO,
        f"Measured on {content['date']}, size `{content['size']}`: "
        + ", ".join(f"{name} {version}" for name, version in content["versions"].items())
        + ".\n",
        *([fill(AGAIN.format(", ".join(f"`{name}`" for name in content["again"])), 120) + "\n"] if again else []),
        "## Figures\n",
        *([text] if (text := warnings(content)) else []),
        "\n".join(figures(parts)) + "\n",
        "\n".join(f"- **{COLUMNS[kind]}**: {meaning}" for kind, meaning in KINDS.items()) + "\n",
        "## Cost\n",
        "\n".join(costs(parts)) + "\n",
        "## How it was measured\n",
        RECOVERY,
        POWER,
        "\n".join(methods(parts)) + "\n",
        "## What was found\n",
        "\n".join(found(parts)) + "\n",
        "## What is not covered\n",
        "\n".join(f"- {line}" for line in NOT_COVERED) + "\n",
    ]
    return "\n".join(section if section.startswith(("#", "|", "-")) else wrapped(section) for section in sections)


def wrapped(text: str) -> str:
    """Prose in lines of at most 120 columns."""
    return "\n".join(line if len(line) <= 120 else fill(line, 118) for line in text.splitlines()) + "\n"


def figures(parts: Mapping[str, Any]) -> Iterator[str]:
    """One line for each part, and their sum."""
    yield f"| attack | runs | {' | '.join(COLUMNS.values())} |"
    yield f"|---|{'---|' * (1 + len(COLUMNS))}"
    for name, part in parts.items():
        if part["skipped"]:
            yield f"| {TITLES[name]} | skipped: {part['skipped']} |{' |' * len(COLUMNS)}"
        else:
            counts = " | ".join(str(part["counts"][kind]) for kind in COLUMNS)
            yield f"| {TITLES[name]} | {share(part)} | {counts} |"
    runs = sum(part["runs"] for part in parts.values())
    sums = " | ".join(str(sum(part["counts"][kind] for part in parts.values())) for kind in COLUMNS)
    yield f"| **all** | {runs:,} | {sums} |"


def share(part: Mapping[str, Any]) -> str:
    """How many runs there were, and of how many if time ran out before the last."""
    return f"{part['runs']:,}" if part["runs"] >= part["planned"] else f"{part['runs']:,} of {part['planned']:,}"


def warnings(content: Mapping[str, Any]) -> str:
    """What a reader must know before the figures: a sample, or a run that was cut short."""
    cut = [part for part in content["parts"].values() if part["skipped"] or part["runs"] < part["planned"]]
    if content["size"] != "full":
        return "**These figures are of a sample.** Run `make trust` for all.\n"
    return (
        f"**{len(cut)} parts were skipped or cut short**, because time ran out or something is missing.\n"
        if cut
        else ""
    )


def costs(parts: Mapping[str, Any]) -> Iterator[str]:
    """What was measured beside the faults."""
    yield "| part | figure | value |"
    yield "|---|---|---|"
    for name in ("releases", "series", "soak", "leaks", "fuzz", "swapped", "corruption"):
        for figure, value in parts.get(name, {}).get("figures", {}).items():
            yield f"| {TITLES[name]} | {figure} | {value} |"


def methods(parts: Mapping[str, Any]) -> Iterator[str]:
    """How each part was run, and whether all that was planned was run."""
    yield "| attack | how | planned | run | seconds |"
    yield "|---|---|---|---|---|"
    for name, part in parts.items():
        calls = [f"{figure} {value}" for figure, value in part["figures"].items() if ": calls" in figure]
        how = part["how"] + (f" ({'; '.join(calls)})" if calls else "")
        yield f"| {TITLES[name]} | {how} | {part['planned']:,} | {part['runs']:,} | {part['seconds']:.0f} |"


def found(parts: Mapping[str, Any]) -> Iterator[str]:
    """The first faults of each part, in words."""
    lines = [(name, note) for name, part in parts.items() for note in part["notes"]]
    if not lines:
        yield "Nothing."
        return
    yield "| attack | what |"
    yield "|---|---|"
    for name, note in lines:
        text = note.replace("|", "\\|").replace("`", "'").replace("\n", " ").replace("[", "(").replace("]", ")")
        yield f"| {TITLES[name]} | {text} |"
