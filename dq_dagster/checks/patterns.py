"""Patterns: read as Java's, found anywhere in the text, evaluated by RE2. docs/decisions/0040-patterns.md says why."""

from __future__ import annotations

from functools import lru_cache

from pydantic import ConfigDict, RootModel, model_validator

from dq_dagster.checks.pattern_reader import PatternRefused, translated


@lru_cache(maxsize=4096)
def compiled(pattern: str, *, ignore_case: bool = False) -> str:
    """The pattern as RE2 is given it. Raises PatternRefused where RE2 could not evaluate it, or not as Java does."""
    import re2  # pyright: ignore[reportMissingTypeStubs]  # slow to import; wanted only where a pattern is read

    written = translated(pattern, ignore_case=ignore_case)
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(written, options)
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error.args[0])
        raise PatternRefused(f"is more than RE2 can compile ({reason}); make it shorter, or its repetitions fewer") from error
    return written


class Pattern(RootModel[str]):
    """A regular expression in Java's dialect, without what RE2 lacks: look-around, back-references, possessive repetitions."""

    model_config = ConfigDict(frozen=True)

    @model_validator(mode="after")
    def _compiles(self) -> Pattern:
        compiled(self.root)
        return self

    def re2(self, *, ignore_case: bool = False) -> str:
        """The pattern for RE2: it matches where any part of the text does."""
        return compiled(self.root, ignore_case=ignore_case)
