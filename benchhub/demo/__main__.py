"""`python -m benchhub.demo up [--once]`, `stop`, `clean`: what the Makefile calls."""

from __future__ import annotations

import argparse
import errno
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchhub.clone import ENVIRONMENT_FILE
from benchhub.database_url import database_settings
from benchhub.demo import page, state
from benchhub.demo.extent import Extent
from benchhub.demo.servers import USERNAME, Demo, target_marker
from benchhub.demo.state import AlreadyRunningError
from benchhub.demo.terminal import say, step
from benchhub.embedded import EmbeddedError, account, broker, limits, postgres, proc
from benchhub.embedded.processes import ChildError, InterruptError, Processes, stop_leftovers

CLONE = Path(__file__).resolve().parent.parent.parent
VAR = CLONE / "var"
STOP_PATIENCE_S = 90
INSTALLATION = "BENCHHUB_INSTALL"  # in the environment of what the Makefile installs packages with
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class Start:
    """A start as it was asked for: whether it ends once all is measured, and whether that is a tuning series."""

    is_once: bool
    tunes: bool
    extent: Extent
    began_s: float = field(default_factory=time.monotonic)


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchhub.demo", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    begin = commands.add_parser("up")
    begin.add_argument("--once", action="store_true")
    begin.add_argument("--tuning", action="store_true", help="measure a tuning series instead of two builds")
    for name in ("--levels", "--repeats", "--seconds"):
        begin.add_argument(name, default="", help="how much is measured of two builds")
    commands.add_parser("stop")
    commands.add_parser("clean")
    arguments = parser.parse_args()
    try:
        if not sys.platform.startswith("linux"):
            raise EmbeddedError("The demonstration runs on Linux only: it finds its processes in /proc.")
        return {"up": lambda: _up(arguments), "stop": stop, "clean": clean}[arguments.command]()
    except EmbeddedError as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(_sentence(error))
    except KeyboardInterrupt:  # before anything was started that would have to be stopped
        return 130


def _up(arguments: argparse.Namespace) -> int:
    extent = Extent.read(arguments.levels, arguments.repeats, arguments.seconds)
    if arguments.tuning and extent != Extent():
        raise EmbeddedError("A tuning series has its own LEVELS, REPEATS and SECONDS: leave them out.")
    return up(Start(arguments.once, arguments.tuning, extent))


def up(start: Start) -> int:
    """Start everything and run the experiment unless it is done; serve until Ctrl-C unless it is to end then."""
    if sentence := limits.open_files_text():
        raise EmbeddedError(sentence)
    _check_servers()
    VAR.mkdir(mode=0o700, exist_ok=True)
    try:
        with state.only_one(VAR):
            return _up_alone(start)
    except AlreadyRunningError as error:
        say(str(error))
        return 1 if start.is_once else 0


def _check_servers() -> None:
    """Raise EmbeddedError for a warehouse or broker of somebody's that cannot be used, before anything has started."""
    if url := os.environ.get("DATABASE_URL"):
        try:
            database_settings(url)
        except ValueError as error:
            raise EmbeddedError(f"{error}.") from error
        postgres.require(url)
    if url := os.environ.get("BROKER_URL"):
        broker.require(url)


def stop() -> int:
    """End the demonstration of this clone, or what is left of one that was killed."""
    stopped = 0
    if VAR.exists():
        stopped += _stop_supervisor()
    stopped += _stop_leftovers() + proc.kill_marked(INSTALLATION, str(CLONE))
    say("Stopped." if stopped else "Nothing of this clone runs.")
    return 0


def clean() -> int:
    """Stop everything and remove what the demonstration has written, the account it has made included."""
    stop()
    removed = account.remove_private(CLONE) if os.geteuid() == 0 else []
    if VAR.exists():
        shutil.rmtree(VAR)
        removed.append(str(VAR))
    say(f"Removed {', '.join(removed)}." if removed else "There was nothing to remove.")
    return 0


def _up_alone(start: Start) -> int:
    owner = account.for_clone(CLONE)
    say(f"BenchHub demonstration of {CLONE}")
    if owner.is_another_user:
        say(f"As root: the servers run as user {owner.username}, with programs and data in {owner.home}")
    if _stop_leftovers():
        say("Stopped what an earlier demonstration had left running.")
    processes = Processes(VAR, account.clone_id(CLONE))
    with _until_signal(processes):
        demo = Demo(CLONE, owner, processes, state.load_secrets(owner), tunes=start.tunes, extent=start.extent)
        try:
            return _run(demo, start)
        except InterruptError:
            say("\nInterrupted.")
            return 130
        finally:
            if processes.has_started_any:
                with step("Stop everything"):
                    demo.stop()


