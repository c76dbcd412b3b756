"""Which commands take their orders from what is typed into the terminal afterwards."""

from __future__ import annotations

import pytest

from interpose.effects.shell import analyse
from interpose.effects.shell.terminal_programs import waits_for_typing

WAITS = (
    "sh", "bash", "/bin/bash", "bash -i", "bash -l", "bash --login --norc", "bash -s foo", "bash -", "bash $SCRIPT",
    "zsh -f", "fish", "env -i bash", "exec sh", "timeout 5 sh", "busybox sh", "(sh)", "sh | tee log",
    "npm test; sh", "true && python3", "f() { sh; }; f", "bash -c 'exec bash'", "sh -c sh", "echo $(sh)", "rlwrap sh",
    "if true; then bash; fi", "while :; do sh; done", "touch a; cd b; sh",
    "python", "python3.11", "python3 -", "python3 -q", "python3 -i x.py", "python3 -m pdb x.py", "python3 -m code",
    "ipython", "uv run python", "poetry run python", "poetry shell", "python manage.py shell", "flask shell",
    "node", "node -i", "node inspect x.js", "deno", "bun repl", "ruby", "irb", "perl", "lua -i x.lua", "R", "php -a",
    "php artisan tinker", "rails c", "ghci", "iex -S mix", "julia", "tclsh", "pwsh",
    "psql", "psql -h db -U me shop", "mysql shop", "sqlite3 x.db", "redis-cli", "redis-cli -h cache", "mongosh",
    "ssh host", "ssh -p 2222 me@host", "ssh host bash", "sftp host", "telnet host 25", "docker exec -it web bash",
    "kubectl exec -it web -- sh", "docker attach web", "gdb ./a.out", "ed x", "vim x", "emacs -nw x", "less x",
    "man ls",
    "bash -h", "bash -n +n", "sh -x", "vim -V x", "less -h5 x", "python3 -mcode", "python3 -ic 'print(1)'",
    "python3 -c 'import pty; pty.spawn(\"sh\")'", "psql -f -", "psql -f /dev/stdin shop", "psql -c '\\! sh'",
    "sqlite3 x.db '.shell sh'", "mysql -e 'system sh'", "julia -L x.jl", "sbcl --eval 1", "iex -e 1", "node -r x",
    "tmux", "tmux attach -t 0", "screen", "screen -r", "script", "chroot /mnt", "nix develop", "nix-shell -p jq",
)  # fmt: skip

TOLD = (
    "npm test", "npm run dev", "make", "cargo test", "go test ./...", "pytest -q", "git log", "top",
    "docker compose up",
    "bash x.sh", "bash -c ls", "bash -ic 'npm test'", "bash --version", "bash -n x.sh", "bash \"$HOME/x.sh\"",
    "perl -pi -e 's/a/b/' x", "ruby -i -pe 1 x", "vim -c '%s/a/b/g' -c wq x", "nvim --headless +PackerSync +qa",
    "GIT_SSH_COMMAND='ssh -i key' git fetch", "rsync -e 'ssh -p 2222' a h:b", "vim --version", "sh < x.sh",
    "nohup sh &", "sh <<< ls", "echo ls | sh", "python3 << E\nprint(1)\nE", "cat x.py | python3 -",
    "python3 x.py", "python3 -c 'print(1)'", "python3 -m pytest", "python3 -V", "python manage.py test", "flask run",
    "node x.js", "node -e 1", "node --test", "node --version", "deno test", "bun run x", "ruby x.rb", "ruby -e 1",
    "node -e 'a.replace(1, 2)'", "julia x.jl", "julia -e 1", "python3 -c 'open(\"a.pdb\")'", "perl -pe 1 x",
    "R -e 1", "Rscript x.R", "php x.php", "php -S localhost:1", "php artisan migrate", "rails s",
    "psql -c 'select 1'", "psql -f x.sql shop", "mysql -e 'select 1' shop", "mysql shop < x.sql",
    "sqlite3 x.db .tables",
    "redis-cli get x", "redis-cli -h cache get x", "mongosh --eval 1", "ssh host ls", "ssh -N -L 1:a:2 host",
    "ssh -T git@github.com", "docker exec web ls", "docker run --rm alpine echo x", "kubectl get pods",
    "gdb -batch -ex run ./a.out", "vim -es -c q x", "emacs --batch -l x.el", "tmux new -d -s x make", "tmux ls",
    "screen -dmS x make", "script -c make", "chroot /mnt ls", "nix develop -c make", "nix-shell --run make",
)  # fmt: skip


def _waits(command: str) -> bool:
    return any(waits_for_typing(ran) for ran in analyse(command).commands)


@pytest.mark.parametrize("command", WAITS)
def test_it_waits_for_what_is_typed(command: str) -> None:
    assert _waits(command)


@pytest.mark.parametrize("command", TOLD)
def test_it_was_told_what_to_do(command: str) -> None:
    assert not _waits(command)
