"""The signature TC3-HMAC-SHA256 that every call of the API carries, over its host, its kind of body and its body."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from datetime import datetime

KIND = "application/json"
METHOD = "TC3-HMAC-SHA256"


@dataclass(frozen=True, slots=True)
class Call:
    """One action of a service; `body` is what is sent, byte for byte."""

    service: str
    action: str
    version: str
    body: str
    region: str | None = None
    site: str = "intl.tencentcloudapi.com"
    kind: str = KIND

    @property
    def host(self) -> str:
        """Where the service answers."""
        return f"{self.service}.{self.site}"


def headers(call: Call, key: tuple[str, str], at: datetime) -> dict[str, str]:
    """What goes with a call. key: the id and the secret; at: the time in UTC, believed for five minutes."""
    said = {
        "Content-Type": call.kind,
        "Authorization": authorization(call, key, at),
        "X-TC-Action": call.action,
        "X-TC-Version": call.version,
        "X-TC-Timestamp": str(int(at.timestamp())),
    }
    return said | ({"X-TC-Region": call.region} if call.region else {})


def authorization(call: Call, key: tuple[str, str], at: datetime) -> str:
    """The header of that name: what is signed is a digest of the request, by a secret that holds for one day."""
    signed = f"content-type:{call.kind}\nhost:{call.host}\n"
    request = "\n".join(("POST", "/", "", signed, "content-type;host", digest(call.body)))
    scope = f"{at:%Y-%m-%d}/{call.service}/tc3_request"
    secret = f"TC3{key[1]}".encode()
    for part in (*scope.split("/"), f"{METHOD}\n{int(at.timestamp())}\n{scope}\n{digest(request)}"):
        secret = hmac.new(secret, part.encode(), hashlib.sha256).digest()
    return f"{METHOD} Credential={key[0]}/{scope}, SignedHeaders=content-type;host, Signature={secret.hex()}"


def digest(text: str) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(text.encode()).hexdigest()
