"""``build_plan``: recipe, cluster file, shape of the allocation and plugins become a plan. Pure: no I/O, no clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from inferlane.config import Cluster, Recipe, parse_block
from inferlane.errors import Refused
from inferlane.planning.accelerators import AcceleratorUse, choose_accelerator
from inferlane.planning.agreements import public_port, served_names, site_problems
from inferlane.planning.assemble import RouterChoice, assemble, run_view, versions
from inferlane.planning.bind import bind
from inferlane.planning.commands import CommandBuilder
from inferlane.planning.drafts import Draft, router_drafts, service_drafts, worker_drafts
from inferlane.planning.environment import Trace, one_sided
from inferlane.planning.flag_check import FlagCheck
from inferlane.planning.layout_check import check_layout
from inferlane.planning.memory import check_memory
from inferlane.planning.pairing import EngineChoice, Pairing, pair
from inferlane.planning.placement import Placed, Wish, place
from inferlane.planning.port_plan import assign_ports, idle_overrides
from inferlane.planning.secrets import argument_warnings
from inferlane.planning.services import ServiceUse, collect_services, external_addresses
from inferlane.planning.shape import Shape
from inferlane.planning.traces import tell_ports
from inferlane.planning.views import families
from inferlane.planning.wants import check_blocks, check_model, choose_engines, choose_sizes
from inferlane.plugins import Owner, Plugins
from inferlane.values import EngineLayout, Group, Layout, Node, Part, Plan, Problem, RouterLayout, ServiceRequest, Slot
from inferlane.values.configs import RouterConfig


def build_plan(recipe: Recipe, cluster: Cluster, shape: Shape, plugins: Plugins, trace: Trace | None = None) -> Plan:
    """The plan of ``recipe``; raises :class:`Refused` with every problem found, or a plugin's own fault.

    ``recipe`` is resolved (cluster defaults filled in). ``trace`` is told where each variable and argument comes from;
    the plan's bytes are the same with and without it.
    """
    return _Planner(recipe, cluster, shape, plugins, trace).plan()


class _Planner:
    """The stages of planning, in order; faults gather in ``problems`` until a stage needs them gone."""

    def __init__(self, recipe: Recipe, cluster: Cluster, shape: Shape, plugins: Plugins, trace: Trace | None) -> None:
        self.recipe, self.cluster, self.shape, self.plugins, self.trace = recipe, cluster, shape, plugins, trace
        self.problems: list[Problem] = []

    def plan(self) -> Plan:
        gpus_per_node = self.recipe.resources.gpus_per_node
        if not gpus_per_node:
            message = "gpus_per_node is not stated; give it here, or in the cluster file"
            raise Refused([Problem(where="resources.gpus_per_node", message=message)])
        check_blocks(self.recipe, self.plugins)
        self.problems += check_model(self.recipe.model.path)
        self.problems += argument_warnings(self.recipe)
        self.problems += site_problems(self.recipe, self.cluster, self.plugins)
        accelerator, missing = choose_accelerator(self.recipe, self.cluster, self.shape, self.plugins, self.problems)
        engines = choose_engines(self.recipe, self.plugins, self.problems)
        wishes = choose_sizes(self.recipe, gpus_per_node, self.problems)
        sides = {role: block.env for role, block in self.recipe.roles.items()}
        self.problems += one_sided(sides, {**self.cluster.environment, **self.recipe.environment})
        router, pairing = self._router(engines, wishes)
        services = self._services(pairing, router.layout, accelerator)
        self._layout_problems(pairing, router.layout, services, engines)
        self._stop_on_errors()

        nodes, placed = self._place(wishes, pairing, gpus_per_node)
        self._check_devices(placed, engines)
        self._check_front(router, nodes)
        self._stop_on_errors()
        drafts = self._drafts(placed, engines, pairing, router, services, nodes)
        run = run_view(self.recipe, self.cluster, drafts, pairing, router, gpus_per_node)
        builder = CommandBuilder(
            recipe=self.recipe,
            cluster=self.cluster,
            accelerator=accelerator,
            services=services,
            families=families(drafts),
            run=run,
            flags=FlagCheck(self.recipe),
            problems=self.problems,
            trace=self.trace,
        )
        benchmark = self._benchmark(nodes)
        plan = assemble([*drafts, *benchmark], nodes, router, builder, self.recipe)
        owners: list[Owner] = [choice.owner for choice in engines.values()]
        owners += [router.owner, accelerator.owner, *(use.owner for use in services), *(b.owner for b in benchmark)]
        return self._validated(bind(plan, external_addresses(services)), missing, owners)

    def _router(self, engines: Mapping[str, EngineChoice], wishes: Sequence[Wish]) -> tuple[RouterChoice, Pairing]:
        owner = self.plugins.router(str(self.recipe.frontend["type"]))
        config = parse_block(owner.parse, self.recipe.frontend, "frontend")
        pairing = pair(owner, config, engines, [wish.group for wish in wishes])
        layout = owner.layout(config, pairing.fleet)
        check_layout(owner, layout)
        return RouterChoice(owner, config, layout), pairing

    def _services(self, pairing: Pairing, front: RouterLayout, accelerator: AcceleratorUse) -> list[ServiceUse]:
        wanted = [request for layout in pairing.layouts.values() for request in layout.services]
        wanted += front.services
        exporter = accelerator.exporter(self.cluster, self.recipe)
        if exporter is not None and not exporter.url and (self.recipe.telemetry or {}).get("enabled"):
            options = {"exporter": msgspec.to_builtins(exporter)}
            wanted.append(ServiceRequest(type="gpu-exporter", options=options))
        return collect_services(self.recipe.services, wanted, pairing.fleet, self.plugins)

    def _layout_problems(
        self,
        pairing: Pairing,
        front: RouterLayout,
        services: Sequence[ServiceUse],
        engines: Mapping[str, EngineChoice],
    ) -> None:
        layouts: list[Layout] = [*pairing.layouts.values(), front, *(use.layout for use in services)]
        self.problems += [problem for layout in layouts for problem in layout.problems]
        self.problems += served_names(pairing.layouts)
        for group in pairing.fleet.groups:
            spec = engines[group.role].owner.spec
            if spec.max_nodes and group.nodes > spec.max_nodes:
                message = (
                    f"{group.gpus} GPUs are {group.nodes} nodes of {group.gpus_per_node}; engine '{spec.type}' runs a "
                    f"worker on {spec.max_nodes} node(s): use more workers"
                )
                self.problems.append(Problem(where=f"roles.{group.role}.gpus", message=message))
            self.problems += _uneven_ranks(group, pairing.layouts[group.role])

    def _place(self, wishes: Sequence[Wish], pairing: Pairing, gpus_per_node: int) -> tuple[list[Node], list[Placed]]:
        count = sum(wish.nodes for wish in wishes if wish.nodes is not None) or 1
        if self.shape.nodes is not None and self.shape.nodes < count:
            message = f"the recipe needs {count} nodes, {self.shape.nodes} available"
            self.problems.append(Problem(where="roles", message=message))
        nodes = [Node(name=f"n{index}") for index in range(count)]
        by_role = {group.role: group for group in pairing.fleet.groups}
        spoken = [msgspec.structs.replace(wish, group=by_role[wish.group.role]) for wish in wishes]
        placed, problems = place(spoken, nodes, gpus_per_node, self.recipe.resources.spread_workers)
        self.problems += problems
        return nodes, placed

    def _check_devices(self, placed: Sequence[Placed], engines: Mapping[str, EngineChoice]) -> None:
        using = [p for p in placed if engines[p.group.role].owner.spec.uses_devices]
        if self.shape.devices is None or not using:
            return
        need = 1 + max(gpu for p in using for slot in p.slots for gpu in slot.gpus)
        if need > self.shape.devices:
            message = f"{need} devices needed on one node, {self.shape.devices} available"
            self.problems.append(Problem(where="roles", message=message))

    def _check_front(self, router: RouterChoice, nodes: Sequence[Node]) -> None:
        config = router.config
        self.problems += public_port(config.port)
        if config.enable_multiple_frontends and len(nodes) > 1:
            message = "several routers on several nodes are not supported yet; set it to false"
            self.problems.append(Problem(where="frontend.enable_multiple_frontends", message=message))
        if router.layout.parts:
            return
        for name in ("args", "env", "container_image", "placement"):
            if name in config.model_fields_set and getattr(config, name):
                message = f"has no effect: '{router.owner.type}' starts no router here"
                self.problems.append(Problem(where=f"frontend.{name}", severity="warning", message=message))

    def _drafts(
        self,
        placed: Sequence[Placed],
        engines: Mapping[str, EngineChoice],
        pairing: Pairing,
        router: RouterChoice,
        services: Sequence[ServiceUse],
        nodes: Sequence[Node],
    ) -> list[Draft]:
        """Every process but the benchmark, with its ports."""
        workers = [d for p in placed for d in worker_drafts(p, engines[p.group.role], pairing.layouts[p.group.role])]
        home = _router_home(router.config, workers, nodes)
        routers = router_drafts(router.owner, router.config, router.layout, nodes, workers, home)
        beside = [draft for use in services for draft in _some(use, service_drafts(use, nodes, workers))]
        bases = {**self.cluster.ports, **self.recipe.ports}
        drafts = [*workers, *routers, *beside]
        _check_names(drafts)
        public = router.config.port
        self.problems += idle_overrides(self.recipe.ports, drafts, router.layout, public)
        site = set(self.cluster.ports) - set(self.recipe.ports)
        drafts = assign_ports(drafts, router.layout, public, bases, self.shape, site)
        if self.trace:
            tell_ports(self.trace, drafts, self.cluster, self.recipe, router.layout, public, self.shape)
        return drafts

    def _benchmark(self, nodes: Sequence[Node]) -> list[Draft]:
        block = self.recipe.benchmark
        if block is None:
            return []
        owner = self.plugins.benchmark(str(block["type"]))
        draft = Draft(
            kind="benchmark",
            owner=owner,
            config=parse_block(owner.parse, block, "benchmark"),
            layout=Layout(),
            part=Part(per="run"),
            name="benchmark",
            family="benchmark",
            where="benchmark",
            slots=(Slot(node=nodes[0]),),
            leader=nodes[0],
        )
        return [draft]

    def _validated(self, plan: Plan, missing: Mapping[str, str], owners: Sequence[Owner]) -> Plan:
        """``owners``: who took part; others that happen to be loaded have no say, so that a plan has no history."""
        self.problems += check_memory(plan, self.shape.memory_bytes)
        self.problems += self.plugins.validate(plan, owners)
        self._stop_on_errors()
        return msgspec.structs.replace(
            plan,
            versions=versions(owners),
            missing_plugins=missing,
            warnings=tuple(dict.fromkeys(self.problems)),
        )

    def _stop_on_errors(self) -> None:
        if any(problem.severity == "error" for problem in self.problems):
            raise Refused(dict.fromkeys(self.problems))


def _uneven_ranks(group: Group, layout: EngineLayout) -> list[Problem]:
    share = group.gpus // group.nodes
    return [
        Problem(
            where=f"roles.{group.role}.gpus",
            message=f"{share} GPUs on a node do not divide into ranks of {part.gpus_per_rank}; give a multiple of it",
        )
        for part in layout.parts
        if part.per == "rank" and share % part.gpus_per_rank
    ]


def _some(use: ServiceUse, drafts: list[Draft]) -> list[Draft]:
    if drafts or not use.layout.parts:
        return drafts
    places = " or ".join(sorted({part.on for part in use.layout.parts}))
    message = f"'{use.name}' would not run: it is placed on {places}, and the recipe has no such workers"
    raise Refused([Problem(where=use.where, message=message)])


def _check_names(drafts: Sequence[Draft]) -> None:
    """A process's name is the name of its log and files, so it must be one process's."""
    seen = {"benchmark": "the benchmark"}
    for draft in drafts:
        if draft.name in seen:
            message = f"process '{draft.name}' has the name of another ({seen[draft.name]}); name it differently"
            raise Refused([Problem(where=f"{draft.where}.name", message=message)])
        seen[draft.name] = draft.where


def _router_home(config: RouterConfig, workers: Sequence[Draft], nodes: Sequence[Node]) -> Node:
    if config.placement.node == "head":
        return nodes[0]
    decode = [draft for draft in workers if draft.group and draft.group.role == "decode"]
    if decode:
        return decode[0].leader
    message = "first_decode needs a decode role; use head"
    raise Refused([Problem(where="frontend.placement.node", message=message)])
