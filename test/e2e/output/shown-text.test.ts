import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ShownItem } from '../../../src/operations/inbox/inbox.ts';
import { askHub } from '../../support/ask-hub.ts';
import { script, scriptOf } from '../../support/git-squad.ts';
import {
  asciiJson,
  HIDDEN_CASES,
  hiddenLines,
  obeyedIn,
  shownLines,
} from '../../support/hidden-characters.ts';
import { ReviewSquad } from '../../support/review-squad.ts';
import { Screen } from '../../support/screen.ts';
import { until } from '../../support/squad.ts';

/** Only files can hold a NUL, and git shows no lines of a file with one. */
const WITHOUT_NUL = HIDDEN_CASES.filter(({ text }) => text !== '\0');
const FILE = `${hiddenLines().join('\n')}\n`;
const WORDS = hiddenLines(WITHOUT_NUL).join('\n');
/** A task is an argument of the command line: halves of it would be cut off in a list. */
const LINE = 'Build \u001b]0;swallowed\u0007 \u009d0;swallowed \u202eit';

const squad = new ReviewSquad();
let coder: string;
let asking: string;
let untrusted: string;

beforeAll(async () => {
  await squad.prepare();
  // A pager would wait for a key.
  squad.env.GIT_PAGER = '';
  // Agents read a file of the test.
  await squad.set('sandbox.default', 'off');
  const hidden = join(squad.root, 'hidden.txt');
  writeFileSync(hidden, `${WORDS}\n`);
  untrusted = squad.write('.squad/agents/hidden.md', FILE);
  mkdirSync(join(squad.env.HOME!, '.gemini'));
  // Around the place where the entry is put, so that the diff shows it.
  const settings = JSON.stringify({ mcpServers: { 'a\u202e\u009d0;swallowed': { command: 'x' } } }, null, 2);
  writeFileSync(join(squad.env.HOME!, '.gemini', 'settings.json'), settings);
  const feedback = { feedback: WORDS, feedback_type: 'needs_work', actionable_items: [LINE] };
  const review = {
    reviewer_prompt: script(`call send_feedback ${asciiJson(feedback)}`),
    completion_message: 'Done.',
  };
  coder = await squad.startCoder(
    `${LINE}${script(
      ...[`run cp ${hidden} hidden.txt`, `run cat ${hidden}`, `stderr ${LINE}`],
      `call request_review ${asciiJson(review)}`,
    )}${scriptOf(2, 'report Heard.')}`,
  );
  await squad.run(['wait', coder]);
  const question = { question: LINE, details: WORDS, choices: [`one ${LINE}`, 'two'] };
  asking = await squad.startCoder(`Ask.${script(`call ask_user ${asciiJson(question)}`, 'hang')}`);
  await until('it asks', async () =>
    (await askHub<{ items: ShownItem[] }>(squad, 'list_inbox')).items.some(({ runId }) => runId === asking),
  );
});
afterAll(() => squad[Symbol.asyncDispose]());

async function onScreen(args: string[]): Promise<string> {
  const screen = Screen.open(squad, args, { columns: 300, rows: 50 });
  try {
    return (await screen.ended()).bytes;
  } finally {
    screen.close();
  }
}
const inPipe = async (args: string[]): Promise<string> => {
  const { stdout, stderr } = await squad.run(args, { env: { FORCE_COLOR: '1' } });
  return stdout + stderr;
};

const missing = (output: string, lines: readonly string[]): string[] => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: styles of our own
  const words = (text: string) => text.replaceAll(/\u001b\[[0-9;]*m/g, '').replaceAll(/\s+/g, '');
  const all = words(output);
  return lines.filter(line => !all.includes(words(line)));
};
const ONE_LINE = 'Build ␛]0;swallowed␇ <U+009D>0;swallowed <U+202E>it';

type Path = [name: string, args: () => string[], expected: readonly string[]];
const WHOLE = shownLines(HIDDEN_CASES);
const SAID = shownLines(WITHOUT_NUL);
const PATHS: Path[] = [
  ['trust', () => ['trust', untrusted, '--yes'], WHOLE],
  ['diff', () => ['diff', coder], SAID],
  ['review', () => ['review', coder], [...SAID, ONE_LINE]],
  ['review --diff', () => ['review', coder, '--diff'], []],
  ['inbox', () => ['inbox'], [...SAID, ONE_LINE]],
  ['integrate', () => ['integrate', '--dry-run'], ['Hidden characters are added to hidden.txt:']],
  ['install', () => ['install', 'gemini', '--dry-run'], ['"a<U+202E><U+009D>0;swallowed"']],
  ['show', () => ['show', coder], [ONE_LINE]],
  ['log', () => ['log', coder], [...SAID, ONE_LINE]],
  ['ls', () => ['ls'], [ONE_LINE]],
  ['conversation', () => ['conversation', 'export', coder, '--format', 'md'], []],
];

describe('nothing that is hidden in a text is obeyed or left out on a terminal', {
  tags: ['B2', 'terminal-escapes'],
}, () => {
  test.each(PATHS)('squad %s', async (_, args, expected) => {
    // Trusted once, a file is not shown again.
    await squad.run(['trust', untrusted, '--remove']);
    const output = await onScreen(args());
    expect(obeyedIn(output)).toEqual([]);
    expect(missing(output, expected)).toEqual([]);
  });
});

test('trusted text is shown in a pipe as on a terminal, with a warning that counts hidden characters', {
  tags: ['terminal-escapes'],
}, async () => {
  await squad.run(['trust', untrusted, '--remove']);
  const output = await inPipe(['trust', untrusted, '--yes']);
  expect(obeyedIn(output)).toEqual([]);
  expect(missing(output, WHOLE)).toEqual([]);
  expect(output).toMatch(/Warning: .* hidden characters.* 12 reading direction \(1 × U\+061C ALM/);
});

test('a diff in a pipe is the bytes, so that it can be applied', async () => {
  const { stdout, stderr } = await squad.run(['diff', coder]);
  for (const line of WORDS.split('\n')) expect(stdout).toContain(`+${line}`);
  expect(stderr).toMatch(/Warning: .*hidden characters/);
});
