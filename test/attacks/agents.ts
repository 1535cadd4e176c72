import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ENVELOPE } from '../support/raw-mcp.ts';
import { hubUrl } from '../support/running-agent.ts';
import { type TestSquad, until } from '../support/squad.ts';

/** Everything an answer of the hub's port is. */
export interface Answer {
  status: number;
  body: string;
  message: { result?: Record<string, unknown>; error?: { code: number; message: string } };
}

/** An agent that waits, and what it can ask of the hub with its own token. */
export class Agent {
  readonly id: string;
  readonly role: string;
  readonly token: string;
  readonly url: URL;

  constructor(id: string, role: string, token: string, url: URL) {
    this.id = id;
    this.role = role;
    this.token = token;
    this.url = url;
  }

  async ask(method: string, params: Record<string, unknown> = {}): Promise<Answer> {
    const { status, body } = await post(this.url, requestOf(method, params), this.token);
    return { status, body, message: messageIn(body) };
  }

  call(name: string, args: Record<string, unknown> = {}): Promise<Answer> {
    return this.ask('tools/call', { name, arguments: args });
  }

  async tools(): Promise<{ name: string; description?: string }[]> {
    const { message, body } = await this.ask('tools/list');
    if (!message.result) throw new Error(body);
    return message.result.tools as { name: string }[];
  }

  /** Of other servers. */
  async theirs(): Promise<string[]> {
    return (await this.tools()).map(({ name }) => name).filter(name => name.includes('__'));
  }

  async sees(...names: string[]): Promise<void> {
    const wanted = JSON.stringify(names.toSorted());
    await until(
      `${this.role} sees ${wanted}`,
      async () => JSON.stringify((await this.theirs()).sort()) === wanted,
    );
  }
}

/** Starts one run for each role; they run until the squad ends them. */
export async function startAgents(squad: TestSquad, ...roles: string[]): Promise<Agent[]> {
  const task = ['Wait.', '```script', 'hang', '```'].join('\n');
  const words = roles.flatMap(role => [role, task]);
  const started = await squad.json<{ runIds?: string[] }>(['run', '--engine', 'scripted', '-d', ...words]);
  const { runIds } = started;
  if (!runIds) throw new Error(JSON.stringify(started));
  const url = await hubUrl(squad);
  await until('all are running', async () => {
    const { runs } = await squad.json<{ runs: { id: string; status: string }[] }>(['ls', '-r', '-n', '100']);
    return runIds.every(id => runs.some(run => run.id === id && run.status === 'running'));
  });
  return runIds.map((id, at) => new Agent(id, roles[at]!, tokenOf(squad, id), url));
}

/** Waits until the run is running and returns its agent. */
export async function agentOf(squad: TestSquad, id: string, role: string): Promise<Agent> {
  await until(`${id} is running`, async () => (await squad.statusOf(id)) === 'running');
  return new Agent(id, role, tokenOf(squad, id), await hubUrl(squad));
}

function tokenOf(squad: TestSquad, id: string): string {
  const file = join(squad.home, 'runs', id, 'turn-1', 'identity.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { token: string }).token;
}

/** A request of the current revision, with the headers it needs. */
export function requestOf(
  method: string,
  params: Record<string, unknown>,
): { headers: Record<string, string>; body: string } {
  const name = params.name ?? params.uri;
  return {
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': headerText(name) }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: ENVELOPE } }),
  };
}

export async function post(
  url: URL,
  { headers, body }: { headers: Record<string, string>; body: string },
  token: string,
): Promise<{ status: number; body: string }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...headers, authorization: `Bearer ${token}` },
    body,
  });
  return { status: response.status, body: await response.text() };
}

/** The body, or the last event of a stream. */
export function messageIn(body: string): Answer['message'] {
  const event = body.split(/\r?\n/).findLast(line => line.startsWith('data:'));
  try {
    return JSON.parse(event?.slice('data:'.length) ?? body) as Answer['message'];
  } catch {
    return {};
  }
}

/** Encodes values that a header cannot hold in base64, as the protocol specifies. */
function headerText(value: string): string {
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !value.startsWith('=?base64?');
  return isPlain ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`;
}
