import { expect, test } from 'vitest';
import type { ShownItem } from '../../../src/operations/inbox/inbox.ts';
import { dyingHub } from '../../support/die-at.ts';
import { TestSquad, until } from '../../support/squad.ts';

const TASK = `Work.
\`\`\`script
ask "Which way?" left right
ask "How far?" near far
say done
\`\`\``;

test.each(['inbox:handed', 'inbox:heard'])(
  'an answer that was taken is not lost when the hub is killed at %s, and nobody is asked twice',
  async point => {
    await using squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
    const hub = await dyingHub(squad, point);
    const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', 'coder', TASK]);
    const items = async () => (await squad.json<{ items: ShownItem[] }>(['inbox', '--all'])).items;
    const asked = (question: string) =>
      until(`it asks ${question}`, async () => (await items()).find(item => item.question === question));
    // The hub may be gone before it has told this one that the answer is taken.
    await squad.run(['answer', (await asked('Which way?')).id, 'right']);
    expect(await hub.died).toBe('SIGKILL');
    await squad.run(['answer', (await asked('How far?')).id, 'far']);
    await squad.run(['wait', runIds[0]!]);

    const { result } = await squad.json<{ result: { result: string } }>(['show', runIds[0]!]);
    expect(result.result).toContain('The answer is: right');
    expect(result.result).toContain('The answer is: far');
    expect((await items()).map(({ question, answer }) => [question, answer])).toEqual([
      ['How far?', 'far'],
      ['Which way?', 'right'],
    ]);
  },
);
