"""Memory and time of a crawl that reads one large AWS offer file: `python benchmarks/offer_file.py [MB ...]`.

A loopback server makes a file of the real shape as it is asked for; nothing is stored. Prints the child's peak memory
(that of a file of 1 MB first), its time, and what json.loads needs for a file of 45 MB.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "spiders")]

from offer_files import OfferServer, crawled, document  # noqa: E402

SMALL = 45


def main() -> None:
    """Print a line for each size."""
    sizes = [int(word) for word in sys.argv[1:]] or [SMALL, 450]
    for megabytes in (1, *sizes):
        with OfferServer(megabytes) as server, tempfile.TemporaryDirectory() as folder:
            begun = time.monotonic()
            read = crawled(server, Path(folder))
            print(
                f"{server.sent / 1e6:7.1f} MB sent: peak {read.peak_mb:6.1f} MB, {time.monotonic() - begun:6.1f} s, "
                f"{read.offers} offers, {'ok' if read.ok else read.error}",
                flush=True,
            )
    loads = "import json, resource, sys; json.loads(sys.stdin.buffer.read())"
    tell = "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    body = b"".join(document(SMALL))
    peak = subprocess.run([sys.executable, "-c", f"{loads}; {tell}"], input=body, capture_output=True, check=True)
    print(f"{len(body) / 1e6:7.1f} MB through json.loads: peak {float(peak.stdout):6.1f} MB")


if __name__ == "__main__":
    main()
