"""The check of links in the built documentation finds those that lead nowhere."""

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "check_links.py"


def run_check(folder):
    command = [sys.executable, TOOL, folder]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_links_that_lead_somewhere_pass(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "a b.png").write_bytes(b"")
    (tmp_path / "index.html").write_text(
        '<h1 id="top">x</h1><a href="deep/page.html#place">x</a><a href="#top">x</a>'
        '<img src="a%20b.png"><a href="https://example.org/none">x</a><a href="#">x</a>'
    )
    (tmp_path / "deep" / "page.html").write_text(
        '<a name="place"></a><a href="../index.html">x</a>'
    )
    found = run_check(tmp_path)
    assert (found.returncode, found.stdout) == (0, "links: ok\n")


def test_links_that_lead_nowhere_are_named(tmp_path):
    (tmp_path / "index.html").write_text(
        '<a href="gone.html">x</a><a href="#gone">x</a><img src="gone.png">'
        '<a href="../out.html">x</a>'
        '<a href="index.html#here" id="here">x</a>'
    )
    (tmp_path.parent / "out.html").write_text("")
    found = run_check(tmp_path)
    assert found.returncode == 1
    lines = [
        f"index.html: {link} leads nowhere"
        for link in ("#gone", "../out.html", "gone.html", "gone.png")
    ]
    assert found.stdout.splitlines() == lines


def test_a_folder_without_pages_is_refused(tmp_path):
    found = run_check(tmp_path)
    assert found.returncode == 1
    assert "has no index.html; expected a documentation" in found.stderr
