"""One file per command family. A handler states what its command would do; see shell/model.py."""
