import hashlib
import hmac
import itertools
import json
import socket
from contextlib import suppress
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Event, Thread

import pytest
from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench import testing
from benchhub.bench.models import Experiment, Growth, Notice, Run, Webhook
from benchhub.bench.queue import queue
from benchhub.bench.webhooks import notices, post

ADDRESS = "https://ci.example.org/hook"
BOTH = ["run.ended", "experiment.ended"]
PATIENCE_S = 240  # of a busy machine


@pytest.fixture
def webhook(db):
    user = get_user_model().objects.create_superuser("ada")
    return Webhook.objects.create(name="ci", url=ADDRESS, events=BOTH, secret="hush", created_by=user)


@pytest.fixture
def experiment(db):
    hardware = testing.make_box()
    experiment = testing.make_experiment([testing.make_system("18", testing.make_host(), hardware)])
    for repeat in (1, 2):
        testing.make_run(experiment, experiment.systems.get(), 1, repeat)
    return experiment


def end(experiment, *repeats):
    queue.ask_to_cancel(Run.objects.filter(experiment=experiment, repeat__in=repeats))


class Outside:
    """Takes what is sent, and answers as a test says."""

    def __init__(self, *answers):
        self.answers, self.requests = list(answers), []

    def __call__(self, url, body, headers):
        self.requests.append((url, json.loads(body), headers, body))
        answer = self.answers.pop(0) if self.answers else 204
        if isinstance(answer, Exception):
            raise answer
        return answer


def send(outside):
    Notice.objects.filter(state="due").update(next_at="2026-01-01T00:00Z")
    return notices.send_due(outside)


def test_a_run_that_ends_is_told_at_once_and_its_experiment_when_no_run_is_left(webhook, experiment):
    end(experiment, 1)
    assert notices.ripen() == 0
    outside = Outside()
    assert send(outside) == 1
    [(url, payload, headers, _)] = outside.requests
    assert (url, payload["event"], payload["run"]["state"]) == (ADDRESS, "run.ended", "cancelled")
    assert headers["BenchHub-Delivery"] == payload["id"]
    end(experiment, 2)
    assert notices.ripen() == 1
    send(outside)
    ends = [payload for _, payload, _, _ in outside.requests if payload["event"] == "experiment.ended"]
    [end_payload] = ends
    assert end_payload["experiment"]["id"] == experiment.pk
    assert end_payload["experiment"]["runs"]["cancelled"] == 2
    assert send(outside) == 0
    assert set(Notice.objects.values_list("state", flat=True)) == {"sent"}


def test_a_notice_of_before_the_clock_was_set_back_is_due_at_once(webhook, experiment):
    end(experiment, 1)
    Notice.objects.filter(event="run.ended").update(next_at=Now() + timedelta(hours=2), attempts=2)
    assert Notice.objects.due().count() == 1
    Notice.objects.filter(event="run.ended").update(next_at=Now() + timedelta(seconds=80))
    assert not Notice.objects.due().exists()


def test_a_notice_has_the_figures_and_whole_addresses(webhook, experiment, settings):
    settings.PUBLIC_URL = "https://bench.example.org"
    for run, throughput in zip(experiment.runs.order_by("repeat"), (900.0, 1600.0), strict=True):
        testing.succeeded(run, throughput)
        notices.note_end(run)
    notices.ripen()
    outside = Outside()
    send(outside)
    payloads = {payload["event"]: payload for _, payload, _, _ in outside.requests}
    run_payload, experiment_payload = payloads["run.ended"]["run"], payloads["experiment.ended"]["experiment"]
    assert run_payload["result"]["throughput"] in (900.0, 1600.0)
    assert run_payload["page"] == f"https://bench.example.org/runs/{run_payload['id']}/"
    assert run_payload["address"] == f"https://bench.example.org/api/v1/runs/{run_payload['id']}/"
    assert experiment_payload["page"] == f"https://bench.example.org/experiments/{experiment.pk}/"
    [peak] = experiment_payload["peaks"]
    assert (peak["system"], peak["clients"], peak["repeats"], peak["unit"]) == ("PostgreSQL 18", 1, 2, "TPS")
    assert peak["throughput"] == pytest.approx(1200.0)  # the root of 900 x 1,600


