"""From recipe and cluster file to a plan, and from a plan to a bound one."""

from inferlane.planning.bind import bind, decode, encode, tokens
from inferlane.planning.build import build_plan
from inferlane.planning.shape import Shape

__all__ = ["Shape", "bind", "build_plan", "decode", "encode", "tokens"]
