"""An issuer of tokens on a loopback port: metadata, keys, and tokens for those who show its credentials."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from time import time
from typing import Any
from urllib.parse import parse_qs

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from tests.support.peers.mcp_http import Asked, HttpToy, answer

RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER = rsa.generate_private_key(public_exponent=65537, key_size=2048)
CURVE = ec.generate_private_key(ec.SECP256R1())


def jwk(key: Any, kid: str, **more: str) -> dict[str, Any]:
    kind = jwt.algorithms.RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else jwt.algorithms.ECAlgorithm
    return dict(kind.to_jwk(key.public_key(), as_dict=True)) | {"kid": kid, "use": "sig"} | more


class Issuer(HttpToy):
    """See the module. `forms` are the token requests that it got."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.keys: list[dict[str, Any]] = [jwk(RSA, "one"), jwk(CURVE, "two")]
        self.forms: list[dict[str, str]] = []
        self.authorizations: list[str] = []
        self.more: dict[str, Any] = {}
        self.refused = ""
        self.lasts = 3600

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _answer(self, asked: Asked, _writer: Any) -> bytes:
        if asked.path.startswith("/.well-known/"):
            said: Mapping[str, Any] = {
                "issuer": self.issuer, "jwks_uri": f"{self.issuer}/keys", "token_endpoint": f"{self.issuer}/token",
            } | self.more  # fmt: skip
            return answer(200, json.dumps(said).encode())
        if asked.path == "/keys":
            return answer(200, json.dumps({"keys": self.keys}).encode())
        form = {name: values[0] for name, values in parse_qs(asked.body.decode()).items()}
        self.forms.append(form)
        self.authorizations.append(asked.headers.get("authorization", ""))
        if self.refused:
            return answer(400, json.dumps({"error": self.refused}).encode())
        who = form.get("refresh_token", "gateway")
        number = len(self.forms)
        said = {"access_token": f"{who}-token-{number}", "token_type": "Bearer", "expires_in": self.lasts}
        return answer(200, json.dumps(said).encode())

    def token(self, key: Any = RSA, kid: str = "one", algorithm: str = "RS256", **claims: Any) -> str:
        """A token for https://gateway.example/mcp that counts, but for what is said otherwise."""
        base = {
            "iss": self.issuer, "aud": "https://gateway.example/mcp", "sub": "ada", "exp": int(time()) + 600,
            "scope": "mcp:use other",
        }  # fmt: skip
        said = {name: value for name, value in (base | claims).items() if value is not None}
        return jwt.encode(said, key, algorithm=algorithm, headers={"kid": kid})


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
