"""Publishing: a reader never sees a missing, partial or mixed table, wherever the publisher is killed."""

from __future__ import annotations

import io
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dq_dagster.definitions import publishing
from dq_dagster.definitions.publishing import LocalGate
from dq_dagster.definitions.refusals import StoredOtherwise

CHECKOUT = Path(__file__).parents[2]
ROWS = 500


def table(version: int) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table({"version": [version] * ROWS}), stream)
    return stream.getvalue()


def publish(places: list[Path], version: int) -> None:
    gate = LocalGate([str(place) for place in places])
    with gate.candidates() as candidates:
        moves: dict[str, str] = {}
        for place in places:
            candidate = candidates.path(place.name)
            with candidates.opened(candidate) as stream:
                stream.write(table(version))
            moves[candidate] = str(place)
        gate.publish(moves)


def version_at(place: Path) -> int:
    """The version that a reader of the published path finds; an error where it is not one whole table."""
    column = pq.ParquetFile(place).read(use_threads=False)["version"].to_pylist()
    assert column == [column[0]] * ROWS
    return column[0]


def test_tables_change_together_and_generations_go_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    places = [tmp_path / "a.parquet", tmp_path / "deep" / "b.parquet"]
    for version in range(1, 5):
        publish(places, version)
        assert [version_at(place) for place in places] == [version, version]
    generations = tmp_path / ".a.parquet.gate" / "generations"
    assert len(list(generations.iterdir())) == 5  # within a minute a reader may still be on its way into any of them
    monkeypatch.setattr(publishing, "GRACE_SECONDS", 0.0)
    publish(places, 5)
    publish(places, 6)
    assert len(list(generations.iterdir())) <= 2
    assert [version_at(place) for place in places] == [6, 6]


def test_a_warehouse_may_be_moved(tmp_path: Path):
    publish([tmp_path / "one" / "a.parquet", tmp_path / "one" / "deep" / "b.parquet"], 1)
    (tmp_path / "one").rename(tmp_path / "two")
    places = [tmp_path / "two" / "a.parquet", tmp_path / "two" / "deep" / "b.parquet"]
    assert [version_at(place) for place in places] == [1, 1]
    publish(places, 2)
    assert [version_at(place) for place in places] == [2, 2]


def test_a_reader_that_holds_the_old_table_reads_it_to_the_end(tmp_path: Path):
    places = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    publish(places, 1)
    with places[0].open("rb") as held:
        for version in (2, 3, 4):
            publish(places, version)
        assert pq.ParquetFile(held).read()["version"][0].as_py() == 1
    assert version_at(places[0]) == 4


def test_a_live_runs_candidates_are_left_alone_and_a_dead_ones_are_cleared(tmp_path: Path):
    gate = LocalGate([str(tmp_path / "a.parquet")])
    dead = gate.home / "candidates" / "dead"
    dead.mkdir(parents=True)
    (dead / "x.parquet").write_bytes(b"half")
    with gate.candidates() as first, LocalGate([str(tmp_path / "a.parquet")]).candidates() as second:
        assert Path(first.folder).exists()
        assert Path(second.folder).exists()
        assert not dead.exists()
    assert list((gate.home / "candidates").iterdir()) == []


def test_a_folder_in_a_files_place_is_not_replaced(tmp_path: Path):
    (tmp_path / "a.parquet").mkdir()
    (tmp_path / "a.parquet" / "1.parquet").write_bytes(table(1))
    for places in ([tmp_path / "a.parquet"], [tmp_path / "a.parquet", tmp_path / "b.parquet"]):
        with pytest.raises(StoredOtherwise):
            publish(places, 2)
    assert version_at(tmp_path / "a.parquet" / "1.parquet") == 1
    assert not (tmp_path / "b.parquet").exists()


