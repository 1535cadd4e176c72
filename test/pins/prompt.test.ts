import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestSquad } from '../support/squad.ts';
import { startAndWait, wholeStream } from '../support/tools.ts';

const squad = new TestSquad();

beforeAll(() => {
  squad.write('agents/coder.md', '---\nname: Coder\n---\n\nYou code.\n\nWith care: é 😀\n\n');
});
afterAll(() => squad[Symbol.asyncDispose]());

const FOOTER = `

---

# Setup & Reporting Rules

If you notice any setup or environment problems that prevent you from completing your task,
you MUST clearly report them as SETUP / ENVIRONMENT ISSUES.

Explain what you observed and suggest specific steps for the human to fix.
Do not pretend the task succeeded.`;

const TASK = '  Mend "it".\n\n- one\n- two\n';
const WITH_ROLE = (heading: string) => `You code.\n\nWith care: é 😀\n\n---\n\n${heading}\n${TASK}${FOOTER}`;

const WAYS = {
  'standard input': 'cat',
  'an argument': 'printf %s "<%= prompt %>"',
  'a file': 'cat <%= promptFile %>',
};

test.each(Object.entries(WAYS))('the prompt reaches the agent by %s, byte for byte', async (_, template) => {
  const arrived = async (env: Record<string, string>, chatId?: string) => {
    const client = await squad.client({ env: { RUN_TEMPLATE: template, ...env } });
    const member = { roleId: 'coder', task: TASK, ...(chatId !== undefined && { chatId }) };
    const { members } = await startAndWait(client, { members: [member] });
    return wholeStream(client, members[0]!.memberId, 'stdout');
  };
  const stateful = { STATE_MODE: 'stateful', CREATE_CHAT_TEMPLATE: 'echo new-chat' };
  expect(await arrived({})).toBe(WITH_ROLE('# Task'));
  expect(await arrived(stateful)).toBe(WITH_ROLE('# Initial Task'));
  expect(await arrived(stateful, 'known')).toBe(`# Task\n${TASK}${FOOTER}`);
});

test('an agent that is handed the prompt finds nothing on its standard input', async () => {
  squad.script('both.sh', 'printf "[%s]" "$1"; cat');
  for (const template of [
    './both.sh <%= task %>',
    './both.sh <%= promptFile %>',
    './both.sh "<%= prompt %>"',
  ]) {
    const client = await squad.client({ env: { RUN_TEMPLATE: template } });
    const { members } = await startAndWait(client, { members: [{ roleId: 'coder', task: 'x' }] });
    expect(members[0]!.rawStdout).toMatch(/\]$/);
  }
});
