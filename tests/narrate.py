"""Runs a command and passes on what it prints; when it prints nothing for long, says that it goes on.

python tests/narrate.py cargo test
"""

import subprocess
import sys
import threading
import time

SILENCE = 15.0
"""Seconds without output after which a line says that the command goes on."""


def narrate(command: list[str], out: object = sys.stdout, silence: float = SILENCE) -> int:
    """Run `command`, with its output and its errors on `out`; return its exit code."""
    begun = spoke = time.monotonic()
    # A process of its own pipe: what a test prints without an end of line is passed on at once.
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0) as running:
        ended = threading.Event()
        lock = threading.Lock()
        at_line_end = True

        def watch() -> None:
            nonlocal spoke, at_line_end
            while not ended.wait(silence / 10):
                with lock:
                    if time.monotonic() - spoke >= silence:
                        minutes, seconds = divmod(int(time.monotonic() - begun), 60)
                        start = "" if at_line_end else "\n"
                        print(
                            f"{start}... {command[0]} goes on, {minutes} min {seconds:02} s",
                            file=out,
                            flush=True,
                        )
                        spoke, at_line_end = time.monotonic(), True

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        while chunk := running.stdout.read(4096):
            with lock:
                spoke, at_line_end = time.monotonic(), chunk.endswith(b"\n")
                out.write(chunk.decode(errors="replace"))
                out.flush()
        ended.set()
        watcher.join()
    return running.returncode


if __name__ == "__main__":
    try:
        sys.exit(narrate(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
