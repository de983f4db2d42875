"""Print a file of HTML as PDF, by headless Chromium where that is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from django.conf import settings

from .turns import Turns

# The first has no windows, and draws a page with a third of the work.
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
TIMEOUT_S = 90
FLAGS = (
    "--headless",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-pdf-header-footer",
    # Wide enough not to be a phone (44rem), where figures have another height than on paper. With the padding of the
    # screen they are narrower than the 703 px that A4 leaves between its margins.
    "--window-size=720,1000",
    # Time passes in the page until its figures are drawn, however slow this machine is.
    "--virtual-time-budget=30000",
    # It prints one file of ours, and nothing that it holds may ask the network for anything.
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
BUSY = "Other pages are being printed. Try again in a minute."


class NoPdfError(Exception):
    """The file could not be printed; the message is a sentence for people."""


# A browser takes some hundred megabytes: one prints at a time.
PRINTS = Turns(lambda: NoPdfError(BUSY))


def program() -> str | None:
    return next((path for name in PROGRAMS if (path := shutil.which(name))), None)


def is_available() -> bool:
    return program() is not None


def printed(html: str) -> bytes:
    """Print HTML as PDF; call it in a turn of PRINTS. Raises NoPdfError."""
    chromium = program()
    if chromium is None:
        raise NoPdfError("This server has no Chromium, which prints PDF. Print the page from your browser instead.")
    with tempfile.TemporaryDirectory(prefix="benchhub-pdf-") as folder:
        source, target = Path(folder, "page.html"), Path(folder, "page.pdf")
        source.write_text(html, encoding="utf-8")
        _run([chromium, *_flags(folder), f"--print-to-pdf={target}", source.as_uri()], folder)
        if not target.exists():
            raise NoPdfError("Chromium printed nothing. Print the page from your browser instead.")
        return target.read_bytes()


def _flags(folder: str) -> list[str]:
    # Chromium's own sandbox cannot be had by root, nor in most containers.
    has_sandbox = settings.CHROMIUM_SANDBOX and os.geteuid() != 0
    return [*FLAGS, f"--user-data-dir={folder}/profile", *([] if has_sandbox else ["--no-sandbox"])]


def _run(command: list[str], folder: str) -> None:
    # None of this process's secrets: only what a program needs to start.
    folders = {"HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_CACHE_HOME": folder}
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8", **folders}
    try:
        subprocess.run(command, env=environment, timeout=TIMEOUT_S, capture_output=True, check=True)
    except subprocess.TimeoutExpired as error:
        raise NoPdfError(f"Chromium did not print within {TIMEOUT_S} s. Print the page from your browser.") from error
    except subprocess.CalledProcessError as error:
        raise NoPdfError(f"Chromium failed with exit code {error.returncode}.") from error
