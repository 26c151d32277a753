"""TOKENS: credentials that no login service would issue: JWTs with changed bytes, headers of other
algorithms, claims of the wrong kind under a right signature, keys of the wrong form. Only a token
with a right signature and right claims is answered; the server never ends and never answers 500."""

import base64
import hashlib
import hmac
import json
import random
import time

from report import Result
from server import Server, create
from wire import request, send

SECRET = b"a secret of the tests that is over 32 bytes long"
# Longer heads are refused while they arrive; the answer is lost where the client still sends.
HEAD = 6000
ALLOWANCE = 30  # seconds that the server adds at both ends, for clocks that differ
SCHEMA = """CREATE TABLE note(id INTEGER PRIMARY KEY, owner TEXT);
INSERT INTO note VALUES (1, 'ann'), (2, 'bob');"""
RULES = {"entities": {"note": {"access": {
    "read": "owner == $user.id OR 'hr' IN $user.roles OR owner == $user.claims.team.name"}}}}
CLAIMS = {"sub": "ann", "scope": "read", "exp": 1 << 33, "roles": ["x"], "team": {"name": "x"}}
NAMES = ["sub", "scope", "exp", "nbf", "iat", "iss", "aud", "roles", "team", "name", "kid", "jti"]


def is_current(claims):
    """False if a number says that the token has expired, or is not valid yet."""
    now = time.time()
    exp, nbf = (claims[name] if type(claims.get(name)) in (int, float) else now for name in ("exp", "nbf"))
    return exp > now - ALLOWANCE and nbf < now + ALLOWANCE


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def signed(header, claims, key=SECRET):
    text = ".".join(encoded(part if isinstance(part, bytes) else json.dumps(part).encode())
                    for part in (header, claims))
    return f"{text}.{encoded(hmac.digest(key, text.encode(), hashlib.sha256))}"


class Maker:
    def __init__(self, chance):
        self.chance, self.pick = chance, chance.choice

    def value(self, depth=0):
        simple = [None, True, False, 0, -1, 1, 2**31, 2**53, 2**63, -(2**63), 10**40, 1e308, 0.5, "", "ann",
                  "bob", "hr", "read", "read write admin", "\x00", "é\U0001f600", "x" * 3000, "1", "'", "$user",
                  int(time.time()) - 3600, int(time.time()) + 3600]
        kind = self.chance.randrange(8 if depth < 4 else 6)
        if kind < 6:
            return self.pick(simple)
        if kind == 6:
            return [self.value(depth + 1) for _ in range(self.chance.randint(0, 4))]
        return {self.pick([*NAMES, "", "a.b"]): self.value(depth + 1) for _ in range(self.chance.randint(0, 4))}

    def broken(self, text):
        data = bytearray(text.encode())
        for _ in range(self.chance.randint(1, 4)):
            at = self.chance.randrange(len(data) + 1)
            kind = self.chance.randrange(4)
            if kind == 0:
                data[at:at + 1] = self.pick(b"ABab01-_=.+/% \t~").to_bytes(1, "big")
            elif kind == 1:
                del data[at:at + self.chance.randint(1, 30)]
            elif kind == 2:
                data[at:at] = data[at:at + self.chance.randint(1, 40)]
            else:
                data[at:at] = self.pick([b".", b"..", b"=", b"e30", b"eyJhbGciOiJub25lIn0", b"\xff"])
        return data.decode("utf-8", "surrogateescape")

    def token(self):
        """A credential, and whether it may be accepted."""
        header, kind = {"alg": "HS256", "typ": "JWT"}, self.chance.randrange(7)
        right = signed(header, CLAIMS)
        if kind == 0:
            text = self.broken(right)
            return text, text == right
        if kind == 1:
            header["alg"] = self.pick(["none", "None", "HS384", "HS512", "RS256", "ES256", "EdDSA", "", None, 1, []])
            return signed(header, CLAIMS), False
        if kind == 2:
            header[self.pick(["kid", "crit", "typ", "jku", "x5c", "b64", "zip"])] = self.value()
            return signed(header, CLAIMS), True
        if kind == 3:
            claims = CLAIMS | {self.pick(NAMES): self.value() for _ in range(self.chance.randint(1, 4))}
            return signed(header, claims), is_current(claims)
        if kind == 4:
            body = self.pick([b"", b"null", b"[]", b"{", b'{"a":1,"a":2}', b"\xff", b"[" * 5000, b'{"sub":1e999}'])
            # Without a scope a verified token is 403.
            return signed(header, body), b":" in body
        if kind == 5:
            return signed(header, CLAIMS, self.pick([b"", b"x", SECRET[:-1], SECRET + b"\n"])), False
        return self.broken(self.pick(["lf_" + "a" * 40, "lf_", "a.b.c", "...", "x" * 9000])), False


def run(program, folder, seconds, seed):
    maker, file, faults, statuses = Maker(random.Random(seed)), folder / "tokens.sqlite", [], {}
    create(file, SCHEMA)
    (folder / "secret").write_bytes(SECRET)
    (folder / "rules.json").write_text(json.dumps(RULES))
    sent, until = 0, time.monotonic() + seconds
    flags = "--jwt-key", str(folder / "secret"), "--access", str(folder / "rules.json")
    with Server(program, file, *flags) as server:
        right = request("GET", "/v1/objects/note?select=owner", headers=[
            ("Authorization", f"Bearer {signed({'alg': 'HS256'}, CLAIMS)}")])
        answer = send(server.port, right, time_limit=30)
        if answer.status != 200 or b"ann" not in answer.body or b"bob" in answer.body:
            faults.append(f"the right token: {answer.status} {answer.body[:300]!r}")
        while time.monotonic() < until and len(faults) < 20:
            text, may_pass = maker.token()
            sent += 1
            data = request("GET", "/v1/objects/note", headers=[("Authorization", f"Bearer {text}")])
            try:
                answer = send(server.port, data, ends=True, time_limit=30)
            except OSError as error:
                if server.process.poll() is not None:
                    faults.append(f"{error!r} after {text[:300]!r}")
                    break
                if len(data) < HEAD:
                    faults.append(f"{error!r} after {text[:300]!r}")
                continue
            statuses[answer.status] = statuses.get(answer.status, 0) + 1
            # Blanks at the end are not part of a field's value.
            may_pass = may_pass or text != text.rstrip(" \t")
            allowed = (200, 401, 403) if may_pass else (401, 400)
            if len(data) >= HEAD:
                allowed += (431, None)
            if answer.status not in allowed:
                faults.append(f"{answer.status} for {text[:300]!r}")
        if (status := server.process.poll()) is not None:
            faults.append(f"the server ended with status {status}")
        elif (status := server.end()) != 0:
            faults.append(f"exit status {status} at the end")
    outcome = ", ".join(f"{count} × {status}" for status, count in sorted(statuses.items(), key=str))
    return Result("TOKENS", f"{sent} odd credentials (seed {seed})", faults, {"answers": outcome})
