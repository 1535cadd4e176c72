import { once } from 'node:events';
import { echoServer } from './echo-tools.ts';
import { serveSse } from './sse.ts';
import { readLines, sendLine } from './stdio-lines.ts';

/** The echo server over stdio; `--sse PORT` over HTTP as it was before streamable HTTP, its address on standard output. */
const [option, port] = process.argv.slice(2);
if (option === '--sse') {
  const server = serveSse(echoServer);
  server.listen(Number(port), '127.0.0.1');
  await once(server, 'listening');
  console.log(`http://127.0.0.1:${(server.address() as { port: number }).port}/sse`);
} else {
  readLines(echoServer(sendLine));
}
