import { readFileSync, renameSync, writeFileSync } from 'node:fs';

/**
 * `as-agent.ts REQUESTS ANSWERS`, started by an agent: asks Squad, as the run it belongs to, what the file REQUESTS says, one
 * after the other, and leaves the answers in the file ANSWERS. `until`: asks again until that many tools of other servers
 * are listed, or half a minute has gone.
 */
const [from, to] = process.argv.slice(2) as [string, string];
const { SQUAD_MCP_URL: url, SQUAD_MCP_TOKEN: token } = process.env;

const REVISION = '2026-07-28';
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': REVISION,
  'io.modelcontextprotocol/clientInfo': { name: 'as-agent', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

const answers: unknown[] = [];
for (const request of JSON.parse(readFileSync(from, 'utf8')) as AgentRequest[])
  answers.push(await patiently(request));
writeFileSync(`${to}.new`, JSON.stringify(answers));
renameSync(`${to}.new`, to);

export interface AgentRequest {
  method: string;
  params?: Record<string, unknown>;
  until?: number;
}

async function patiently({ method, params = {}, until = 0 }: AgentRequest): Promise<unknown> {
  for (const end = Date.now() + 30_000; ; await new Promise(wake => setTimeout(wake, 100))) {
    const answer = await ask(method, params);
    const listed = answer.result?.tools?.filter(({ name }) => name.includes('__')).length ?? 0;
    if (listed >= until || Date.now() > end) return answer;
  }
}

async function ask(method: string, params: Record<string, unknown>): Promise<Answer> {
  const response = await fetch(url!, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': REVISION,
      'mcp-method': method,
      ...(typeof params.name === 'string' && { 'mcp-name': params.name }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: ENVELOPE } }),
  });
  const body = await response.text();
  const lastEvent = body.split(/\r?\n/).findLast(line => line.startsWith('data:'));
  return JSON.parse(lastEvent?.slice('data:'.length) ?? body) as Answer;
}

interface Answer {
  result?: { tools?: { name: string }[] };
}
