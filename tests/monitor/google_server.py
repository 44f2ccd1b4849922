"""The services that the monitor sends to, on this machine, as strict as the real ones.

Requests to Cloud Monitoring and Cloud Logging are parsed with Google's own protobuf types, tokens
are checked with `cryptography`, signatures of S3 with `botocore`. Prints a line of JSON when it is
ready. POST /control says what to answer next ("plan"), and returns what was seen.
"""

from __future__ import annotations

import base64
import datetime
import email.parser
import email.policy
import functools
import hashlib
import json
import re
import ssl
import tempfile
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID
from google.cloud.logging_v2.types import ListLogEntriesRequest, WriteLogEntriesRequest
from google.cloud.monitoring_v3 import CreateTimeSeriesRequest
from google.protobuf import json_format

KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
SECRET = "secret/of+s3"
SPACING_S = 5
PREFIX = "compute.googleapis.com/workload/"
COMMON = {"accelerator_type"}  # and cluster_name, where it is known
METRICS = {  # name: kind of value, labels
    "goodput_time": ("double_value", {"goodput_source"}),
    "badput_time": ("double_value", {"badput_source"}),
    "disruptions": ("int64_value", {"window_type"}),
    "max_productive_steps": ("int64_value", set()),
    "step_time_deviation": ("double_value", set()),
    "total_elapsed_time": ("double_value", {"window_type"}),
    "performance": ("double_value", None),
    "interval_goodput": ("double_value", {"goodput_source", "rolling_window_size"}),
    "interval_badput": ("double_value", {"badput_source", "rolling_window_size"}),
    "stepping_slice_efficiency": ("double_value", {"window_type", "rolling_window_size"}),
    "available_slice_efficiency": ("double_value", {"window_type", "rolling_window_size"}),
}


