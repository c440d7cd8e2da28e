"""The cluster file: one per site, where and how to run."""

from typing import Annotated, Literal

from pydantic import AliasChoices, BeforeValidator, Field

from inferlane.config.blocks import ExporterBlock, HealthCheck, HostSetup
from inferlane.config.fields import (
    Block,
    Duration,
    Environment,
    GpusPerNode,
    Interface,
    Line,
    Lines,
    Names,
    OptionalScript,
    OptionalText,
    Options,
    PortBases,
    Switch,
    Variable,
    empty_list,
    empty_mapping,
)


class Cluster(Block):
    """Settings of a site. Every field is optional; an absent file is an empty one."""

    name: OptionalText = Field(default=None, validation_alias=AliasChoices("name", "cluster"), description="the site")
    default_account: OptionalText = None
    default_partition: OptionalText = None
    default_time_limit: Duration = None
    gpus_per_node: Annotated[GpusPerNode | None, Field(description="GPUs of one node")] = None
    default_gpu_type: OptionalText = Field(default=None, description="accelerator of the site")
    accelerator: OptionalText = Field(default=None, description="as default_gpu_type, and beats it")
    network_interface: Interface = Field(default=None, description="interface whose addresses are used")
    visible_devices_env: Annotated[Variable | None, Field(description="the device mask variable")] = None
    default_gpu_exporter: ExporterBlock | None = Field(
        default=None, description="null turns the accelerator's exporter off; absent keeps it"
    )
    model_paths: Names = Field(default={}, description="alias: path")
    default_container: OptionalText = Field(default=None, description="image, or alias, for recipes that name none")
    containers: Names = Field(default={}, description="alias: image")
    default_mounts: Annotated[dict[Line, Line], BeforeValidator(empty_mapping)] = Field(
        default={}, description="host: container"
    )
    default_sbatch_directives: Options = Field(default={}, description="directives of every job")
    use_gpus_per_node_directive: Switch = Field(default=True, description="ask with --gpus-per-node")
    gpu_sbatch_directive: Literal["gpus-per-node", "gres", "none"] | None = Field(
        default=None, description="how GPUs are asked for; beats use_gpus_per_node_directive"
    )
    use_segment_sbatch_directive: Switch = Field(default=True, description="ask with --segment")
    use_exclusive_sbatch_directive: Switch = Field(default=False, description="ask with --exclusive")
    default_health_check: HealthCheck | None = Field(default=None, description="for recipes without health_check")
    default_host_setup: HostSetup | None = Field(default=None, description="for recipes without host_setup")
    default_bash_preamble: OptionalScript = Field(
        default=None, description="shell text before each containered program"
    )
    environment: Environment = Field(default={}, description="environment of every process")
    pass_environment: Annotated[tuple[Variable, ...], BeforeValidator(empty_list)] = Field(
        default=(), description="variables of the caller that processes may see"
    )
    launcher: OptionalText = Field(default=None, description="local or slurm")
    python: OptionalText = Field(default=None, description="interpreter on the nodes")
    output_dir: OptionalText = Field(default=None, description="folder of the run directories")
    rdma_devices: Lines = Field(default=(), description="RDMA devices by GPU position")
    ports: PortBases = Field(default={}, description="<type>.<port>: first number tried")
    runtime_config_transport: Literal["shared-filesystem", "embedded"] = Field(
        default="shared-filesystem", description="how a job gets its plan"
    )
