"""Receipts: one JSON document an evaluation, in a folder, for those who look back without Dagster."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from dq_dagster.definitions.results import plain_value
from dq_dagster.errors import DqDagsterError
from dq_dagster.files import locate
from dq_dagster.outcomes import Evaluation, Outcome

_SUFFIX = ".receipt.json"


class ReceiptsUnreadable(DqDagsterError):
    """A folder of receipts that cannot be read."""

    def __init__(self, folder: str, what: str) -> None:
        self.folder = folder
        super().__init__(f"receipts in {folder}: {what}")


def write_receipt(folder: str, evaluation: Evaluation, *, outcomes: Sequence[Outcome], about: Mapping[str, Any]) -> str:
    """Writes a receipt under a name of its own that sorts by time, whole or not at all; says where."""
    receipt = evaluation.receipt
    document = {**about, **receipt.to_dict(), "outcomes": [_told(outcome) for outcome in outcomes]}
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    scope = re.sub(r"[^A-Za-z0-9-]+", "_", receipt.scope)[:80]
    name = f"{receipt.now:%Y%m%dT%H%M%S.%fZ}-{scope}-{secrets.token_hex(4)}{_SUFFIX}"
    location = locate(folder)
    path = f"{location.root}/{name}"
    if location.filesystem is not None:
        location.filesystem.makedirs(location.root, exist_ok=True)
        location.filesystem.pipe_file(path, text.encode())  # one object, which a store never shows in part
        return f"{folder.rstrip('/')}/{name}"
    os.makedirs(location.root, exist_ok=True)
    hidden = f"{location.root}/.{name}.tmp"
    try:
        with open(hidden, "x", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(hidden, path)
    finally:
        if os.path.lexists(hidden):
            os.unlink(hidden)
    return path


def read_receipts(folder: str, *, asset: str | None = None, run_id: str | None = None) -> list[dict[str, Any]]:
    """The receipts of a folder, oldest first; of one asset or run, where one is named.

    Raises:
        ReceiptsUnreadable: there is no such folder, or something in it is no receipt.
    """
    location = locate(folder)
    try:
        if location.filesystem is None:
            names = sorted(name for name in os.listdir(location.root) if name.endswith(_SUFFIX) and not name.startswith("."))
        else:
            location.filesystem.invalidate_cache()
            listed = location.filesystem.ls(location.root, detail=False)
            names = sorted(path.rpartition("/")[2] for path in listed if path.endswith(_SUFFIX))
    except OSError as error:
        raise ReceiptsUnreadable(folder, f"the folder cannot be listed ({type(error).__name__}); check the path") from error
    found: list[dict[str, Any]] = []
    for name in names:
        path = f"{location.root}/{name}"
        try:
            with open(path, "rb") if location.filesystem is None else location.filesystem.open(path, "rb") as stream:
                document = json.load(stream)
        except (OSError, ValueError) as error:
            raise ReceiptsUnreadable(folder, f"{name} is no receipt ({type(error).__name__}); move it away") from error
        if (asset is None or document.get("asset") == asset) and (run_id is None or document.get("run_id") == run_id):
            found.append(document)
    return found


def _told(outcome: Outcome) -> dict[str, Any]:
    """The outcome in the wire's spelling, and what a reader of receipts asks for besides."""
    return {
        **outcome.wire(),
        "status": outcome.status,
        "kind": outcome.kind,
        "enforcement": outcome.enforcement,
        "rows": outcome.rows,
        "failed_rows": outcome.failed_rows,
        "observed": {name: plain_value(value) for name, value in outcome.observed.items()},
        "seconds": round(outcome.seconds, 6),
        "bytes_scanned": outcome.bytes_scanned,
    }
