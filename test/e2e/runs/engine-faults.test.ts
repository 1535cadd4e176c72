/** Agent CLIs that misbehave, by the name of every one Squad knows: a true status, a clear error, nothing lost, a hub that stays small. */
import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cliProfiles } from '../../../src/engines/cli-profiles.ts';
import { linesOf, RECORDED } from '../../../src/engines/testing/recorded.ts';
import type { RunResult } from '../../../src/operations/runs/run-result.ts';
import { callTool, TestSquad } from '../../support/squad.ts';
import type { Refused } from '../../support/tools.ts';

const MIB = 1024 * 1024;
const ANSWER = 'Hello from the model.';
const CLIS = cliProfiles().map(({ id, programs, versions }) => ({
  id,
  program: programs[0],
  version: versions?.tested ?? '1.0.0',
}));

/** Output lines of a CLI whose turn succeeds. */
const goodLines = (id: string): string[] =>
  RECORDED.some(known => known === id)
    ? linesOf(id, 'answer')
    : [
        '{"type":"system","subtype":"init","session_id":"c"}',
        `{"type":"result","subtype":"success","is_error":false,"result":"${ANSWER}"}`,
      ];

const TOO_LONG = 'word '.repeat(1_900_000);
const LONG = `${'word '.repeat(500_000)}the end.`;

/** Shell script of each fault. $1 is the folder with the recordings. */
const FAULTS = {
  'nothing-at-all': '',
  'half-a-line': 'cat "$1/half"',
  'not-utf8': String.raw`printf '\377\376 \303\n{"type":"\377"}\n'; cat "$1/good"; printf '\n\355\240\200'`,
  'unknown-events': `echo '{"type":"from.the.future","data":[1,{"x":null}]}'; echo '[]'; echo 7; cat "$1/good"`,
  'endless-line': `head -c ${16 * MIB} /dev/zero | tr '\\0' x; echo; cat "$1/good"`,
  'long-answer': 'cat "$1/long"',
  'too-long-answer': 'cat "$1/too-long"',
  'loud-failure': `head -c ${64 * MIB} /dev/zero | tr '\\0' e >&2; echo >&2; echo 'Error: the disk is purple' >&2; exit 1`,
  gibibyte: `yes 'All work and no play makes an agent a dull one, line after line.' | head -c ${1024 * MIB}; echo; cat "$1/good"`,
};

const squad = new TestSquad();
const fakes = join(squad.root, 'fakes');
const usualPath = squad.env.PATH!;
squad.env.PATH = `${fakes}:${usualPath}`;
let client: Client;

beforeAll(async () => {
  mkdirSync(fakes);
  // With rules of the user Codex only reads its prompt.
  squad.env.CODEX_HOME = join(squad.root, 'codex');
  mkdirSync(join(squad.env.CODEX_HOME, 'rules'), { recursive: true });
  writeFileSync(join(squad.env.CODEX_HOME, 'rules', 'default.rules'), '');
  for (const { id, program, version } of CLIS) {
    const folder = join(squad.root, 'recordings', id);
    mkdirSync(folder, { recursive: true });
    const good = goodLines(id);
    const [last = ''] = good.slice(-1);
    writeFileSync(join(folder, 'good'), `${good.join('\n')}\n`);
    writeFileSync(join(folder, 'half'), [...good.slice(0, -1), last.slice(0, last.length / 2)].join('\n'));
    writeFileSync(join(folder, 'long'), `${good.join('\n').replaceAll('the model.', LONG)}\n`);
    // Text before the line that is too long is not the answer either.
    const tooLong = `${good.join('\n')}\n${good.join('\n').replaceAll('the model.', TOO_LONG)}\n`;
    writeFileSync(join(folder, 'too-long'), tooLong);
    fake(program, version, `. "${squad.root}/faults/$fault" "${folder}"`, folder);
  }
  mkdirSync(join(squad.root, 'faults'));
  for (const [name, lines] of Object.entries(FAULTS))
    writeFileSync(join(squad.root, 'faults', name), `${lines}\n`);
  await squad.unlimited();
  client = await squad.client();
});
afterAll(() => squad[Symbol.asyncDispose]());

/** A program that says its version, and otherwise does what the prompt asks for. */
function fake(program: string, version: string, lines: string, folder: string): string {
  const file = join(fakes, program);
  writeFileSync(
    file,
    `#!/bin/sh
[ "$1" = --version ] && { echo "${version}"; exit; }
while IFS= read -r prompt; do case "$prompt" in *'fault: '*) break;; esac; done
fault=\${prompt##*fault: }
fault=\${fault%%;*}
set -- "${folder}"
${lines}
`,
  );
  chmodSync(file, 0o755);
  return file;
}

const spawn = (engine: string, fault: keyof typeof FAULTS): Promise<RunResult & { isError?: boolean }> =>
  callTool(client, 'spawn_agent', { engine, prompt: `Misbehave. fault: ${fault};`, include_context: false });

const outputOf = ({ spawn_id }: RunResult, file: string): string =>
  join(squad.home, 'runs', spawn_id, 'turn-1', file);

