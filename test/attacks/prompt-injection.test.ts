import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestSquad } from '../support/squad.ts';
import { footprint } from '../support/stored.ts';
import { type Agent, startAgents } from './agents.ts';
import { configure } from './config-file.ts';
import { INJECTIONS } from './corpus/injections.ts';
import { inBatches } from './in-batches.ts';
import { Recorded, toolNamed } from './recorded.ts';

const squad = new TestSquad();
const kept = new Recorded(squad.root, 'kept', { tools: [toolNamed('read')] });
const ops = new Recorded(squad.root, 'ops', { tools: [toolNamed('delete_all')] });
let scribe: Agent;

beforeAll(async () => {
  squad.env.SQUAD_AGENTS_DIR = join(squad.root, 'roles');
  mkdirSync(squad.env.SQUAD_AGENTS_DIR);
  writeFileSync(
    join(squad.env.SQUAD_AGENTS_DIR, 'scribe.md'),
    '---\nmcp: [kept, squad/squad_decision_record]\n---\nYou write.\n',
  );
  writeFileSync(join(squad.env.SQUAD_AGENTS_DIR, 'lead.md'), '---\nmcp: [ops]\n---\nYou lead.\n');
  squad.write('.squad/decisions.md', '# Decisions\n');
  await squad.unlimited();
  await configure(squad, { servers: { kept: kept.block(), ops: ops.block() } });
  const [first, lead] = (await startAgents(squad, 'scribe', 'lead')) as [Agent, Agent];
  scribe = first;
  await scribe.sees('kept__read');
  await lead.sees('ops__delete_all');
});
afterAll(() => squad[Symbol.asyncDispose]());

const list = async () => (await scribe.ask('tools/list')).body;

test('there are more than two hundred texts that ask for more', { tags: ['prompt-injection'] }, () => {
  expect(new Set(INJECTIONS).size).toBeGreaterThan(200);
});

test('whatever a server answers, an agent has the tools it had, and only what was called is called', {
  tags: ['prompt-injection'],
}, async () => {
  const [before, runs] = [await list(), await footprint(squad)];
  for (const [at, says] of INJECTIONS.entries()) {
    kept.offers({ tools: [toolNamed('read')], says });
    const { message } = await scribe.call('kept__read', { at });
    // It comes as the text of that one result, and as nothing else.
    expect((message.result!.content as unknown[]).length).toBe(1);
    expect(message.result!.content).toEqual([{ type: 'text', text: says }]);
  }
  expect(await list()).toBe(before);
  expect(kept.asked()).toHaveLength(INJECTIONS.length);
  expect(ops.asked()).toEqual([]);
  expect(await footprint(squad)).toEqual(runs);
});

describe('a decision that an agent records', () => {
  interface Decision {
    id: string;
    title: string;
    by: string | null;
  }
  const decisions = () =>
    squad
      .json<{ decisions: Decision[]; total: number }>(['decisions', '-n', '1000'])
      .then(({ decisions: found }) => found);

  test('is one entry by that agent, whatever stands in its title, its what and its why', {
    tags: ['prompt-injection'],
  }, async () => {
    const before = await decisions();
    const made = await inBatches(
      INJECTIONS,
      async text => {
        const title = text.length <= 200 ? text : `Plain ${INJECTIONS.indexOf(text)}`;
        const { message, body } = await scribe.call('squad_decision_record', {
          title,
          what: text,
          why: text,
        });
        expect(message.result?.isError, body).toBeUndefined();
        return (message.result!.structuredContent as { id: string }).id;
      },
      10,
    );
    const known = new Set(before.map(({ id }) => id));
    const added = (await decisions()).filter(({ id }) => !known.has(id));
    expect(added).toHaveLength(INJECTIONS.length);
    expect(new Set(made).size).toBe(INJECTIONS.length);
    expect(added.filter(({ by }) => by !== `scribe (${scribe.id})`)).toEqual([]);
  });

  test('gives nobody a tool, a server or an entry of another author', async () => {
    expect(await scribe.theirs()).toEqual(['kept__read']);
    expect(ops.asked()).toEqual([]);
    const { message } = await scribe.call('squad_decision_search', { query: 'second entry' });
    expect(JSON.stringify(message.result)).not.toContain('"by":"lead"');
  });
});

test('names of files say nothing but names', { tags: ['prompt-injection'] }, async () => {
  const before = await list();
  rmSync(join(squad.workspace, '.squad', 'decisions'), { recursive: true });
  const names = INJECTIONS.map(text => text.replaceAll(/[/\0]/g, '_').slice(0, 60)).map(
    (name, at) => `${at} ${name}.md`,
  );
  for (const name of names) {
    squad.write(
      join('.squad', 'decisions', 'inbox', name),
      `### 2030-02-02: From ${names.indexOf(name)}\n**By:** someone\n**What:** x\n`,
    );
    squad.write(join('.squad', 'agents', name, 'history.md'), '### 2030-02-02\nDid x.\n');
  }
  const found = await squad.json<{ decisions: { title: string; by: string | null }[] }>([
    'decisions',
    '-n',
    '1000',
  ]);
  const those = found.decisions.filter(({ title }) => title.startsWith('From '));
  // A name that no editor would write is passed over; none makes an entry more.
  expect(those.length).toBeGreaterThan(50);
  expect(found.decisions).toHaveLength(those.length);
  expect(those.filter(({ by }) => by !== 'someone')).toEqual([]);
  expect((await squad.run(['team'])).code).toBe(0);
  expect(await list()).toBe(before);
  expect(ops.asked()).toEqual([]);
});
