"""The embedded Valkey: its address, its privacy, what it keeps, and Celery on top of it."""

from __future__ import annotations

import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from kombu.connection import Connection

from hermes_site.lib.errors import ConfigError
from hermes_site.services import valkey
from tests.fakes.servers import valkey_server, wait_for


@pytest.fixture(params=["short", "long"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A HERMES_HOME whose socket path fits, and one whose does not."""
    home = tmp_path if request.param == "short" else tmp_path / ("x" * 120)
    home.mkdir(exist_ok=True)
    yield home
    path = valkey.socket_path(home)
    path.unlink(missing_ok=True)
    if path.parent.exists() and path.parent != home / "run":
        path.parent.rmdir()


@pytest.fixture
def server(home: Path) -> Iterator[Path]:
    """An embedded server as the supervisor starts it; gives its HERMES_HOME."""
    path = valkey.prepare(home)
    process = subprocess.Popen(
        valkey.command(directory=home, socket_file=path), stdout=subprocess.DEVNULL
    )
    wait_for(lambda: valkey.ping(path), "Valkey answers")
    yield home
    process.terminate()
    process.wait(10)


def test_address_fits_into_a_socket_path_and_is_the_same_each_time(home: Path) -> None:
    path = valkey.socket_path(home)
    assert len(str(path)) <= 107
    assert valkey.socket_path(home) == path
    assert valkey.embedded_url(home) == f"unix://{path}?db=0"
    assert valkey.socket_path(home / "other") != path


def test_only_this_account_can_reach_it(server: Path) -> None:
    path = valkey.socket_path(server)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    client = redis.Redis.from_url(valkey.embedded_url(server))
    assert client.config_get("port") == {"port": "0"}


def test_it_refuses_writes_when_full_and_never_evicts(server: Path) -> None:
    client = redis.Redis.from_url(valkey.embedded_url(server))
    client.set("kept", "yes")
    client.config_set("maxmemory", "1")
    with pytest.raises(redis.exceptions.OutOfMemoryError):
        client.set("more", "x")
    assert client.get("kept") == b"yes"


def test_it_writes_nothing_to_disk(server: Path) -> None:
    client = redis.Redis.from_url(valkey.embedded_url(server))
    client.set("key", "value")
    assert client.config_get("save") == {"save": ""}
    assert client.config_get("appendonly") == {"appendonly": "no"}


def test_celery_reaches_it_in_a_database_that_clearing_the_cache_spares(server: Path) -> None:
    url = valkey.embedded_url(server)
    with Connection(valkey.celery_url(valkey.broker_url(url))) as connection:
        with connection.SimpleQueue("wake") as queue:
            queue.put({"run": 1})
        redis.Redis.from_url(url).flushdb()
        with connection.SimpleQueue("wake") as queue:
            message = queue.get(timeout=5)
            message.ack()
            assert message.payload == {"run": 1}


def test_a_foreign_server_is_used_as_it_is_given() -> None:
    assert valkey.broker_url("redis://cache:6379/3") == "redis://cache:6379/3"
    assert valkey.broker_url("rediss://:pw@cache/0") == "rediss://:pw@cache/0"
    assert valkey.broker_url("unix:///s.sock?db=2") == "unix:///s.sock?db=3"
    assert valkey.celery_url("unix:///s.sock?db=3") == "redis+socket:///s.sock?virtual_host=3"
    assert valkey.celery_url("redis://cache:6379/3") == "redis://cache:6379/3"


def test_a_folder_of_another_account_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").mkdir()
    monkeypatch.setattr("os.getuid", lambda: 4242)
    with pytest.raises(ConfigError, match="belongs to another account"):
        valkey.prepare(tmp_path)


@pytest.mark.parametrize(("keep", "expected"), [(True, b"1"), (False, None)])
def test_the_throw_away_server_returns_on_its_port(keep: bool, expected: bytes | None) -> None:
    with valkey_server(keep_data=keep) as server:
        port = server.port
        redis.Redis.from_url(server.url).set("a", "1")
        server.kill()
        assert not valkey.ping(port)
        server.start()
        assert server.port == port
        assert redis.Redis.from_url(server.url).get("a") == expected
    assert not valkey.ping(port)
