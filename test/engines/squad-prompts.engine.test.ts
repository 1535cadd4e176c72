/** What a prompt says is for the model: no CLI takes a part of it for a command of its own. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chosenClis } from './chosen-clis.ts';
import { EngineSquad } from './engine-squad.ts';
import { mock } from './model-server/script.ts';

const ROLES = {
  slash: '/help me with what follows.\n',
  at: '@SECRET.md is yours.\n',
  bang: '!touch executed\n',
};

describe.each(chosenClis())('%s', name => {
  let it: EngineSquad;
  beforeAll(async () => {
    it = await EngineSquad.start([name], { roles: ROLES });
    it.squad.write('SECRET.md', 'PLUM-COLOURED\n');
  });
  afterAll(() => it[Symbol.asyncDispose]());

  test.each(['slash', 'at', 'bang'])('task %s', async kind => {
    const text = ROLES[kind as 'at'].trim();
    const result = await it.spawn(name, `${text}\nsee @SECRET.md too\n${mock([{ text: 'Read.' }], `task-${kind}`)}`, {permission:'edit'});
    const calls = it.server.requests.filter(({ tag }) => tag === `task-${kind}`);
    const all = calls.flatMap(c => c.turns).map(t => t.text).join('\n');
    console.log('TASK', name, kind, result.status, result.result, result.error?.message, calls.length, all.includes(text), 'included:', all.includes('PLUM-COLOURED'), 'executed', existsSync(join(it.squad.workspace, 'executed')));
  });
  test.each(['slash', 'at', 'bang'])('role %s', async kind => {
    const text = ROLES[kind as 'at'].trim();
    const result = await it.spawn(name, `Go. ${mock([{ text: 'Read.' }], `role-${kind}`)}`, {permission:'edit', roleId: kind});
    const calls = it.server.requests.filter(({ tag }) => tag === `role-${kind}`);
    const all = calls.flatMap(c => c.turns).map(t => t.text).join('\n');
    console.log('ROLE', name, kind, result.status, result.result, result.error?.message, calls.length, all.includes(text), 'included:', all.includes('PLUM-COLOURED'), 'executed', existsSync(join(it.squad.workspace, 'executed')));
  });
});
