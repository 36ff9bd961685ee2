"""The table of odd inputs in docs/robustness.md, and the outcomes that it is made of.

``python -m torture.odd_inputs_table --write docs/robustness.md`` plays every case on every tracker that is here and
writes the table; ``--trackers ours`` plays ours only, and keeps what was found for the others. NanoTrack and Vit need
the folder of their models in STP_PEER_MODELS.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import cv2

from torture.odd_case import Case, Expect, Kind, Outcome
from torture.odd_cases import all_cases
from torture.odd_inputs_run import run_cases
from torture.odd_players import PEERS
from tracking_parts.errors import ConfigError
from tracking_parts.evaluation.peers import find_peer

OUTCOMES = Path(__file__).with_suffix(".json")
BEGIN, END = "<!-- odd inputs: begin, by python -m torture.odd_inputs_table -->", "<!-- odd inputs: end -->"
TITLES = {"ours": "ours", "csrt": "CSRT", "kcf": "KCF", "mil": "MIL", "nano": "NanoTrack", "vit": "Vit"}

Outcomes = Mapping[str, Mapping[str, Outcome]]  # by tracker, then by case


def render(outcomes: Outcomes, versions: Mapping[str, str]) -> str:
    """The section of the page: a count per tracker, then a table per group of cases."""
    groups: dict[str, list[str]] = {}
    for key, case in all_cases().items():
        groups.setdefault(case.group, []).append(key)
    parts = [BEGIN, _counts(outcomes, versions)]
    parts += [f"### {group}\n\n{_table(keys, outcomes)}" for group, keys in groups.items()]
    return "\n\n".join([*parts, END])


def _counts(outcomes: Outcomes, versions: Mapping[str, str]) -> str:
    rows = [
        _row("tracker", "cases", "right", "refuses what could be tracked", "wrong", "foreign error", "crashes", "hangs")
    ]
    rows.append("|---|" + "---:|" * 7)
    for tracker, found in outcomes.items():
        counts = count(found)
        rows.append(_row(TITLES[tracker], *(str(counts[name]) for name in COUNTED)))
    made_with = ", ".join(f"{name} {version}" for name, version in versions.items())
    return "\n".join(rows) + f"\n\nPlayed with {made_with}."


COUNTED = ("cases", "right", "too strict", Kind.WRONG, Kind.FOREIGN, Kind.CRASHES, Kind.HANGS)


def count(found: Mapping[str, Outcome]) -> Counter[str]:
    """How many cases ended in which way; those that the tracker has no call for are left out."""
    counts: Counter[str] = Counter()
    for key, outcome in found.items():
        if outcome.kind is Kind.ABSENT:
            continue
        counts["cases"] += 1
        if outcome.survived:
            counts["too strict" if _too_strict(all_cases()[key], outcome) else "right"] += 1
        else:
            counts[outcome.kind] += 1
    return counts


def in_words(outcomes: Outcomes) -> str:
    """The counts as one sentence, for the README."""
    ours = count(outcomes["ours"])
    peers = []
    for tracker, found in outcomes.items():
        counts = count(found)
        bad = {"wrong": Kind.WRONG, "crashed": Kind.CRASHES, "hung": Kind.HANGS}
        told = [f"{counts[kind]} {word}" for word, kind in bad.items() if counts[kind]]
        if tracker != "ours":
            peers.append(f"{TITLES[tracker]} {', '.join(told) or 'none bad'}")
    cases = max(count(found)["cases"] for tracker, found in outcomes.items() if tracker != "ours")
    return (
        f"ours {ours['right']} right of {ours['cases']}; of the {cases} that OpenCV's can be given, {'; '.join(peers)}"
    )


def _too_strict(case: Case, outcome: Outcome) -> bool:
    return outcome.kind is Kind.REFUSES and case.expect not in (Expect.REFUSE, Expect.EITHER)


def _table(keys: Sequence[str], outcomes: Outcomes) -> str:
    cases = all_cases()
    peers = [name for name in outcomes if name != "ours"]
    shown = [name for name in peers if not all(cases[key].ours_only for key in keys)]
    rows = [_row("what is done", "ours", *(TITLES[name] for name in shown)), "|---" * (2 + len(shown)) + "|"]
    for key in keys:
        ours = _of_ours(outcomes["ours"][key]) if "ours" in outcomes else ""
        theirs = (_of_peer(cases[key], outcomes[name].get(key, Outcome(Kind.ABSENT))) for name in shown)
        rows.append(_row(cases[key].name, ours, *theirs))
    return "\n".join(rows)


def _of_ours(outcome: Outcome) -> str:
    if outcome.kind is Kind.REFUSES:
        error, _, message = outcome.detail.partition(": ")
        return f"`{error}`: {message}"
    return f"{outcome.kind.value}; {outcome.detail}" if outcome.detail else outcome.kind.value


def _of_peer(case: Case, outcome: Outcome) -> str:
    if outcome.kind is Kind.CRASHES:
        return f"**crashes** ({outcome.detail})"
    if outcome.kind in (Kind.HANGS, Kind.WRONG):
        return f"**{outcome.kind.value}**"
    return f"{outcome.kind.value} (too strict)" if _too_strict(case, outcome) else outcome.kind.value


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("<", "&lt;") for cell in cells) + " |"


# ---------------------------------------------------------------------- playing, and the files
def load() -> tuple[dict[str, dict[str, Outcome]], dict[str, str]]:
    """What was found when the table was last made, and with which versions."""
    if not OUTCOMES.is_file():
        return {}, {}
    content: dict[str, Any] = json.loads(OUTCOMES.read_text(encoding="utf-8"))
    found = {
        tracker: {key: Outcome(Kind(kind), detail) for key, (kind, detail) in its.items()}
        for tracker, its in content["outcomes"].items()
    }
    return found, content["versions"]


def save(outcomes: Outcomes, versions: Mapping[str, str]) -> None:
    plain = {
        tracker: {key: [outcome.kind.value, outcome.detail[:MOST_DETAIL]] for key, outcome in its.items()}
        for tracker, its in outcomes.items()
    }
    content = {"versions": versions, "outcomes": plain}
    OUTCOMES.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


MOST_DETAIL = 240  # characters; OpenCV's errors name files of whoever built it


def insert(page: str, section: str) -> str:
    """The page with the section between its marks replaced; without marks it comes at the end."""
    if BEGIN not in page:
        return f"{page.rstrip()}\n\n{section}\n"
    before, _, rest = page.partition(BEGIN)
    return before + section + rest.partition(END)[2]


def available(wanted: Sequence[str]) -> list[str]:
    """Those that can be made here; the others are named on the screen."""
    usable = []
    for name in wanted:
        try:
            if name != "ours":
                find_peer("opencv", name)
            usable.append(name)
        except ConfigError as error:
            print(f"left out: {error}")
    return usable


def play_tracker(tracker: str, only_missing: bool) -> None:
    """Play its cases, and write every outcome as it comes."""
    outcomes, versions = load()
    found = outcomes.get(tracker, {}) if only_missing else {}
    for key, outcome in run_cases(
        tracker, [key for key in all_cases() if key not in found], together=tracker == "ours"
    ):
        found[key] = outcome
        outcomes[tracker] = {key: found[key] for key in all_cases() if key in found}
        save({name: outcomes[name] for name in TITLES if name in outcomes}, {**versions, "OpenCV": cv2.__version__})
        print(f"{tracker:6s} {outcome.kind.value:14s} {key}: {outcome.detail[:80]}", flush=True)


def main() -> None:
    """Play, and write the outcomes and the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, required=True, help="the page, docs/robustness.md")
    parser.add_argument(
        "--trackers", default=",".join(("ours", *PEERS)), help="which to play, by commas; none: only write"
    )
    parser.add_argument("--missing", action="store_true", help="play only what has no outcome yet")
    arguments = parser.parse_args()
    for tracker in available([name for name in arguments.trackers.split(",") if name != "none"]):
        play_tracker(tracker, arguments.missing)
    outcomes, versions = load()
    page = arguments.write.read_text(encoding="utf-8") if arguments.write.is_file() else "# Robustness\n"
    arguments.write.write_text(insert(page, render(outcomes, versions)), encoding="utf-8")


if __name__ == "__main__":
    main()
