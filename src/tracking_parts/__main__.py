"""The command ``stp``, or ``python -m tracking_parts``: listens to Ctrl-C and SIGTERM before anything is imported."""

from __future__ import annotations

import sys

from tracking_parts.stopping import Stopped, end_at_once_when_asked_to_stop, raise_when_asked_to_stop
from tracking_parts.threads import wait_briefly


def main() -> None:
    """Entry point of the installed command."""
    try:
        raise_when_asked_to_stop()
        wait_briefly()
        from tracking_parts.cli import run

        code = run()
    except Stopped as stopped:
        end_at_once_when_asked_to_stop()
        code = stopped.exit_code
        sys.stderr.write(f"stp: {'; '.join(filter(None, (stopped.words, stopped.hint)))}\n")
    end_at_once_when_asked_to_stop()
    sys.exit(code)


if __name__ == "__main__":
    main()
