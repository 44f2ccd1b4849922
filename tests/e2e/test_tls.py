"""`headway serve` through TLS, and whom its clients trust."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from conftest import Headway, wait_until
from test_server import ALONE, Server, same_everywhere, train

SUBJECT = "/CN=some server"


class TlsServer(Server):
    """One with a certificate of its own, unless `options` name another one."""

    def __init__(self, headway: Headway, folder: Path, *options: str) -> None:
        super().__init__(headway, folder, *(options or ("--tls",)))

    def next_line(self) -> str:
        assert self.process is not None and self.process.stdout is not None
        return self.process.stdout.readline()

    def rest(self) -> str:
        """Ends it, and returns what it had still to say."""
        assert self.process is not None and self.process.stdout is not None
        self.process.terminate()
        return self.process.stdout.read()

    @property
    def certificate(self) -> Path:
        return self.folder / "server/tls-certificate.pem"

    @property
    def env(self) -> dict[str, str]:
        return {**super().env, "HEADWAY_CA": str(self.certificate)}

    def client(self, *words: str) -> subprocess.CompletedProcess[str]:
        """OpenSSL's client, which says hello and goodbye."""
        command = ["openssl", "s_client", "-connect", f"127.0.0.1:{self.port}", *words]
        return subprocess.run(command, input="", capture_output=True, text=True, timeout=60)

    def serial(self) -> str:
        """That of the certificate that it shows."""
        shown = subprocess.run(["openssl", "x509", "-noout", "-serial"], input=self.client().stdout,
                               capture_output=True, text=True)  # fmt: skip
        return shown.stdout.strip()


@pytest.fixture
def server(headway: Headway, tmp_path: Path) -> Iterator[TlsServer]:
    with closing(TlsServer(headway, tmp_path / "far")) as one:
        yield one


