"""The page of a PostgreSQL that BenchHub builds: how far it is, what it is, who uses it, and its log."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from benchhub.catalog.models import Instance, SourceBuild, SourceBuildLog
from benchhub.ui.facts import Fact

from .form import options_text

STEPS = {
    "": "begins",
    "fetch": "fetches its source",
    "configure": "configures",
    "make": "compiles",
    "install": "installs",
    "check": "is checked",
}
LONGEST_SHOWN, LINES_UNDER_WAY = 64 << 10, 15
USED = "It is not removed: {} uses its programs. Remove or retire that first."


@dataclass(frozen=True)
class SourceBuildPage:
    """The page of a build; lists are read when they are first needed."""

    build: SourceBuild

    @property
    def title(self) -> str:
        version = self.build.facts.get("version")
        source = self.build.source_text
        return f"PostgreSQL {version} from {source}" if version else f"PostgreSQL from {source}"

    @property
    def state_text(self) -> str:
        """Say how far it is, with its step while it is being built."""
        build = self.build
        if build.state != SourceBuild.State.BUILDING:
            return str(build.get_state_display())
        return "is being ended" if build.is_cancel_asked else STEPS.get(build.step, "is being built")

    @property
    def facts(self) -> list[Fact]:
        build = self.build
        is_there = build.state in (SourceBuild.State.BUILT, SourceBuild.State.REMOVING)
        rows = [
            Fact("Source", build.place),
            Fact("Release", build.revision if build.kind == "release" else None),
            Fact("Tag", build.source_facts.get("tag")),
            Fact(
                "Commit or tag" if build.recipe.is_of_tag else "Commit", build.revision if build.kind == "git" else None
            ),
            Fact("Commit that was built", build.source_facts.get("commit")),
            Fact("SHA-256 of the tarball", build.source_facts.get("sha256") or self._tarball_sha256),
            Fact("Options of configure", options_text(build) or "none"),
            Fact("Compiler", build.source_facts.get("compiler")),
            Fact("Version", build.facts.get("version")),
            Fact("Programs", build.bin_directory if is_there else None),
            Fact("SHA-256 of postgres", build.facts.get("postgres_sha256")),
            Fact("Digest of source and options", build.digest),
            Fact("Took", self._seconds, "s"),
        ]
        return [fact for fact in rows if fact.value]

    @property
    def _tarball_sha256(self) -> str | None:
        return self.build.revision if self.build.kind == "tarball" else None

    @property
    def _seconds(self) -> int | None:
        begun, ended = self.build.started_at, self.build.ended_at
        return round((ended - begun).total_seconds()) if begun and ended else None

    @cached_property
    def users(self) -> list[Instance]:
        """Return the instances for whose sake it is not removed."""
        return list(self.build.users()) if self.build.state == SourceBuild.State.BUILT else []

    @cached_property
    def logs(self) -> list[SourceBuildLog]:
        return list(self.build.logs.defer("content"))

    @property
    def log_text(self) -> str:
        """Return the end of the log: a few lines while more are to come, so that the newest is in sight."""
        text = self.build.log_tail[-LONGEST_SHOWN:]
        return "\n".join(text.splitlines()[-LINES_UNDER_WAY:]) if self.build.is_under_way else text

    @property
    def is_log_shortened(self) -> bool:
        return self.build.is_under_way or len(self.build.log_tail) > LONGEST_SHOWN

    @property
    def may_be_built(self) -> bool:
        return self.build.state in SourceBuild.MAY_BE_BUILT

    @property
    def may_be_cancelled(self) -> bool:
        is_going = self.build.state in (SourceBuild.State.WAITING, SourceBuild.State.BUILDING)
        return is_going and not self.build.is_cancel_asked

    @property
    def may_be_given_up(self) -> bool:
        """Tell whether it was to be ended, and its host did not let a worker do so."""
        build = self.build
        return build.state == SourceBuild.State.BUILDING and build.is_cancel_asked and bool(build.contact_error)

    @property
    def may_be_removed(self) -> bool:
        return self.build.state == SourceBuild.State.BUILT and not self.users

    @property
    def has_cluster_form(self) -> bool:
        """Tell whether a cluster can be made by it."""
        return self.build.state == SourceBuild.State.BUILT and self.build.facts.get("version_num", 0) >= 110_000
