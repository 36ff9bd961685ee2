"""Find in Python source what can run code that a file or a user brings along."""

from __future__ import annotations

import ast
from collections.abc import Iterator

UNSAFE_MODULES = {"pickle", "_pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "joblib", "jsonpickle"}
UNSAFE_BUILTINS = {"eval", "exec", "compile", "__import__"}
UNSAFE_CALLS = {
    "os.system",
    "os.popen",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
    "asyncio.create_subprocess_shell",
    "builtins.eval",
    "builtins.exec",
    "tempfile.mktemp",
    "pandas.read_pickle",
    "torch.jit.load",
    "torch.package.PackageImporter",
    "yaml.unsafe_load",
    "yaml.unsafe_load_all",
    "yaml.full_load",
    "yaml.full_load_all",
}
SAFE_YAML = {"yaml.SafeLoader", "yaml.CSafeLoader"}


def dangers(source: str) -> list[str]:
    """Line and name of all that is unsafe, however it was imported."""
    tree = ast.parse(source)
    names = _imported_names(tree)
    names |= _own_safe_loaders(tree, names)
    found = []
    for node in ast.walk(tree):
        found += [f"{node.lineno}: {what}" for what in _dangers_of(node, names)]  # type: ignore[attr-defined]
    return found


def _imported_names(tree: ast.AST) -> dict[str, str]:
    """Local name to full name: ``import numpy as np`` gives np -> numpy."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
    return names


def _own_safe_loaders(tree: ast.AST, names: dict[str, str]) -> dict[str, str]:
    """Classes of this file that are a safe loader and something more."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    own = [node for node in classes if node.bases and all(_full_name(base, names) in SAFE_YAML for base in node.bases)]
    return {node.name: "yaml.SafeLoader" for node in own}


def _full_name(node: ast.AST, names: dict[str, str]) -> str:
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        return f"{_full_name(node.value, names)}.{node.attr}"
    return "?"


def _dangers_of(node: ast.AST, names: dict[str, str]) -> Iterator[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        yield from (f"import {module}" for module in modules if module.split(".")[0] in UNSAFE_MODULES)
    elif isinstance(node, ast.Attribute | ast.Name) and _full_name(node, names) in UNSAFE_CALLS | UNSAFE_BUILTINS:
        yield _full_name(node, names)
    elif isinstance(node, ast.Call):
        yield from _dangers_of_call(node, names)


def _dangers_of_call(node: ast.Call, names: dict[str, str]) -> Iterator[str]:
    name = _full_name(node.func, names)
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    if "shell" in given and not _is(given["shell"], False):
        yield f"{name}(shell=…)"
    if "allow_pickle" in given and not _is(given["allow_pickle"], False):
        yield f"{name}(allow_pickle=…)"
    if name == "torch.load" and not _is(given.get("weights_only"), True):
        yield "torch.load without weights_only=True"
    if name in ("yaml.load", "yaml.load_all"):
        loader = given.get("Loader") or (node.args[1] if len(node.args) > 1 else None)
        if loader is None or _full_name(loader, names) not in SAFE_YAML:
            yield f"{name} without SafeLoader"
    if name == "importlib.import_module" and not (node.args and isinstance(node.args[0], ast.Constant)):
        yield "import_module of a name that is computed"


def _is(node: ast.AST | None, value: bool) -> bool:
    return isinstance(node, ast.Constant) and node.value is value