def test_without_a_public_url_addresses_begin_where_the_webhook_was_saved(webhook, experiment, settings):
    settings.PUBLIC_URL = ""
    Webhook.objects.update(origin="https://bench.internal:8443")
    end(experiment, 1, 2)
    notices.ripen()
    outside = Outside()
    send(outside)
    pages = {payload["event"]: payload["experiment"]["page"] for _, payload, _, _ in outside.requests}
    page = f"https://bench.internal:8443/experiments/{experiment.pk}/"
    assert pages == {"run.ended": page, "experiment.ended": page}


def test_a_run_without_a_result_has_no_figures_and_no_peak(webhook, experiment):
    end(experiment, 1, 2)
    notices.ripen()
    outside = Outside()
    send(outside)
    payloads = {payload["event"]: payload for _, payload, _, _ in outside.requests}
    assert payloads["run.ended"]["run"]["result"] is None
    assert payloads["experiment.ended"]["experiment"]["peaks"] == []


def test_between_two_steps_of_a_plan_that_grows_nobody_is_told_that_it_has_ended(webhook, experiment):
    Experiment.objects.update(grows="peak", most_runs=12)
    end(experiment, 1, 2)
    assert notices.ripen() == 0
    growth = Growth.objects.create(experiment=experiment)
    assert notices.ripen() == 0
    growth.stopped = Growth.Stopped.KNOWN
    growth.save()
    assert notices.ripen() == 1
    assert notices.ripen() == 0


def test_an_end_that_is_rolled_back_tells_nobody(webhook, experiment):
    from django.db import transaction

    with pytest.raises(RuntimeError), transaction.atomic():
        end(experiment, 1)
        raise RuntimeError
    assert not Notice.objects.exists()


def test_a_webhook_hears_only_what_it_asked_for_and_nothing_while_inactive(webhook, experiment):
    Webhook.objects.update(events=["experiment.ended"])
    end(experiment, 1)
    assert set(Notice.objects.values_list("event", flat=True)) == {"experiment.ended"}
    Webhook.objects.update(is_active=False)
    end(experiment, 2)
    assert Notice.objects.count() == 1


def test_what_is_not_taken_is_sent_again_later_and_later_and_then_given_up(webhook, experiment):
    end(experiment, 1)
    outside = Outside(*[500, OSError("refused"), 302, 500, 500, 500, 500, 500])
    assert [notices.wait(attempts).total_seconds() for attempts in (1, 2, 3, 7)] == [30, 90, 270, 21_870]
    for attempt in range(1, 9):
        assert send(outside) == 1
        notice = Notice.objects.get(event="run.ended")
        assert notice.attempts == attempt
    assert (notice.state, notice.next_at, notice.error) == ("given up", None, "It answered 500.")
    assert send(outside) == 0
    assert (
        len({payload["id"] for _, payload, _, _ in outside.requests}) == 1
    )  # so that a repeated delivery can be payloads


def test_nothing_is_sent_before_its_time_or_while_another_worker_sends_it(webhook, experiment):
    end(experiment, 1)
    outside = Outside(503)
    assert notices.send_due(outside) == 1
    assert notices.send_due(outside) == 0
    notice = Notice.objects.annotate(left=F("next_at") - Now()).get(event="run.ended")
    assert notice.left <= notices.wait(1) <= notice.next_at - notice.created_at


