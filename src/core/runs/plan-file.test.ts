import { expect, test } from 'vitest';
import { shownArguments } from './plan-file.ts';

const given = { prompt: 'You code.\n\nFix the parser', task: 'Fix the parser', endpoint: null };
const shown = (argv: [string, ...string[]], env: Record<string, string> = {}) =>
  shownArguments({ argv, env }, given);

test('a command line is shown as it is', () => {
  const argv: [string, ...string[]] = ['/opt/claude', '-p', '--model=opus', '--resume', 'a b'];
  expect(shown(argv)).toEqual(argv);
});

test('the prompt and the task are named, not repeated', () => {
  expect(shown(['agent', given.prompt, `\n${given.task}`, `--say=${given.task}!`])).toEqual([
    'agent',
    '[prompt]',
    '[task]',
    '--say=[task]!',
  ]);
});

test('no value of a secret is in it, wherever a template put it', () => {
  const env = { SERVICE_TOKEN: 'tok-1234567890', HOME: '/home/me' };
  const endpoint = { url: 'http://x', token: 'run-token-0987654321', relay: { command: 'x', args: [] } };
  const argv: [string, ...string[]] = [
    ...(['agent', '--header', 'Bearer tok-1234567890', '--api-key', 'sk-literal-key'] as const),
    ...['--password=hunter22', '--home=/home/me', 'x=run-token-0987654321'],
  ];
  const words = shownArguments({ argv, env }, { ...given, endpoint });
  expect(words).toEqual([
    ...['agent', '--header', 'Bearer [secret SERVICE_TOKEN]', '--api-key', '[hidden]'],
    ...['--password=[hidden]', '--home=/home/me', 'x=[secret token]'],
  ]);
});

test('an argument of any length takes little room', () => {
  expect(shown(['agent', 'x'.repeat(100_000)])[1]).toBe(`${'x'.repeat(500)}… (100000 characters)`);
});
