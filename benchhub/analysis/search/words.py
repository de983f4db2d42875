"""Word what keeps a search from knowing, and what it cannot know, as sentences for pages and the API."""

from __future__ import annotations

from collections.abc import Callable

from .advice import Advice, Doubt

ISOLATED = (
    "A level between those that were run may still stand out by itself, as no run elsewhere can show it. Where that "
    "matters, run all levels around the best one."
)


def reasons(advice: Advice) -> list[str]:
    """Say why the best level is not known, what else is amiss, or what is not known even so: what happened, what it
    does, what to do.
    """
    if advice.probability is None:
        return []
    sentences = [SENTENCES[doubt](advice) for doubt in advice.doubts]
    if advice.stopped == "known":
        return [*sentences, ISOLATED]
    if advice.stopped == "spent" and not sentences:
        return ["Too few runs for curves of this form: other levels may be as good. Plan more runs."]
    return sentences


def _noise(advice: Advice) -> str:
    return (
        f"Noise of about {100 * (advice.noise or 0):.1f}%: repeats of a level differ by so much that levels which lie "
        "closer are not told apart. Longer or more runs tell more."
    )


SENTENCES: dict[Doubt, Callable[[Advice], str]] = {
    "rough": lambda _: (
        "Rough curve: levels side by side differ by more than repeats of a level do, so a level that was not run may "
        "be better. Run all levels around the best one."
    ),
    "noise": _noise,
    "drift": lambda _: (
        "Drift: the host became slower or faster meanwhile, so that runs at different times do not compare. Find out "
        "what else it did, then search again."
    ),
    "stalls": lambda _: (
        "Stalls: a run lies so far from all others that it is left out here; it stays in the curve. Find out what the "
        "host did then."
    ),
    "unconfirmed": lambda advice: (
        f"Unconfirmed: {advice.best} clients were run only once, and the best of single runs is partly luck. Run this "
        "level again."
    ),
}
