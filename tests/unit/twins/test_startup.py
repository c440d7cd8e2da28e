"""What a twin checks before it serves."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from inferlane.testing.programs import free_port
from inferlane.twins.faults import Fault, parse_fault
from inferlane.twins.orders import Orders
from inferlane.twins.startup import StartError, check_flags, check_mask, hold_ports, own_orders, serving_socket
from inferlane.values import PortBlock

HOST = "127.0.9.1"


def orders(**more: object) -> Orders:
    return Orders(process="w", kind="engine", type="t", host=HOST, **more)  # type: ignore[arg-type]


def test_a_mask_as_planned_is_accepted() -> None:
    check_mask(orders(mask={"DEVICES": "2,3"}, absent=("OTHER",)), {"DEVICES": "2,3", "PATH": "/bin"})


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"DEVICES": "0,1"}, "DEVICES is '0,1', the plan says '2,3'"),
        ({}, "DEVICES is not set, the plan says '2,3'"),
        ({"DEVICES": "2,3", "OTHER": ""}, "OTHER is '', the plan removes it"),
    ],
)
def test_another_mask_is_refused(environ: dict[str, str], message: str) -> None:
    with pytest.raises(StartError, match=message) as caught:
        check_mask(orders(mask={"DEVICES": "2,3"}, absent=("OTHER",)), environ)
    assert caught.value.status == 1


def test_every_number_of_a_held_block_is_listened_on_and_others_are_not() -> None:
    first = free_port(HOST)
    told = PortBlock(first=first + 10, held=False)
    held = hold_ports(orders(ports={"shake": PortBlock(first=first, width=3), "leader": told}))
    try:
        assert sorted(held) == [first, first + 1, first + 2]
        for port in held:
            socket.create_connection((HOST, port), timeout=2).close()
    finally:
        for taken in held.values():
            taken.close()


def test_a_port_in_use_is_told_with_its_name() -> None:
    with socket.create_server((HOST, 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(StartError, match=f"^port {port} \\(shake\\) on {HOST}: Address already in use$") as caught:
            hold_ports(orders(ports={"shake": PortBlock(first=port)}))
    assert caught.value.status == 1


def test_serving_on_a_port_outside_the_plan_is_refused() -> None:
    plan = orders(ports={"http": PortBlock(first=6100)})
    with pytest.raises(StartError, match=r"says http port 6200, which the plan did not give it \(it has: http 6100\)"):
        serving_socket(plan, {}, HOST, 6200, "http")


@pytest.fixture
def flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder = tmp_path / "flags_of_a_twin"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "serve.json").write_text('{"program": "serve", "version": "1", "flags": [{"names": ["--port"]}]}')
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "flags_of_a_twin", raising=False)
    return "flags_of_a_twin:serve.json"


def test_bad_flags_end_a_strict_twin_with_status_2(flags: str) -> None:
    with pytest.raises(StartError, match=r"--prot is not a flag .*; 'x' belongs to no flag") as caught:
        check_flags(orders(flags=flags, strict_flags=True), ["--prot", "1", "--port", "1", "x"])
    assert caught.value.status == 2


def test_a_bad_flag_is_a_warning_for_others(flags: str, capsys: pytest.CaptureFixture[str]) -> None:
    check_flags(orders(flags=flags), ["--prot", "1"])
    assert capsys.readouterr().err.startswith("warning: --prot is not a flag")


def test_orders_that_can_not_be_read_are_told_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "orders.json"
    path.write_text('{"process": 1}')
    with pytest.raises(StartError, match="INFERLANE_TWIN: can not read"):
        own_orders({"INFERLANE_TWIN": str(path)})
    assert own_orders({}) is None


def test_fault_words_are_read() -> None:
    assert parse_fault("crash@2.5") == Fault("crash", 2.5)
    assert parse_fault("hang-one@3") == Fault("hang-one", 3)
    assert parse_fault("never-healthy") == Fault("never-healthy")
    assert parse_fault("") == Fault()


@pytest.mark.parametrize("text", ["crash", "crash@x", "crash-on@0", "crash-on@1.5", "zero@1", "explode", "hang@-1"])
def test_other_fault_words_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f"fault '{text}' is none of"):
        parse_fault(text)
