#!/bin/sh
# The first program in a container: makes the egress proxy available on a loopback port, then becomes the program
# given by the arguments. Descriptor 3 may be a listening socket, which is only for that program.
set -eu
unset TINI_VERBOSITY
# In a session of its own: what is typed in a terminal does not reach it.
setsid socat TCP-LISTEN:3128,bind=127.0.0.1,fork,reuseaddr,backlog=64 "UNIX-CONNECT:${EGRESS_SOCKET:-/run/egress.sock}" 3<&- &
while ! grep -q ' 0100007F:0C38 00000000:0000 0A ' /proc/net/tcp; do sleep 0.01; done
exec "$@"
