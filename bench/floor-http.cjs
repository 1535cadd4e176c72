// The floor of HTTP: a server that takes a call of a tool and says its nonce again. Its address is on standard output.
'use strict';
const { createServer } = require('node:http');

const server = createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8').on('data', chunk => {
    text += chunk;
  });
  request.on('end', () => {
    const { id, params } = JSON.parse(text);
    const result = { content: [{ type: 'text', text: params.arguments.nonce }] };
    const body = JSON.stringify({ jsonrpc: '2.0', id, result });
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    });
    response.end(body);
  });
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${server.address().port}/\n`));
process.stdin.resume().on('end', () => process.exit(0));
