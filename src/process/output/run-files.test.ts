import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { RunFiles } from '../../core/ports/run-files.ts';
import { newRunId } from '../../schema/ids.ts';
import { createRunFiles } from './run-files.ts';

const runsDir = join(mkdtempSync(join(tmpdir(), 'squad-files-')), 'runs');
const files: RunFiles = createRunFiles({ chatsDir: join(runsDir, '..', 'chats'), runsDir });
afterAll(() => rmSync(join(runsDir, '..'), { recursive: true }));

const newTurn = () => ({ runId: newRunId(), number: 1 });
const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe('the files of a run', () => {
  test('prompt, configs and environment are there for the user only', async () => {
    const turn = newTurn();
    const { promptFile } = await files.prepare(turn, 'do it: é\n');
    const config = await files.write(turn, 'mcp.json', '{}');
    await files.saveEnvironment(turn.runId, { KEY: 'secret' });
    const folder = join(runsDir, turn.runId);
    expect([promptFile, config]).toEqual([
      join(folder, 'turn-1', 'prompt.md'),
      join(folder, 'turn-1', 'mcp.json'),
    ]);
    expect([folder, join(folder, 'turn-1')].map(mode)).toEqual(['700', '700']);
    expect([promptFile, config, join(folder, 'environment.json')].map(mode)).toEqual(['600', '600', '600']);
    expect(await files.read(turn, 'prompt.md')).toBe('do it: é\n');
    expect(await files.read(turn, 'other')).toBeNull();
  });

  test('the last write of a turn is the time of its last output, not of empty files', async () => {
    const turn = newTurn();
    await files.prepare(turn, 'do it');
    expect(await files.wroteAt(turn)).toBeNull();
    writeFileSync(files.outputPath(turn, 'stdout'), '');
    expect(await files.wroteAt(turn)).toBeNull();
    writeFileSync(files.outputPath(turn, 'stderr'), 'a word\n');
    expect(await files.wroteAt(turn)).toBe(statSync(files.outputPath(turn, 'stderr')).mtimeMs);
  });

  test.each(['{"A":', 'null', '"text"', '7', ''])(
    'a damaged file (%j) says as little as none',
    async content => {
      const { runId } = newTurn();
      await files.saveEnvironment(runId, { A: '1' });
      await files.saveVariables(runId, { B: '2' });
      await files.saveStructured(runId, { c: 3 });
      const folder = join(runsDir, runId);
      for (const name of ['environment', 'variables']) writeFileSync(join(folder, `${name}.json`), content);
      expect([await files.environment(runId), await files.variables(runId)]).toEqual([{}, {}]);
      writeFileSync(join(folder, 'structured.json'), '{"c":');
      expect(await files.structured(runId)).toBeNull();
    },
  );

  test('the environment is read back until it is dropped', async () => {
    const { runId } = newTurn();
    await files.saveEnvironment(runId, { A: '1', B: 'two\nlines' });
    expect(await files.environment(runId)).toEqual({ A: '1', B: 'two\nlines' });
    await files.dropEnvironment(runId);
    await files.dropEnvironment(runId);
    expect(await files.environment(runId)).toEqual({});
  });

  test('the answer is the last one saved, with no other file beside it', async () => {
    const { runId } = newTurn();
    expect(await files.answer(runId)).toBeNull();
    await files.saveAnswer(runId, 'first');
    await files.saveAnswer(runId, 'second');
    expect(await files.answer(runId)).toBe('second');
    expect(readdirSync(join(runsDir, runId))).toEqual(['answer.txt']);
  });

  test('a page of a living turn waits for the rest of a character, one of an ended turn does not', async () => {
    const turn = newTurn();
    await files.prepare(turn, '');
    writeFileSync(files.outputPath(turn, 'stdout'), Buffer.from('ok€').subarray(0, 3));
    expect(await files.page(turn, 'stdout', 0, 100)).toMatchObject({ text: 'ok', size: 2 });
    expect(await files.size(turn, 'stdout')).toBe(3);
    writeFileSync(join(runsDir, turn.runId, 'turn-1', 'exit'), '0\n');
    expect(await files.page(turn, 'stdout', 0, 100)).toMatchObject({ text: 'ok\ufffd', size: 3 });
  });

  test('the end of a file is whole characters, whatever its size', async () => {
    const turn = newTurn();
    await files.write(turn, 'usage.json', '{}');
    expect(await files.readEnd(turn, 'usage.json', 100)).toBe('{}');
    writeFileSync(files.path(turn, 'stderr'), `${'é'.repeat(50_000)}!`);
    expect(await files.readEnd(turn, 'stderr', 10)).toBe('éééé!');
    expect(await files.readEnd(turn, 'other', 10)).toBeNull();
  });

  test('output that was never written is empty', async () => {
    const turn = newTurn();
    expect(await files.size(turn, 'stderr')).toBe(0);
    expect(await files.page(turn, 'stderr', 0, 100)).toMatchObject({ text: '', size: 0 });
  });

  test('remove takes everything and says how much it was', async () => {
    const turn = newTurn();
    await files.prepare(turn, '12345');
    writeFileSync(files.outputPath(turn, 'stdout'), 'x'.repeat(1000));
    await files.saveAnswer(turn.runId, 'abc');
    expect(await files.remove(turn.runId)).toBe(1008);
    expect(existsSync(join(runsDir, turn.runId))).toBe(false);
    expect(await files.remove(turn.runId)).toBe(0);
  });

  test('chats are listed by the ids that can be names, and removed by any id', async () => {
    await files.writeInChat('gemini', 'chat-1', 'a', '12345');
    await files.writeInChat('gemini', 'any/../id', 'b', '123');
    expect(await files.listChats()).toEqual([
      { engine: 'gemini', chatId: 'chat-1', changedAt: expect.any(Number) },
    ]);
    expect(await files.removeChat('gemini', 'any/../id')).toBe(3);
    expect(existsSync(files.chatFolder('gemini', 'any/../id'))).toBe(false);
    expect(await files.removeChat('gemini', 'chat-1')).toBe(5);
    expect(await files.removeChat('gemini', 'chat-1')).toBe(0);
    expect(await files.listChats()).toEqual([]);
  });

  test.each(['../x', 'a/../../b', '/x', '.hidden', '..'])(
    'the name %s cannot lead out of the turn',
    async name => {
      await expect(files.write(newTurn(), name, '')).rejects.toThrow('Not a file name');
    },
  );
});
