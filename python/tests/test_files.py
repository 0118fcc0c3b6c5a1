"""Files are written whole, and wherever their names lead."""

import errno
import os
from pathlib import Path

import pytest

from backwater._base.files import readable, whole, write_whole
from backwater.errors import InputError, RunError


def test_a_file_is_there_whole_or_as_it_was(tmp_path):
    path = tmp_path / "a.txt"
    write_whole(path, "first")

    def half() -> None:
        with whole(path) as part:
            part.write_text("seco")
            raise ValueError("half")

    with pytest.raises(ValueError, match="half"):
        half()
    assert path.read_text() == "first"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_of_a_link_its_file_is_written(tmp_path):
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    link.symlink_to("real.txt")
    write_whole(link, "through")
    assert link.is_symlink()
    assert real.read_text() == "through"


def test_what_is_no_plain_file_is_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "said")
    assert os.read(reader, 10) == b"said"
    os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no/such/a.txt", "make its directory first"),
        (".", "name a file in it"),
        ("n" * 300, "name too long"),
    ],
)
def test_errors_say_what_to_do(name, said, tmp_path):
    with pytest.raises(RunError, match=f"(?i)cannot write: .*{said}"):
        write_whole(tmp_path / name, "x")


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="has no /dev/full")
def test_a_full_disk_is_told_and_devices_stay(tmp_path):
    with pytest.raises(RunError, match="free some space"):
        write_whole(Path("/dev/full"), "x")
    assert Path("/dev/full").is_char_device()


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.txt: cannot be read") as error, readable():
        (tmp_path / "none.txt").read_text()
    assert error.value.errno == errno.ENOENT
