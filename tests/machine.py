"""What a machine may say of itself."""

import os
import pwd
from pathlib import Path

LOCAL = "/dev/vda / ext4 rw 0 0\n"
NETWORK = "fs1:/x / nfs4 rw 0 0\n"
ME = pwd.getpwuid(os.getuid())
HERE = Path(__file__).parents[1]
