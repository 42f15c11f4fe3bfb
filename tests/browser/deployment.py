"""A whole Dagster for the browser tests: webserver, daemon and code location as processes on loopback, with a home of their own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import dagster as dg
import yaml

from example_project.demo import prepare_home

CHECKOUT = Path(__file__).parents[2]
LOCATION = "example_project"
PATIENCE = 300  # seconds; an idle machine needs a tenth of it, two busy cores may need most
ENDED = {"SUCCESS", "FAILURE", "CANCELED"}

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Deployment:
    """A running Dagster: where its home, its data and its UI are."""

    home: Path
    data: Path
    url: str

    @property
    def environment(self) -> dict[str, str]:
        """What a process of this deployment, or a command that looks at it, finds in its environment."""
        return {
            **os.environ,
            "DAGSTER_HOME": str(self.home),
            "DQ_EXAMPLE_DATA": str(self.data),
            "DAGSTER_DISABLE_TELEMETRY": "yes",
            "PYTHONPATH": str(CHECKOUT),
        }

    def graphql(self, query: str, **variables: Any) -> dict[str, Any]:
        """The answer to a query."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            answer = json.load(response)
        assert "errors" not in answer, answer["errors"]
        return answer["data"]

    def runs(self) -> list[dict[str, Any]]:
        """Every run, the oldest first, with its job, status and tags."""
        found = self.graphql("{ runsOrError { ... on Runs { results { runId jobName status tags { key value } } } } }")
        return [{**run, "tags": {tag["key"]: tag["value"] for tag in run["tags"]}} for run in reversed(found["runsOrError"]["results"])]

    def broken_ticks(self) -> list[str]:
        """What went wrong in the evaluation of schedules, in words."""
        found = self.graphql(
            """query ($repository: RepositorySelector!) { schedulesOrError(repositorySelector: $repository) { ... on Schedules {
                 results { name scheduleState { ticks(limit: 5) { error { message } } } } } } }""",
            repository={"repositoryLocationName": LOCATION, "repositoryName": "__repository__"},
        )["schedulesOrError"]["results"]
        return [tick["error"]["message"] for schedule in found for tick in schedule["scheduleState"]["ticks"] if tick["error"]]

    def launch(self, job: str, **tags: str) -> str:
        """Launches the job the way the UI's button does, and gives the run's id."""
        told = self.graphql(
            """mutation ($params: ExecutionParams!) { launchPipelineExecution(executionParams: $params) {
                 __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }""",
            params={
                "selector": {"repositoryLocationName": LOCATION, "repositoryName": "__repository__", "pipelineName": job},
                "mode": "default",
                "runConfigData": {},
                "executionMetadata": {"tags": [{"key": key, "value": value} for key, value in tags.items()]},
            },
        )["launchPipelineExecution"]
        assert told["__typename"] == "LaunchRunSuccess", told
        return told["run"]["runId"]


def until(what: str, look: Callable[[], Found | None], *, seconds: float = PATIENCE) -> Found:
    """What `look` finds, asked again and again until it finds something."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.25)
    raise AssertionError(f"after {seconds} seconds there is still no {what}")


@contextmanager
def deployed(folder: Path) -> Generator[Deployment]:
    """Starts the deployment in a folder of its own and ends it, each process by its id."""
    home = prepare_home(folder / "home")
    _make_storages(home)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    deployment = Deployment(home, folder / "data", f"http://127.0.0.1:{port}")
    workspace = folder / "workspace.yaml"
    module = {"module_name": "tests.browser.every_minute", "working_directory": str(CHECKOUT), "location_name": LOCATION}
    workspace.write_text(yaml.safe_dump({"load_from": [{"python_module": module}]}), "utf-8")
    commands = {
        "dagster-webserver": ["--host", "127.0.0.1", "--port", str(port), "--workspace", str(workspace)],
        "dagster-daemon": ["run", "--workspace", str(workspace)],
    }
    processes: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for program, arguments in commands.items():
            with (folder / f"{program}.log").open("wb") as log:
                processes[program] = subprocess.Popen(
                    [_beside_python(program), *arguments],
                    cwd=folder,
                    env=deployment.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        until("answer of the webserver", lambda: _is_loaded(deployment, processes, folder))
        yield deployment
    finally:
        _end(processes)


def _make_storages(home: Path) -> None:
    """Creates the instance's databases. Webserver and daemon, started together, would both try, and one of them fail."""
    with dg.DagsterInstance.from_config(os.fspath(home)) as instance:
        instance.get_runs_count()
        instance.all_instigator_state()
        instance.get_latest_materialization_event(dg.AssetKey("none"))


def _beside_python(program: str) -> str:
    path = shutil.which(program, path=os.fspath(Path(sys.executable).parent)) or shutil.which(program)
    assert path is not None, f"{program} is not installed beside {sys.executable}"
    return path


def _is_loaded(deployment: Deployment, processes: Mapping[str, subprocess.Popen[bytes]], folder: Path) -> bool:
    for program, process in processes.items():
        assert process.poll() is None, f"{program} ended:\n{(folder / f'{program}.log').read_text('utf-8', 'replace')}"
    with suppress(urllib.error.URLError, ConnectionError, TimeoutError):
        entries = deployment.graphql(
            """{ workspaceOrError { ... on Workspace { locationEntries {
                 loadStatus locationOrLoadError { __typename ... on PythonError { message } } } } } }"""
        )["workspaceOrError"]["locationEntries"]
        for entry in entries:
            loaded = entry["locationOrLoadError"] or {}
            assert loaded.get("__typename") != "PythonError", loaded["message"]
        return bool(entries) and all(entry["loadStatus"] == "LOADED" for entry in entries)
    return False


def _end(processes: Mapping[str, subprocess.Popen[bytes]]) -> None:
    # Each leads a session of its own, so that the group is this process and the code server and runs that it started.
    for process in processes.values():
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
    for process in processes.values():
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=30)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