class Authority:
    """A certificate authority, by the openssl command."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.root = folder / "root.pem"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-keyout", folder / "root.key", "-out", self.root, "-subj", "/CN=authority",
                "-days", "2")  # fmt: skip

    def issue(
        self, name: str, names: str = "IP:127.0.0.1", *, rsa: bool = False, expired: bool = False
    ) -> tuple[Path, Path]:
        """A certificate, good for a day, and its key."""
        key, wish, made = (self.folder / f"{name}.{kind}" for kind in ("key", "csr", "pem"))
        kind = ["rsa:2048"] if rsa else ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        openssl("req", "-new", "-newkey", *kind, "-nodes", "-keyout", key, "-out", wish,
                "-subj", SUBJECT, "-addext", f"subjectAltName={names}")  # fmt: skip
        if not expired:
            openssl("x509", "-req", "-in", wish, "-CA", self.root, "-CAkey",
                    self.folder / "root.key", "-CAcreateserial", "-days", "1", "-out", made,
                    "-copy_extensions", "copy")  # fmt: skip
            return made, key
        (self.folder / "index").touch()
        (self.folder / "ca.conf").write_text(
            f"[ca]\ndefault_ca = a\n[a]\ndatabase = {self.folder}/index\n"
            f"new_certs_dir = {self.folder}\ndefault_md = sha256\npolicy = p\nrand_serial = yes\n"
            "copy_extensions = copy\n[p]\ncommonName = supplied\n"
        )
        openssl("ca", "-batch", "-config", self.folder / "ca.conf", "-cert", self.root, "-keyfile",
                self.folder / "root.key", "-in", wish, "-out", made, "-startdate", "200101000000Z",
                "-enddate", "200102000000Z", "-notext")  # fmt: skip
        return made, key


def openssl(*words: str | Path) -> str:
    done = subprocess.run(["openssl", *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


def curl(server: Server, *words: str | Path, code: int = 0) -> str:
    """What `curl` gets from /healthz."""
    command = ["curl", "--silent", "--show-error", "--max-time", "20", *map(str, words)]
    done = subprocess.run([*command, f"{server.url}/healthz"], capture_output=True, text=True)
    assert done.returncode == code, done
    return done.stdout


def test_it_makes_a_certificate_once(headway: Headway, server: TlsServer) -> None:
    certificate = server.certificate
    assert server.next_line().endswith(f" HEADWAY_CA={certificate}\n")
    fingerprint = openssl("x509", "-in", certificate, "-noout", "-fingerprint", "-sha256")
    assert fingerprint.split("=")[1] in server.next_line()
    files = [certificate, certificate.with_name("tls-key.pem")]
    assert [stat.S_IMODE(path.stat().st_mode) for path in files] == [0o600, 0o600]
    assert curl(server, "--cacert", certificate) == "ok\n"
    before = [(path.read_bytes(), path.stat().st_mtime_ns) for path in files]
    serial = server.serial()
    server.kill()
    server.start()
    assert server.serial() == serial
    assert [(path.read_bytes(), path.stat().st_mtime_ns) for path in files] == before
    # What is asked for in addition is missing in it, and told.
    server.stop()
    server.options = ("--tls", "--tls-name", "goodput.example.org", "--tls-name", "10.9.8.7")
    server.start()
    told = [server.next_line() for _ in range(4)]
    assert "not good for goodput.example.org; once it is removed" in told[2]
    assert "not good for 10.9.8.7" in told[3]
    server.stop()
    certificate.unlink()
    server.start()
    for name in (["-verify_hostname", "goodput.example.org"], ["-verify_ip", "10.9.8.7"],
                 ["-verify_hostname", "localhost"], ["-verify_ip", "::1"],
                 ["-verify_hostname", socket.gethostname()]):  # fmt: skip
        words = ["-CAfile", str(certificate), "-verify_return_error", "-x509_strict", *name]
        assert server.client(*words).returncode == 0, name
    words[-2:] = ["-verify_hostname", "other"]
    assert server.client(*words).returncode != 0


def test_it_speaks_what_is_good_today(server: TlsServer) -> None:
    trusted = ["-CAfile", str(server.certificate), "-verify_return_error"]
    for version, cipher in (("1_2", "ECDHE-ECDSA-AES256-GCM-SHA384"),
                            ("1_3", "TLS_AES_256_GCM_SHA384")):  # fmt: skip
        said = server.client(f"-tls{version}", "-alpn", "http/1.1", *trusted)
        assert said.returncode == 0
        assert f"New, TLSv{version.replace('_', '.')}, Cipher is {cipher}\n" in said.stdout
        assert "ALPN protocol: http/1.1\n" in said.stdout
        assert "Secure Renegotiation IS supported\n" in said.stdout or version == "1_3"
        assert "Compression: NONE\n" in said.stdout
    for words in (["-tls1_1"], ["-tls1"], ["-tls1_2", "-cipher", "ECDHE+AES128+SHA256:!AESGCM"]):
        if words[-1].startswith("-tls1"):
            words += ["-cipher", "ALL:@SECLEVEL=0"]
        said = server.client(*words)
        assert said.returncode != 0, words
        assert re.search("alert (protocol version|handshake failure)", said.stderr), said.stderr
    assert "no application protocol" in server.client("-alpn", "h2").stderr
    # Who asks for a renegotiation does not get one.
    asked = subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", "-tls1_2"],
        input="R\n", capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "no renegotiation" in asked.stderr
    assert curl(server, "--cacert", server.certificate) == "ok\n"


def test_the_same_through_tls(headway: Headway, server: TlsServer, tmp_path: Path) -> None:
    headway(*train(headway, tmp_path, "r", 1, 300))
    headway("ship", env=server.env)
    same_everywhere(headway, server, "r")
    result = headway(*train(headway, tmp_path, "supervised", 2, 100), env=server.env)
    assert "sending" not in result.stderr
    same_everywhere(headway, server, "supervised")
    # The place of the certificate may be a relative one.
    alone = subprocess.run(
        [sys.executable, "-c", ALONE, "alone", server.url], capture_output=True, text=True,
        cwd=server.certificate.parent,
        env={**headway.environment, **server.env, "HEADWAY_CA": server.certificate.name},
    )  # fmt: skip
    assert alone.returncode == 0 and alone.stderr == ""
    same_everywhere(headway, server, "alone")
    headway(*train(headway, tmp_path, "agent", 3, 20))
    agent = headway.start("agent", env=server.env)
    wait_until(lambda: headway("goodput", "agent", env=server.env, code=None).returncode == 0,
               "the agent")  # fmt: skip
    agent.terminate()
    assert agent.wait(timeout=30) == 0
    assert agent.communicate()[1] == ""
    same_everywhere(headway, server, "agent")
    assert headway("tokens", "create", env=server.env).stdout.startswith("hw_")


def test_who_is_not_trusted_gets_nothing(
    headway: Headway, server: TlsServer, authority: Authority, tmp_path: Path
) -> None:
    headway(*train(headway, tmp_path, "r", 1, 5))
    headway("ship", env=server.env)
    curl(server, code=60)
    distrusted = f"the certificate of 127.0.0.1:{server.port} is not trusted: "
    nobody = {key: value for key, value in server.env.items() if key != "HEADWAY_CA"}
    nothing = tmp_path / "nothing.pem"
    nothing.write_text("no certificate\n")
    for env, words in (
        (nobody, [distrusted, "is told to clients by HEADWAY_CA=FILE"]),
        ({**nobody, "HEADWAY_CA": str(authority.root)},
         [distrusted, f"(HEADWAY_CA={authority.root} names what is trusted"]),
        ({**nobody, "HEADWAY_CA": "/nowhere.pem"}, ["certificates in /nowhere.pem can't be used"]),
        ({**nobody, "HEADWAY_CA": str(nothing)}, [f"certificates in {nothing} can't be used"]),
    ):  # fmt: skip
        for command in (("goodput", "r"), ("ship",), ("agent",), ("tokens", "list")):
            said = headway(*command, env=env, code=1).stderr
            for word in words:
                assert word in said, (command, said)
            assert "refused" not in said
    # A program trains all the same, and says it once.
    run = headway(*train(headway, tmp_path, "other", 1, 5), env=nobody)
    assert run.stderr.count(distrusted) == 1
    alone = subprocess.run([sys.executable, "-c", ALONE, "alone", server.url], capture_output=True,
                           text=True, env={**headway.environment, **nobody})  # fmt: skip
    assert alone.returncode == 0 and alone.stderr.count(distrusted) == 1, alone.stderr
    # The same trust for other purposes is not enough where HEADWAY_CA is given.
    bundle = {"CURL_CA_BUNDLE": str(server.certificate)}
    headway("goodput", "r", env={**nobody, **bundle})
    headway("goodput", "r", env={**nobody, **bundle, "HEADWAY_CA": str(authority.root)}, code=1)


def test_plain_and_encrypted_ports_are_told_apart(
    headway: Headway, server: TlsServer, tmp_path: Path
) -> None:
    plainly = server.url.replace("https", "http")
    said = headway("goodput", "r", "--server", plainly, env=server.env, code=2).stderr
    assert said.endswith(": this server speaks TLS: its URL begins with https://\n")
    with closing(Server(headway, tmp_path / "plain")) as plain:
        url = plain.url.replace("http", "https")
        said = headway("goodput", "r", "--server", url, env=server.env, code=4).stderr
        assert f"no TLS with 127.0.0.1:{plain.port}: " in said
        assert said.endswith("if it speaks none, its URL begins with http://\n")


def test_a_certificate_that_is_given(
    headway: Headway, authority: Authority, tmp_path: Path
) -> None:
    headway(*train(headway, tmp_path, "r", 1, 5))
    env = {"HEADWAY_CA": str(authority.root)}
    for rsa in (False, True):
        certificate, key = authority.issue(f"rsa{rsa}", rsa=rsa)
        before = [(path.read_bytes(), path.stat().st_mtime_ns) for path in (certificate, key)]
        options = ("--tls-cert", str(certificate), "--tls-key", str(key))
        with closing(TlsServer(headway, tmp_path / f"far{rsa}", *options)) as server:
            headway("ship", env={**server.env, **env})
            same = {**server.env, **env}
            assert (headway("goodput", "r", "--json", env=same).stdout
                    == headway("goodput", "r", "--json").stdout)  # fmt: skip
            assert curl(server, "--cacert", authority.root, "--tls-max", "1.2") == "ok\n"
            assert not server.certificate.exists()
            assert "CA" not in server.rest()
        assert [(p.read_bytes(), p.stat().st_mtime_ns) for p in (certificate, key)] == before
    # One of another name, and one that has expired.
    elsewhere = authority.issue("elsewhere", "DNS:elsewhere.example.org")
    expired = authority.issue("expired", expired=True)
    for (certificate, key), why in ((elsewhere, "127.0.0.1"), (expired, "expired")):
        options = ("--tls-cert", str(certificate), "--tls-key", str(key))
        with closing(TlsServer(headway, tmp_path / "far", *options)) as server:
            said = headway("goodput", "r", env={**server.env, **env}, code=1).stderr
            assert "is not trusted: " in said and why in said, said
            assert ("has expired on 2020-01-02" in server.rest()) == (why == "expired")


def test_a_renewed_certificate_is_taken_while_it_runs(
    headway: Headway, authority: Authority, tmp_path: Path
) -> None:
    first, second = authority.issue("first"), authority.issue("second")
    # As certbot and Kubernetes leave them: links, which are turned.
    live = tmp_path / "live"
    turn = tmp_path / "turn"
    live.symlink_to(tmp_path / "one")
    for name, pair in (("one", first), ("two", second)):
        (tmp_path / name).mkdir()
        shutil.copy(pair[0], tmp_path / name / "tls.crt")
        shutil.copy(pair[1], tmp_path / name / "tls.key")
    options = ("--tls-cert", str(live / "tls.crt"), "--tls-key", str(live / "tls.key"))
    with closing(TlsServer(headway, tmp_path / "far", *options)) as server:
        serials = [openssl("x509", "-in", pair[0], "-noout", "-serial").strip()
                   for pair in (first, second)]  # fmt: skip
        assert server.serial() == serials[0]
        turn.symlink_to(tmp_path / "two")
        os.replace(turn, live)
        assert server.next_line().endswith(f"the new certificate in {live}/tls.crt counts from now "
                                           "on\n")  # fmt: skip
        assert server.serial() == serials[1]
        (tmp_path / "two/tls.crt").write_bytes(first[0].read_bytes()[:500])
        told = server.next_line()
        assert "a new certificate is no good, and the one before stays: " in told
        assert f"{live}/tls.crt holds no certificate in PEM" in told
        time.sleep(2.5)  # it is told once
        assert server.serial() == serials[1]
        shutil.copy(first[0], tmp_path / "two/tls.crt")
        assert "is not that of the certificate in" in server.next_line()
        shutil.copy(first[1], tmp_path / "two/tls.key")
        assert "counts from now on" in server.next_line()
        assert server.serial() == serials[0]
        assert curl(server, "--cacert", authority.root) == "ok\n"


def test_who_is_slow_to_shake_hands_hinders_nobody(headway: Headway, server: TlsServer) -> None:
    with ExitStack() as held:
        for number in range(1100):  # more than it takes
            try:
                one = socket.create_connection(("127.0.0.1", server.port), timeout=1)
            except TimeoutError:
                break
            held.enter_context(one)
            if number % 2:
                one.sendall(b"\x16\x03\x01")
        for _ in range(3):
            assert curl(server, "--cacert", server.certificate) == "ok\n"
        assert json.loads(headway("ship", "--json", env=server.env).stdout)["journals"] == 0


def test_what_is_asked_for_must_make_sense(
    headway: Headway, authority: Authority, tmp_path: Path
) -> None:
    certificate, key = map(str, authority.issue("good"))
    other = str(authority.issue("other")[1])
    for options, code, why in (
        (["--tls-cert", certificate], 2, "go together"),
        (["--tls-key", key], 2, "go together"),
        (["--tls", "--tls-cert", certificate, "--tls-key", key], 2, "only one of them"),
        (["--tls-name", "x"], 2, "--tls-name is for"),
        (["--tls", "--tls-name", "a,b"], 2, '"a,b" can be the name of no server'),
        (["--tls-cert", certificate, "--tls-key", other], 2, "is not that of the certificate"),
        (["--tls-cert", "/nowhere", "--tls-key", key], 1, "cannot open /nowhere"),
        (["--tls-cert", key, "--tls-key", key], 2, "holds no certificate in PEM"),
    ):
        said = headway("serve", "--dir", tmp_path / "far", "--listen", "127.0.0.1:0", *options,
                       code=code).stderr  # fmt: skip
        assert why in said and said.count("\n") == 1, said


def test_tokens_in_the_clear_are_told(headway: Headway, tmp_path: Path) -> None:
    for number, (options, told) in enumerate(((["--tls"], False), ([], True))):
        process = headway.start("serve", "--dir", tmp_path / str(number), "--listen", "0.0.0.0:0",
                                *options)  # fmt: skip
        assert process.stdout is not None
        process.stdout.readline()
        process.terminate()
        assert ("travels in the clear, tokens as well" in process.stdout.read()) == told
        assert process.wait(timeout=30) == 0
