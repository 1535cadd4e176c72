import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { agentCall, lastMessage } from '../../src/schema/agent-protocol.ts';

/**
 * `as-agent.ts REQUESTS ANSWERS`, started by an agent: asks Squad, as the run it belongs to, what the file REQUESTS says, one
 * after the other, and leaves the answers in the file ANSWERS. `until`: asks again until that many tools of other servers
 * are listed, or half a minute has gone.
 */
const [from, to] = process.argv.slice(2) as [string, string];
const { SQUAD_MCP_URL: url, SQUAD_MCP_TOKEN: token } = process.env;

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
  for (const end = Date.now() + 60_000; ; await new Promise(wake => setTimeout(wake, 100))) {
    const answer = await ask(method, params);
    const listed = answer.result?.tools?.filter(({ name }) => name.includes('__')).length ?? 0;
    if (listed >= until || Date.now() > end) return answer;
  }
}

async function ask(method: string, params: Record<string, unknown>): Promise<Answer> {
  const response = await fetch(url!, { method: 'POST', ...agentCall('as-agent', token!, method, params) });
  return lastMessage(await response.text()) as Answer;
}

interface Answer {
  result?: { tools?: { name: string }[] };
}
