"""Everything that a page shows or does, a program can have: each page stands here beside its operations."""

from benchhub.api.testing import described
from tests import pages

# name of the page's address -> operations. A new page fails the first test until it stands here.
PAGES = """
home: GET queue/, GET experiments/, GET comparisons/, GET hosts/, GET recurrences/
search: GET hosts/, GET experiments/, GET runs/, GET kept-comparisons/, GET licence-models/
calendar: GET queue/, GET reservations/, GET windows/, GET recurrences/
calendar-csv: GET queue/, GET reservations/, GET windows/, GET recurrences/
leaderboard: GET leaderboard/
leaderboard-csv: GET leaderboard/
account: GET account/, GET tokens/
token-revoke: POST tokens/{id}/revoke/
users: GET users/
user-add: POST users/
user-edit: PATCH users/{id}/
audit-log: GET audit-log/

hosts: GET hosts/
host-add: POST hosts/
host: GET hosts/{id}/, GET builds/
host-edit: PATCH hosts/{id}/
host-look: POST hosts/{id}/look/
host-approve: POST hosts/{id}/approve/
host-new-key: POST hosts/{id}/new-key/
host-probe: POST hosts/{id}/probe/
host-pause: POST hosts/{id}/pause/
host-resume: POST hosts/{id}/resume/
host-delete: DELETE hosts/{id}/
host-times: GET reservations/, GET windows/
host-times-once: POST reservations/
host-times-weekly: POST windows/
time-remove: DELETE reservations/{id}/
window-remove: DELETE windows/{id}/
instances: GET instances/
instance-add: POST instances/
instance-edit: PATCH instances/{id}/
instance-delete: DELETE instances/{id}/
instance-retire: POST instances/{id}/retire/
instance-show-again: POST instances/{id}/show-again/
instance-test: GET inspections/
instance-test-ask: POST inspections/
cluster: GET clusters/{id}/
cluster-add: POST clusters/
cluster-ask: POST clusters/{id}/ask/
cluster-remove: POST clusters/{id}/remove/
source-build: GET source-builds/{id}/, GET source-builds/
source-build-add: POST source-builds/
source-build-add-any: POST source-builds/
source-build-ask: POST source-builds/{id}/again/, POST source-builds/{id}/cancel/
source-build-remove: POST source-builds/{id}/remove/
source-build-log: GET source-builds/{id}/log/{number}/
hardware-list: GET hardware/
hardware-add: POST hardware/
hardware-revise: POST hardware/{id}/revise/
hardware-retire: POST hardware/{id}/retire/
hardware-show-again: POST hardware/{id}/show-again/
configurations: GET configurations/
configuration-add: POST configurations/
configuration-revise: POST configurations/{id}/revise/
configuration-retire: POST configurations/{id}/retire/
configuration-show-again: POST configurations/{id}/show-again/
workloads: GET workloads/
workload: GET workloads/{id}/
workload-add: POST workloads/
workload-revise: POST workloads/{id}/revise/
workload-retire: POST workloads/{id}/retire/
workload-show-again: POST workloads/{id}/show-again/
prices: GET prices/
price-add: POST prices/
prices-import: POST prices/
price-take-back: POST prices/{id}/take-back/
price-unit: GET licence-models/{id}/
exchange-rates: GET exchange-rates/
exchange-rate-add: POST exchange-rates/
licence-models: GET licence-models/
licence-model-add: POST licence-models/
licence-model-preview: POST licence-models/preview/
licence-model-revise: POST licence-models/{id}/revise/
licence-model-retire: POST licence-models/{id}/retire/
licence-model-show-again: POST licence-models/{id}/show-again/
price-sheets: GET price-sheets/
price-sheet: GET price-sheets/{id}/
price-sheet-add: POST price-sheets/
price-sheet-preview: POST price-sheets/preview/
price-sheet-csv: GET price-sheets/{id}/csv/
price-sheet-revise: POST price-sheets/{id}/revise/
price-sheet-retire: POST price-sheets/{id}/retire/
price-sheet-show-again: POST price-sheets/{id}/show-again/

presets: GET presets/, POST presets/{id}/plan/
experiments: GET experiments/
experiment-new: POST experiments/
experiment-plan: POST experiments/plan/
experiment: GET experiments/{id}/, GET runs/, GET experiments/{id}/curves/, GET experiments/{id}/growth/
experiment-curve: GET experiments/{id}/curves/
experiment-times: GET reservations/, GET windows/
experiment-times-once: POST reservations/
experiment-times-weekly: POST windows/
recurrence: GET recurrences/
recurrence-edit: POST recurrences/
recurrence-pause: POST recurrences/{id}/pause/
recurrence-resume: POST recurrences/{id}/resume/
recurrence-end: POST recurrences/{id}/end/
experiment-tags: PUT experiments/{id}/tags/
experiment-policy: PATCH experiments/{id}/
experiment-repeats: POST experiments/{id}/repeats/
experiment-cancel: POST experiments/{id}/cancel/
experiment-pause: POST experiments/{id}/pause/
experiment-resume: POST experiments/{id}/resume/
experiment-move: POST experiments/{id}/move/
experiment-rerun: POST experiments/{id}/rerun/
again: POST experiments/{id}/again/
design: GET designs/{id}/
design-again: POST designs/{id}/again/
design-cancel: POST designs/{id}/cancel/
queue: GET queue/
results-import: POST deliveries/
run: GET runs/{id}/, GET runs/{id}/found/, GET runs/{id}/events/, GET runs/{id}/series/
run-log: GET runs/{id}/log/{stream}/
run-part: GET runs/{id}/series/
run-live: GET runs/{id}/log/{stream}/
experiment-live: GET experiments/{id}/curves/
run-telemetry-add: POST runs/{id}/telemetry/
run-telemetry-remove: DELETE runs/{id}/telemetry/
run-series: GET runs/{id}/series/
run-latency: GET runs/{id}/series/
run-segments: GET runs/{id}/
run-telemetry: GET runs/{id}/series/
evidence: GET runs/{id}/evidence/, GET runs/{id}/evidence/{file}/
run-bundle: GET runs/{id}/bundle/
run-cancel: POST runs/{id}/cancel/
run-rerun: POST runs/{id}/rerun/
run-set-aside: POST runs/{id}/set-aside/
run-put-back: POST runs/{id}/put-back/
webhooks: GET webhooks/
webhook: GET webhooks/{id}/, GET notices/
webhook-add: POST webhooks/
webhook-edit: PATCH webhooks/{id}/
webhook-delete: DELETE webhooks/{id}/

compare: GET curves/, GET comparisons/, GET comparisons/document/, POST declarations/
comparability-withdraw: POST declarations/{id}/withdraw/
tuning-steps: GET tuning-steps/
tuning-list: GET tuning-series/
tuning-series: GET tuning-series/{id}/, GET tuning-series/{id}/effects/
tuning-csv: GET tuning-series/{id}/effects/
tuning-settings: GET tuning-series/{id}/effects/
tuning-new: POST tuning-series/
tuning-plan: POST tuning-series/plan/
laboratory: GET laboratory/
comparisons: GET kept-comparisons/
comparison: GET kept-comparisons/{id}/
comparison-new: POST kept-comparisons/
comparison-edit: PATCH kept-comparisons/{id}/
comparison-keep: PATCH kept-comparisons/{id}/
comparison-publish: POST kept-comparisons/{id}/publish/
snapshot: GET snapshots/{id}/, GET snapshots/{id}/document/, GET links/
snapshot-report: GET snapshots/{id}/files/{name}/
snapshot-file: GET snapshots/{id}/files/{name}/
snapshot-today: GET snapshots/{id}/today/
link-new: GET snapshots/{id}/review/, POST snapshots/{id}/links/
link-pause: POST links/{id}/pause/
link-resume: POST links/{id}/resume/
link-revoke: POST links/{id}/revoke/
published: GET published-reports/
published-report: GET published-reports/{id}/document/
published-publish: POST published-reports/{id}/publish/
"""
# What a program cannot do, and why.
PAGES_ONLY = {
    "login": "A token takes the place of a session.",
    "logout": "Likewise.",
    "password-change": "A token that leaked must not take the account over.",
    "second-factor": "A token takes the place of a session.",
    **dict.fromkeys(
        ["second-factor-add", "second-factor-recovery", "second-factor-remove", "user-second-factor-remove"],
        "A token that leaked must not weaken the sign-in.",
    ),
    "token-add": "A token that leaked must not outlive its revocation in another one.",
    "os-settings-helper": "It is one script, which a person reads before root installs it.",
    **dict.fromkeys(["api-reference", "api-resource"], "GET schema/ says the same to programs."),
    "alive": "It answers without a token.",
    "health": "It is for machines as it is, with a token of its own.",
    "metrics": "Likewise.",
    "archive": "How BenchHub itself is operated: the command `archive` does the same on the server.",
    "standstill": "A part of every page: GET /health says it to programs.",
    **dict.fromkeys(
        [
            *("shared", "shared-report", "shared-card", "shared-file"),
            *("shared-open", "shared-open-report", "shared-open-file"),
        ],
        "Whoever has the link has the page; its files are as they are for programs too.",
    ),
}


def stated():
    lines = (line.partition(": ") for line in PAGES.splitlines() if line)
    return {name: operations.split(", ") for name, _, operations in lines}


def test_every_page_has_its_operations_or_a_reason_why_not():
    assert set(pages.names()) == stated().keys() | PAGES_ONLY.keys()
    assert stated().keys().isdisjoint(PAGES_ONLY)


def test_every_operation_that_is_named_is_described():
    there = {f"{method.upper()} {path}" for method, path in described()}
    assert {operation for operations in stated().values() for operation in operations} - there == set()


def test_no_operation_is_without_a_page():
    there = {f"{method.upper()} {path}" for method, path in described() if method != "get"}
    used = {operation for operations in stated().values() for operation in operations}
    assert there - used == set()
