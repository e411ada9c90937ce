"""The edge: one nginx for every host of a region, told what to serve over a socket and never reloaded."""
