"""Tables of programs' command-line flags, and the check of an argument list against one."""

from inferlane.flags.parsing import FlagFault, Parsed, Use
from inferlane.flags.table import Flag, FlagTable, TableFile, load_flag_table

__all__ = ["Flag", "FlagFault", "FlagTable", "Parsed", "TableFile", "Use", "load_flag_table"]
