"""Check that links between the pages of a built documentation lead somewhere.

    python tools/check_links.py doc/_build/html

Links to other sites are left alone, so no network is needed. Pages, files and places within pages
are looked up; pictures and style sheets are files, too. Prints what leads nowhere, and fails if
anything does.
"""

import argparse
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links of a page, and the places that links may lead to.

    Attributes
    ----------
    links : list of str
    places : set of str
    """

    def __init__(self, path):
        super().__init__()
        self.links, self.places = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name == "id" or (name == "name" and tag == "a"):
                self.places.add(value)


def check_links(folder):
    """Yield what leads nowhere: page, link.

    Parameters
    ----------
    folder : Path
        Of a documentation in HTML.
    """
    folder = folder.resolve()
    # What stands in _static are templates of the theme, and no pages.
    paths = [path for path in folder.rglob("*.html") if "_static" not in path.parts]
    pages = {path: Page(path) for path in sorted(paths)}
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            found = target.is_file() and target.is_relative_to(folder)
            # "#" alone is the top of the page.
            if found and parts.fragment and target in pages:
                found = unquote(parts.fragment) in pages[target].places
            if not found:
                yield path.relative_to(folder), link


def main():
    """Check the folder that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="the built documentation")
    folder = parser.parse_args().folder
    if not (folder / "index.html").is_file():
        sys.exit(f"{folder} has no index.html; expected a documentation built by sphinx-build")
    bad = sorted(set(check_links(folder)))
    for page, link in bad:
        print(f"{page}: {link} leads nowhere")
    if bad:
        sys.exit(1)
    print("links: ok")


if __name__ == "__main__":
    main()
