"""Series with releases, and cheap passphrases."""

from pathlib import Path

import pytest
from builders.published_series import published_series

from reanon_dagster.backup.encrypted_file import Stretching
from reanon_dagster.backup.passphrase import ENVIRONMENT
from reanon_dagster.commands import backup

PASSPHRASE = "correct horse battery"


@pytest.fixture(autouse=True)
def _cheap_passphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backup, "STRETCHING", Stretching(n=4, r=1, p=1))
    monkeypatch.setenv(ENVIRONMENT, PASSPHRASE)


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    """A series of four snapshots, and two releases."""
    return published_series(tmp_path, 4, 60, to="r2")
