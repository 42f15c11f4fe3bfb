"""The names of check steps: one step an asset and recipe, and no two of them alike."""

from __future__ import annotations

import hashlib
import re

import dagster as dg

from dq_dagster.definitions.refusals import AssetRefused

# A part that stands in a name as it is: no underscore at its ends and no two in a row, so that `__` can only join parts
# and `___` can only open what follows them.
_PLAIN = re.compile(r"[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*")
_ALLOWED = re.compile(r"[A-Za-z0-9_]+")


def step_name(asset_key: dg.AssetKey, recipe: str) -> str:
    """The name of the step that checks an asset by a recipe: different for every other pair.

    `check_raw__orders` for the key ["raw", "orders"] and a recipe that is called orders too. A key that Dagster cannot
    spell in a name, such as "raw.orders", is made fit for it and carries a digest.
    """
    parts = asset_key.path
    name = "check_" + "__".join(re.sub(r"[^A-Za-z0-9]+", "_", part).strip("_") for part in parts)
    if not all(_PLAIN.fullmatch(part) for part in parts):
        name += "___" + hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()[:12]
    return name if recipe == parts[-1] else f"{name}___by_{recipe}"


def refuse_unspellable(asset_key: dg.AssetKey) -> None:
    """Raises AssetRefused for a key that Dagster cannot spell in the names of its checks' outputs."""
    if not asset_key.path or not _ALLOWED.fullmatch(asset_key.to_python_identifier()):
        raise AssetRefused(
            f"asset key {asset_key.to_user_string()!r} cannot carry checks: Dagster allows only letters A to Z, digits, '_', '-' and '.' "
            "in the parts of a checked asset's key; rename the asset"
        )
