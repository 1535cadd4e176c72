#!/bin/sh
# An agent that only waits: what it would ask is asked in its name. $1 is how it would reach Squad.
exec sleep 14400
