"""The commit that a tag of git is of now, as the target's git reads it: once it was moved it is another build."""

from __future__ import annotations

import shlex
from pathlib import Path

from runners.job import sensible
from runners.ssh import Connections, Target, storable_sentence

from .recipe import COMMIT, Recipe

SCRIPT = Path(__file__).parent.parent / "target" / "source_tag.sh"
TIMEOUT_S, MOST_BYTES, LONGEST_REASON = 90.0, 4096, 1000


class TagError(Exception):
    """Nobody can say which commit the tag is of; the message is a sentence, in which the host may have had its say."""

    def __init__(self, sentence: str) -> None:
        super().__init__(storable_sentence(sentence))


async def resolve(connections: Connections, target: Target, recipe: Recipe) -> str:
    """Return the commit of the recipe's tag. Raises TagError with a sentence, and as `Connections.run`."""
    values = f"place={shlex.quote(recipe.place)} tag={shlex.quote(recipe.revision)}"
    text = f"{{\n{values}\n{SCRIPT.read_text()}exit\n}}\n"
    answer = await connections.run(
        target, "exec /bin/sh -s", input=text.encode(), timeout_s=TIMEOUT_S, most_bytes=MOST_BYTES
    )
    with sensible(target, answer):
        word, _, rest = answer.replace(b"\0", b"").decode(errors="replace").strip().partition(" ")
        if word == "refused":
            raise TagError(rest[:LONGEST_REASON])
        if word != "commit" or not COMMIT.fullmatch(rest):
            raise ValueError("This is no commit.")
        return rest
