"""What all assets of a series share: keys, partitions, groups, links to their files, and errors as failures."""

import sys
import traceback
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import dagster as dg

from reanon_core import __version__
from reanon_core.model.errors import ReanonError, Refused
from reanon_dagster.partitions import partitions_of
from reanon_dagster.resources import SeriesEnvironment
from reanon_dagster.series.series import Series


@dataclass(frozen=True)
class SeriesAssets:
    """What Dagster calls a series and its parts."""

    series: Series
    file: Path | None = None
    """The series file, to which Dagster's pages link."""

    def placed(self, environment: SeriesEnvironment) -> Series:
        """The series where the environment keeps it."""
        return environment.placed(self.series)

    @property
    def name(self) -> str:
        """The series' name as Dagster allows it."""
        return self.series.name.replace("-", "_")

    @property
    def pool(self) -> str:
        """The pool that lets one run of a series work at a time: they share its DuckDB file."""
        return f"reanon_{self.name}"

    @cached_property
    def partitions(self) -> dg.PartitionsDefinition[str]:
        """One partition for each release."""
        return partitions_of(self.series.calendar)

    def key(self, asset: str) -> dg.AssetKey:
        """The key of one of the series' assets."""
        return dg.AssetKey([self.name, asset])

    def spec(self, name: str, description: str, **settings: Any) -> dg.AssetSpec:
        """One of the assets, with the settings that all assets of the series share."""
        about = self.series.config.description
        owners = [owner for owner in self.series.config.owners if "@" in owner or owner.startswith("team:")]
        return dg.AssetSpec(
            self.key(name),
            partitions_def=self.partitions,
            group_name=self.name,
            description=f"{description.strip()}\n\n{self.series.title}." + (f" {about}" if about else ""),
            owners=owners or None,
            tags={"reanon/technique": self.series.config.technique.name},
            code_version=__version__,
            **settings,
        )

    def release(self, context: dg.AssetExecutionContext) -> str:
        """The release that a step works on.

        Raises: Refused if a run asks for several.
        """
        asked = context.partition_key_range
        if asked.start != asked.end:
            raise Refused(
                f"one run makes one release, and this run asks for {asked.start} to {asked.end}; "
                f"launch a backfill with one run for each partition, or run `reanon backfill`"
            )
        return self.series.calendar.release_of(asked.start)


class Refusal(dg.Failure):
    """A failure that Dagster shows as a sentence alone.

    Dagster stores the stack of its own calls with a failure, and with it the folders of this machine. As long as the
    failure exists, Python writes no stacks.
    """

    __module__ = "reanon"  # as Dagster shows it

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, allow_retries=False)
        if not hasattr(sys, "tracebacklimit"):
            sys.tracebacklimit = 0
            weakref.finalize(self, sys.__dict__.pop, "tracebacklimit", None)


@contextmanager
def refusals_as_failures(command: str = "publish", about: str = "") -> Iterator[None]:
    """Raise errors as Dagster failures without any value of the data, because many people read logs.

    The sentence names the release that it is `about`.
    """
    try:
        yield
    except ReanonError as error:
        sentence = error.redacted()
        raise Refusal(sentence if about in sentence else f"{about}: {sentence}") from None
    except OSError as error:  # a path may name a folder of the steward, so it stays out
        reason = error.strerror or type(error).__name__
        raise Refusal(f"{about}: {reason}; run `reanon status` to see where the series stands") from None
    except Exception as error:
        *_, (frame, line) = traceback.walk_tb(error.__traceback__)
        raise Refusal(
            f"unexpected {type(error).__name__} at {Path(frame.f_code.co_filename).name}:{line}; "
            f"its text may contain data and is not shown here; run `reanon {command}` to see it"
        ) from None


def code_references(*files: Path | None) -> dict[str, dg.CodeReferencesMetadataValue]:
    """Metadata of a definition that link to these files on this machine; no link for a file that is not known."""
    with warnings.catch_warnings():  # Dagster calls code references a beta
        warnings.simplefilter("ignore", dg.BetaWarning)
        links: list[dg.LocalFileCodeReference | dg.UrlCodeReference] = [
            dg.LocalFileCodeReference(file_path=str(file.resolve()), label=file.name) for file in files if file
        ]
        return {"dagster/code_references": dg.CodeReferencesMetadataValue(code_references=links)} if links else {}
