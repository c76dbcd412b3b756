"""`python -m interpose` is `interpose`."""

from interpose.doors.cli import main

raise SystemExit(main())
