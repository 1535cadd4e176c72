import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

/**
 * An MCP server over stdio, as a separate program. Each call first appends a line to the file in NOTES, so that a test
 * can count the calls that were really made. Then the call waits, answers or ends the process, as its arguments
 * request.
 */
type Json = Record<string, unknown>;

const tools = ['note', 'other'].map(name => ({ name, inputSchema: { type: 'object' } }));
const send = (message: Json) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
process.stderr.write(`started with ${process.env.TOKEN ?? 'nothing'}\n`);

createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params = {} } = JSON.parse(line) as { id?: number; method: string; params?: Json };
  if (id === undefined) return;
  if (method === 'initialize')
    send({
      id,
      result: {
        protocolVersion: '2025-06-18',
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: 'program', version: '1' },
      },
    });
  else if (method === 'tools/list') send({ id, result: { tools } });
  else if (method === 'tools/call') call(id, (params.arguments ?? {}) as Json);
  else send({ id, result: {} });
});

function call(id: number, { nonce, delay, die }: Json): void {
  if (process.env.NOTES) appendFileSync(process.env.NOTES, `${nonce}\n`);
  const answer = { id, result: { content: [{ type: 'text', text: String(nonce) }] } };
  if (die === 'before') process.exit(3);
  if (die === 'mid-frame') {
    process.stdout.write(JSON.stringify(answer).slice(0, 20), () => process.exit(3));
    return;
  }
  if (typeof delay === 'number') setTimeout(() => send(answer), delay);
  else send(answer);
}
