"""What Dagster's graph and its record of checks say of a series, asked through GraphQL."""

import pytest
from builders.server import Server

pytestmark = pytest.mark.server

JUDGES = {"well_formedness", "k_anonymity", "l_diversity", "m_uniqueness", "m_invariance"}
ONE_BACK = "The start and end of the upstream time window is offsetted by -1 and -1 partitions respectively."


@pytest.mark.parametrize("series", ["steady", "faulty"])  # one for each month, and one on named days
def test_a_release_depends_on_its_snapshot_and_on_itself_and_the_state_one_release_back(
    server: Server, series: str
) -> None:
    found = server.dependencies(series)
    assert set(found) == {"snapshot", "state", "release"}
    assert found["snapshot"] is None  # its own partition
    for asset in ("state", "release"):
        mapping = found[asset]
        assert mapping is not None
        assert mapping["className"] == "TimeWindowPartitionMapping"
        assert ONE_BACK in mapping["description"]


def test_the_checks_of_a_sound_release_are_tied_to_its_materialization(
    server: Server, backfilled: tuple[str, str]
) -> None:
    made_by = {run.partition: run.id for run in server.runs(backfilled[0])}
    assert {"valid", "drift", *JUDGES} <= set(server.checks("steady"))
    for check in ("valid", "drift", *JUDGES):
        for release in ("2024-01", "2024-05"):
            result = server.check_result("steady", check, release)
            assert result.success, check
            assert result.run == result.judged_materialization_of == made_by[release], check


def test_the_checks_of_a_refused_release_are_not_judged_and_say_why(server: Server, halted: tuple[str, str]) -> None:
    refused = server.runs(halted[0])[-1]
    assert refused.partition == "2024-04-30"
    sentence = server.failure(refused.id).removeprefix("2024-04-30: ")
    assert sentence.startswith("patient must be unique")
    valid = server.check_result("faulty", "valid", refused.partition)
    assert (valid.success, valid.severity, valid.description) == (False, "ERROR", sentence)
    for check in ("drift", *JUDGES):
        result = server.check_result("faulty", check, refused.partition)
        assert (result.success, result.severity, result.run) == (False, "WARN", refused.id)
        assert result.description == f"not judged: {sentence}"
