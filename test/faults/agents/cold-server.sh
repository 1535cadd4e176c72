#!/bin/sh
# An MCP server that starts in a moment: cold-server.sh FOLDER. Leaves a line in FOLDER/starts, says every nonce again.
echo $$ >>"$1/starts"
while IFS= read -r line; do
  case $line in *'"id":'*) ;; *) continue ;; esac
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
  *'"server/discover"'*)
    printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}\n' "$id"
    continue
    ;;
  *'"initialize"'*)
    result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"cold","version":"1"}}'
    ;;
  *'"tools/list"'*) result='{"tools":[{"name":"say","inputSchema":{"type":"object"}}]}' ;;
  *'"tools/call"'*)
    nonce=${line#*\"nonce\":\"}
    result="{\"content\":[{\"type\":\"text\",\"text\":\"${nonce%%\"*}\"}]}"
    ;;
  *) result='{}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
