#!/bin/sh
# Starts processes that do not want to end: orphans.sh SIDE_FOLDER TAG KIND…
# Each one runs SIDE_FOLDER/stubborn, a link to sleep. Its command line stays recognisable when it drops its environment,
# its session and its parent. Each one adds its pid to SIDE_FOLDER/TAG.left.
side=$1 tag=$2
shift 2

# shellcheck disable=SC2016 # these are expanded by the shells below
stay='trap "" TERM HUP INT; echo $$ >>"$1"; exec "$2" 3600'
# shellcheck disable=SC2016
forked='sh -c "$1" stubborn "$2" "$3" &'
# shellcheck disable=SC2016
parent='trap "" TERM HUP INT; setsid env -i sh -c "$1" stubborn "$2" "$3" & wait'

for kind; do
  set -- "$stay" "$side/$tag.left" "$side/stubborn"
  case $kind in
  # Ignores TERM, in the group of the agent.
  deaf) sh -c "$stay" stubborn "$2" "$3" & ;;
  # Ignores TERM, in a session of its own.
  session) setsid sh -c "$stay" stubborn "$2" "$3" </dev/null >/dev/null 2>&1 & ;;
  # A daemon: its own session, which it does not lead, parent gone, folder and output elsewhere.
  daemon) (cd / && umask 0 && exec setsid sh -c "$forked" daemon "$@") </dev/null >/dev/null 2>&1 ;;
  # Its own session, no environment; only its output gives it away.
  writer) setsid env -i sh -c "$stay" stubborn "$2" "$3" & ;;
  # No environment, output elsewhere; only its group and session give it away.
  stripped) env -i sh -c "$stay" stubborn "$2" "$3" </dev/null >/dev/null 2>&1 & ;;
  # Its own session, no environment, output elsewhere; only its parent gives it away.
  child) sh -c "$parent" parent "$@" </dev/null >/dev/null 2>&1 & ;;
  esac
done
