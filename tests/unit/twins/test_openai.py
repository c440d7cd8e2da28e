"""The twins for anyone's engine and for exporters."""

from __future__ import annotations

from inferlane.testing.programs import Programs, fetch, free_port
from inferlane.twins.orders import Orders
from inferlane.values import PortBlock

HOST = "127.0.9.5"


def orders(port: int, **more: object) -> Orders:
    ports = {"http": PortBlock(first=port)}
    return Orders(process="w-0", kind="engine", type="own", host=HOST, **{"ports": ports, **more})  # type: ignore[arg-type]


def test_any_command_line_is_served_on_the_ordered_port(programs: Programs) -> None:
    port = free_port(HOST)
    plan = orders(port, ranks=2, mask={"OWN_DEVICES": "1"})
    args = ("serve", "--model=/models/tiny", "--listen", "unix:/x")
    twin = programs.start("inferlane.twins.openai", *args, orders=plan, env={"OWN_DEVICES": "1"})
    twin.until(f"http://{HOST}:{port}/health")
    assert fetch(f"http://{HOST}:{port}/v1/models").json["data"][0]["id"] == "tiny"
    assert 'twin:requests_total{model_name="tiny",rank="1"} 0' in fetch(f"http://{HOST}:{port}/metrics").text
    assert twin.stop() == 0


def test_a_wrong_mask_ends_it_with_status_1(programs: Programs) -> None:
    twin = programs.start(
        "inferlane.twins.openai", orders=orders(free_port(HOST), mask={"OWN_DEVICES": "1"}), env={"OWN_DEVICES": "0"}
    )
    assert twin.wait() == 1
    line = "openai twin: device mask is not the planned one: OWN_DEVICES is '0', the plan says '1'\n"
    assert twin.output() == line


def test_without_any_port_it_is_a_usage_error(programs: Programs) -> None:
    twin = programs.start("inferlane.twins.openai", "--model", "m")
    assert twin.wait() == 2
    assert twin.output() == "openai twin: no --port, and no port named http in the orders\n"


def test_an_exporter_twin_shows_its_series(programs: Programs) -> None:
    port = free_port(HOST)
    plan = orders(port, ports={"metrics": PortBlock(first=port)}, options={"OWN_POWER": "250"})
    twin = programs.start("inferlane.twins.exporter", "-c", "x", orders=plan)
    twin.until(f"http://{HOST}:{port}/metrics")
    assert 'OWN_POWER{gpu="0"} 250' in fetch(f"http://{HOST}:{port}/metrics").text
    assert twin.stop() == 0
