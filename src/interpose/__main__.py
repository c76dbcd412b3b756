"""`python -m interpose` is `interpose`."""

from interpose.cli import main

raise SystemExit(main())
