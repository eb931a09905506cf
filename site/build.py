"""Build the documentation site into ``build/site/html``: ``python site/build.py``, with the extra ``site`` installed.

The pages are those of ``docs``, which the tests run, with the figures that their blocks make; to them come a reference
from the docstrings, a gallery of pages on which the shipped robots can be moved, the examples, and the lessons of the
course as notebooks. Formulas are MathML. Nothing is fetched: the site opens from a file, without a network.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import chasles as ch
from chasles.model.robots import shipped

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "site"
PAGES = BUILD / "pages"
LARGEST_PAGE = 2_000_000
PICTURE = (480, 360)
GALLERY_STYLE = (
    ".cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(220px, 1fr)); gap: 16px; }"
    ".card { line-height: 1.4; } .card img { display: block; width: 100%; height: auto; border-radius: 8px; }"
)
FETCHED = "https://unpkg.com/iframe-worker/shim"


def main() -> None:
    """Gather the pages, then let the generator make HTML of them."""
    from figures import show_figures
    from formulas import with_formulas
    from notebooks import write_notebooks
    from reference import write_pages

    shutil.rmtree(BUILD, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES)
    for page in sorted(PAGES.rglob("*.md")):
        show_figures(page, PAGES / "figures")
        page.write_text(with_formulas(page.read_text(encoding="utf-8")), encoding="utf-8")
    shutil.copy(ROOT / "site" / "style.css", PAGES)
    notebooks = write_notebooks(PAGES / "course" / "notebooks")
    links = "\n".join(f"- [{path.stem}]({path.relative_to(PAGES).as_posix()})" for path in notebooks)
    with (PAGES / "course.md").open("a", encoding="utf-8") as course:
        course.write(f"\n## Notebooks to download\n\n{links}\n")
    _write_examples(PAGES / "examples")
    _write_gallery(PAGES / "gallery")
    reference = write_pages(PAGES / "reference")
    for page in PAGES.rglob("*.md"):
        page.write_text(_inside(page), encoding="utf-8")
    configuration = (ROOT / "site" / "zensical.toml").read_text(encoding="utf-8").replace("../build/site/", "")
    entries = ", ".join(f'"{name}"' for name in reference)
    configuration = configuration.replace("    # reference\n", f'    {{ "Reference" = [{entries}] }},\n')
    (BUILD / "zensical.toml").write_text(configuration, encoding="utf-8")
    subprocess.run([sys.executable, "-m", "zensical", "build", "--config-file", "zensical.toml"], cwd=BUILD, check=True)
    _replace_fetched_script(BUILD / "html")
    print(f"open {BUILD / 'html' / 'index.html'}")


def _write_gallery(folder: Path) -> None:
    """Write a computing page for every shipped robot, and a page with their pictures that lead there."""
    folder.mkdir()
    cards = []
    for name in shipped():
        robot = ch.load(name)
        page = robot.view(path=folder / f"{name}.html")
        size = page.stat().st_size
        if size > LARGEST_PAGE:
            raise SystemExit(f"the page of '{name}' has {size:,} bytes; at most {LARGEST_PAGE:,} are allowed")
        ch.picture(robot, folder / f"{name}.png", size=PICTURE)
        picture = f'<img src="{name}.png" alt="{name}" loading="lazy" width="{PICTURE[0]}" height="{PICTURE[1]}">'
        facts = f"{robot.n} degrees of freedom" if robot.n > 1 else "1 degree of freedom"
        cards.append(f'<a class="card" href="{name}.html">{picture}<b>{name}</b><br><small>{facts}</small></a>')
    text = "# Gallery\n\nEach picture opens a page that computes by itself: move the sliders or drag the tool.\n\n"
    grid = f'<div class="cards">\n{"".join(cards)}\n</div>'
    (folder / "index.md").write_text(f"{text}<style>{GALLERY_STYLE}</style>\n\n{grid}\n", encoding="utf-8")


def _write_examples(folder: Path) -> None:
    """Write a page for each example program."""
    shutil.copytree(ROOT / "examples", folder, ignore=shutil.ignore_patterns("__pycache__"))
    index = ["# Examples"]
    for program in sorted(folder.rglob("*.py")):
        place = program.relative_to(folder)
        page = program.with_suffix(".md")
        page.write_text(f"# {place}\n\n```python\n{program.read_text(encoding='utf-8')}\n```\n", encoding="utf-8")
        index.append(f"- [{place}]({page.relative_to(folder)})")
    (folder / "index.md").write_text("\n".join(index) + "\n", encoding="utf-8")


def _replace_fetched_script(site: Path) -> None:
    """Let the search on pages that open from a file use our script, not one from the network."""
    shutil.copy(ROOT / "site" / "worker.js", site / "assets" / "worker.js")
    for page in site.rglob("*.html"):
        place = "../" * (len(page.relative_to(site).parts) - 1)
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace(FETCHED, f"{place}assets/worker.js"), encoding="utf-8")


def _inside(page: Path) -> str:
    """Text of a page whose links to files outside of the pages lead to their copies, or become plain text."""

    def link(match: re.Match[str]) -> str:
        place = match[2].partition("#")[0]
        return match[0] if (page.parent / place).exists() else match[1]

    text = page.read_text(encoding="utf-8")
    text = re.sub(r"\]\(\.\./examples\)", "](examples/index.md)", text)
    text = re.sub(r"\]\(\.\./examples/([^)]*)\)", r"](examples/\1)", text)
    return re.sub(r"\[([^\]]*)\]\((\.\./[^)]*)\)", link, text)


if __name__ == "__main__":
    main()
