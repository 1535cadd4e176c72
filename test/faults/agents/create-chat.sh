#!/bin/sh
# Opens a chat: create-chat.sh SIDE_FOLDER "TAG …". Takes a while, so that a hub can die meanwhile.
side=$1
set -- $2
echo "made chat-$1" >>"$side/$1.chat"
echo 'Opening a chat…'
sleep 0.2
echo "chat-$1"
