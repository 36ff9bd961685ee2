"""The benchmark on a real Ray cluster of two nodes on this machine, of which workers and nodes are killed."""

from __future__ import annotations

import importlib
import os
import secrets
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench_processes import PATIENCE_SECONDS, is_alive, signs, wait_until
from tracking_parts.errors import ConfigError
from tracking_parts.evaluation.engines.ray_cluster import RayEngine
from tracking_parts.evaluation.runner import Outcome, Plan, run

WAITS = "trackers_for_tests:WaitsWhileHeld"
# A node that is gone is noticed within seconds, not within the half minute that suits a network.
QUICK_TO_NOTICE = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 5000,
    "health_check_failure_threshold": 3,
}


class RunningCluster:
    """Two nodes of one processor each: two tasks at once are on both."""

    def __init__(self, scratch: Path) -> None:
        utilities: Any = importlib.import_module("ray.cluster_utils")
        self.scratch = scratch
        self.nodes = utilities.Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 1, "include_dashboard": False, "_system_config": QUICK_TO_NOTICE},
        )
        self.second = self.nodes.add_node(num_cpus=1)
        self.nodes.wait_for_nodes()

    @property
    def address(self) -> str:
        return str(self.nodes.address)

    def lose_second_node(self) -> None:
        at_work = signs(self.scratch)
        self.nodes.remove_node(self.second, allow_graceful=False)
        # Its worker lives on for a moment, in which it could still finish.
        wait_until(lambda: not all(map(is_alive, at_work)), "the lost node's worker was gone")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    pytest.importorskip("ray", reason="Ray is not installed (extra 'ray')")
    scratch = tmp_path_factory.mktemp("ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STP_TEST_FOLDER", str(scratch))  # before any node starts: workers inherit it
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))  # else one is written into the user's home
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        cluster = RunningCluster(scratch)
        yield cluster
        cluster.nodes.shutdown()


@pytest.fixture
def cluster(running: RunningCluster) -> RunningCluster:
    for path in running.scratch.iterdir():
        path.unlink()
    (running.scratch / "hold").touch()
    return running


def run_while(disturb: Callable[[], None], cluster: RunningCluster, data: Path, out: Path) -> list[Outcome]:
    """A run that is disturbed as soon as both its tasks are under way, and let go after that."""

    def wait_and_disturb() -> None:
        try:
            wait_until(lambda: len(signs(cluster.scratch)) == 2, "both nodes were at work")
            disturb()
        finally:
            (cluster.scratch / "hold").unlink()

    thread = threading.Thread(target=wait_and_disturb)
    thread.start()
    outcomes = run([WAITS], data, out, engine="ray", address=cluster.address)
    thread.join(PATIENCE_SECONDS)
    return outcomes


def assert_all_there(outcomes: list[Outcome], out: Path) -> None:
    # A node may die after it wrote a result and before it told so: the retry then finds it there.
    assert [one.status in ("done", "skipped") and not one.error for one in outcomes] == [True] * 2
    assert {path.name for path in out.rglob("*_001.txt")} == {"moving_001.txt", "growing_001.txt"}


def test_tasks_run_on_both_nodes(cluster: RunningCluster, vot_data: Path, tmp_path: Path) -> None:
    plans: list[Plan] = []
    assert_all_there(run_while(lambda: None, cluster, vot_data, tmp_path / "out"), tmp_path / "out")
    assert len(set(signs(cluster.scratch))) == 2
    again = run([WAITS], vot_data, tmp_path / "out", engine="ray", address=cluster.address, on_plan=plans.append)
    assert [one.status for one in again] == ["skipped", "skipped"]
    assert plans[0].workers == 0, "with nothing to do, nobody is asked to work"


def test_what_raises_and_what_dies_is_reported(cluster: RunningCluster, vot_data: Path, tmp_path: Path) -> None:
    out, plans = tmp_path / "out", list[Plan]()
    (vot_data / "growing" / "color" / "00000004.jpg").write_bytes(b"no picture")
    found = run(
        ["identity", "trackers_for_tests:Dies"],
        vot_data,
        out,
        processes=1,
        threads=1,
        engine="ray",
        address=cluster.address,
        on_plan=plans.append,
    )
    outcomes = {(one.tracker, one.sequence): one for one in found}
    assert plans[0].workers == 1
    assert outcomes["identity", "moving"].status == "done"
    assert outcomes["identity", "growing"].error.startswith("growing: frame 3 cannot be read")
    assert outcomes["trackers_for_tests:Dies", "moving"].error == "its worker died 3 times"


def test_a_killed_workers_task_is_retried(cluster: RunningCluster, vot_data: Path, tmp_path: Path) -> None:
    def kill_one() -> None:
        os.kill(signs(cluster.scratch)[0], signal.SIGKILL)

    assert_all_there(run_while(kill_one, cluster, vot_data, tmp_path / "out"), tmp_path / "out")
    assert len(signs(cluster.scratch)) == 3, "the other task was not disturbed"


def test_tasks_that_fit_no_node_are_refused(cluster: RunningCluster, vot_data: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="threads is 64, but Ray's largest node has 1"):
        run(["identity"], vot_data, tmp_path / "out", threads=64, engine="ray", address=cluster.address)


def test_a_lost_nodes_task_is_done_elsewhere(cluster: RunningCluster, vot_data: Path, tmp_path: Path) -> None:
    """The last test of the cluster: it has one node less then."""
    assert_all_there(run_while(cluster.lose_second_node, cluster, vot_data, tmp_path / "out"), tmp_path / "out")
    assert len(signs(cluster.scratch)) == 3


def test_without_ray_it_is_said_what_to_install(
    vot_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"tracking-parts\[ray\]"):
        run(["identity"], vot_data, tmp_path / "out", engine="ray")
    assert not (tmp_path / "out").exists()


def test_an_address_where_nobody_is(vot_data: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed (extra 'ray')")
    with pytest.raises(ConfigError, match="no Ray at nonsense"), RayEngine("nonsense", None, 1):
        pass