def _run(demo: Demo, start: Start) -> int:
    state.check_space(demo.account, demo.is_first_start)
    with step("Create and start the servers" if demo.is_first_start else "Start the servers"):
        demo.start_servers()
    with step("Prepare the warehouse"):
        demo.prepare_warehouse()
    with state.shared_environment(ENVIRONMENT_FILE, demo.own_environment):
        return _serve_or_look(demo, start)


def _serve_or_look(demo: Demo, start: Start) -> int:
    with step("Start web, worker and ticker"):
        demo.start_application()
    if demo.web_port != demo.wished_web_port:
        say(f"  Port {demo.wished_web_port} is taken: the pages are on port {demo.web_port}.")
    _experiment(demo, start)
    say(f"Ready after {time.monotonic() - start.began_s:.0f} s.")
    return _look(demo) if start.is_once else _serve(demo)


def _experiment(demo: Demo, start: Start) -> None:
    """Run the experiment, or go on with one that was interrupted.

    One that went wrong ends the demonstration only if it has nothing else to show.
    """
    finished = demo.account.home / "experiment.finished"
    is_anew = start.is_once and finished.exists()
    finished.unlink(missing_ok=True)
    try:
        demo.run_experiment(is_anew=is_anew, is_watched=not start.is_once)
        finished.touch()
    except ChildError as error:
        if start.is_once or not demo.experiment_file.exists():
            raise
        say(f"{error}\nThe pages show what was measured and what failed.")


def _look(demo: Demo) -> int:
    """Fetch the experiment's page with a login, as a browser would."""
    experiment = json.loads(demo.experiment_file.read_text())
    visited = page.visit(demo.url + experiment["path"], USERNAME, demo.secrets.demo_password)
    if experiment["name"] not in visited.text:
        raise EmbeddedError(f"{visited.url} does not show the experiment {experiment['name']!r}.")
    say(f"Fetched {visited.url}: {len(visited.text) / 1000:.0f} kB, it shows {experiment['name']!r}.")
    return 0


def _serve(demo: Demo) -> int:
    state.note_supervisor(VAR, demo.url)
    experiment = json.loads(demo.experiment_file.read_text())
    say(f"\n  {demo.url}{experiment['path']}\n  user {USERNAME}, password {demo.secrets.demo_password}\n")
    say("Ctrl-C stops everything.")
    try:
        while VAR.exists():
            demo.processes.pause(0.5)
            demo.watch()
    except InterruptError:
        say()
        return 0
    raise EmbeddedError(f"{VAR} was removed: nobody could end what runs of it any more.")


@contextmanager
def _until_signal(processes: Processes) -> Iterator[None]:
    """Ask for the end on Ctrl-C, TERM or a closed terminal: it comes in order, however often they ask."""
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    for number in STOP_SIGNALS:
        signal.signal(number, lambda _number, _frame: processes.interrupted.set())
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop_supervisor() -> int:
    """End the supervisor that holds the lock, as Ctrl-C would, and return how many there were."""
    try:
        with state.only_one(VAR):
            return 0
    except AlreadyRunningError as running:
        if running.process is None:
            raise EmbeddedError("A demonstration of this clone is just starting: try again.") from None
        proc.send(running.process, signal.SIGTERM)
        if proc.wait_for_end([running.process], STOP_PATIENCE_S):
            raise EmbeddedError(f"Process {running.process.pid} does not end: kill it and try again.") from None
        return 1


def _stop_leftovers() -> int:
    marker = account.clone_id(CLONE)
    return stop_leftovers(VAR, [target_marker(marker), marker])


def _fail(sentence: str) -> int:
    say(sentence)
    return 1


def _sentence(error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return f"The disk is full ({error.filename or VAR}): make room and start again."
    if error.errno in (errno.EACCES, errno.EPERM):
        subject = error.filename or "A process of this clone"
        return f"{subject} belongs to another user: run as that user, or remove it with `make clean`."
    return f"{error.filename or 'The system'}: {error.strerror}."


if __name__ == "__main__":
    sys.exit(main())
