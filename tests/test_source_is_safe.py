"""Nothing in the package can run code that a file brings along; read from its own source."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from source_dangers import dangers

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "tracking_parts"
FILES = sorted(PACKAGE.rglob("*.py"))
# ``stp bench run module:Class`` is for trackers of the user's own.
MEANT = {"evaluation/trackers.py": {"import_module of a name that is computed"}}
PAGES = sorted(path for path in PACKAGE.rglob("*") if path.suffix in (".js", ".html"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_source_runs_nothing_that_it_is_given(path: Path) -> None:
    found = {danger.partition(": ")[2] for danger in dangers(path.read_text(encoding="utf-8"))}
    assert found == MEANT.get(str(path.relative_to(PACKAGE)), set())


def test_all_of_the_package_was_read() -> None:
    names = {path.name for path in FILES}
    assert len(FILES) > 100 and {"tracker.py", "inert_pickle.py", "server.py"} <= names
    assert PAGES


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_pages_make_no_code_of_text(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = re.findall(r"\beval\s*\(|\bnew Function\b|document\.write|set(?:Timeout|Interval)\(\s*['\"`]", text)
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import loads",
        "import _pickle as p",
        "eval('1')",
        "f = exec",
        "__import__(name)",
        "import os\nos.system('ls')",
        "from os import system as run\nrun('ls')",
        "import os as o\no.popen('ls')",
        "import subprocess\nsubprocess.run('ls', shell=True)",
        "import subprocess as s\ns.Popen('ls', shell=wanted)",
        "from subprocess import getoutput\ngetoutput('ls')",
        "import yaml\nyaml.load(text)",
        "import yaml\nyaml.load(text, Loader=yaml.Loader)",
        "from yaml import load, FullLoader\nload(text, FullLoader)",
        "import yaml\nyaml.unsafe_load(text)",
        "import torch\ntorch.load(path)",
        "import torch as t\nt.load(path, weights_only=False)",
        "from torch import load\nload(path)",
        "import numpy as np\nnp.load(path, allow_pickle=True)",
        "import yaml\nclass Plain(yaml.FullLoader): pass\nyaml.load(text, Plain)",
        "import importlib\nimportlib.import_module(name)",
    ],
)
def test_every_danger_would_be_seen(source: str) -> None:
    assert len(dangers(source)) >= 1


@pytest.mark.parametrize(
    "source",
    [
        "import pickletools\nimport re\nre.compile('a')",
        "net.eval()",
        "import subprocess\nsubprocess.run(['ls'], shell=False)",
        "import yaml\nyaml.safe_load(text)\nyaml.load(text, Loader=yaml.CSafeLoader)",
        "import yaml\nclass Plain(yaml.SafeLoader): pass\nyaml.load(text, Plain)",
        "import torch\ntorch.load(path, weights_only=True)",
        "import numpy as np\nnp.load(path, allow_pickle=False)",
        "from safetensors.torch import load_file\nload_file(path)",
    ],
)
def test_what_is_safe_is_left_alone(source: str) -> None:
    assert dangers(source) == []
