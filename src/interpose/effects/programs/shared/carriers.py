"""The table of programs that carry code: one row each (see carried_code.py)."""

from __future__ import annotations

from msgspec.structs import replace

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import BESIDE
from interpose.effects.invocation import Invocation, Lowering
from interpose.effects.programs.shared.carried_code import Carrier, state_carried


def _code(language: str, options: str) -> dict[str, str]:
    return dict.fromkeys(options.split(), language)


def _shell(options: str, **more: object) -> Carrier:
    return Carrier(code=_code("sh", options), **more)  # type: ignore[arg-type]


_PYTHON_TESTS = {"conftest.py test_*.py *_test.py": "python"}
_PYTHON_BUILD = {"setup.py": "python"}
_NODE_CONFIG = {
    "*.config.js *.config.cjs *.config.mjs *.config.ts .*rc.js .*rc.cjs .*rc.mjs .pnpmfile.cjs": "javascript",
    "package.json": "package",
}
_NODE_TESTS = {**_NODE_CONFIG, "*.test.js *.test.ts *.spec.js *.spec.ts *.test.mjs .mocharc.js": "javascript"}
_GEMS = {"Gemfile *.gemspec": "ruby"}
_PYTHON_TASKS = {"pyproject.toml *.toml": "commands"}
_C_COMPILER = Carrier(
    code=_code("commas", "-wrapper --wrapper"), loads=("-fplugin", "-load"), stdin="commands", operand="commands"
)

