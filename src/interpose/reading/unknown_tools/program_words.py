"""Which words of a tool's name say that it runs something, and with what: as data."""

from __future__ import annotations

from interpose.core.tool_words import word_set

RUNS = word_set(
    """
    run runs exec execute executes start spawn launch invoke eval evaluate perform repl interpreter runner
    executor
    """
)
SHELLS = word_set(
    """
    bash zsh shell terminal powershell pwsh tmux pty commandline cmdline subprocess popen tty shellexec
    execshell cmd
    """
)
RUN_OBJECTS = word_set(
    """
    command commands cmd cmds script scripts process console cli sh pod container ssh remote host sandbox local
    system vm
    """
)
ALONE = word_set("exec execute run cmd command commands console system sh tool action it")
"""A name of these words only is a shell's."""
SHELL_SERVERS = word_set(
    """
    shell terminal ssh bash tmux iterm iterm2 commander cli sandbox console container docker e2b daytona
    """
)
TYPES_IN = word_set("send write type input paste keys key stdin feed")
TALKS = word_set(
    """
    explain describe validate lint analyze analyse parse format search find lookup classify review suggest
    complete document translate highlight preview compare estimate list count think plan todo remember
    """
)
"""Verbs of tools that look at a command or a program and run none."""
KEEPS = word_set(
    """
    create save add store generate write update insert edit fix autofix convert render get show read submit post
    """
)
"""Verbs of tools that keep or show a program text."""
BROWSERS = word_set(
    """
    browser puppeteer playwright devtools page chrome selenium webdriver cypress figma photoshop webflow wix
    """
)
"""Places in which programs reach no machine."""

LANGUAGES: dict[str, str] = {
    word: runner
    for runner, words in {
        "python3 -c": "python python3 py ipython jupyter notebook pandas cpython pyodide",
        "node -e": "javascript js node nodejs typescript ts deno bun jsx tsx ecmascript v8",
        "ruby -e": "ruby rb irb",
        "perl -e": "perl",
        "php -r": "php",
        "lua -e": "lua",
        "Rscript -e": "r rscript rlang",
        "julia -e": "julia",
        "elixir -e": "elixir",
        "pwsh -Command": "powershell pwsh ps1",
        "osascript -e": "applescript osascript",
        "cmd /c": "batch bat cmd",
        "mongosh --eval": "mongosh mongo mongodb",
        "bash -c": "bash sh shell zsh",
        "emacs --batch --eval": "elisp emacs",
        "clojure -M -e": "clojure clj",
        "groovy -e": "groovy",
        "scala -e": "scala",
        "racket -e": "racket",
        "guile -c": "guile scheme",
        "octave --eval": "octave matlab",
        "deno eval": "deno",
        "psql -c": "sql postgres postgresql plpgsql",
    }.items()
    for word in words.split()
}
SPELLED_OUT = ("python", "javascript", "typescript", "powershell", "applescript", "nodejs", "jupyter")
"""Languages that are found inside of a word, too: `ipythonruncell`."""
GUESSED = ("python3 -c", "node -e")

DATABASES: dict[str, tuple[str, ...]] = {
    word: clients
    for clients, words in {
        (
            "psql -c",
        ): "postgres postgresql psql pg supabase neon timescale cockroach cockroachdb redshift yugabyte alloydb",
        ("mysql -e",): "mysql mariadb planetscale singlestore tidb vitess",
        ("sqlite3 x.db",): "sqlite sqlite3 turso libsql d1",
        ("duckdb x.db",): "duckdb motherduck",
        ("snowsql -q",): "snowflake snowsql",
        ("sqlcmd -Q",): "mssql sqlserver azuresql",
        ("clickhouse-client -q",): "clickhouse",
        ("cqlsh -e",): "cassandra cql scylla",
        ("trino --execute",): "trino presto athena",
        ("spark-sql -e",): "spark databricks hive bigquery bq",
        ("psql -c", "mysql -e"): "sql database databases db dbhub oracle spanner warehouse querydb rds dremio",
    }.items()
    for word in words.split()
}
ANY_DATABASE = ("psql -c", "mysql -e")
QUERIES = word_set("query queries sql statement")
SEARCHES = word_set("search find lookup ask recall web google docs documentation semantic vector retrieve")
SQL_STARTS = word_set(
    """
    alter attach begin call copy create delete do drop exec execute explain grant insert merge pragma purge
    replace reset restore revoke select set show shutdown truncate update use vacuum with load declare
    """
)

_NAMESAKES = word_set(
    """
    git kubectl docker podman helm terraform tofu pulumi aws gcloud gh glab npm pnpm yarn pip cargo brew apt
    systemctl heroku vercel netlify flyctl supabase wrangler firebase ansible vault nomad consul rclone adb
    rsync oc doctl linode argocd flux istioctl eksctl crontab gsutil launchctl hdfs op bw doppler infisical sops
    az
    """
)
PROGRAMS: dict[str, str] = {
    **{name: name for name in _NAMESAKES},
    "kubernetes": "kubectl", "k8s": "kubectl", "kube": "kubectl", "openshift": "oc", "opentofu": "tofu",
    "redis": "redis-cli", "valkey": "redis-cli", "azure": "az", "fly": "flyctl", "digitalocean": "doctl",
}  # fmt: skip
"""Programs that a tool or a server may be named after."""
EVERYDAY_NAMES = word_set("vault flux op az oc flow fly nomad consul")
"""Those whose names say something else beside other words: an `obsidian-vault` is a folder of notes."""
OF_SERVERS = word_set("mcp server hashicorp hcp cli tools")

PLAIN_PROGRAMS = word_set(
    """
    chmod chown chattr chgrp ln dd mkfs mount umount kill pkill killall tar unzip rm mv cp tee truncate touch
    """
)
"""Programs without subcommands: a tool of that name is given its operands, in whatever order."""
SETS = word_set("set put export add update define")
VARIABLES = word_set("env envvar environment variable")
INSTALLS = word_set("install add")
PACKAGES = word_set("package packages dependency dependencies library libraries module modules requirements")
INSTALLERS = ("pip install", "npm install")
SCREENS = word_set("computer desktop keyboard xdotool gui vnc android screen")
"""Tools that type wherever the cursor is, a terminal included."""
VECTORS = word_set("chroma qdrant pinecone weaviate milvus documents embeddings semantic rag")
"""Stores that are asked in sentences."""
LOOKS_AT = word_set("checker validator linter explainer parser formatter analyzer")
"""Tools whose name says last that they run nothing: `sql_db_query_checker`."""
HARMFUL = word_set(
    """
    rm rmdir dd mkfs shred wipefs find sudo doas chmod chown kill killall pkill curl wget bash sh zsh eval
    python python3 perl ruby node nc ncat socat git docker kubectl helm terraform aws gcloud shutdown reboot
    format del rd remove-item mv truncate crontab dropdb psql mysql redis-cli cat tar scp rsync ssh base64 env
    unlink
    """
)
"""Programs without which no text is a catastrophe."""
