"""`scripts/law`: many random cases on all cores, with progress."""

from __future__ import annotations

import os
import sys
from multiprocessing import Pool

from tests.law.subject import first_difference

BLOCK = 10_000


def _block(seed: int) -> str | None:
    return first_difference(seed, BLOCK)


def main(cases: int) -> int:
    blocks = -(-cases // BLOCK)
    with Pool(os.cpu_count()) as pool:
        for done, difference in enumerate(pool.imap_unordered(_block, range(blocks)), 1):
            if difference is not None:
                sys.stdout.write(f"\nthe pipeline breaks the law:\n{difference}\n")
                return 1
            sys.stdout.write(f"\r{done * BLOCK:,} of {blocks * BLOCK:,} cases, no difference")
            sys.stdout.flush()
    sys.stdout.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