CARRIERS: dict[str, Carrier] = {
    # Pagers, viewers, editors
    "man": _shell("-P --pager -H --html"),
    **dict.fromkeys(words("gcloud gsutil"), _shell("--pager")),
    **dict.fromkeys(words("nano pico rnano"), _shell("-s --speller")),
    **dict.fromkeys(words("zathura feh sxiv nsxiv mpv scrot maim flameshot"), _shell("-x -e --exec --action --script")),
    **dict.fromkeys(words("joe jed mcedit micro kak hx"), _shell("-e -exec --exec")),
    "run-mailcap": Carrier(operand="sh"),
    "gem": _shell("-e --editor", written=_GEMS),
    "perlbug": _shell("-e -f"), "perldoc": _shell("-w --pager"), "info": _shell("--restore"),
    **dict.fromkeys(words("fzf sk fzf-tmux"), Carrier(
        code={**_code("sh", "--preview --cmd -c"), **_code("commands", "--bind")})),
    **dict.fromkeys(words("dmenu rofi bemenu wofi"), _shell("-run-command -run-shell-command -dmenu-cmd")),
    **dict.fromkeys(words("ranger vifm nnn lf"), _shell("--cmd -c -command --remote")),
    # Programs of documents
    **dict.fromkeys(
        words("tex latex pdftex pdflatex xetex xelatex luatex lualatex etex platex uplatex context"),
        Carrier(texts="commands", operand="commands", stdin="commands"),
    ),
    "latexmk": Carrier(code={**_code("perl", "-e"), **_code("sh", "-pdflatex -latex -xelatex -lualatex -dvips "
                       "-pdf-update-command")}, files=_code("perl", "-r"), written={".latexmkrc latexmkrc": "perl"}),
    "pandoc": Carrier(files=_code("lua", "-L --lua-filter"), loads=("-F", "--filter", "--pdf-engine=/")),
    "exiftool": Carrier(code=_code("perl", "-if"), texts="commands", files=_code("perl", "-config")),
    "gimp": Carrier(code=_code("python", "-b --batch"), texts="commands"),
    **dict.fromkeys(words("blender"), Carrier(code=_code("python", "--python-expr"), files=_code("python",
                    "-P --python"))),
    **dict.fromkeys(words("gs ghostscript ps2pdf"), Carrier(texts="commands", stdin="commands", operand="commands")),
    **dict.fromkeys(words("pic groff troff eqn tbl soelim"), Carrier(stdin="commands", operand="commands")),
    **dict.fromkeys(words("sphinx-build sphinx-autobuild"), Carrier(written={"conf.py": "python"})),
    "jupyter": Carrier(operand="commands"), "papermill": Carrier(operand="commands"),
    "gnuplot": Carrier(stdin="commands", operand="commands"),
    # Network programs
    "openvpn": _shell("--up --down --route-up --route-pre-down --ipchange --tls-verify --client-connect "
                      "--client-disconnect --learn-address --auth-user-pass-verify", files=_code("commands",
                      "--config"), loads=("--plugin",)),
    **dict.fromkeys(words("wg-quick wg"), Carrier(operand="commands", written={"*.conf": "commands"})),
    "sshfs": Carrier(keys=("ssh_command", "proxycommand", "localcommand")),
    "sshuttle": _shell("-e --ssh-cmd"), "autossh": Carrier(keys=("proxycommand", "localcommand")),
    **dict.fromkeys(words("check_by_ssh"), Carrier(keys=("proxycommand", "localcommand"), code=_code("sh", "-C"))),
    **dict.fromkeys(words("tcpdump tshark dumpcap"), _shell("-z", files=_code("lua", "-Xlua_script lua_script"))),
    **dict.fromkeys(words("nmap zenmap"), Carrier(files=_code("lua", "--script"), stdin="orders")),
    **dict.fromkeys(words("aria2c"), _shell("--on-download-complete --on-download-error --on-download-start "
                    "--on-download-stop --on-download-pause --on-bt-download-complete")),
    **dict.fromkeys(words("yt-dlp youtube-dl"), _shell("--exec --exec-before-download --netrc-cmd")),
    **dict.fromkeys(words("wget wget2"), _shell("--use-askpass")),
    **dict.fromkeys(words("mutt neomutt aerc"), Carrier(code=_code("commands", "-e"))),
    **dict.fromkeys(words("mail mailx s-nail nail heirloom-mailx"), Carrier(
        code=_code("sh", "--exec"), stdin="orders", escapes=("~!", "~|", "!"))),
    **dict.fromkeys(words("psftp ftp lftp ncftp smbclient tnftp pscp"), Carrier(stdin="orders")),
    **dict.fromkeys(words("dhclient udhcpc dhcpcd pppd"), _shell("-sf -s --script connect disconnect")),
    "msfconsole": _shell("-x --execute-command", files=_code("ruby", "-r --resource")),
    "restic": _shell("--password-command", keys=("sftp.command",)),
    "borg": _shell("--rsh --remote-path"), "rclone": Carrier(keys=("bearer-token-command", "password-command")),
    **dict.fromkeys(words("mbsync isync offlineimap"), Carrier(files=_code("commands", "-c"))),
    "getmail": _shell("--mda", files=_code("commands", "-c")), "procmail": Carrier(operand="commands"),
    "fetchmail": _shell("-m --mda --preconnect --postconnect", files=_code("commands", "-f --fetchmailrc")),
    "ssh": Carrier(files=_code("commands", "-F")),
    **dict.fromkeys(words("scp sftp"), _shell("-S -D", files=_code("commands", "-F"))),
    **dict.fromkeys(words("ssh-keygen ssh-add ssh-pkcs11-helper"), Carrier(loads=("-D", "-s"))),
    "openssl": Carrier(loads=("-engine", "-provider-path", "-pre", "-post")),
    **dict.fromkeys(words("gpg gpg2 gpgsm"), _shell("--photo-viewer --agent-program --dirmngr-program "
                    "--pinentry-program --exec-path --keyserver-helper")),
    "git": _shell("--sendmail-cmd --to-cmd --cc-cmd --header-cmd --browser --httpd",
                  keys=("submodule.update", ".update")),
    "svn": _shell("--editor-cmd --diff-cmd --diff3-cmd --merge-cmd", clones=("co", "checkout", "export")),
    # Consoles and debuggers
    **dict.fromkeys(words("crash ginsh scanmem tasksh bconsole hping3 dbx mdb units bc dc calc gforth "
                    "maxima pari gp telnet nslookup ispell"), Carrier(stdin="orders", escapes=("!", "shell ",
                    "@exec ", "exec ", "system ", ".!"))),
    **dict.fromkeys(words("gdb lldb rust-gdb rust-lldb cgdb"), Carrier(files=_code("commands",
                    "-x --command -command -s --source"), stdin="orders", escapes=("!", "shell ", "platform shell "),
                    written={".gdbinit .lldbinit": "commands"})),
    "bpftrace": Carrier(code=_code("commands", "-e"), operand="commands"),
    "stap": Carrier(code=_code("commands", "-e"), operand="commands"),
    **dict.fromkeys(words("r2 radare2 rizin"), _shell("-c -qc -cq", stdin="orders")),
    "busctl": Carrier(texts="commands"),
    **dict.fromkeys(words("jjs jrunscript"), Carrier(code=_code("commands", "-e"), stdin="commands")),
    **dict.fromkeys(words("jshell"), Carrier(stdin="commands", operand="commands")),
    **dict.fromkeys(words("octave-cli ghci slsh gap magma sage escript erl iex gosh gprolog yap prolog rakudo"),
                    Carrier(code=_code("commands", "--eval -e -E -eval -g"), stdin="commands", operand="commands")),
    **dict.fromkeys(words("pry byebug rdebug"), Carrier(code=_code("ruby", "-e --exec"), stdin="ruby",
                    operand="ruby")),
    **dict.fromkeys(words("pdb pdb3 ipdb pudb bpython ptpython"), Carrier(code=_code("python", "-c"), stdin="python",
                    operand="python")),
    "cpan": Carrier(code=_code("perl", "-e"), loads=("-j",)),
    "knife": Carrier(texts="commands", code=_code("ruby", "-E --exec"), operand="ruby"),
    "facter": Carrier(loads=("--custom-dir", "--external-dir")),
    **dict.fromkeys(words("spark-shell spark-submit pyspark"), Carrier(files=_code("commands", "-i -I"),
                    operand="python", stdin="commands")),
    # Shells that have no handler
    **dict.fromkeys(words("rc posh sash yash es oil osh ysh mksh pdksh lksh oksh loksh hush elvish xonsh nu "
                          "nushell ion murex tcsh csh"), _shell("-c --command --commands -fc -lc -ec -xc -ic",
                    operand="sh", stdin="sh")),
    # Packages of systems
    **dict.fromkeys(words("apt apt-get aptitude nala"), Carrier(keys=("pager", "invoke", "proxy-auto-detect"))),
    **dict.fromkeys(words("rpm rpmquery rpmdb rpmverify rpmkeys rpmbuild rpmspec"), Carrier(
        code={**_code("commands", "--eval -E --define -D"), **_code("sh", "--pipe")}, operand="commands")),
    **dict.fromkeys(words("makepkg pkgbuild namcap"), Carrier(written={"PKGBUILD": "sh commands"},
                    files=_code("sh commands", "-p"))),
    "dmsetup": _shell("--exec"),
    **dict.fromkeys(words("dpkg dpkg-buildpackage debuild"), _shell("--pre-invoke --post-invoke --hook-init",
                    written={"rules": "commands", "postinst preinst prerm postrm": "sh"})),
    # Running inside something
    "ctr": Carrier(skips={"run": 2, "exec": 1}), "runc": Carrier(skips={"exec": 1}), "crun": Carrier(skips={"exec": 1}),
    "crictl": Carrier(skips={"exec": 1}), "buildah": Carrier(words=("unshare",)), "podman": Carrier(words=("unshare",)),
    "guix": Carrier(words=("--",)), "flatpak": _shell("--command"),
    "snap": Carrier(code=_code("sh", "-c")), "tailscale": Carrier(skips={"ssh": 1}),
    "az": _shell("--exec-command --command --scripts --command-id-script"),
    "xdotool": Carrier(words=("exec",)), "jj": Carrier(words=("exec",)), "nsjail": Carrier(words=("--",)),
    **dict.fromkeys(words("minijail0 bubblewrap sandbox-exec sandbox"), Carrier(words=("--",))),
    **dict.fromkeys(words("tmux screen byobu"), Carrier(files=_code("commands", "-f -c"))),
    **dict.fromkeys(words("nvim vim vi view gvim ex"), Carrier(files=_code("lua", "-l"), written={
        ".vimrc .exrc .nvimrc *.vim": "commands", "init.lua .nvim.lua": "lua"})),
    **dict.fromkeys(words("emacs emacsclient"), Carrier(written={".emacs *.el": "lisp commands"})),
    "sqlite3": Carrier(written={".sqliterc": "commands"}), "psql": Carrier(written={".psqlrc": "commands"}),
    **dict.fromkeys(words("R Rscript"), Carrier(written={".Rprofile Rprofile.site": "r"})),
    **dict.fromkeys(words("irb guard"), Carrier(written={".irbrc Guardfile": "ruby"})),
    "strace": Carrier(code=_code("pipe", "-o --output")), "newgrp": Carrier(stdin="sh"),
    "systemd-run": Carrier(keys=("execstart", "execstartpre", "execstartpost", "execstop", "execstoppost",
                           "execreload", "execcondition")),
    "forever": _shell("-c"),
    **dict.fromkeys(words("neofetch fastfetch screenfetch"), Carrier(files=_code("sh", "--config"))),
    "run-parts": Carrier(written={"*": "sh"}),
    **dict.fromkeys(words("tmuxp tmuxinator teamocil smug process-compose"), Carrier(operand="commands")),
    "xdg-user-dir": Carrier(texts="commands"),
    "dosbox": _shell("-c"),
    **dict.fromkeys(words("inotifywait fswatch watchman incrontab entr lsyncd"), _shell("-e --exec --command")),
    **dict.fromkeys(words("supervisord circusd monit god"), Carrier(operand="commands",
                    files=_code("commands", "-c"))),
    **dict.fromkeys(words("foreman honcho overmind hivemind goreman"), Carrier(written={"Procfile*": "commands"},
                    files=_code("commands", "-f --procfile"))),
    "pm2": Carrier(operand="javascript", starts=("start",), written={"ecosystem.config.js": "javascript"}),
    **dict.fromkeys(words("bats shellspec shunit2"), Carrier(operand="sh", written={"*.bats": "commands"})),
    # Builds
    "cmake": Carrier(files=_code("commands", "-P -C --toolchain"), keys=("_launcher", "_rule_launch_compile",
                     "_rule_launch_link", "_rule_launch_custom", "_executable"),
                     written={"CMakeLists.txt *.cmake": "commands"}),
    "ctest": Carrier(files=_code("commands", "-S -SP"), written={"CTestTestfile.cmake CMakeLists.txt": "commands"}),
    **dict.fromkeys(words("ninja ninja-build samu"), Carrier(files=_code("commands", "-f"),
                    written={"build.ninja *.ninja": "commands"})),
    "meson": Carrier(written={"meson.build": "commands"}),
    **dict.fromkeys(words("gradle gradlew gradlew.bat"), Carrier(files=_code("commands",
                    "-I --init-script -b --build-file -c --settings-file"),
                    written={"*.gradle *.gradle.kts": "commands"})),
    **dict.fromkeys(words("mvn mvnw mvnd"), Carrier(files=_code("commands", "-f --file"),
                    keys=("exec.executable", "exec.args"), written={"pom.xml": "commands"})),
    "ant": Carrier(files=_code("commands", "-f -file -buildfile"), written={"build.xml": "commands"}),
    **dict.fromkeys(words("nant msbuild xbuild"), Carrier(operand="commands", written={"*.csproj *.build *.proj "
                    "*.targets": "commands"})),
    "dotnet": Carrier(files=_code("commands", "--use --load"), operand="commands", written={"*.csproj *.targets "
                      "*.props": "commands"}),
    **dict.fromkeys(words("rake drake thor"), Carrier(code=_code("ruby commands", "-e --execute -p --execute-print -E "
                    "--execute-continue"), files=_code("ruby commands", "-f --rakefile -r --require"),
                    written={"Rakefile rakefile Rakefile.rb *.rake Thorfile": "ruby commands"})),
    **dict.fromkeys(words("bundle bundler"), Carrier(written={**_GEMS, "Rakefile": "ruby"})),
    **dict.fromkeys(words("rspec cucumber rails"), Carrier(written={"*_spec.rb spec_helper.rb .rspec *_test.rb "
                    "Rakefile": "ruby"}, files=_code("ruby", "-r --require"))),
    "vagrant": Carrier(fetches=("add",), written={"Vagrantfile": "ruby"}), "pod": Carrier(written={"Podfile": "ruby"}),
    "fastlane": Carrier(written={"Fastfile": "ruby"}), "brew": Carrier(fetches=("tap",), written={"Brewfile": "ruby"}),
    "scons": Carrier(files=_code("python", "-f --file --sconstruct"), written={"SConstruct SConscript": "python"}),
    "waf": Carrier(written={"wscript": "python"}),
    **dict.fromkeys(words("invoke inv fab"), Carrier(written={"tasks.py fabfile.py": "python"})),
    "doit": Carrier(files=_code("python", "-f --file"), written={"dodo.py": "python"}),
    "nox": Carrier(files=_code("python", "-f --noxfile"), written={"noxfile.py": "python", **_PYTHON_TESTS}),
    "tox": Carrier(keys=("commands", "commands_pre", "commands_post", "allowlist_externals"),
                   files=_code("commands", "-c --conf"),
                   written={"tox.ini": "commands", **_PYTHON_TESTS, **_PYTHON_BUILD}),
    **dict.fromkeys(words("pytest py.test nosetests nose2 unittest coverage green ward"), Carrier(
        written=_PYTHON_TESTS, files=_code("commands", "-c"))),
    **dict.fromkeys(words("pip pip3 uv pipx poetry pdm hatch build flit rye poe pixi taskipy"), Carrier(
        written={**_PYTHON_BUILD, **_PYTHON_TASKS})),
    **dict.fromkeys(words("bazel bazelisk buck buck2 pants please"), Carrier(
        written={"BUILD* WORKSPACE* MODULE.bazel *.bzl .bazelrc BUCK": "commands"})),
    **dict.fromkeys(words("autoreconf autoconf autogen.sh"), Carrier(
        written={"configure.ac configure.in *.m4": "commands"})),
    **dict.fromkeys(words("streamlit gunicorn uvicorn flask celery scrapy locust luigi dagster alembic"), Carrier(
        operand="python", written={"app.py main.py wsgi.py asgi.py env.py gunicorn.conf.py locustfile.py": "python"},
        files=_code("python", "-c --config -f --locustfile"))),
    "snakemake": Carrier(files=_code("commands", "-s --snakefile"), written={"Snakefile *.smk": "commands"}),
    "nextflow": Carrier(operand="commands", written={"main.nf nextflow.config": "commands"}),
    **dict.fromkeys(words("make gmake"), Carrier(written={
        "makefile GNUmakefile *.mk": "commands", "*.c *.cc *.cpp *.cxx": "c commands", "conf.py": "python"})),
    "just": Carrier(files=_code("commands", "-f --justfile"), code=_code("sh", "--shell"),
                    written={"justfile Justfile .justfile *.just": "commands"}),
    "task": Carrier(files=_code("commands", "-t --taskfile"), written={"Taskfile.y*ml taskfile.y*ml": "commands"}),
    **dict.fromkeys(words("mise rtx"), Carrier(written={"mise.toml .mise.toml": "commands"})),
    **dict.fromkeys(words("npm pnpm yarn yarnpkg bun cnpm"), Carrier(
        written={**_NODE_TESTS, "*/node_modules/.bin/*": "sh"})),
    **dict.fromkeys(words("jest vitest mocha ava jasmine playwright cypress karma tap"), Carrier(written=_NODE_TESTS,
                    files=_code("javascript", "-r --require -c --config --setupFiles --globalSetup"))),
    **dict.fromkeys(words("webpack vite rollup esbuild parcel eslint prettier babel tsup next nuxt astro ng svelte-kit "
                          "stylelint turbo"), Carrier(written=_NODE_CONFIG, files=_code("javascript",
                    "-c --config"))),
    **dict.fromkeys(words("gulp grunt jake"), Carrier(files=_code("javascript", "-f --gulpfile --gruntfile"),
                    written={"gulpfile.js Gruntfile.js Jakefile": "javascript", "package.json": "package"})),
    **dict.fromkeys(words("lerna nx wsrun"), Carrier(words=("exec",), written=_NODE_CONFIG)),
    "deno": Carrier(written={"deno.json deno.jsonc": "package"}), "composer": Carrier(written={"composer.json":
                    "package"}),
    "cargo": Carrier(skips={"watch": 0}, code=_code("sh", "-s --shell"),
                     written={"build.rs *.rs": "rust commands", "config.toml config": "commands"}),
    "rustc": Carrier(operand="commands", stdin="commands", keys=("linker",)),
    "go": Carrier(operand="commands", written={"*.go": "commands"}),
    **dict.fromkeys(words("zig v odin hare crystal nim dart swift kotlinc kotlin scala scalac scala-cli javac ghc "
                          "runghc runhaskell ocaml ocamlfind dune fpc gfortran dmd rdmd ldc2 mono mcs csc tcc vala"),
                    Carrier(operand="commands", stdin="commands", written={"build.zig": "commands",
                            "Package.swift": "commands"})),
    **dict.fromkeys(words("gcc g++ cc c++ c89 c99 clang clang++ gcc-12 gcc-13 gcc-14 clang-15 clang-18 musl-gcc "
                          "nvcc icc x86_64-linux-gnu-gcc"), _C_COMPILER),
    **dict.fromkeys(words("sbt lein mill amm"), Carrier(texts="commands", written={"build.sbt project.clj build.sc":
                    "commands"})),
    "java": _shell("-XX:OnError -XX:OnOutOfMemoryError", operand="commands"),
    "mix": Carrier(written={"mix.exs *.exs": "ruby commands"}), "rebar3": Carrier(written={"rebar.config": "commands"}),
    **dict.fromkeys(words("nix nix-build nix-shell nix-env nixos-rebuild home-manager"), Carrier(
        code=_code("commands", "--expr -E"), operand="commands",
        written={"default.nix shell.nix flake.nix configuration.nix": "commands"})),
    **dict.fromkeys(words("pre-commit lefthook"), Carrier(fetches=("try-repo",), files=_code("commands", "-c --config"),
                    written={".pre-commit-config.yaml lefthook.yml": "commands"})),
    "direnv": Carrier(written={".envrc": "sh"}),
    **dict.fromkeys(
        [*words("python python3 python2 pypy pypy3"), *(f"python3.{minor}" for minor in range(6, 16))],
        Carrier(imports={"*.py": "python"}),
    ),
    **dict.fromkeys(words("node nodejs tsx ts-node"), Carrier(imports={"*.js *.mjs *.cjs *.ts": "javascript"})),
    "ruby": Carrier(imports={"*.rb": "ruby"}), "perl": Carrier(imports={"*.pm *.pl": "perl"}),
    "php": Carrier(code=_code("commands", "-d"), imports={"*.php": "php"}),
    **dict.fromkeys(words("ld ld.bfd ld.gold ld.lld mold"), Carrier(loads=("-plugin", "--plugin"))),
    "hg": Carrier(clones=("clone",)),
    **dict.fromkeys(words("bzr brz fossil darcs got"), _shell(
        "--using --diff-command", clones=("clone", "branch", "get", "checkout"))),
    "ansible-galaxy": Carrier(fetches=("install",)),
    # Machines and clusters
    **dict.fromkeys(words("ansible-playbook ansible-pull ansible-runner"), Carrier(fetches=("-U", "--url"),
                    operand="commands", stdin="commands",
                    keys=("ansible_ssh_executable", "ansible_python_interpreter"))),
    "ansible-console": Carrier(stdin="sh"),
    **dict.fromkeys(words("puppet salt-call salt chef-client chef-solo chef-apply cf-agent bolt"), Carrier(
        code=_code("commands", "-e --execute"), texts="commands", operand="commands", stdin="commands")),
    "packer": Carrier(operand="commands"), "doctl": _shell("--ssh-command"), "vhs": Carrier(operand="commands"),
    **dict.fromkeys(words("bsub condor_run ray cap virsh vmrun VBoxManage consul heroku i3-msg swaymsg hyprctl "
                          "awesome-client qdbus gdbus dbus-send shellinaboxd convert magick identify mogrify"),
                    Carrier(texts="commands")),
    **dict.fromkeys(words("terraform tofu terragrunt"), Carrier(written={"*.tf *.tf.json": "commands"},
                    fetches=("-from-module",), stdin="hcl")),
    **dict.fromkeys(words("easy_install easy_install3 cookiecutter cruft copier"), Carrier(
        fetches=("easy_install", "cookiecutter", "copy", "create", "-i", "--index-url", "-f"), written=_PYTHON_BUILD)),
    **dict.fromkeys(words("yum dnf dnf5 microdnf zypper tdnf"), Carrier(fetches=("-c", "--config", "addrepo", "ar",
                    "--add-repo", "--repofrompath", "--plus-repo", "-p"))),
    "helm": _shell("--post-renderer", fetches=("plugin",)),
    "docker": Carrier(files=_code("manifest", "-f --file"), written={"docker-compose.y*ml compose.y*ml": "manifest"}),
    **dict.fromkeys(words("kubectl oc k3s microk8s"), Carrier(files=_code("manifest", "-f --filename"),
                    skips={"rsh": 1})),
    **dict.fromkeys(words("docker-compose podman-compose"), Carrier(files=_code("manifest", "-f --file"),
                    written={"docker-compose.y*ml compose.y*ml": "manifest"})),
    "act": Carrier(written={"*/workflows/*.y*ml": "commands"}, files=_code("commands", "-W --workflows")),
    **dict.fromkeys(words("skaffold tilt earthly dagger"), Carrier(written={"Tiltfile": "python",
                    "skaffold.yaml Earthfile": "commands"}, files=_code("commands", "-f --file"))),
}  # fmt: skip

_ALWAYS = frozenset({""})
_BACKUP = words("backup create snapshot save")
SENDERS: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        words(
            """
            mosquitto_pub hey ab vegeta oha bombardier autocannon plow siege wput ncftpput matrix-commander discord.sh
            discord-sh apprise ntfy signal-cli sendxmpp gotify pushover kcat kafkacat kafka-console-producer
            amqp-publish megaput mega-put cadaver iput irsync ix sprunge termbin haste hastebin dpaste sendemail toot
            tarsnap bup duplicity nextcloudcmd owncloudcmd unison imgur imgurbash2
            """
        ),
        _ALWAYS,
    ),
    **dict.fromkeys(words("restic rustic kopia borg attic"), _BACKUP),
    "nats": words("pub publish put"), "azcopy": words("copy cp sync"), "bypy": words("upload syncup put"),
    "keybase": words("chat fs"), "onedrive": words("upload"), "tdl": words("up upload"), "globus": words("transfer"),
    "qshell": words("fput rput qupload"), "upx": words("put upload sync"), "wrangler": words("put"),
    "supabase": words("cp"), "mongoimport": _ALWAYS, "svn": words("import"), "tnftp": words("-u"), "ftp": words("-u"),
    "w3m": words("-post"), "logger": words("-n --server"),
}  # fmt: skip
"""Programs that hand files to somebody, with the verbs under which they do."""
READERS = words(
    """
    lynx w3m links elinks dialog whiptail xmodmap wall ss mtr arp ul look csplit dvips eqn tbl pic troff nroff groff
    zsoelim soelim msgcat msgattrib msgconv tic ptx ispell aspell ssh-keyscan check_log check_statusfile nasm as cobc
    cupsfilter genisoimage mkisofs uuencode minicom xpad yelp gtester unsquashfs debugfs bzless xzless zstdless lzless
    agrep enscript a2ps source-highlight most zless hexyl bvi hexedit vbindiff colordiff wdiff dwdiff sdiff icdiff
    iconv recode dos2unix mdcat glow rich richcat ccat lolcat pygmentize vimcat chroma qrencode barcode espeak
    """
)
"""Programs that show a file that they are given, though that is not what they are for."""
for _name in READERS:
    CARRIERS[_name] = replace(CARRIERS.get(_name, Carrier()), reads={})
CARRIERS["getent"] = Carrier(reads={"shadow": "/etc/shadow", "gshadow": "/etc/gshadow"})
for _name, _verbs in SENDERS.items():
    CARRIERS[_name] = replace(CARRIERS.get(_name, Carrier()), sends=_verbs)


def _state(inv: Invocation, low: Lowering) -> None:
    state_carried(CARRIERS[inv.name], inv, low)


BESIDE.update(dict.fromkeys(CARRIERS, _state))