class Refusal(Exception):
    """An answer other than 200."""

    def __init__(self, status: int, message: str = "", **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers


class Early(Refusal):
    """A point that can be right, but for those before it."""


class State:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        self.plan: list[dict[str, Any]] = []
        self.requests: list[list[str]] = []
        self.faults: list[str] = []  # what no real client may send
        self.tokens: set[str] = set()
        self.assertions = 0
        self.points: list[dict[str, Any]] = []
        self.last: dict[str, float] = {}  # end of the last point of each series
        self.early = 0  # points that came too close after another, or out of order
        self.entries: dict[str, dict[str, Any]] = {}
        self.objects: dict[str, dict[str, Any]] = {}
        self.generation = 100
        self.metadata = False
        self.preconditions = True

    def seen(self) -> dict[str, Any]:
        return {
            "requests": self.requests,
            "faults": self.faults,
            "points": self.points,
            "early": self.early,
            "entries": sorted(self.entries.values(), key=lambda e: (e["timestamp"], e["id"])),
            "objects": self.objects,
            "tokens": sorted(self.tokens),
            "assertions": self.assertions,
        }


STATE = State()


def unpad(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def grant(form: dict[str, list[str]], url: str) -> dict[str, Any]:
    """An access token for a signed assertion."""
    if form.get("grant_type") != ["urn:ietf:params:oauth:grant-type:jwt-bearer"]:
        raise Refusal(400, "unsupported_grant_type")
    head, claims, signature = form["assertion"][0].split(".")
    try:
        KEY.public_key().verify(
            unpad(signature), f"{head}.{claims}".encode(), padding.PKCS1v15(), hashes.SHA256()
        )
    except InvalidSignature:
        raise Refusal(400, "Invalid JWT Signature.") from None
    if json.loads(unpad(head)) != {"alg": "RS256", "typ": "JWT", "kid": "key-1"}:
        raise Refusal(400, "Invalid JWT: header")
    said = json.loads(unpad(claims))
    lasts = said["exp"] - said["iat"]
    if (
        said["aud"] != url + "/token"
        or said["iss"] != "a@p1.iam.gserviceaccount.com"
        or said["scope"] != "https://www.googleapis.com/auth/cloud-platform"
        or not 0 < lasts <= 3600
        or abs(said["iat"] - time.time()) > 60
    ):
        raise Refusal(400, f"Invalid JWT: {said}")
    STATE.assertions += 1
    token = f"ya29.token-{STATE.assertions}"
    STATE.tokens.add(token)
    return {"access_token": token, "expires_in": 3599, "token_type": "Bearer"}


def create_time_series(body: str, project: str) -> dict[str, Any]:
    request = CreateTimeSeriesRequest.pb(CreateTimeSeriesRequest(name=project))
    json_format.Parse(body, request)
    if not 0 < len(request.time_series) <= 200:
        raise Refusal(400, "from 1 to 200 time series in a request")
    now = time.time()
    keys = set()
    for series in request.time_series:
        labels = dict(series.metric.labels)
        name = series.metric.type.removeprefix(PREFIX)
        kind, wanted = METRICS[name]
        if set(labels) - {"cluster_name"} != (set() if wanted is None else wanted | COMMON):
            raise Refusal(400, f"labels of {name}: {labels}")
        if any(len(text) > 1024 for text in labels.values()):
            raise Refusal(400, f"a label of {name} is too long")
        if series.resource.type != "compute.googleapis.com/Workload" or set(
            series.resource.labels
        ) != {"location", "workload_id", "replica_id"}:
            raise Refusal(400, f"resource of {name}")
        (point,) = series.points
        end = point.interval.end_time.seconds + point.interval.end_time.nanos / 1e9
        if point.interval.HasField("start_time") or not now - 25 * 3600 < end < now + 300:
            raise Refusal(400, f"interval of {name}")
        if point.value.WhichOneof("value") != kind:
            raise Refusal(400, f"type of {name}")
        key = json.dumps([name, sorted(labels.items())])
        if key in keys:
            raise Refusal(400, f"{name} twice in a request")
        if end < STATE.last.get(key, 0) + SPACING_S:
            STATE.early += 1
            raise Early(400, f"points of {name} were written more frequently than every 5 s")
        keys.add(key)
        value = getattr(point.value, kind)
        STATE.points.append({"name": name, "labels": labels, "value": value, "end": end})
        STATE.last[key] = end
    return {}


def write_entries(body: str) -> dict[str, Any]:
    request = WriteLogEntriesRequest.pb(WriteLogEntriesRequest())
    json_format.Parse(body, request)
    if len(body) > 10_000_000 or len(request.entries) > 1000:
        raise Refusal(400, "the request is too large")
    if not request.log_name.startswith("projects/p1/logs/") or request.log_name.count("/") != 3:
        raise Refusal(400, f"log name {request.log_name}")
    for entry in request.entries:
        payload = json_format.MessageToDict(entry.json_payload)
        if not entry.insert_id or not entry.HasField("timestamp") or not payload["job_name"]:
            raise Refusal(400, f"entry {entry}")
        if entry.severity != 200 or request.resource.type != "global":
            raise Refusal(400, "severity or resource")
        stamp = entry.timestamp.ToJsonString()
        STATE.entries[f"{request.log_name} {stamp} {entry.insert_id}"] = {
            "log": request.log_name,
            "timestamp": stamp,
            "id": entry.insert_id,
            "payload": payload,
        }
    return {}


def list_entries(body: str) -> dict[str, Any]:
    """Knows the one filter that is sent: the oldest first, a hundred a page."""
    request = ListLogEntriesRequest.pb(ListLogEntriesRequest())
    json_format.Parse(body, request)
    found = re.fullmatch(
        r'logName="(projects/p1/logs/[^"]+)" AND severity=INFO'
        r' AND jsonPayload.job_name="((?:[^"\\]|\\.)*)"'
        r' AND timestamp<="([^"]+)" AND timestamp>"([^"]+)"',
        request.filter,
    )
    if not found or request.order_by != "timestamp asc" or not 0 < request.page_size <= 1000:
        raise Refusal(400, f"list {request}")
    if list(request.resource_names) != ["projects/p1"]:
        raise Refusal(400, "resource names")
    log, job, end, start = found.groups()
    job = re.sub(r"\\(.)", r"\1", job)
    chosen = [
        {
            "logName": log,
            "insertId": entry["id"],
            "timestamp": entry["timestamp"],
            "severity": "INFO",
            "jsonPayload": entry["payload"],
        }
        for entry in STATE.seen()["entries"]
        if entry["log"] == log
        and entry["payload"]["job_name"] == job
        and start < entry["timestamp"] <= end
    ]
    at = int(request.page_token or 0)
    more = {"nextPageToken": str(at + 100)} if at + 100 < len(chosen) else {}
    return {"entries": chosen[at : at + 100], **more}


def upload(query: dict[str, list[str]], bucket: str, headers: Any, body: bytes) -> dict[str, Any]:
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(
        b"Content-Type: " + headers["Content-Type"].encode() + b"\r\n\r\n" + body
    )
    about, contents = message.iter_parts()
    meta = json.loads(about.get_payload(decode=True))
    key = f"gs://{bucket}/{meta['name']}"
    there = STATE.objects.get(key)
    generation = there["generation"] if there else "0"
    if query["uploadType"] != ["multipart"] or "ifGenerationMatch" not in query:
        raise Refusal(400, "no precondition")
    if query["ifGenerationMatch"] != [generation]:
        raise Refusal(412, "At least one of the pre-conditions you specified did not hold.")
    STATE.generation += 1
    STATE.objects[key] = {
        "generation": str(STATE.generation),
        "metadata": meta["metadata"],
        "text": contents.get_payload(decode=True).decode("latin-1"),
    }
    return {"generation": str(STATE.generation)}


def check_signature(method: str, url: str, headers: Any, body: bytes) -> None:
    """As S3 does it, with botocore's own code."""
    given = headers["Authorization"]
    names = given.split("SignedHeaders=")[1].split(",")[0].split(";")
    if not {"host", "x-amz-date", "x-amz-content-sha256"} <= set(names):
        raise Refusal(403, "<Code>AccessDenied</Code>")
    if hashlib.sha256(body).hexdigest() != headers["x-amz-content-sha256"]:
        raise Refusal(400, "<Code>XAmzContentSHA256Mismatch</Code>")
    signed = {name: headers[name] for name in names}
    request = AWSRequest(method=method, url=url, headers=signed, data=body)
    request.context["timestamp"] = headers["x-amz-date"]
    auth = S3SigV4Auth(Credentials("AKIDEXAMPLE", SECRET, "session"), "s3", "eu-west-1")
    to_sign = auth.string_to_sign(request, auth.canonical_request(request))
    if given.split("Signature=")[1] != auth.signature(to_sign, request):
        raise Refusal(403, "<Code>SignatureDoesNotMatch</Code>")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    lose_answer = False

    def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        if self.lose_answer:
            self.close_connection = True
            return
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/control":
            with STATE.lock:
                self.answer(200, self.control(json.loads(body)), {})
            return
        with STATE.lock:
            STATE.requests.append([self.command, self.path, self.headers.get("User-Agent", "")])
            planned = STATE.plan.pop(0) if self.is_planned() else {}
            self.lose_answer = planned.get("lose", False)
        if planned:
            time.sleep(planned.get("delay_s", 0))
            if planned.get("close"):
                self.close_connection = True
                return
            if planned.get("status"):
                text = planned.get("body", "planned")
                self.answer(planned["status"], text.encode(), planned.get("headers", {}))
                return
        with STATE.lock:
            try:
                text, headers = self.serve(body)
                self.answer(200, text, headers)
            except Refusal as refusal:
                if refusal.status == 400 and not isinstance(refusal, Early):
                    STATE.faults.append(str(refusal))
                words = str(refusal)
                if not words.startswith("<"):
                    words = json.dumps({"error": {"code": refusal.status, "message": words}})
                self.answer(refusal.status, words.encode(), refusal.headers)
            except (ConnectionError, TimeoutError):  # it did not wait for the answer
                self.close_connection = True
            except Exception as error:  # what could not even be parsed
                STATE.faults.append(repr(error))
                self.answer(400, repr(error).encode(), {})

    do_GET = do_HEAD = do_POST = do_PUT = handle_any

    def is_planned(self) -> bool:
        return bool(STATE.plan) and self.path.startswith(STATE.plan[0].get("path", "/"))

    def control(self, said: dict[str, Any]) -> bytes:
        if said.pop("reset", False):
            STATE.reset()
        for name, what in said.items():
            setattr(STATE, name, set(what) if name == "tokens" else what)
        return json.dumps(STATE.seen()).encode()

    def check_token(self) -> None:
        if self.headers.get("Authorization", "").removeprefix("Bearer ") not in STATE.tokens:
            raise Refusal(401, "Request had invalid authentication credentials.")

    def serve(self, body: bytes) -> tuple[bytes, dict[str, str]]:
        url = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qs(url.query)
        here = f"http://{self.headers['Host']}"
        if url.path == "/token":
            return json.dumps(grant(urllib.parse.parse_qs(body.decode()), here)).encode(), {}
        if url.path.startswith("/computeMetadata/v1/") and STATE.metadata:
            if self.headers["Metadata-Flavor"] != "Google":
                raise Refusal(403, "no Metadata-Flavor")
            return self.describe(url.path.removeprefix("/computeMetadata/v1/"))
        if url.path.startswith("/s3/"):
            check_signature(self.command, here + self.path, self.headers, body)
            return self.serve_s3(url.path, body)
        self.check_token()
        parts = url.path.split("/")
        if url.path == "/v3/projects/p1/timeSeries":
            return json.dumps(create_time_series(body.decode(), "projects/p1")).encode(), {}
        if url.path == "/v2/entries:write":
            return json.dumps(write_entries(body.decode())).encode(), {}
        if url.path == "/v2/entries:list":
            return json.dumps(list_entries(body.decode())).encode(), {}
        if url.path.startswith("/upload/storage/v1/b/"):
            return json.dumps(upload(query, parts[5], self.headers, body)).encode(), {}
        if url.path.startswith("/storage/v1/b/"):
            there = STATE.objects.get(f"gs://{parts[4]}/{urllib.parse.unquote(parts[6])}")
            if there is None:
                raise Refusal(404, "No such object")
            about = {"generation": there["generation"], "metadata": there["metadata"]}
            return json.dumps(about).encode(), {}
        raise Refusal(404, f"nothing at {url.path}")

    def describe(self, path: str) -> tuple[bytes, dict[str, str]]:
        flavor = {"Metadata-Flavor": "Google"}
        if path == "instance/service-accounts/default/token":
            STATE.tokens.add("ya29.of-metadata")
            return b'{"access_token": "ya29.of-metadata", "expires_in": 3599}', flavor
        known = {
            "project/project-id": b"p1",
            "instance/zone": b"projects/9/zones/us-central1-a",
            "instance/machine-type": b"projects/9/machineTypes/ct5lp-hightpu-4t",
        }
        if path not in known:
            raise Refusal(404, "no such attribute", **flavor)
        return known[path], flavor

    def serve_s3(self, path: str, body: bytes) -> tuple[bytes, dict[str, str]]:
        key = "s3://" + urllib.parse.unquote(path.removeprefix("/s3/"))
        there = STATE.objects.get(key)
        writer = "x-amz-meta-headway-writer"
        if self.command == "HEAD":
            if there is None:
                raise Refusal(404, "<Code>NoSuchKey</Code>")
            return b"", {"ETag": there["generation"], writer: there["metadata"]["headway-writer"]}
        if self.headers["If-None-Match"] or self.headers["If-Match"]:
            if not STATE.preconditions:
                raise Refusal(501, "<Code>NotImplemented</Code>")
            if self.headers["If-None-Match"] and there:
                raise Refusal(412, "<Code>PreconditionFailed</Code>")
            if self.headers["If-Match"] and there is None:
                raise Refusal(404, "<Code>NoSuchKey</Code>")
            if there and self.headers["If-Match"] != there["generation"]:
                raise Refusal(412, "<Code>PreconditionFailed</Code>")
        tag = f'"{hashlib.md5(body).hexdigest()}"'
        STATE.objects[key] = {
            "generation": tag,
            "metadata": {"headway-writer": self.headers[writer]},
            "text": body.decode("latin-1"),
        }
        return b"", {"ETag": tag}


@functools.cache
def certificate() -> bytes:
    """Of localhost, signed by itself."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    day = datetime.timedelta(days=1)
    built = (
        x509.CertificateBuilder(name, name, KEY.public_key(), x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    )
    return built.sign(KEY, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def serve_tls(pem: bytes) -> ThreadingHTTPServer:
    """The same services over TLS."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as both:
        both.write(pem + certificate())
        both.flush()
        context.load_cert_chain(both.name)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    pem = KEY.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    url = f"http://127.0.0.1:{server.server_address[1]}"
    start = {"url": url, "private_key": pem.decode(), "certificate": certificate().decode()}
    start["tls_url"] = f"https://localhost:{serve_tls(pem).server_address[1]}"
    print(json.dumps(start), flush=True)
    server.serve_forever()


main()
