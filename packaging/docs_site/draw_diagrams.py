"""Draws the diagrams of docs/ that have no picture yet: python packaging/docs_site/draw_diagrams.py

It needs npm, which fetches mermaid, and chromium, which draws.
"""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from docs_site.sources import DIAGRAMS, diagrams

MERMAID = "mermaid@11.17.2"
PAGE = """<!doctype html><meta charset="utf-8"><script src="mermaid.min.js"></script><div id="drawn"></div>
<pre id="source">{source}</pre><script>
mermaid.initialize({{startOnLoad: false, theme: "neutral", fontFamily: "sans-serif", htmlLabels: false,
  flowchart: {{htmlLabels: false}}, deterministicIds: true}});
mermaid.render("diagram", document.getElementById("source").textContent).then(one => {{
  document.getElementById("drawn").innerHTML = one.svg;
  document.getElementById("source").remove();
}});
</script>
"""


def main() -> None:
    wanted = diagrams()
    DIAGRAMS.mkdir(exist_ok=True)
    for old in DIAGRAMS.glob("*.svg"):
        if old.name not in wanted:
            old.unlink()
    missing = {name: source for name, source in wanted.items() if not (DIAGRAMS / name).exists()}
    if not missing:
        print("all are drawn")
        return
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        subprocess.run(["npm", "pack", "--silent", MERMAID], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        (archive,) = folder.glob("*.tgz")
        shutil.unpack_archive(archive, folder)
        shutil.copyfile(folder / "package/dist/mermaid.min.js", folder / "mermaid.min.js")
        for name, source in missing.items():
            (folder / "page.html").write_text(PAGE.format(source=html.escape(source)), encoding="utf-8")
            command = [
                "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom",
                (folder / "page.html").as_uri(),
            ]  # fmt: skip
            dom = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            found = re.search(r"<svg.*</svg>", dom, re.DOTALL)
            if found is None or "Syntax error" in found[0]:
                sys.exit(f"mermaid can't draw this:\n{source}")
            picture = found[0]
            if "xmlns=" not in picture[:300]:
                picture = picture.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
            (DIAGRAMS / name).write_text(re.sub(r"<br\s*>", "<br/>", picture) + "\n", encoding="utf-8")
            print(f"drew {name}")


if __name__ == "__main__":
    main()
