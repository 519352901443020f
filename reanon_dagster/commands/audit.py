"""`reanon audit`: every check and every attack on the whole history."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from reanon_core.catalog import ATTACKS, build_attack
from reanon_core.finding_truth import with_truth
from reanon_core.model.errors import InvalidParameter, Problem, Refused, require
from reanon_core.model.finding import Findings
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Attack
from reanon_dagster.commands.adversary_options import declared_knowledge
from reanon_dagster.commands.output import progress, say, table, warn
from reanon_dagster.commands.private_output import require_json_place, write_json_file
from reanon_dagster.releasing.audited_ledger import audited_ledger
from reanon_dagster.releasing.halts import halt_series
from reanon_dagster.releasing.integrity import integrity_of, require_integrity
from reanon_dagster.releasing.judged_candidate import Progress, checks_of
from reanon_dagster.releasing.published_audit import published_flaws
from reanon_dagster.releasing.release_audit import broken_promises
from reanon_dagster.releasing.series_view import read_view
from reanon_dagster.series.series import Series
from reanon_dagster.series.series_file import load_series


@dataclass(frozen=True)
class ReleaseVerdict:
    """The verdict on one release."""

    release: str
    verdict: Verdict


def run(options: argparse.Namespace) -> int:
    """Audit a series, or releases made elsewhere."""
    attacks = chosen_attacks(options.attack)
    if options.releases:
        from reanon_dagster.commands import audit_files

        return audit_files.run(options, attacks)
    _require_series(options)
    series = load_series(options.series)
    require_json_place(options.json, series.published_folder.parent)
    records = read_view(series).records
    if not records:
        require_integrity(series.name, integrity_of(series))
        say(f"{series.name}: nothing is published yet", quiet=options.quiet)
        return 0
    checks, named = checks_of(series), options.attack is not None
    with (
        progress(f"{series.name}: reading the ledger", quiet=options.quiet) as step,
        # Only what was there when the command began: another process may have published since.
        audited_ledger(series, records, checks, attacks if named else ()) as audited,
    ):
        ledger, wanted = audited.ledger, any(attack.has_posteriors for attack in attacks)
        knowledge = cache(partial(declared_knowledge, series, ledger, options, background=wanted))
        if audited.folder is None:
            knowledge()  # what is wrong with it is said before the checks
        verdicts = []
        for check in checks:
            step(f"checking {check.name}")
            answers = zip(records, audited.verdicts(check), strict=True)
            verdicts += [ReleaseVerdict(record.release, verdict) for record, verdict in answers]
        findings, left_out = run_attacks(
            attacks, lambda attack: audited.findings(attack, knowledge), named=named, step=step
        )
        findings = [with_truth(found, ledger, knowledge) for found in findings]
        step("verifying the published folder")
        flaws, strays = published_flaws(series)
    warn_of_left_out(left_out)
    show_answers(series.title, verdicts, findings, left_out, quiet=options.quiet)
    write_json(options.json, verdicts, findings, left_out)
    _require_sound(series, records[-1].release, verdicts, flaws, strays)
    return 0


def _require_series(options: argparse.Namespace) -> None:
    """Refuse options that belong to releases made elsewhere.

    Raises: InvalidParameter.
    """
    problems = []
    if options.series is None:
        problems.append(Problem("audit", "be given a SERIES.yaml, or --releases and --schema"))
    elif options.html is not None:
        advice = "`reanon report` writes the page of a series"
        problems.append(Problem("--html", "be given with --releases", help=advice))
    if options.series is not None and options.findings is not None:
        advice = "`reanon report` says how many people of a series are exposed"
        problems.append(Problem("--findings", "be given with --releases and --people", help=advice))
    require(problems, InvalidParameter)


def _require_sound(
    series: Series, latest: str, verdicts: Sequence[ReleaseVerdict], flaws: list[str], strays: Sequence[str]
) -> None:
    """Refuse a series whose published folder or whose checks fail, and halt it where a promise is broken.

    What does not belong into the published folder fails the audit, and halts nothing.

    Raises: Refused.
    """
    flaws += [flaw for one in verdicts for flaw in broken_promises(series, one.release, [one.verdict])]
    sentences = [f"{series.name}: {flaw}" for flaw in flaws]
    broken = sorted({one.verdict.check for one in verdicts if one.verdict.required and not one.verdict.holds})
    if broken:
        sentences.append(f"{series.name}: failed checks: {', '.join(broken)}")
    if flaws:
        halt_series(series, latest, flaws)
        sentences.append(f"{series.name} is halted: correct the cause, then run `reanon lift`")
    sentences += [f"{series.name}: {stray}" for stray in strays]
    if sentences:
        raise Refused("\n".join(sentences))


def chosen_attacks(listed: str | None) -> list[Attack]:
    """The attacks named on the command line, or all.

    Raises: InvalidParameter.
    """
    names = [name.strip() for name in listed.split(",")] if listed else list(ATTACKS)
    return [build_attack(name) for name in names]


def run_attacks(
    attacks: Sequence[Attack],
    run_one: Callable[[Attack], Findings],
    *,
    named: bool,
    step: Progress,
) -> tuple[list[Findings], dict[str, str]]:
    """What each attack finds, and why others are left out: one that cannot run here, unless it was named.

    Raises: InvalidParameter.
    """
    findings, left_out = [], {}
    for attack in attacks:
        step(f"attacking: {attack.name}")
        try:
            findings.append(run_one(attack))
        except InvalidParameter as error:
            if named:
                raise
            left_out[attack.name] = str(error)
    return findings, left_out


def warn_of_left_out(attacks: Mapping[str, str]) -> None:
    """Print which attacks were left out, and why."""
    for name, why in attacks.items():
        warn(f"attack {name} was left out: {why}")


def show_answers(
    title: str,
    verdicts: Sequence[ReleaseVerdict],
    findings: Sequence[Findings],
    left_out: Mapping[str, str],
    *,
    quiet: bool,
) -> None:
    """Print the answers as two tables. What was not tested has no number, and says why."""
    rows = []
    for check in dict.fromkeys(one.verdict.check for one in verdicts):
        its_own = [one for one in verdicts if one.verdict.check == check]
        failing = [one.release for one in its_own if not one.verdict.holds]
        answer = "holds" if not failing else f"fails in {', '.join(failing)}"
        violations = sum(one.verdict.violations for one in its_own)
        rows.append((check, answer, str(violations), its_own[-1].verdict.sentence))
    if rows:
        table(("check", "answer", "violations", "rule"), rows, quiet=quiet, title=f"{title}: checks")
    attacks = [(found.attack, f"{found.exposed:,}", f"{found.of:,}", found.note) for found in findings]
    attacks += [(name, "not tested", "", why) for name, why in left_out.items()]
    if attacks:
        table(("attack", "exposed", "of", "note"), attacks, quiet=quiet, title=f"{title}: attacks")


def write_json(
    path: Path | None,
    verdicts: Sequence[ReleaseVerdict],
    findings: Sequence[Findings],
    left_out: Mapping[str, str],
) -> None:
    """Write the answers for a program: aggregates only, no person."""
    if path is None:
        return
    document = {
        "checks": [
            {
                "release": one.release,
                "check": one.verdict.check,
                "holds": one.verdict.holds,
                "violations": one.verdict.violations,
                "observed": one.verdict.observed,
            }
            for one in verdicts
        ],
        "attacks": [
            {"attack": found.attack, "exposed": found.exposed, "of": found.of, "note": found.note, **found.extra}
            for found in findings
        ],
    } | ({"not_tested": dict(left_out)} if left_out else {})
    write_json_file(path, document)
