"""Hooks of mkdocs: links out of docs/ lead to the repository, and the site has llms.txt."""

import posixpath
import re
from pathlib import Path

LINK = re.compile(r"(\]\()((?:\.\./)+[^)\s]*)(\))")
titles = {}


def on_page_markdown(markdown, page, config, files):
    here = posixpath.dirname(page.file.src_uri)

    def outside(match):
        target, _, anchor = match[2].partition("#")
        path = posixpath.normpath(posixpath.join("docs", here, target))
        if path.startswith("docs/"):
            return match[0]
        address = f"{config.extra['repository']}/blob/main/{path}" + (f"#{anchor}" if anchor else "")
        return match[1] + address + match[3]

    title = re.search(r"^# (.*)$", markdown, re.M)
    titles[page.file.src_uri] = title[1] if title else page.file.src_uri
    return LINK.sub(outside, markdown)


def pages(nav):
    """The sections of the navigation with the paths of their pages."""
    for item in nav:
        for name, value in item.items():
            yield name, [value] if isinstance(value, str) else value


def on_post_build(config):
    """Writes llms.txt, a list of all pages for programs, and the text of each page beside it."""
    site = Path(config.site_dir)
    lines = [f"# {config.site_name}", "", f"> {config.site_description}.", ""]
    for name, paths in pages(config.nav):
        lines += [f"## {name}", ""]
        for path in paths:
            source = Path(config.docs_dir) / path
            copy = site / path
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
            lines.append(f"- [{titles[path]}]({config.site_url or ''}{path})")
        lines.append("")
    (site / "llms.txt").write_text("\n".join(lines), encoding="utf-8")