def test_a_full_disk_keeps_the_last_table(tmp_path: Path):
    from tests.definitions.test_gate import gate, leftovers
    from tests.definitions.warehouse import run

    assert run(gate([1]), tmp_path).success
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))  # no file may be larger, which fails like a full disk
    try:
        result = run([gate(list(range(100_000)))[0]], tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not result.success
    assert pq.ParquetFile(tmp_path / "orders.parquet").read()["id"].to_pylist() == [1]
    assert leftovers(tmp_path) == []


def _forked(body: object, *arguments: object) -> int:
    """A copy of this process that runs the function and ends."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            body(*arguments)  # type: ignore[operator]
            status = 0
        finally:
            os._exit(status)
    return child


def _publish_for_ever(places: list[Path], version: int) -> None:
    while True:
        version += 1
        publish(places, version)


def _read_for_ever(places: list[Path], stop: Path) -> None:
    """Reads the first table before and after the others: where it has not changed, the others must be of its age."""
    while not stop.exists():
        before = version_at(places[0])
        others = [version_at(place) for place in places[1:]]
        after = version_at(places[0])
        assert before <= after
        assert before != after or others == [before] * len(others), (before, others)


def kill_publishers(folder: Path, tables: int, kills: int) -> None:
    """A publisher in a loop, killed again and again at any point of it, with a reader beside it."""
    random.seed(4)
    places = [folder / f"{name}.parquet" for name in "ab"[:tables]]
    publish(places, 1)
    stop = folder / "stop"
    reader = _forked(_read_for_ever, places, stop)
    survived = {1}
    for _ in range(kills):
        child = _forked(_publish_for_ever, places, version_at(places[0]))
        time.sleep(random.uniform(0.001, 0.05))
        os.kill(child, signal.SIGKILL)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL
        found = {version_at(place) for place in places}
        assert len(found) == 1, found
        survived |= found
    stop.touch()
    assert os.waitpid(reader, 0)[1] == 0, "the reader met a missing, partial or mixed table"
    last = max(survived) + 1
    publish(places, last)
    assert {version_at(place) for place in places} == {last}
    home = folder / ".a.parquet.gate"
    assert list((home / "candidates").iterdir()) == []
    assert [path.name for path in folder.iterdir() if path.name.endswith(".link")] == []
    if tables > 1:
        current = os.readlink(home / "current")
        assert max(path.name for path in (home / "generations").iterdir()) == Path(current).name, "a generation that was never published"
    print(len(survived), "versions outlived", kills, "kills")


def kill_adopters(folder: Path, kills: int) -> None:
    """A publisher that finds plain files and is killed while it takes them over."""
    random.seed(5)
    for number in range(kills):
        places = [folder / str(number) / f"{name}.parquet" for name in "ab"]
        for place in places:
            place.parent.mkdir(exist_ok=True)
            place.write_bytes(table(0))
        child = _forked(publish, places, 1)
        time.sleep(random.uniform(0.0005, 0.02))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert len({version_at(place) for place in places}) == 1
        publish(places, 2)
        assert [version_at(place) for place in places] == [2, 2]
        assert sorted(path.name for path in places[0].parent.iterdir()) == [".a.parquet.gate", "a.parquet", "b.parquet"]


def race_publishers(folder: Path, runs: int) -> None:
    """Several publishers at once: each publication is whole, and the last one stands."""
    places = [folder / "a.parquet", folder / "b.parquet"]
    publish(places, 0)

    def some(start: int) -> None:
        for version in range(start, start + runs):
            publish(places, version)

    children = [_forked(some, start) for start in (1_000, 2_000, 3_000)]
    while children:
        done, status = os.waitpid(-1, os.WNOHANG)
        if done:
            assert status == 0
            children.remove(done)
        before, other, after = version_at(places[0]), version_at(places[1]), version_at(places[0])
        assert before != after or other == before
    assert version_at(places[0]) == version_at(places[1])
    assert version_at(places[0]) % 1_000 == runs - 1
    assert list((folder / ".a.parquet.gate" / "candidates").iterdir()) == []


def _alone(call: str, folder: Path) -> None:
    """In a process of its own: this one has threads, and a fork would copy their locks."""
    code = f"from pathlib import Path; import tests.definitions.test_publishing as t; t.{call}"
    ran = subprocess.run([sys.executable, "-c", code, str(folder)], cwd=CHECKOUT, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    print(ran.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(("tables", "kills"), [(1, 100), (2, 220)], ids=["one table", "two tables"])
def test_a_publisher_that_is_killed_leaves_whole_tables_of_one_age(tables: int, kills: int, tmp_path: Path):
    _alone(f"kill_publishers(Path({str(tmp_path)!r}), {tables}, {kills})", tmp_path)


@pytest.mark.slow
def test_a_publisher_that_is_killed_while_it_takes_plain_files_over_leaves_them_whole(tmp_path: Path):
    _alone(f"kill_adopters(Path({str(tmp_path)!r}), 100)", tmp_path)


@pytest.mark.slow
def test_of_several_publishers_at_once_each_publishes_whole(tmp_path: Path):
    _alone(f"race_publishers(Path({str(tmp_path)!r}), 15)", tmp_path)


def test_no_candidate_outlives_a_run_that_failed(tmp_path: Path, instance: dg.DagsterInstance):
    from tests.definitions.test_gate import gate, leftovers
    from tests.definitions.warehouse import run

    assert not run(gate([1, 1]), tmp_path, instance=instance).success
    assert leftovers(tmp_path) == []
