"""The course's notebooks: made of the lessons without outputs, each with exercises, and executed by Jupyter."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
QUICK = "01-poses-and-screws"


@pytest.fixture(scope="module")
def notebooks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, nbformat.NotebookNode]:
    folder = tmp_path_factory.mktemp("notebooks")
    command = [sys.executable, ROOT / "site" / "notebooks.py", folder]
    subprocess.run(command, check=True, capture_output=True)
    return {path.stem: nbformat.read(path, as_version=4) for path in sorted(folder.glob("*.ipynb"))}


def test_lessons_are_numbered_and_have_exercises_and_solutions(notebooks: dict[str, nbformat.NotebookNode]) -> None:
    assert [name[:2] for name in notebooks] == [f"{number:02}" for number in range(1, 12)]
    for name, notebook in notebooks.items():
        nbformat.validate(notebook)
        words = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert "## Exercises" in words, name
        assert "**Solutions**" in words, name
        assert "<" not in words.replace("<=", "").replace("< ", ""), name
        assert ".md" not in words, name
        assert len(code) > 5, name
        assert not any(cell.outputs or ">>>" in cell.source for cell in code), name


def test_a_lesson_runs(notebooks: dict[str, nbformat.NotebookNode], tmp_path: Path) -> None:
    (shown,) = executed([notebooks[QUICK]], tmp_path)
    assert "array([3. , 0. , 0.3])" in shown


@pytest.mark.slow
def test_all_other_lessons_run(notebooks: dict[str, nbformat.NotebookNode], tmp_path: Path) -> None:
    others = [name for name in notebooks if name != QUICK]
    for name, shown in zip(others, executed([notebooks[name] for name in others], tmp_path), strict=True):
        assert sum(bool(outputs) for outputs in json.loads(shown)) >= 5, name  # cells that show what they computed


#: Runs notebooks in one kernel, each with its own imports and no use for what others left. Jupyter leaves sockets open,
#: so this is a process of its own.
EXECUTE = """
import sys

import nbformat
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

kernel = KernelManager()
kernel.start_kernel()
try:
    for path in sys.argv[1:]:
        notebook = nbformat.read(path, as_version=4)
        NotebookClient(notebook, km=kernel, timeout=120).execute()
        nbformat.write(notebook, path)
finally:
    kernel.shutdown_kernel(now=True)
"""


def executed(notebooks: list[nbformat.NotebookNode], folder: Path) -> list[str]:
    """Run notebooks, of which none may fail; return what the cells of each show."""
    paths = [folder / f"{number}.ipynb" for number in range(len(notebooks))]
    for notebook, path in zip(notebooks, paths, strict=True):
        nbformat.write(notebook, path)
    run = subprocess.run([sys.executable, "-c", EXECUTE, *paths], cwd=folder, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-3000:]
    results = [nbformat.read(path, as_version=4) for path in paths]
    return [json.dumps([cell.get("outputs") for cell in result.cells]) for result in results]
