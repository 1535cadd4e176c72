// The floor: the least a stdio MCP server can be. No SDK, no package, no hub; it answers the handshake and nothing else.
'use strict';
let text = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', chunk => {
  text += chunk;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n')) {
    answer(JSON.parse(text.slice(0, at)));
    text = text.slice(at + 1);
  }
});

function answer({ id, method, params }) {
  if (id === undefined) return;
  const reply =
    method === 'initialize'
      ? {
          result: {
            protocolVersion: params.protocolVersion,
            capabilities: { tools: {} },
            serverInfo: { name: 'floor', version: '1' },
          },
        }
      : { error: { code: -32601, message: 'Method not found' } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...reply })}\n`);
}
