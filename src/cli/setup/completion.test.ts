import { Argument, Command, Option } from 'commander';
import { expect, test } from 'vitest';
import { completionRequest } from './completion.ts';

const program = new Command('squad');
program
  .command('review')
  .description('rounds')
  .argument('[run]')
  .option('-a, --all', 'of every one')
  .addOption(new Option('--type <type>').choices(['good', 'bad']))
  .option('--run <run>', 'only of this')
  .option('--chat <id>', 'a chat')
  .addOption(new Option('--window').hideHelp());
program.command('wait').argument('<ids...>');
program.command('answer').argument('<item>').argument('[answer...]');
program.command('completion').addArgument(new Argument('<shell>').choices(['bash', 'zsh']));
program.command('secret', { hidden: true });
program.command('drain').argument('<machine>');
program.command('go').option('--on <machine>');
const hub = program.command('hub');
hub.command('start');
hub.command('stop').option('--force');

const words = (...given: string[]) => completionRequest(program, given).words.map(({ word }) => word);
const ids = (...given: string[]) => completionRequest(program, given).ids;

test('completes commands and subcommands', () => {
  expect(words('')).toEqual(['review', 'wait', 'answer', 'completion', 'drain', 'go', 'hub', 'help']);
  expect(words('hub', '')).toEqual(['start', 'stop', 'help']);
  expect(words('help', '')).toContain('review');
  expect(completionRequest(program, []).words[0]).toEqual({ word: 'review', what: 'rounds' });
});

test('completes options of the command, without hidden ones', () => {
  expect(words('review', '-')).toEqual(['--all', '-a', '--type', '--run', '--chat', '--help', '-h']);
  expect(words('hub', 'stop', '--')).toContain('--force');
});

test('completes choices of options and arguments, also in the form that bash passes', () => {
  expect(words('review', '--type', '')).toEqual(['good', 'bad']);
  expect(words('review', '--type', '=', 'g')).toEqual(['good', 'bad']);
  expect(words('completion', '')).toEqual(['bash', 'zsh']);
});

test('completes ids for arguments that take runs, questions, machines or ids, and for no others', () => {
  expect(ids('review', '')).toBe('run');
  expect(ids('review', '--all', '')).toBe('run');
  expect(ids('review', '--run', '')).toBe('run');
  expect(ids('wait', 'run_1', 'run_2', '')).toBe('any');
  expect(ids('answer', '')).toBe('item');
  expect(ids('drain', '')).toBe('machine');
  expect(ids('go', '--on', '')).toBe('machine');
  for (const given of [
    ['review', 'run_1', ''],
    ['review', '--chat', ''],
    ['review', '-'],
    ['nothing', ''],
    ['answer', 'ask_1', ''],
  ])
    expect(ids(...given)).toBeNull();
});
