"""Files that are replaced as a whole: whoever looks sees the old one or the new one.

The new contents are written beside the old file, brought to the disk, and take the name in
one step. A process that is killed in between leaves the old file as it was, and a file
``.obtree-*.part`` beside it.
"""

import contextlib
import os
import secrets
import stat


def check_target(path):
    """Refuse a place where `replace_file` could not write, without writing there.

    Parameters
    ----------
    path : str, bytes or path-like
        File to write.

    Raises
    ------
    OSError
        When `path` is a folder, or its folder does not exist or may not be written to.
    ValueError
        When something is there that is not a file: a device or a pipe.
    """
    stream, partial = _open_beside(_resolve(path))
    stream.close()
    os.unlink(partial)


@contextlib.contextmanager
def replace_file(path):
    """Open a file whose contents take the place of another when all is written.

    Parameters
    ----------
    path : str, bytes or path-like
        File to write. When it exists it keeps its permissions; a link stays a link, and what
        it points to is written.

    Yields
    ------
    stream : binary file
        Whatever is raised while it is open removes it, and leaves the file at `path`.
    """
    target = _resolve(path)
    stream, partial = _open_beside(target)
    try:
        with stream:
            yield stream
            if os.path.exists(target):
                os.chmod(partial, stat.S_IMODE(os.stat(target).st_mode))
            stream.flush()
            # Else a crash of the machine could leave the new name with nothing in it.
            os.fsync(stream.fileno())
        os.replace(partial, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise
    _sync_folder(os.path.dirname(target))


def _resolve(path):
    """Return the file that a path means, which must not be anything but a file."""
    target = os.path.realpath(os.fsdecode(path))
    if os.path.isdir(target):
        raise IsADirectoryError(f"{os.fsdecode(path)} is a folder, expected the name of a file")
    if os.path.exists(target) and not os.path.isfile(target):
        # To replace a device would destroy it.
        raise ValueError(f"{os.fsdecode(path)} is not a regular file")
    return target


def _open_beside(target):
    """Create a new file in the folder of another, with the permissions of a new file."""
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"no such folder: {folder}")
    partial = os.path.join(folder, f".obtree-{secrets.token_hex(8)}.part")
    try:
        return open(partial, "xb"), partial
    except OSError as error:
        # The user knows nothing of the other name.
        raise OSError(error.errno, error.strerror, target) from error


def _sync_folder(folder):
    """Bring the new name to the disk, where folders can be opened; errors come too late."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
