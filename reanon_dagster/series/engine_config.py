"""The key `engine` of series.yaml: where releases are computed, and how much memory they may take."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from reanon_core.model.errors import Problem
from reanon_dagster.series.field_types import Part, ProblemError, Text
from reanon_dagster.series.memory_size import Size, bytes_of

EMBEDDED, SPARK = "embedded", "spark"
_LOCAL = re.compile(r"local\[(\*|[1-9]\d{0,3})\]", re.ASCII)
_ADDRESS = r"[A-Za-z0-9._-]+:\d{1,5}"
_CLUSTER = re.compile(rf"spark://{_ADDRESS}(,{_ADDRESS})*", re.ASCII)


class Embedded(Part):
    """The engine that works in the process that runs the command."""

    memory_limit: Size | None = Field(
        default=None,
        description="How much memory a release may take beside the program itself, such as 6GB. One that would take "
        "more is computed in parts on disk, or refused if that is not possible. Default: what the machine has left.",
    )


def _master(value: str) -> str:
    if not (_LOCAL.fullmatch(value) or _CLUSTER.fullmatch(value)):
        raise ValueError("be local[N], local[*] or spark://host:port, such as local[2]")
    return value


class Spark(Part):
    """The engine that hands the tasks of a release to Spark. It needs `reanon[spark]` and Java 17."""

    master: Annotated[Text, AfterValidator(_master)] = Field(
        description="`local[2]` for two cores of this machine, `local[*]` for all of them, or the address of a "
        "standalone master: `spark://host:7077`."
    )
    memory_limit: Size = Field(
        default="4GB",
        description="How much memory the tasks of one executor may take together, such as 4GB; with `local`, those of "
        "this machine.",
    )
    cores: Annotated[int, Field(ge=1, le=1024)] | None = Field(
        default=None, description="spark://: how many tasks an executor runs at a time. Default: 1."
    )
    executors: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        default=None, description="spark://: how many executors there are at most. Default: all that the workers offer."
    )
    secret: Text | None = Field(
        default=None,
        description="spark://: the file that holds the cluster's `spark.authenticate.secret`, readable by you alone.",
    )
    scratch: Text | None = Field(
        default=None,
        description="A folder for private data that is removed after each release. The workers must see it under the "
        "same path. Default: `scratch` in the private folder of the series.",
    )

    @model_validator(mode="after")
    def _suits_the_master(self) -> "Spark":
        key = f"engine.{SPARK}"
        if self.local:
            for name in ("cores", "executors", "secret"):
                if getattr(self, name) is not None:
                    rule = "be left out with local, which is this machine alone"
                    raise ProblemError(Problem(f"{key}.{name}", rule))
        elif self.secret is None:
            rule = "be given with spark://: reanon does not talk to a cluster without authentication"
            raise ProblemError(Problem(f"{key}.secret", rule, help="docs/performance.md says how to set it up"))
        return self

    @property
    def local(self) -> bool:
        """Whether the tasks run on this machine, in processes that Spark starts."""
        return _LOCAL.fullmatch(self.master) is not None

    def tasks_at_a_time(self, machine_cores: int) -> int:
        """How many tasks share the memory of one executor."""
        found = _LOCAL.fullmatch(self.master)
        if found is None:
            return self.cores or 1
        return machine_cores if found[1] == "*" else int(found[1])

    def task_memory(self, machine_cores: int) -> int:
        """The bytes that one task may take."""
        return bytes_of(self.memory_limit) // self.tasks_at_a_time(machine_cores)


class Engine(Part):
    """Where releases are computed, and how much memory they may take."""

    embedded: Embedded = Field(default=Embedded(), description="In the process that runs the command.")
    spark: Spark | None = Field(default=None, description="In tasks that Spark runs on this machine or on a cluster.")


def as_engine(value: object) -> object:
    """The engine as a name or with options, as options.

    Raises: ValueError for an engine that does not exist.
    """
    if value == EMBEDDED:
        return {EMBEDDED: {}}
    if isinstance(value, Engine) or (isinstance(value, dict) and set(value) in ({EMBEDDED}, {SPARK})):
        return value
    raise ValueError('be embedded, {embedded: {memory_limit: 6GB}} or {spark: {master: "local[2]"}}')
