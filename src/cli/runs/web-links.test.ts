import { expect, test } from 'vitest';
import { withWebLinks } from './run-reporter.ts';

const at = 'http://127.0.0.1:4873';
const link = (path: string, id: string) => `\u001b]8;;${at}/${path}/${id}\u001b\\${id}\u001b]8;;\u001b\\`;

test('ids of runs and squads become links', () => {
  expect(withWebLinks('qa  started  codex · run_0123456789', at)).toBe(
    `qa  started  codex · ${link('r', 'run_0123456789')}`,
  );
  expect(withWebLinks('squad_0123456789 · squad log run_abcdefghjk', at)).toBe(
    `${link('s', 'squad_0123456789')} · squad log ${link('r', 'run_abcdefghjk')}`,
  );
});

test.each(['run_012345678…', 'run_01234567890', 'my_run_0123456789', 'ask_0123456789'])(
  '%s is no id of a run',
  words => {
    expect(withWebLinks(words, at)).toBe(words);
  },
);

test('without a web UI a line stays unchanged', () => {
  expect(withWebLinks('run_0123456789', null)).toBe('run_0123456789');
});