def test_the_signature_is_that_of_the_secret_over_stamp_and_body(webhook, experiment):
    end(experiment, 1)
    outside = Outside()
    send(outside)
    [(_, _, headers, body)] = outside.requests
    stamp, signature = (part.partition("=")[2] for part in headers["BenchHub-Signature"].split(","))
    assert signature == hmac.new(b"hush", f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
    assert signature != notices.signature("other", stamp, body)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/", "http://10.1.2.3/", "http://169.254.169.254/latest", "http://[::1]/", "http://0.0.0.0/",
        "http://[::ffff:127.0.0.1]/", "http://localhost/", "http://192.168.1.1:8000/x",
        "http://[::ffff:0:7f00:1]/", "http://[4000::1]/", "http://192.0.0.8/", "http://[64:ff9b::7f00:1]/",
        "http://[64:ff9b::808:808]/", "http://[64:ff9b:1::a00:1]/",
        "http://[2002:7f00:1::]/", "http://[2002:808:808::1]/", "http://192.88.99.1/", "http://[2001:0:1::1]/",
        "http://[::7f00:1]/", "http://[fec0::1]/", "http://[fe80::1]/", "http://[fd00::1]/", "http://[ff02::1]/",
        "http://224.0.0.1/", "http://239.255.255.250/", "http://255.255.255.255/", "http://192.0.2.1/",
        "http://198.51.100.1/", "http://203.0.113.1/", "http://198.18.0.1/", "http://100.64.0.1/",
        "http://[2001:db8::1]/", "http://[3fff::1]/", "http://240.0.0.1/",
    ],
)  # fmt: skip
def test_nothing_is_sent_to_this_machine_or_a_private_network(url):
    with pytest.raises((ValueError, OSError), match=r"not a public|Name|resol"):
        post.resolved(post.checked(url))


@pytest.mark.parametrize("url", ["http://1.1.1.1/", "http://[2606:4700:4700::1111]/", "https://[2a00:1450::8]:8443/x"])
def test_a_public_address_is_not_refused(url):
    assert post.checked(url).hostname in url


@pytest.mark.parametrize("url", ["ftp://a.example/", "https://", "https://u:p@a.example/", "https://a:x/", "no"])
def test_what_is_no_address_is_refused(url):
    with pytest.raises(ValueError, match=r".+"):
        post.checked(url)


