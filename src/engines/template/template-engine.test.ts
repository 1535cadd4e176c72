import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TurnInput } from '../../core/ports/engine.ts';
import { PLAIN_OPTIONS } from '../../core/testing/plain-options.ts';
import { findExecutable } from '../../process/programs/find-executable.ts';
import { newRunId } from '../../schema/ids.ts';
import { createTemplateEngine } from './template-engine.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'squad-template-'));
  await writeFile(join(folder, 'agent'), '#!/bin/sh\nprintf "%s\\0" "$@"\n');
  await chmod(join(folder, 'agent'), 0o755);
  await writeFile(join(folder, 'plain'), 'not a program');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const engine = (runTemplate: string, createChatTemplate: string | null = null) =>
  createTemplateEngine({
    id: 'template',
    reader: null,
    runTemplate,
    createChatTemplate,
    engineCommand: 'agent',
    findExecutable,
  });

const input = (more: Partial<TurnInput> = {}): TurnInput => ({
  runId: newRunId(),
  roleId: 'coder',
  task: 'the task',
  prompt: 'the prompt',
  promptFile: join(folder, 'prompt.md'),
  cwd: folder,
  worktree: null,
  model: null,
  chatId: null,
  continues: false,
  env: { PATH: folder, KEPT: 'yes' },
  options: PLAIN_OPTIONS,
  timeoutMs: 60_000,
  endpoint: null,
  files: {
    path: name => join(folder, name),
    write: async name => join(folder, name),
    chatFolder: folder,
    writeInChat: async name => join(folder, name),
  },
  ...more,
});

describe('the command of a turn', () => {
  it('starts the program found on the PATH of the run, with its environment', async () => {
    const command = await engine('<%= engine %> --role <%= roleId %> "<%= prompt %>"').command(input());
    expect(command).toEqual({
      argv: [join(folder, 'agent'), '--role', 'coder', 'the prompt'],
      stdin: null,
      env: { PATH: folder, KEPT: 'yes' },
    });
  });

  it('reaches a real program argument by argument', { tags: ['A6'] }, async () => {
    const prompt = '--x "$(id)" `id` \'q\'\n\\ $HOME | żółć 🎉\n';
    const { argv, env } = await engine('agent "<%= prompt %>" --m=<%= model %>').command(input({ prompt }));
    const { stdout } = await promisify(execFile)(argv[0], argv.slice(1), { env });
    expect(stdout.split('\0')).toEqual([`\n${prompt}`, '--m=', '']);
  });

  it.each(['prompt', 'task', 'promptFile'])('has no standard input when the template uses %s', async name => {
    expect((await engine(`agent <%= ${name} %>`).command(input())).stdin).toBeNull();
  });

  it('has the prompt on standard input when the template uses no prompt', async () => {
    const turn = input();
    expect((await engine('agent --dir <%= cwd %> -m <%= model %>').command(turn)).stdin).toBe(
      turn.promptFile,
    );
  });

  it('says what to do about a program that is not there', { tags: ['A10'] }, async () => {
    await expect(engine('no-such-agent').command(input())).rejects.toMatchObject({
      code: 'ENGINE_NOT_FOUND',
      message: 'The program "no-such-agent" of the run template was not found.',
      suggestions: [expect.stringContaining('Install no-such-agent'), expect.stringContaining(folder)],
    });
    await expect(engine('./gone').command(input())).rejects.toMatchObject({
      code: 'ENGINE_NOT_FOUND',
      suggestions: [expect.stringContaining(folder)],
    });
    await expect(engine('agent').command(input({ env: {} }))).rejects.toMatchObject({
      code: 'ENGINE_NOT_FOUND',
      suggestions: [expect.anything(), expect.stringContaining('no PATH')],
    });
  });

  it('says so when the program cannot be executed', async () => {
    await expect(engine('./plain').command(input())).rejects.toMatchObject({
      code: 'ENGINE_NOT_EXECUTABLE',
      message: `The program of the run template cannot be run: ${join(folder, 'plain')}.`,
    });
  });

  it('refuses a bad template before looking for the program', async () => {
    await expect(engine('no-such-agent | tee').command(input())).rejects.toMatchObject({
      code: 'TEMPLATE_INVALID',
    });
  });
});

describe('a new chat', () => {
  it('is what the create-chat template makes, with no chat id and nothing on standard input', async () => {
    const { newChat } = engine('agent', 'agent create-chat [<%= chatId %>] <%= roleId %>');
    if (newChat?.kind !== 'command') throw new Error('expected a command');
    expect(await newChat.command(input({ chatId: 'stale' }))).toEqual({
      argv: [join(folder, 'agent'), 'create-chat', '[]', 'coder'],
      stdin: null,
      env: { PATH: folder, KEPT: 'yes' },
    });
  });

  it('does not exist without a create-chat template', () => {
    expect(engine('agent').newChat).toBeNull();
  });

  it('names the create-chat template in its errors', async () => {
    const { newChat } = engine('agent', 'no-such-agent');
    if (newChat?.kind !== 'command') throw new Error('expected a command');
    await expect(newChat.command(input())).rejects.toThrow('of the create-chat template');
  });
});

it('reads nothing into the output', () => {
  expect(engine('agent')).toMatchObject({ id: 'template', reader: null });
});
