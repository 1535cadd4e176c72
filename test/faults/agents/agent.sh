#!/bin/sh
# An agent that leaves proof of what it did, apart from its output:
#   agent.sh SIDE_FOLDER CHAT "TAG KIND COUNT PAUSE EXIT_CODE"
# Its side file is only ever appended to, so an agent that ran twice shows.
side=$1 chat=$2
set -- $3
tag=$1 kind=$2 count=$3 pause=$4 code=$5

note() { printf '%s\n' "$*" >>"$side/$tag"; }

[ "$kind" != deaf ] || trap '' TERM
note "start $(date +%s%3N) $SQUAD_RUN_ID $chat"

case $kind in
flood)
  awk -v count="$count" 'BEGIN { for (i = 1; i <= count; i++) print i, "Grüße ✓ 日本語 😀 flood flood flood flood flood flood" }'
  note "line $count"
  ;;
orphans)
  sh "${0%/*}/orphans.sh" "$side" "$tag" deaf session daemon writer stripped child
  while [ ! -e "$side/$tag.go" ]; do sleep 0.3; done
  ;;
*)
  if [ "$kind" = session ]; then
    setsid sh -c 'trap "" TERM; echo child >"$1"; exec sleep 600' child "$side/$tag.child" &
    while [ ! -s "$side/$tag.child" ]; do sleep 0.02; done
  fi
  i=0
  while [ "$i" -lt "$count" ]; do
    i=$((i + 1))
    printf '%s Grüße ✓ 日本語 😀\n' "$i"
    printf '%s Fehler ✗\n' "$i" >&2
    if [ "$kind" = commits ]; then
      echo "$i" >>"$tag.txt"
      git add "$tag.txt" && git commit -qm "$i"
    fi
    note "line $i"
    [ "$pause" = 0 ] || sleep "$pause"
  done
  ;;
esac

[ "$kind" != commits ] || echo loose >>"$tag.txt"

# Keeps running until the test creates the file.
[ "$kind" != held ] || while [ ! -e "$side/$tag.go" ]; do sleep 0.02; done
note end
exit "$code"
