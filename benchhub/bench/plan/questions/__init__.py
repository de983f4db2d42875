"""The questions that a new experiment starts with: a question is one line here."""

from __future__ import annotations

from benchhub.bench.models import Experiment

from .question import Question

QUESTIONS = {
    question.name: question
    for question in (
        Question(
            "builds",
            "Compare builds",
            "Which of two servers is faster, and by how much? Same load on both, three runs at each level.",
            systems=2,
            values={"levels": "1, 4, 16, 64", "repeats": 3, "order": Experiment.Order.BLOCKED},
        ),
        Question(
            "peak",
            "Find the peak",
            "At how many clients is one server at its best? A search chooses the levels, and ends when it knows.",
            values={"levels": "1..128*1.3", "repeats": 1, "grows": Experiment.Grows.PEAK},
        ),
        Question(
            "tune",
            "Tune step by step",
            "What does each setting bring? A baseline and its steps, measured in turns on one cluster.",
            "tuning-new",
        ),
        Question(
            "method",
            "Repeat a published method",
            "What does a published report's plan give here? Its method in today's terms, on your systems.",
            "presets",
        ),
        Question(
            "free",
            "Plan freely",
            "Something else? Every field: several workloads and scales, an open loop, any order.",
            is_short=False,
        ),
    )
}
METHOD, FREE = QUESTIONS["method"], QUESTIONS["free"]
FORMS = frozenset(question.name for question in QUESTIONS.values() if not question.page)


def question_of(name: str) -> Question:
    """Return the question of this name; the free plan for any other."""
    return QUESTIONS.get(name, FREE)
