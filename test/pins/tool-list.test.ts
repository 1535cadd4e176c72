import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { TestSquad } from '../support/squad.ts';

/** Context that the tool list and the instructions may take, in tokens: bytes of texts and schemas, divided by four. */
const MAX_TOKENS = 1800;
const MAX_INSTRUCTION_BYTES = 2048;

const squad = new TestSquad();
// Every tool there can be in the default set: those for one agent CLI are listed only where it is.
squad.script('clis/claude', 'exit 1');
squad.script('clis/codex', 'exit 1');
const teamWorkspace = join(squad.root, 'team');
squad.write('../team/.squad/team.md', '| Name | Role |\n| --- | --- |\n| Ann | Lead |\n');
const PATH = `${join(squad.workspace, 'clis')}:/usr/bin:/bin`;
afterAll(() => squad[Symbol.asyncDispose]());

const pinned = (mode: string): unknown =>
  JSON.parse(readFileSync(join(import.meta.dirname, `tools.${mode}.json`), 'utf8'));
const bytes = (value: unknown) =>
  Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value ?? ''));

describe.each(['stateless', 'stateful'])('the %s tool list', mode => {
  test.each([false, true])('is the pinned one (modern era: %s)', async modern => {
    const client = await squad.client({ modern, env: { STATE_MODE: mode, PATH } });
    const tools = pinned(mode) as { execution?: object }[];
    // Tasks are an extension in the current revision, which has no such field.
    const listed = modern ? tools.map(({ execution, ...tool }) => tool) : tools;
    expect((await client.listTools()).tools).toEqual(listed);
  });

  test.each([squad.workspace, teamWorkspace])('costs a client no more than it may in %s', async workspace => {
    const client = await squad.client({ args: ['--workspace', workspace], env: { STATE_MODE: mode, PATH } });
    const { tools } = await client.listTools();
    expect(tools.some(({ name }) => name === 'squad_status')).toBe(workspace === teamWorkspace);
    const total = tools
      .flatMap(tool => [tool.name, tool.description, tool.inputSchema, tool.outputSchema])
      .reduce((sum: number, part) => sum + bytes(part), bytes(client.getInstructions()));
    expect(total / 4).toBeLessThanOrEqual(MAX_TOKENS);
    expect(total).toBeGreaterThan(2000);
  });
});

test.each([false, true])('the instructions are short and name every tool (modern era: %s)', async modern => {
  const client = await squad.client({ modern, env: { PATH } });
  const instructions = client.getInstructions()!;
  expect(bytes(instructions)).toBeLessThanOrEqual(MAX_INSTRUCTION_BYTES);
  for (const { name } of (await client.listTools()).tools) expect(instructions).toContain(name);
});
