"""What a machine may say of itself, and what its Python can do."""

import os
import pwd
import tarfile
from pathlib import Path

LOCAL = "/dev/vda / ext4 rw 0 0\n"
NETWORK = "fs1:/x / nfs4 rw 0 0\n"
ME = pwd.getpwuid(os.getuid())
HERE = Path(__file__).parents[2]
# How to unpack a tar: Python 3.11.2, as Debian 12 has it, knows no filters, and newer ones want to be told.
DATA = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