describe.each(CLIS)('$id', ({ id }) => {
  test('that says nothing and exits with 0 is not done', async () => {
    const result = await spawn(id, 'nothing-at-all');
    expect(result).toMatchObject({ status: 'error', success: false, error: { code: 'ENGINE_FAILED' } });
    expect(result.error!.message).toMatch(/without .*exit code 0|exit code 0.*not counted/);
  });

  test('that ends in the middle of its last line is not done, and the half is kept', async () => {
    const result = await spawn(id, 'half-a-line');
    expect(result).toMatchObject({ status: 'error', success: false, error: { code: 'ENGINE_FAILED' } });
    expect(readFileSync(outputOf(result, 'stdout'))).toEqual(
      readFileSync(join(squad.root, 'recordings', id, 'half')),
    );
  });

  test.each(['not-utf8', 'unknown-events', 'endless-line'] as const)(
    'has its answer read through output that is %s',
    async fault => {
      const result = await spawn(id, fault);
      expect(result.error).toBeUndefined();
      expect(result).toMatchObject({ status: 'completed', success: true, result: ANSWER });
      expect(/A line of its output had more than 8 MiB/.test(result.note ?? '')).toBe(
        fault === 'endless-line',
      );
      const written = readFileSync(outputOf(result, 'stdout'));
      expect(written.includes(readFileSync(join(squad.root, 'recordings', id, 'good')))).toBe(true);
    },
  );

  test('may answer at length', async () => {
    const result = await spawn(id, 'long-answer');
    expect(result).toMatchObject({ status: 'completed', success: true });
    const answer = readFileSync(join(squad.home, 'runs', result.spawn_id, 'answer.txt'), 'utf8');
    expect(answer === `Hello from ${LONG}`).toBe(true);
  });

  test('that answers in a line too long to read fails with OUTPUT_LIMIT, and no earlier text is its answer', {
    tags: ['F2'],
  }, async () => {
    const result = await spawn(id, 'too-long-answer');
    expect(result).toMatchObject({ status: 'error', success: false, error: { code: 'OUTPUT_LIMIT' } });
    expect(result.result).toMatch(/^\(The answer is longer than 8 MiB/);
    expect(statSync(outputOf(result, 'stdout')).size).toBeGreaterThan(9_000_000);
  });

  test('that fails with endless output on stderr is reported with its last line', async () => {
    const result = await spawn(id, 'loud-failure');
    expect(result).toMatchObject({ status: 'error', success: false });
    expect(result.error!.message).toContain('the disk is purple');
    expect(statSync(outputOf(result, 'stderr')).size).toBeGreaterThan(64 * MIB);
  });
});

test('a gibibyte of text passes, and the hub has not grown by any of this', async () => {
  const result = await spawn('claude', 'gibibyte');
  expect(result).toMatchObject({ status: 'completed', result: ANSWER });
  expect(statSync(outputOf(result, 'stdout')).size).toBeGreaterThan(1024 * MIB);
  rmSync(outputOf(result, 'stdout'));
  if (process.platform !== 'linux') return;
  const status = readFileSync(`/proc/${await squad.hubPid()}/status`, 'utf8');
  const peak = Number(/VmHWM:\s+(\d+)/.exec(status)![1]) / 1024;
  expect(peak).toBeLessThan(320);
});

describe('a CLI that cannot be used', () => {
  const refusal = async (engine: string, path: string): Promise<Refused['error']> => {
    const other = await squad.client({ env: { PATH: path } });
    const refused = await callTool<Refused>(other, 'spawn_agent', { engine, prompt: 'x' });
    expect(refused.isError).toBe(true);
    return refused.error;
  };

  test.each(CLIS)('$id that is not there is not found, and how to get it is said', async ({ id }) => {
    const error = await refusal(id, usualPath);
    expect(error).toMatchObject({ code: 'ENGINE_NOT_FOUND' });
    expect(error.suggestions!.join('\n')).toMatch(/Install it: \S+/);
  });

  test.each(CLIS.filter(({ id }) => id !== 'cursor'))(
    '$id that is too old is refused',
    async ({ id, program }) => {
      const folder = join(squad.root, 'old', id);
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, program), '#!/bin/sh\necho 0.0.9\n', { mode: 0o755 });
      const error = await refusal(id, `${folder}:${usualPath}`);
      expect(error).toMatchObject({ code: 'ENGINE_TOO_OLD', message: expect.stringContaining('0.0.9') });
    },
  );

  test.each(CLIS)(
    '$id without execute permission fails with ENGINE_NOT_EXECUTABLE',
    async ({ id, program }) => {
      const folder = join(squad.root, 'blocked', id);
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, program), '#!/bin/sh\n', { mode: 0o644 });
      const error = await refusal(id, `${folder}:${usualPath}`);
      expect(error).toMatchObject({
        code: 'ENGINE_NOT_EXECUTABLE',
        message: expect.stringContaining(join(folder, program)),
      });
    },
  );

  test('a CLI whose interpreter is missing ends as not started', async () => {
    writeFileSync(join(fakes, 'qwen'), '#!/nowhere/sh\n');
    const result = await spawn('qwen', 'nothing-at-all');
    expect(result).toMatchObject({ status: 'error', success: false, error: { code: 'SPAWN_FAILED' } });
  });
});
