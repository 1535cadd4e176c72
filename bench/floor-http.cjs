// The floor of HTTP: a server that reads a request to its end and says one thing to all. Its address is on standard output.
'use strict';
const { createServer } = require('node:http');

const body = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  result: { content: [{ type: 'text', text: 'nothing' }] },
});
const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
const server = createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    response.writeHead(200, headers);
    response.end(body);
  });
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${server.address().port}/\n`));
process.stdin.resume().on('end', () => process.exit(0));
