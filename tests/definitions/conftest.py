"""An instance for each test: in memory, and gone afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg
import pytest


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral
