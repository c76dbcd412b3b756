"""Variables that users of Maybe Don't have set, under our keys. Those without a counterpart here are passed over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from interpose.core.config.keys import OTHERS_PREFIX

_SAME: Mapping[str, str] = {
    "INTERCEPT_ENABLED": "intercept.enabled",
    "INTERCEPT_SHELL_TOOL_NAMES": "intercept.shell_tool_names",
    "SERVER_TRUSTED_PROXIES": "server.trusted_proxies",
    "SERVER_SSE_TLS_CERT_FILE": "server.tls.cert_file",
    "SERVER_SSE_TLS_KEY_FILE": "server.tls.key_file",
    "CLI_REQUEST_VALIDATION_ENABLED": "cli_validation.enabled",
    "CLI_REQUEST_VALIDATION_VALIDATE_COMMANDS": "cli_validation.validate_commands",
    "AUDIT_INCLUDE_ARGUMENT_VALUES": "ledger.include_argument_values",
}
_ADDRESS = "SERVER_LISTEN_ADDR"
_LEVEL = "LOGGER_LEVEL"
_LOG = "LOGGER_PATH"

_EVERYWHERE = "0.0.0.0"  # noqa: S104 - what `:8080` means there; the server refuses to start on it without tokens


def maybe_dont_settings(environ: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Key, text and variable of what is set under the other name."""
    for variable, text in environ.items():
        name = variable.removeprefix(OTHERS_PREFIX)
        if name == variable:
            continue
        if name in _SAME:
            yield _SAME[name], text, variable
        elif name == _ADDRESS:
            host, _, port = text.rpartition(":")
            yield "server.host", host.strip("[]") or _EVERYWHERE, variable
            yield "server.port", port, variable
        elif name == _LEVEL:
            yield "logging.level", {"warn": "warning"}.get(text.lower(), text.lower()), variable
        elif name == _LOG:
            yield "logging.path", "" if text == "stderr" else text, variable
