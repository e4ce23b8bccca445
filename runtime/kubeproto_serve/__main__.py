"""`python -m kubeproto_serve`: the command line where no scripts are installed."""

import sys

from kubeproto_serve._command import main

sys.exit(main())
