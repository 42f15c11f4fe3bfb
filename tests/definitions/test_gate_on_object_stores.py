"""The gate on fsspec file systems: copies on the server, and a journal where several tables change together."""

# No `from __future__ import annotations` here: Dagster compares the annotation of an asset's context as it stands.
import json
import uuid
from collections.abc import Iterator
from typing import Any

import dagster as dg
import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dq_dagster.definitions.gate import gated_asset
from dq_dagster.definitions.gating import open_gate
from dq_dagster.definitions.refusals import StoredOtherwise
from dq_dagster.definitions.store import ParquetIOManager
from tests.definitions.warehouse import QUIET, evaluations, figure, passed, recipe, unique

QUARANTINE = {"check_id": "positive", "kind": "is_not_less_than", "enforcement": "quarantine", "column": "id", "limit": 1}


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket on an S3 server of this process."""
    import s3fs
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    keys = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": "us-east-1"}
    for name, value in {"AWS_ENDPOINT_URL": f"http://{host}:{port}", **keys}.items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    try:
        s3fs.S3FileSystem().mkdir("gated")
        yield "s3://gated/warehouse"
    finally:
        s3fs.S3FileSystem.clear_instance_cache()
        server.stop()


@pytest.fixture
def memory() -> str:
    return f"memory://{uuid.uuid4().hex}"


@pytest.fixture(params=["memory", "s3"])
def base(request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue(request.param)


def materialize(base: str, ids: list[int], **arguments: Any) -> dg.ExecuteInProcessResult:
    @gated_asset(recipe=recipe(unique(), QUARANTINE, quarantine={"to": "bad"}), **arguments)
    def orders() -> pa.Table:
        return pa.table({"id": ids})

    @dg.asset
    def report(orders: pa.Table) -> pa.Table:
        return orders

    resources = {"io_manager": ParquetIOManager(base_path=base)}
    return dg.materialize([orders, report], resources=resources, raise_on_error=False, run_config=QUIET)


def ids_at(base: str, name: str) -> list[int]:
    with fsspec.open(f"{base}/{name}.parquet", "rb") as stream:
        return pq.ParquetFile(stream).read()["id"].to_pylist()


def hidden(base: str) -> list[str]:
    filesystem, root = fsspec.url_to_fs(base)
    filesystem.invalidate_cache()
    return sorted(path.rpartition(".gate/")[2] for path in filesystem.find(root) if ".gate/" in path)


def test_what_passes_is_published_and_what_fails_is_not(base: str):
    assert materialize(base, [1, 2, 0]).success
    assert (ids_at(base, "orders"), ids_at(base, "bad"), ids_at(base, "report")) == ([1, 2], [0], [1, 2])
    result = materialize(base, [5, 5], keep_rejected=True)
    assert not result.success
    assert passed(result) == {"id_u": False, "positive": True, "_replay_equivalence": True}
    assert (ids_at(base, "orders"), ids_at(base, "bad")) == ([1, 2], [0])
    kept = figure(evaluations(result)["id_u"], "rejected_candidate")
    with fsspec.open(kept, "rb") as stream:
        assert pq.ParquetFile(stream).read()["id"].to_pylist() == [5, 5]
    assert hidden(base) == ["rejected/orders.parquet"]


def written(base: str, name: str, value: int) -> None:
    with fsspec.open(f"{base}/{name}", "wb") as stream:
        pq.write_table(pa.table({"id": [value]}), stream)


def test_a_publication_that_was_cut_short_is_completed_by_the_next_run(memory: str):
    filesystem, root = fsspec.url_to_fs(memory)
    for name in ("orders", "bad"):
        written(memory, f"{name}.parquet", 1)
        written(memory, f".orders.parquet.gate/candidates/29991231T000000Z-dead/{name}", 2)
    dead = f"{root}/.orders.parquet.gate/candidates/29991231T000000Z-dead"
    moves = {f"{dead}/{name}": f"{root}/{name}.parquet" for name in ("orders", "bad")}
    filesystem.pipe_file(f"{root}/.orders.parquet.gate/journal.json", json.dumps(moves).encode())
    filesystem.cp_file(f"{dead}/orders", f"{root}/orders.parquet")  # and here the process died
    assert (ids_at(memory, "orders"), ids_at(memory, "bad")) == ([2], [1])
    gate = open_gate([f"{memory}/{name}.parquet" for name in ("orders", "bad")])
    with gate.candidates():
        assert (ids_at(memory, "orders"), ids_at(memory, "bad")) == ([2], [2])
    assert hidden(memory) == []


def test_old_orphans_go_and_young_ones_may_live(memory: str):
    for stamp in ("20200101T000000Z-old", "29991231T000000Z-young"):
        written(memory, f".orders.parquet.gate/candidates/{stamp}/x", 1)
    with open_gate([f"{memory}/orders.parquet"]).candidates():
        pass
    assert hidden(memory) == ["candidates/29991231T000000Z-young/x"]


def test_a_folder_in_a_files_place_is_not_replaced(memory: str):
    written(memory, "orders.parquet/1.parquet", 1)
    written(memory, "candidate", 2)
    with pytest.raises(StoredOtherwise):
        open_gate([f"{memory}/orders.parquet"]).publish({f"{memory}/candidate": f"{memory}/orders.parquet"})
