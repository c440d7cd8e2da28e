"""Recipe and cluster file: reading, checking, resolving, and where every value was written."""

from inferlane.config.cluster import Cluster
from inferlane.config.dump import dump, masked
from inferlane.config.faults import Fault, FileRefused
from inferlane.config.files import here
from inferlane.config.load import LoadedRecipe, choose_variants, load_recipe, load_variant
from inferlane.config.recipe import Model, Recipe, Resources, RoleBlock, Slurm
from inferlane.config.resolve import Resolved, resolve
from inferlane.config.secrets import is_secret
from inferlane.config.site import LoadedCluster, load_cluster
from inferlane.config.source import SourceMap, report
from inferlane.config.translate import parse_block

__all__ = [
    "Cluster",
    "Fault",
    "FileRefused",
    "LoadedCluster",
    "LoadedRecipe",
    "Model",
    "Recipe",
    "Resolved",
    "Resources",
    "RoleBlock",
    "Slurm",
    "SourceMap",
    "choose_variants",
    "dump",
    "here",
    "is_secret",
    "load_cluster",
    "load_recipe",
    "load_variant",
    "masked",
    "parse_block",
    "report",
    "resolve",
]
