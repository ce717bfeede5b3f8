"""With a certificate the service speaks https, and nothing else."""

import json
import shutil
import ssl
import subprocess
import urllib.request

import pytest
from tests.serve.running import started
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.slow


def test_a_token_travels_by_https(tmp_path):
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    making = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out certificate -days 1 -subj /CN=localhost"
    alternative = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run([*making.split(), *alternative], cwd=tmp_path, check=True, capture_output=True, timeout=PATIENCE_S)
    (tmp_path / "token").write_text("correct-horse-battery-staple")
    options = ("--certificate", "certificate", "--key", "key", "--token-file", "token")
    with started(*options, folder=tmp_path) as client:
        assert client.address.startswith("https://")
        trusted = ssl.create_default_context(cafile=tmp_path / "certificate")
        bearer = {"authorization": "Bearer correct-horse-battery-staple"}
        request = urllib.request.Request(f"https://127.0.0.1:{client.port}/api", headers=bearer)
        with urllib.request.urlopen(request, context=trusted, timeout=PATIENCE_S) as answer:
            assert json.load(answer)["version"]
        with pytest.raises(ConnectionError):
            client.raw("GET", "/api")
