"""Runs that go back to the queue: their load did not come about, for reasons that are not their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from itertools import takewhile

from django.db.models import QuerySet
from django.db.models.functions import Now

from benchhub.bench.additions import data_sets
from benchhub.bench.models import Attempt, Hold, Run
from benchhub.bench.models.states import State
from benchhub.bench.queue import queue
from benchhub.bench.queue.promises import AWAY_SERVER
from benchhub.bench.results import ingest
from benchhub.catalog.models import Host
from runners import tools
from runners.contract import PREPARATION_FAILED, Outputs
from runners.job import SenselessAnswer
from runners.script import has_lost_program
from runners.server_settings import answer as server_answer
from runners.ssh import Target
from runners.tools import layers
from runners.tools.printed import text_of

from . import visits, workers
from .steps.contract import Job, ServerAway

PROGRAM_GONE = "A program that a run needs is gone, or cannot run: {}"
HELD = (
    "Another BenchHub, or another work directory, has changed settings of its server: the run starts when they are put"
    " back. If that never comes: the comment of the role benchhub_keeper on the server says where it runs."
)
MOST_HELD = 5
HELD_AGAIN = (
    f"Another BenchHub, or another work directory, had changed settings of {{}} at {MOST_HELD} starts of a run: the"
    " comment of the role benchhub_keeper on that server says where it runs. See that it ends, then resume."
)
# A server that restarts is back in seconds; one that is gone for longer is not asked more often than once in a lease,
# for about half an hour. Tries are counted, and no hours: a clock may be set.
FIRST_REST_S, MOST_TRIES, MOST_REFUSALS = 5, 40, 3
MOST_SENSELESS = 5  # an answer may be cut off on its way
NO_SERVER = "{} Nothing was measured: see that its server takes connections, then resume."

_senseless: Counter[int] = Counter()


@dataclass(frozen=True, slots=True)
class Failed:
    """A run that failed, with what it left and the reason that was read in that."""

    run: Run
    job: Job
    outputs: Outputs
    reason: str

    @property
    def claim(self) -> queue.Claim:
        return self.job.claim


def goes_back(failed: Failed) -> bool:
    """Put the run back into the queue where another try may do better; tell whether. Inside the caller's transaction.

    One that is to be cancelled ends as it is.
    """
    return not failed.run.cancel_asked_at and any(cause(failed) for cause in CAUSES)


def set_host_apart(job_: Job, reason: str, apart: Target | None = None) -> None:
    """Pause the driver, or that host: what it lacks for a run it lacks for the next, and none of them is to blame."""
    selected = apart or job_.target
    for host in Host.objects.filter(pk__in=[key for key, target in job_.hosts.items() if target == selected]):
        host.pause(f"{reason} Mend that, then resume the host.")


def wait_for_server_host(run: Run, job_: Job, answer: ServerAway) -> None:
    """Give the run back behind a rest of its server's host that grows; after too many tries, ask a person.

    Inside the caller's transaction. Until then other runs have the driver.
    """
    [host] = Host.objects.filter(pk__in=[key for key, target in job_.hosts.items() if target == job_.server])
    reason = f"{AWAY_SERVER} {answer.reason}"
    queue.give_back(run, job_.claim, reason)
    tries = _in_a_row(run.attempts.all(), (AWAY_SERVER,))
    _rest(f"host:{host.pk}", FIRST_REST_S * tries)
    workers.count_ssh_error()
    if answer.is_unreached:
        visits.note_unreached([host.pk], answer.reason)
    if tries % MOST_TRIES == 0:
        host.pause(f"{reason} That was so at {tries} starts in a row. Mend that, then resume the host.")


def count_senseless(job_: Job, error: BaseException | None) -> None:
    """Set a host apart that has sent an unreadable answer so often in a row; any other answer begins anew."""
    run_id = job_.claim.run_id
    if not isinstance(error, SenselessAnswer):
        _senseless.pop(run_id, None)
        return
    _senseless[run_id] += 1
    if _senseless[run_id] >= MOST_SENSELESS:
        del _senseless[run_id]
        set_host_apart(job_, str(error), error.target)


def _lacked_data_set(failed: Failed) -> bool:
    """Try again behind a load; where loads do not help, ask a person: a run that failed would find nothing again."""
    run = failed.run
    if run.kind == Run.Kind.LOAD or not ingest.lacks_data_set(failed.outputs):
        return False
    queue.go_back(run, failed.claim, data_sets.MISSING)
    data_sets.put_before(run)
    if _since_resumed(run).filter(reason=data_sets.MISSING).count() > data_sets.MOST_RETURNS:
        queue.pause(run.experiment, data_sets.GONE_AGAIN.format(run.system.instance))
    return True


def _met_another(failed: Failed) -> bool:
    """Try again where its keeper met another one; a server may say the same words in any later step."""
    is_of_keeper = failed.job.spec.server_settings is not None and failed.outputs.returncode == PREPARATION_FAILED
    if not is_of_keeper or not server_answer.is_held(text_of(failed.outputs.stderr[-ingest.END_BYTES :])):
        return False
    queue.go_back(failed.run, failed.claim, HELD)
    if _since_resumed(failed.run).filter(reason=HELD).count() >= MOST_HELD:
        queue.pause(failed.run.experiment, HELD_AGAIN.format(failed.run.system.instance))
    return True


def _lost_program(failed: Failed) -> bool:
    if not has_lost_program(failed.job.spec, tools.get(failed.job.spec.tool), failed.outputs):
        return False
    set_host_apart(failed.job, PROGRAM_GONE.format(failed.reason))
    queue.go_back(failed.run, failed.claim, failed.reason)
    return True


def _found_no_server(failed: Failed) -> bool:
    """Try again after a rest of the server that grows; after too many tries, ask a person.

    Where the experiment has other systems, it goes on with these: then the run fails, and its policy decides.
    """
    layer = ingest.missing_server(failed.outputs)
    if layer is None:
        return False
    run, tries = failed.run, _tries(failed.run) + 1
    is_last = tries >= (MOST_REFUSALS if layer is layers.REFUSED else MOST_TRIES)
    if is_last and run.experiment.systems.count() > 1:
        return False
    # Its keeper or its pooler may have sentences of their own before it: the next try is counted by this one.
    reason = failed.reason if failed.reason.startswith(layer.sentence) else f"{layer.sentence} {failed.reason}"
    queue.go_back(run, failed.claim, reason)
    _rest(f"instance:{run.system.instance_id}", FIRST_REST_S * tries)
    if is_last:
        queue.pause(run.experiment, NO_SERVER.format(reason))
    return True


def _rest(resource: str, rest_s: int) -> None:
    """Keep every run from what one has just given back, for a lease at most."""
    rest = min(timedelta(seconds=rest_s), queue.LEASE)
    Hold.objects.create(resource=resource, rest_s=round(rest.total_seconds()), free_at=Now() + rest)


def _tries(run: Run) -> int:
    """Return how often in a row the run has found no server, since a person resumed its experiment."""
    return _in_a_row(_since_resumed(run), tuple(layer.sentence for layer in layers.NO_CONNECTION))


def _in_a_row(attempts: QuerySet[Attempt], sentences: tuple[str, ...]) -> int:
    """Return how many of these attempts, from the newest on, ended by a reason that begins with such a sentence."""
    reasons = attempts.order_by("-number").values_list("reason", flat=True)
    return sum(1 for _ in takewhile(lambda reason: reason.startswith(sentences), reasons))


def _since_resumed(run: Run) -> QuerySet[Attempt]:
    resumed_at = run.experiment.resumed_at
    ended = run.attempts.filter(outcome=State.FAILED)
    return ended.filter(started_at__gt=resumed_at) if resumed_at else ended


# What is to blame, the first that is: a new cause is one line.
CAUSES: tuple[Callable[[Failed], bool], ...] = (_lacked_data_set, _met_another, _lost_program, _found_no_server)
