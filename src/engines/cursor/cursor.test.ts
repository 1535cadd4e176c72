import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { TurnInput } from '../../core/ports/engine.ts';
import { PLAIN_OPTIONS } from '../../core/testing/plain-options.ts';
import { hostileLines } from '../testing/hostile-lines.ts';
import { readTurn } from '../testing/transcript.ts';
import { ENDPOINT, TurnPlace } from '../testing/turn.ts';
import { cursorCommand, cursorPolicy } from './cursor-command.ts';
import { cursorReader } from './cursor-reader.ts';

const FAKE = join(import.meta.dirname, '../../../test/fixtures/cursor/cursor-agent.sh');

/** A whole turn with a program that prints what the documentation says. */
async function turn(input: TurnInput, prompt: string) {
  writeFileSync(input.promptFile, prompt);
  const { argv, stdin, env } = await cursorCommand(input, { program: FAKE });
  const { stdout, stderr, status } = spawnSync(argv[0], argv.slice(1), {
    input: readFileSync(stdin!),
    cwd: input.cwd,
    env,
    encoding: 'utf8',
  });
  return {
    lines: stdout.split('\n'),
    ...(await readTurn(cursorReader(), stdout.split('\n'), status, { stderr })),
  };
}

describe('a turn of Cursor Agent', () => {
  it('has an answer, a chat and a model, and no figures nobody reported', async () => {
    using place = new TurnPlace();
    const { events, end, usage } = await turn(place.input(), 'Hello');
    expect(end).toEqual({ type: 'end', ok: true, answer: 'Done: 5 bytes.', error: null });
    expect(events.slice(0, 2)).toEqual([
      { type: 'chat', id: '11111111-2222-4333-8444-555555555555' },
      { type: 'model', model: 'Auto' },
    ]);
    expect(usage).toBeUndefined();
  });

  it('resumes a chat', async () => {
    using place = new TurnPlace();
    const { events } = await turn(place.input({ chatId: 'abc', continues: true }), 'Hello');
    expect(events[0]).toEqual({ type: 'chat', id: 'abc' });
    await expect(turn(place.input({ chatId: '--force', continues: true }), 'Hello')).rejects.toMatchObject({
      code: 'ARGUMENT_LOOKS_LIKE_FLAG',
    });
  });

  it('changes files with edit and is refused with read', async () => {
    using place = new TurnPlace();
    const edit = await turn(place.input(), 'write it');
    expect(edit.events).toContainEqual({ type: 'tool', name: 'write', detail: 'made.txt', edits: true });
    expect(edit.events).toContainEqual({ type: 'tool_end', name: 'write', ok: true });
    expect(place.has('made.txt')).toBe(true);
    const read = await turn(place.input({ options: { permission: 'read' } }), 'write it');
    expect(read.events).toContainEqual({ type: 'tool_end', name: 'write', ok: false, denied: true });
  });

  it('fails with what stderr says when it never came to events', async () => {
    using place = new TurnPlace();
    expect((await turn(place.input(), '401')).end).toMatchObject({ ok: false, code: 'ENGINE_NOT_LOGGED_IN' });
  });

  it('is not done without a result', async () => {
    using place = new TurnPlace();
    const { lines } = await turn(place.input(), 'Hello');
    const { end } = await readTurn(cursorReader(), lines.slice(0, -2), 0);
    expect(end).toBeUndefined();
  });

  it('never throws, whatever is printed', async () => {
    using place = new TurnPlace();
    const { lines } = await turn(place.input(), 'write it');
    expect((await readTurn(cursorReader(), hostileLines(lines), 1)).events.length).toBeGreaterThan(0);
  });
});

describe('the command of Cursor Agent', () => {
  const argvOf = async (input: TurnInput) => (await cursorCommand(input, { program: 'c' })).argv.slice(1);

  it('maps permissions to its modes', async () => {
    using place = new TurnPlace();
    expect(await argvOf(place.input({ options: { permission: 'read' } }))).toContain('ask');
    expect(await argvOf(place.input())).toEqual([
      '--print',
      '--output-format',
      'stream-json',
      '--trust',
      '--force',
    ]);
    expect(await argvOf(place.input({ options: { permission: 'full' } }))).toContain('disabled');
  });

  it("writes nothing anywhere: Squad's server cannot be given to it", async () => {
    using place = new TurnPlace();
    const { argv, env } = await cursorCommand(place.input({ endpoint: ENDPOINT }), { program: 'c' });
    expect(JSON.stringify([argv, env])).not.toContain(ENDPOINT.token);
    expect(place.has('turn')).toBe(false);
    expect(cursorPolicy({ ...PLAIN_OPTIONS, spawn: true }).at(-1)).toMatchObject({
      rule: 'spawn',
      heldBy: 'advisory',
    });
  });

  it('holds next to nothing by itself, and says so', () => {
    const rules = cursorPolicy({
      ...PLAIN_OPTIONS,
      tools: ['Read'],
      effort: 'high',
      outputSchema: {},
      budgetUsd: 1,
    });
    expect(rules.map(({ heldBy }) => heldBy)).toEqual(Array(5).fill('advisory'));
    expect(cursorPolicy({ ...PLAIN_OPTIONS, permission: 'read' })[0]?.heldBy).toBe('advisory');
  });
});
