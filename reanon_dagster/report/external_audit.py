"""The numbers of an audit of releases that reanon did not make. Private."""

from collections.abc import Mapping, Sequence

import numpy as np

from reanon_core.model.finding import Findings
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.release import Release
from reanon_dagster.report.exposure import candidates_alone, candidates_over_time, exposed_people
from reanon_dagster.report.pages.audit_page import AuditedAttack, AuditedRelease, audit_page
from reanon_dagster.report.pages.release_numbers import fewest_values, group_sizes, size_counts


def external_audit_page(
    names: Sequence[str],
    history: History,
    knowledge: Knowledge,
    findings: Sequence[Findings],
    left_out: Mapping[str, str],
    unmatched: int,
) -> str:
    """The page on the releases of these names and on what was found in them."""
    alone = exposed_people(candidates_alone(history, knowledge))
    so_far = exposed_people(candidates_over_time(history, knowledge))
    sensitive = history.schema.sensitive.name
    releases = [
        _audited(name, one.release, len(presence.persons), shown=one.release.shows(sensitive), exposed=exposed)
        for name, one, presence, exposed in zip(
            names, history.releases, knowledge.presences, zip(alone, so_far, strict=True), strict=True
        )
    ]
    people = [np.empty(0, np.int64), *(presence.persons for presence in knowledge.presences)]
    return audit_page(
        releases,
        [AuditedAttack(found.attack, found.exposed, found.of, found.note) for found in findings],
        exposed=len(exposed_by_any(findings)),
        of=len(np.unique(np.concatenate(people))),
        compromised=len(knowledge.compromised.persons),
        unmatched=unmatched,
        sensitive=sensitive,
        quasi_identifiers=history.schema.names,
        left_out=left_out,
    )


def exposed_by_any(findings: Sequence[Findings]) -> set[int]:
    """The people whom at least one attack exposes."""
    return {int(person) for found in findings for person in found.persons}


def _audited(name: str, release: Release, people: int, *, shown: bool, exposed: tuple[int, int]) -> AuditedRelease:
    sizes = group_sizes(release)
    return AuditedRelease(
        name=name,
        rows=int(sizes.sum()),
        groups=len(sizes),
        people=people,
        smallest=int(sizes.min()) if len(sizes) else 0,
        fewest=fewest_values(release) if shown else None,
        sizes=size_counts(sizes),
        alone=exposed[0],
        so_far=exposed[1],
    )
