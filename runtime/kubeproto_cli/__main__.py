"""`python -m kubeproto_cli`: the command line where no scripts are installed."""

import sys

from kubeproto_cli import main

sys.exit(main())
