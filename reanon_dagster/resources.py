"""What the releases of a series depend on besides its file: where their folders are, and which day it is."""

from datetime import date
from pathlib import Path

import dagster as dg
from pydantic import Field, field_validator

from reanon_core.model.errors import InvalidSchema, Refused, require
from reanon_dagster.series.series import Series
from reanon_dagster.series.series_file import folder_problems
from reanon_dagster.storage.series_store import has_store


class SeriesEnvironment(dg.ConfigurableResource[None]):
    """Where the folders of every series are, and which day it is; tests set both.

    Its key in Dagster is the name of the parameter that takes it, `series_environment`.
    """

    root: str | None = Field(
        default=None,
        description="A folder for `private/` and `published/` of every series. Default: each file names its own.",
    )
    today: str | None = Field(
        default=None,
        description="The day by which releases are due, such as 2024-03-20. Default: the machine's date.",
    )

    @field_validator("today")
    @classmethod
    def _is_a_day(cls, value: str | None) -> str | None:
        if value is not None:
            date.fromisoformat(value)
        return value

    def day(self) -> date:
        """The day by which a release is due: the steward's own calendar decides."""
        return date.today() if self.today is None else date.fromisoformat(self.today)  # noqa: DTZ011

    def placed(self, series: Series) -> Series:
        """The series with its private and public folders under the root; unchanged if there is no root.

        Raises: InvalidSchema if private and public files would mix; Refused if the series has releases in its own
        folders, because a second history of the same people would not be protected against the first.
        """
        if self.root is None:
            return series
        root = Path(self.root).resolve()
        moved = series.stored_in(root / "private", root / "published")
        if moved.private_folder == series.private_folder and moved.published_folder == series.published_folder:
            return series
        require(list(folder_problems(dict(moved.config), series.folder)), InvalidSchema)
        for own in (series.private_folder.parent, series.published_folder.parent):
            if root.is_relative_to(own.resolve()):
                raise Refused(
                    f"the root of {series.name} lies in {own.name}, one of its own folders; choose another root"
                )
        if has_store(series.private_folder) or any(series.published_folder.glob("*/manifest.json")):
            raise Refused(
                f"{series.name} has releases in the folders that its file names, and a second history of the same "
                f"people would not be protected against them; leave the root out"
            )
        return moved


ENVIRONMENT = SeriesEnvironment()
"""The default. Definitions can be merged only if they share one object for each resource."""
