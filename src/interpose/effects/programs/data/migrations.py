"""Migration tools: a table of the words that throw a schema or its data away (`db:drop`, `migrate reset`)."""

from __future__ import annotations

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Word
from interpose.effects.programs.shared.inline_code import run_inline
from interpose.effects.programs.shared.options import parse
from interpose.effects.programs.shared.verbs import only_talks

_RAKE = words(
    """
    db:drop db:drop:_unsafe db:drop:all db:migrate:down db:migrate:redo db:migrate:reset db:purge db:purge:all db:reset
    db:rollback db:schema:load db:seed:replant db:structure:load db:truncate_all
    """
)
_DJANGO = words("clean_up_test_database flush reset_db reset_schema truncate zero")
_ARTISAN = words("db:wipe migrate:fresh migrate:refresh migrate:reset migrate:rollback queue:clear queue:flush")
TOOLS: dict[str, frozenset[str]] = {
    "rails": _RAKE,
    "rake": _RAKE,
    "manage.py": _DJANGO,
    "django-admin": _DJANGO,
    "artisan": _ARTISAN,
    "console": words("doctrine:database:drop doctrine:schema:drop doctrine:fixtures:load d:d:d d:s:d"),
    "alembic": words("downgrade"),
    "flask": words("downgrade drop_all drop-all"),
    "prisma": words("reset --force-reset --accept-data-loss"),
    "drizzle-kit": words("drop"),
    "sequelize": words("db:drop db:migrate:undo:all db:seed:undo:all"),
    "sequelize-cli": words("db:drop db:migrate:undo:all db:seed:undo:all"),
    "typeorm": words("schema:drop migration:revert"),
    "mikro-orm": words("schema:drop schema:fresh migration:fresh database:drop"),
    "knex": words("migrate:rollback"),
    "db-migrate": words("reset db:drop"),
    "flyway": words("clean undo"),
    "liquibase": words("drop-all dropAll rollback rollback-count rollbackCount rollback-to-date"),
    "goose": words("reset down down-to"),
    "dbmate": words("drop rollback down"),
    "migrate": words("drop down"),
    "sqlx": words("drop reset"),
    "diesel": words("reset drop"),
    "sea-orm-cli": words("fresh refresh reset down"),
    "wp": words("reset drop clean empty"),
    "drush": words("sql:drop sql-drop site:install si"),
    "bin/magento": words("setup:uninstall"),
    "magento": words("setup:uninstall"),
    "dotnet-ef": words("drop"),
    "sqitch": words("revert"),
    "meteor": words("reset"),
}
_CODE = {"rails": ("ruby", "runner r"), "manage.py": ("python", "-c --command"), "artisan": ("php", "--execute")}
"""Frameworks that run a line of code: its language, and the words in front of it."""
_SHELLS = {"manage.py": "python", "django-admin": "python", "flask": "python", "rails": "ruby", "artisan": "php"}
"""Frameworks with a console that runs what it reads."""
_CONSOLES = words("shell shell_plus console c tinker dbshell")
_QUERIES = {"typeorm": "query", "wp": "query", "drush": "sql:query sql-query sqlq", "rails": "db:query"}
"""Frameworks that pass SQL on, and the words in front of it."""
_MASS_DELETION = (
    "delete_all", "destroy_all", ".truncate", "::truncate", ".all().delete()", "drop_all", "deletemany({})",
)  # fmt: skip
"""How object mappers say that every row goes."""


@command(*TOOLS)
def migrate(inv: Invocation, low: Lowering) -> None:
    if only_talks(inv.args):
        return
    verbs = TOOLS[inv.name]
    opts = parse(inv.args, values=("--environment", "-e", "--database", "-path", "--source", "--url"), bundle=False)
    given = [*opts.operands[:4], *(word for word in inv.args if word.text.startswith("--"))]
    _runs_code(inv, low)
    run_inline(inv, low)
    for word in given:
        if word.text in verbs:
            low.emit(
                "data.destroy",
                word.text,
                at=word,
                rule=f"{inv.name}-{word.text.strip('-').replace(':', '-')}",
                reason=f"`{inv.name} {word.text}` discards tables or the data in them.",
            )
            return


def _runs_code(inv: Invocation, low: Lowering) -> None:
    language, openers = _CODE.get(inv.name, ("", ""))
    queries = _QUERIES.get(inv.name, "").split()
    for index, word in enumerate(inv.args):
        before = inv.args[index - 1].text if index else ""
        name, equals, value = word.text.partition("=")
        code = Word(value, word.span, taints=word.taints) if equals and name in openers.split() else word
        if before in openers.split() or code is not word:
            low.code(language, code, via=inv.name)
            if any(phrase in code.text.lower() for phrase in _MASS_DELETION):
                low.emit("data.destroy", code.text, at=word, rule="mass-deletion",
                         reason="This line of code deletes every row of a table")  # fmt: skip
        elif before in queries:
            low.code("sql", word, via=inv.name)
    if inv.name in _SHELLS and inv.stdin is not None and inv.args and inv.args[0].text in _CONSOLES:
        low.code(_SHELLS[inv.name], inv.stdin, via=inv.name)
        if any(phrase in (inv.stdin.text or "").lower() for phrase in _MASS_DELETION):
            low.emit("data.destroy", inv.name, rule="mass-deletion",
                     reason="This line of code deletes every row of a table")  # fmt: skip
    if inv.name == "prisma" and inv.stdin is not None and any(word.text == "--stdin" for word in inv.args):
        low.code("sql", inv.stdin, via=inv.name)
