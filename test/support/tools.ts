import type { Client } from '@modelcontextprotocol/client';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv';
import { toolDefinition } from '../../src/mcp/tools.ts';
import { OPERATIONS } from '../../src/operations/operations.ts';
import { spawnAgent } from '../../src/operations/runs/spawn.ts';
import { callTool, until } from './squad.ts';

/** Maximum size of every result, in characters. */
export const RESULT_LIMIT = 12_000;

const validators = new AjvJsonSchemaValidator();

/** Calls a tool as a strict client would: its input is checked against the tool's schema, its result against the reference, and its size is watched. */
export async function strictCall<T = Record<string, unknown>>(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<T & { isError?: boolean }> {
  const { tools } = await client.listTools();
  const tool = tools.find(candidate => candidate.name === name);
  if (!tool) throw new Error(`There is no tool ${name}`);
  check(`the input of ${name}`, tool.inputSchema, args);
  const result = await callTool<T>(client, name, args);
  const size = JSON.stringify({ ...result, isError: undefined }).length;
  if (size > RESULT_LIMIT) throw new Error(`The result of ${name} has ${size} characters`);
  if (!result.isError) check(`the result of ${name}`, resultSchema(name), result);
  return result;
}

/** The schema that the reference shows: the tool list has none. A template's result is that of `spawn_agent`. */
function resultSchema(name: string): unknown {
  const operation = OPERATIONS.find(candidate => candidate.name === name) ?? spawnAgent;
  return toolDefinition(operation, 'stateful', true).outputSchema;
}

/** Whether a value is what a schema says. */
export function isValid(schema: unknown, value: unknown): boolean {
  return validators.getValidator(schema as never)(value).valid;
}

function check(what: string, schema: unknown, value: unknown): void {
  const outcome = validators.getValidator(schema as never)(value);
  if (!outcome.valid) throw new Error(`${what} is not what its schema says: ${outcome.errorMessage}`);
}

export interface Member {
  memberId: string;
  roleId: string;
  cwd: string;
  chatId?: string;
  status: string;
  engine: string;
  rawStdout: string;
  rawStderr: string;
  evidence?: { verdict: string; files_changed: number | null; tool_calls: number | null };
  error?: { code: string; message: string };
  note?: string;
  truncated?: boolean;
  outputFile?: string;
}

export interface Squad {
  squadId: string;
  status: string;
  metadata?: Record<string, unknown>;
  members: Member[];
  nextOffset?: number;
  note?: string;
}

export interface Refused {
  isError?: boolean;
  error: { code: string; kind: string; message: string; suggestions?: string[] };
}

/** Starts members and waits until all have ended, however often the call has to be taken up again. */
export async function startAndWait(client: Client, args: Record<string, unknown>): Promise<Squad> {
  const started = await strictCall<Squad>(client, 'start_squad_members', args);
  if (started.squadId === undefined) throw new Error(JSON.stringify(started));
  if (started.status !== 'running') return started;
  return until('the squad is over', async () => {
    const squad = await strictCall<Squad>(client, 'get_result', {
      squad_id: started.squadId,
      wait_seconds: 90,
    });
    return squad.status === 'running' ? null : squad;
  });
}

/** Every member of a squad, through as many pages as it takes. */
export async function allMembers(client: Client, squadId: string): Promise<Member[]> {
  const members: Member[] = [];
  for (let offset: number | undefined = 0; offset !== undefined; ) {
    const page: Squad = await strictCall<Squad>(client, 'get_result', { squad_id: squadId, offset });
    if (page.members.length === 0) throw new Error('A page of members was empty');
    members.push(...page.members);
    offset = page.nextOffset;
  }
  return members;
}

interface Page {
  page: { stream: string; offset: number; next_offset: number; size: number; text: string };
}

/** A whole stream of a run, page by page. */
export async function wholeStream(client: Client, runId: string, stream: string): Promise<string> {
  let text = '';
  for (let offset = 0; ; ) {
    const { page } = await strictCall<Page>(client, 'get_result', { spawn_id: runId, stream, offset });
    if (page.offset !== offset) throw new Error(`Asked for ${offset}, got ${page.offset}`);
    text += page.text;
    if (page.next_offset === page.size) return text;
    if (page.next_offset <= offset) throw new Error(`No way past ${offset} of ${page.size}`);
    offset = page.next_offset;
  }
}
