#!/bin/sh
# Opens a chat: create-chat.sh SIDE_FOLDER "TAG …". Takes a while, so that a hub can die meanwhile; a tag that begins
# with `await-` takes until the file TAG.go is there.
side=$1
set -- $2
echo "made chat-$1" >>"$side/$1.chat"
echo 'Opening a chat…'
sleep 0.2
case $1 in await-*) while [ ! -e "$side/$1.go" ]; do sleep 0.02; done ;; esac
echo "chat-$1"
