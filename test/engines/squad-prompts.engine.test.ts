/** Roles, tasks and replies are text for the model: no CLI interprets them as its own commands. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chosenClis } from './chosen-clis.ts';
import { EngineSquad } from './engine-squad.ts';
import { mock } from './model-server/script.ts';

const COMMANDS = { slash: '/init and more', at: '@nowhere.md is yours', bang: '!touch executed' };

describe.each(chosenClis())('%s', name => {
  let it: EngineSquad;
  beforeAll(async () => {
    it = await EngineSquad.start([name], { roles: { slash: `${COMMANDS.slash}\n` } });
  });
  afterAll(() => it[Symbol.asyncDispose]());

  const asked = (tag: string) =>
    it.server
      .first(tag)
      ?.turns.filter(({ by }) => by === 'user')
      .map(({ text }) => text)
      .join('\n');

  test('a role and a task that look like commands reach the model as they are', {
    tags: ['syntax-of-an-agent-cli-in-a-prompt'],
  }, async () => {
    const task = Object.values(COMMANDS).join('\n');
    const prompt = `${task}\n${mock([{ text: 'Read.' }], 'commands')}`;
    const result = await it.spawn(name, prompt, { roleId: 'slash', permission: 'edit' });
    expect(result).toMatchObject({ status: 'completed', result: 'Read.' });
    expect(asked('commands')).toContain(`# Your Role\n\n${COMMANDS.slash}`);
    expect(asked('commands')).toContain(`# Your Task\n\n${COMMANDS.slash}`);
    for (const text of Object.values(COMMANDS)) expect(asked('commands')).toContain(text);
    expect(existsSync(join(it.squad.workspace, 'executed'))).toBe(false);
  });

  test('a reply from the terminal resumes the chat of a run that opened the chat by itself', async () => {
    const stateless = { env: { STATE_MODE: 'stateless' } };
    const first = `Remember plums. ${mock([{ text: 'I will.' }], 'told')}`;
    const { stdout: ran } = await it.squad.run(['run', '--engine', name, 'slash', first], stateless);
    const id = /run_[0-9a-z]{10}/.exec(ran)![0];
    const reply = `/init What was it? ${mock([{ text: 'Plums.' }], 'reply')}`;
    const { code, stdout } = await it.squad.run(['reply', id, reply], stateless);
    expect(stdout).toContain('Plums.');
    expect(code).toBe(0);
    const said = it.server.first('reply')!.turns.map(({ text }) => text);
    expect(said.join('\n')).toContain('Remember plums.');
    expect(said.join('\n')).toContain('# Task\n/init What was it?');
  });
});
