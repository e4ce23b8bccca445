"""Lists and watches: pages, the driver of the resync machine, and waiting for what an object becomes."""
