"""Data Docs of a release, written once it is decided whether it is published."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reanon_core.model.errors import InvalidSnapshot, ReanonError, Refused, Unpublishable
from reanon_core.model.verdict import Verdict
from reanon_dagster.expectations.data_docs import FOLDER, SNAPSHOT, Suite, verdict_suite, write_data_docs
from reanon_dagster.expectations.evaluation import expectation_problems, raw_frame
from reanon_dagster.expectations.snapshot_rules import size_rule, snapshot_rules
from reanon_dagster.releasing.brakes import allowed_change
from reanon_dagster.releasing.candidate import Candidate
from reanon_dagster.releasing.series_view import SeriesView
from reanon_dagster.sources.snapshot_location import SnapshotMissing, shown_path
from reanon_dagster.sources.snapshot_reader import read_raw_table

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series

JUDGED = Verdict("decision", holds=True, sentence="the release is judged, and not published")
DISAGREEMENT = " (the snapshot was read without a problem, but fails a rule there: please report this)"
PUBLISHED = Verdict("decision", holds=True, sentence="the release is published")


@dataclass
class DataDocs:
    """Writes the pages of a release once it is decided; an observer of `publish_release`."""

    series: "Series"
    release: str
    decision: Verdict = PUBLISHED
    """What the pages say of a release that is not refused."""
    candidate: Candidate | None = None
    """What was judged; None as long as nothing was."""
    page: str | None = None
    """Where the pages are; None if there are none."""

    def __call__(self, view: SeriesView, candidate: Candidate | None, error: ReanonError | None) -> None:
        """Write the pages."""
        self.candidate = candidate
        self.page = _document_release(self.series, view, self.release, candidate, error or self.decision)


def _document_release(
    series: "Series",
    view: SeriesView,
    release: str,
    candidate: Candidate | None,
    decision: Verdict | ReanonError,
) -> str | None:
    """Write the pages of a release that is decided, and return the path of the first; None if it was not judged.

    A release that was refused because of its data has pages too. `view` is older than the decision. Pages are no
    reason to fail: if they cannot be written, a sentence without any value of the data is returned instead.
    """
    if isinstance(decision, ReanonError):
        judged = candidate is not None or isinstance(decision, Refused | Unpublishable | InvalidSnapshot)
        if not judged or isinstance(decision, SnapshotMissing):
            return None
        # A problem without its value and its advice: both may contain values of the data.
        reason = "; ".join(f"{one.what} must {one.rule}" for one in decision.problems) or decision.redacted()
        decision = Verdict("decision", holds=False, violations=1, sentence=f"refused: {reason}")
    try:
        suites = [verdict_suite([decision, *(candidate.verdicts if candidate else ())])]
        snapshot = _snapshot_suite(series, view, release, braked=not (candidate and candidate.accepted))
        folder = series.private_folder / FOLDER
        index, failed = write_data_docs(folder, series.title, release, [*snapshot, *suites])
        return shown_path(series, index) + (DISAGREEMENT if candidate and SNAPSHOT in failed else "")
    except Exception as error:
        return f"not written, because of an unexpected {type(error).__name__}"


def _snapshot_suite(series: "Series", view: SeriesView, release: str, *, braked: bool) -> list[Suite]:
    """What the series and the steward expect of the snapshot; nothing if it cannot be read at all."""
    try:
        frame = raw_frame(read_raw_table(series, release), series)
    except InvalidSnapshot:
        return []
    own = series.expectations if not expectation_problems(series.expectations) else ()
    before = view.people_before(release) or 0
    allowed = allowed_change(series, before) if before and braked else None
    size = [] if allowed is None else [size_rule(before, allowed)]
    rules = snapshot_rules(series, release, list(frame.columns))
    return [Suite(SNAPSHOT, frame, [*size, *rules, *own])]