def test_a_private_network_that_is_allowed_is_reached_and_redirects_are_not_followed(settings):
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            requests.append((self.path, self.headers["Host"], self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(302 if self.path == "/away" else 204)
            self.send_header("Location", "http://127.0.0.1:1/")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    settings.WEBHOOK_NETWORKS = ["127.0.0.0/8"]
    base = f"http://127.0.0.1:{server.server_port}"
    assert post.post(f"{base}/hook?a=1", b"{}", {}, within_s=PATIENCE_S) == 204
    assert post.post(f"{base}/away", b"{}", {}, within_s=PATIENCE_S) == 302
    server.shutdown()
    assert requests[0] == ("/hook?a=1", f"127.0.0.1:{server.server_port}", b"{}") and len(requests) == 2


@pytest.fixture
def dripping(settings):
    """Yield a function that returns a server's address, which sends its pieces one by one, and the last for ever."""
    settings.WEBHOOK_NETWORKS = ["127.0.0.0/8"]
    is_over = Event()
    listeners = []

    def answer(listener, pieces):
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            for piece in itertools.chain(pieces, itertools.repeat(pieces[-1])):
                connection.sendall(piece)
                if is_over.wait(0.02):
                    return

    def make(*pieces):
        listeners.append(socket.create_server(("127.0.0.1", 0)))
        Thread(target=answer, args=(listeners[-1], pieces), daemon=True).start()
        return f"http://127.0.0.1:{listeners[-1].getsockname()[1]}/"

    yield make
    is_over.set()
    for listener in listeners:
        listener.close()


@pytest.mark.parametrize(
    "pieces",
    [(b"HTTP/1.1 200 O", b"K"), (b"HTTP/1.1 200 OK\r\nX: ", b"x"), (b"HTTP/1.1 100 Continue\r\n\r\n",), (b"x",)],
)
def test_an_answer_that_drips_and_never_ends_is_given_up_at_one_deadline(dripping, pieces):
    with pytest.raises(OSError, match=r"It did not answer within 0\.3 s\."):
        post.post(dripping(*pieces), b"{}", {}, within_s=0.3)


def test_a_status_counts_although_what_follows_it_drips(dripping, monkeypatch):
    left_s = iter([PATIENCE_S, PATIENCE_S])  # to connect, and to read the head; then the time is over

    def none_left(_until_s):
        for seconds in left_s:
            return seconds
        raise TimeoutError

    monkeypatch.setattr(post, "_left_s", none_left)
    address = dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b"x")
    assert post.post(address, b"{}", {}) == 200
    assert list(left_s) == []


@pytest.mark.parametrize(
    "pieces",
    [(b"HTTP/1.1 200 OK\r\n", b"X: " + 1000 * b"x" + b"\r\n"), (b"HTTP/1.1 100 Continue\r\nX: 1\r\n\r\n" * 1000,)],
)
def test_no_more_of_an_answer_is_read_than_its_status_needs(dripping, pieces):
    # Newer releases of Python read no more than 100 answers that announce another.
    with pytest.raises(OSError, match=r"more than 16,384 bytes|more than 100 interim responses"):
        post.post(dripping(*pieces), b"{}", {}, within_s=PATIENCE_S)


def test_administrators_add_webhooks_and_see_the_secret_once(client, db):
    client.force_login(make_user("ada", Role.ADMINISTRATOR))
    response = client.post(reverse("webhook-add"), {"name": "x", "url": "http://10.0.0.1/", "events": ["run.ended"]})
    assert "WEBHOOK_NETWORKS" in response.content.decode() and not Webhook.objects.exists()
    form = {"name": "ci", "url": ADDRESS, "events": BOTH, "is_active": "on"}
    response = client.post(reverse("webhook-add"), form)
    webhook = Webhook.objects.get()
    assert response.status_code == 201 and webhook.secret in response.content.decode()
    assert webhook.origin == "http://testserver"
    for name, args in (("webhooks", []), ("webhook", [webhook.pk]), ("webhook-edit", [webhook.pk])):
        page = client.get(reverse(name, args=args))
        assert page.status_code == 200 and webhook.secret not in page.content.decode()
    client.force_login(make_user("rosa", Role.RUNNER, everywhere=True))
    assert client.get(reverse("webhooks")).status_code == 403


def test_the_log_shows_what_was_told_and_what_was_not(client, webhook, experiment):
    end(experiment, 1, 2)
    send(Outside(503))
    client.force_login(get_user_model().objects.get(username="ada"))
    page = client.get(reverse("webhook", args=[webhook.pk])).content.decode()
    assert "It answered 503." in page and "delivered" in page and experiment.name in page
    assert client.post(reverse("webhook-delete", args=[webhook.pk])).status_code == 302
    assert not Notice.objects.exists()


def test_notices_of_several_experiments_are_written_in_one_order_whatever_that_of_the_runs(webhook):
    system = testing.make_system("18", testing.make_host(), testing.make_box())
    others = [testing.make_experiment([system]) for _ in range(3)]
    runs = [testing.make_run(other, other.systems.get(), 1, 1) for other in others]
    notices.note_ends([runs[1], runs[2], runs[0]])
    waiting = Notice.objects.filter(event=Webhook.On.EXPERIMENT).order_by("pk")
    assert list(waiting.values_list("experiment", flat=True)) == [other.pk for other in others]


def test_a_webhook_is_locked_before_its_notices_are_deleted(webhook, experiment):
    end(experiment, 1)
    with CaptureQueriesContext(connection) as queries:
        notices.delete_webhook(webhook.pk)
    texts = [query["sql"] for query in queries if " bench_" in query["sql"].replace('"', "")]
    assert texts[0].endswith("FOR UPDATE") and not Webhook.objects.exists() and not Notice.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_webhook_is_not_deleted_before_the_end_that_it_is_told_of_is_written(webhook, experiment):
    other = connection.copy()
    question = "SELECT count(*) FROM (SELECT FROM bench_webhook FOR UPDATE SKIP LOCKED) AS free"
    with transaction.atomic(), other.cursor() as cursor:
        notices.note_end(experiment.runs.first())
        free = cursor.execute(question).fetchone()
    other.close()
    assert free == (0,)


def test_many_ends_at_once_take_as_many_statements_as_a_few(webhook, experiment):
    for repeat in range(3, 43):
        testing.make_run(experiment, experiment.systems.get(), 1, repeat)
    counts = []
    for repeats in (range(1, 3), range(3, 43)):
        with CaptureQueriesContext(connection) as statements:
            end(experiment, *repeats)
        counts.append(len(statements))
    assert counts[0] == counts[1] < 25
    assert Notice.objects.filter(event=Webhook.On.RUN).count() == 42
    assert Notice.objects.filter(event=Webhook.On.EXPERIMENT).count() == 1
