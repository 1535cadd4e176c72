import { expect, test } from 'vitest';
import { stderrExcerpt } from './stderr-excerpt.ts';

const NODE = `/opt/cli/main.js:10
    throw new TypeError('no model is configured');
    ^

TypeError: no model is configured
    at main (/opt/cli/main.js:10:9)
    at async Promise.all (index 0)
    at Object.<anonymous> (/opt/cli/main.js:14:1)
    at Module._compile (node:internal/modules/cjs/loader:1554:14)
    at node:internal/main/run_main_module:36:49 {
  code: 'E_MODEL',
  [cause]: Error: connect ECONNREFUSED 127.0.0.1:1
      at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1611:16)
}

Node.js v24.1.0
`;

test('a stack trace is cut to what it is about', () => {
  expect(stderrExcerpt(NODE, 6)).toEqual([
    '/opt/cli/main.js:10',
    "throw new TypeError('no model is configured');",
    'TypeError: no model is configured',
    "code: 'E_MODEL',",
    '[cause]: Error: connect ECONNREFUSED 127.0.0.1:1',
  ]);
});

test('the line with the cause is kept, however much comes after it', { tags: ['A10'] }, () => {
  const after = Array.from({ length: 20 }, (_, index) => `hint ${index}`);
  const excerpt = stderrExcerpt([NODE, ...after].join('\n'), 6);
  expect(excerpt).toHaveLength(6);
  expect(excerpt).toContain('TypeError: no model is configured');
  expect(excerpt).toContain('[cause]: Error: connect ECONNREFUSED 127.0.0.1:1');
  expect(excerpt.at(-1)).toBe('hint 19');
});

test('an error that is repeated takes one line', () => {
  const excerpt = stderrExcerpt(['Error: no', 'Error: no', 'Error: no', 'a', 'b', 'c', 'd'].join('\n'), 4);
  expect(excerpt).toEqual(['Error: no', 'b', 'c', 'd']);
});

test.each([
  [
    'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    main()\n  File "a.py", line 9, in main\n    run()\nValueError: no key\n',
    ['ValueError: no key'],
  ],
  [
    "thread 'main' panicked at src/main.rs:2:5:\nno config\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
    ["thread 'main' panicked at src/main.rs:2:5:", 'no config'],
  ],
  ['\u001b[31mError:\u001b[0m red\n', ['Error: red']],
  ['2026-11-15T12:30:16Z ERROR rmcp: noise\nError: no rollout found\n', ['Error: no rollout found']],
  ['2026-11-15T12:30:16Z ERROR only the log\n', ['2026-11-15T12:30:16Z ERROR only the log']],
  ['at last, a word\n', ['at last, a word']],
  ['', []],
])('%j', (stderr, excerpt) => {
  expect(stderrExcerpt(stderr, 6)).toEqual(excerpt);
});
