"""Entry point of the command ``obtree``: parse, run a subcommand, report errors.

A mistake of the user ends in one line on standard error and exit code 2, never in a
traceback. Each subcommand is a module with ``add_parser`` and ``run``.
"""

import argparse
import os
import sys

from obtree import __version__
from obtree.cli import bench, demo, export_c, fit, predict
from obtree.cli.source import CommandError

COMMANDS = (demo, fit, predict, export_c, bench)


class OneLineParser(argparse.ArgumentParser):
    """A parser that reports a mistake in one line, as the commands do."""

    def error(self, message):
        """Report a mistake and leave.

        Parameters
        ----------
        message : str
            What is wrong.
        """
        self.exit(2, f"obtree: error: {' '.join(message.split())}; see {self.prog} --help\n")


def build_parser():
    """Return the parser of the whole command line.

    Returns
    -------
    parser : argparse.ArgumentParser
    """
    parser = OneLineParser(prog="obtree", description="Oblique decision trees and forests.")
    parser.add_argument("--version", action="version", version=f"obtree {__version__}")
    subparsers = parser.add_subparsers(title="commands", required=True, metavar="command")
    for command in COMMANDS:
        command.add_parser(subparsers).set_defaults(run=command.run)
    return parser


def main(argv=None):
    """Run the command line.

    Parameters
    ----------
    argv : list of str, default=None
        Arguments without the name of the program; None reads those of the process.

    Returns
    -------
    code : int
        Exit code: 0, 2 for a mistake of the user, 130 after Ctrl-C.
    """
    args = build_parser().parse_args(argv)
    try:
        args.run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of a pipe has left; what remains in the buffer has no place to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("obtree: interrupted", file=sys.stderr)
        return 130
    except (CommandError, ValueError, OSError, ImportError, MemoryError) as error:
        text = " ".join(str(error).split()) or type(error).__name__
        print(f"obtree: error: {text}", file=sys.stderr)
        return 2
    return 0
