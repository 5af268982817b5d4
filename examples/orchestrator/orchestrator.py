#!/usr/bin/env python3
"""Drive tickets through trkr-validate, with nothing but its JSON and its exit codes.

    orchestrator.py ISSUE... -- COMMAND ARG...

COMMAND is the implementer. It is run in the worktree of the ticket's branch and gets what remains, as JSON, on stdin.
It commits what it does. Clear tickets are named on stdout; merging them is somebody else's decision.

Exit code: 0 all are done, 1 some are stopped, 3 some need a person, 6 the environment failed.
"""

import json
import os
import subprocess
import sys

PROGRAM = os.environ.get("TRKR_VALIDATE", "trkr-validate")

# Exit codes of a run. What is not here means failure.
CLEAR, BLOCKING, INCOMPLETE, REFUSED, USAGE, ERROR = 0, 1, 3, 4, 5, 6
JUDGED = (CLEAR, BLOCKING, INCOMPLETE, REFUSED)


class Failed(Exception):
    """The call or the environment, never the product."""


def ask(*args):
    """Run the program and return its exit code and its one JSON document."""
    ran = subprocess.run([PROGRAM, *args, "--json"], stdout=subprocess.PIPE, check=False)
    try:
        return ran.returncode, json.loads(ran.stdout)
    except ValueError:
        raise Failed(f"{' '.join(args)} ended with {ran.returncode} and printed no JSON") from None


def why(document):
    """The reason of a failure, with what to do about it."""
    error = document.get("error") or (document.get("results") or [{}])[0].get("error") or {}
    return "; ".join([error.get("message", "it does not say why"), *error.get("hints", [])])


def turn(issue):
    """Validate once. A failing environment is counted by the program, which says when it was too often."""
    code, document = ask("loop", "turn", issue)
    if code not in JUDGED and code != ERROR:
        raise Failed(why(document))
    result = document["results"][0] if document["results"] else {}
    print(f"{issue}: {result.get('outcome', why(document))}", file=sys.stderr)
    if code == ERROR and not result:
        raise Failed(why(document))


def following(issue):
    """What comes next; None where what the branch holds now was not judged."""
    code, document = ask("loop", "next", issue)
    if code == CLEAR:
        return document
    if code == USAGE and document["error"]["code"] == "not_judged":
        return None
    raise Failed(why(document))


def worktree(branch):
    """Where the ticket's branch is checked out."""
    listed = subprocess.run(["git", "worktree", "list", "--porcelain"], stdout=subprocess.PIPE, text=True, check=True)
    for block in listed.stdout.split("\n\n"):
        if f"branch refs/heads/{branch}" in block.split("\n"):
            return block.split("\n")[0].removeprefix("worktree ")
    raise Failed(f"{branch} is checked out nowhere: git worktree add DIR {branch}")


def drive(issue, command):
    """Turn after turn, until the answer is none that an implementer can act on."""
    mended = None
    while True:
        answer = following(issue)
        if answer is None or answer["answer"] == "repair" and mended == answer["turn"]:
            turn(issue)
            continue
        if answer["answer"] != "repair":
            print(f"{issue}: {answer['answer']}, {answer['why']}")
            return answer["answer"]
        remains = json.dumps(answer["remains"])
        subprocess.run(command, cwd=worktree(f"trkr/{issue}"), input=remains, text=True, check=True)
        mended = answer["turn"]


def main(args):
    if "--" not in args or args[0] == "--" or args[-1] == "--":
        print(__doc__, file=sys.stderr)
        return USAGE
    cut = args.index("--")
    codes = {"done": CLEAR, "stop": BLOCKING, "human": INCOMPLETE}
    worst = CLEAR
    for issue in args[:cut]:
        try:
            worst = max(worst, codes[drive(issue, args[cut + 1 :])])
        except (Failed, subprocess.CalledProcessError) as failed:
            print(f"{issue}: {failed}", file=sys.stderr)
            worst = ERROR
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
