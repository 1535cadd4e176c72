import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Screen } from '../../support/screen.ts';
import { ended, isAlive, TestSquad, until } from '../../support/squad.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const ESCAPE = '\u001b';

beforeAll(async () => {
  squad.write('sub/.keep', '');
  await squad.unlimited();
  await squad.json(['config', 'set', 'stop.grace_ms', '300']);
});
afterAll(() => squad[Symbol.asyncDispose]());

const fenced = (script: string) => `Do it.\n\`\`\`script\n${script}\n\`\`\``;
const saying = (words: string) => fenced(`say ${words}`);

interface EventLine {
  v: number;
  type: string;
  seq: number;
  at: number;
  runId: string | null;
  squadId: string | null;
  status?: string;
  roleId?: string;
}

async function eventsOf(args: string[], options: Parameters<TestSquad['run']>[1] = {}) {
  const ran = await squad.run(['run', '--json', ...args], options);
  const events = ran.stdout
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as EventLine);
  return { ...ran, events };
}

describe('squad run', () => {
  test('shows each agent as it starts and ends, then a summary and what to type next', async () => {
    const { code, stdout, stderr } = await squad.run([
      'run',
      'coder',
      saying('hi'),
      'architect',
      saying('ho'),
    ]);
    expect(code).toBe(0);
    expect(stderr).toBe('');
    expect(stdout).not.toContain(ESCAPE);
    const [first, ...lines] = stdout.split('\n');
    expect(first).toMatch(/^squad_[0-9a-z]{10} · 2 agents$/);
    // Two agents at once: whose line comes first is theirs to decide.
    const line = (role: string, rest: string) => new RegExp(`^\\d\\d:\\d\\d:\\d\\d  ${role}  ${rest}$`);
    for (const role of ['coder    ', 'architect']) {
      expect(lines.slice(0, 4)).toContainEqual(
        expect.stringMatching(line(role, 'started    scripted · run_[0-9a-z]{10}')),
      );
      expect(lines.slice(0, 4)).toContainEqual(expect.stringMatching(line(role, 'done       \\d+\\.\\ds')));
    }
    const summary = lines
      .slice(4)
      .join('\n')
      .replaceAll(/run_[0-9a-z]{10}/g, 'RUN');
    expect(summary.replaceAll(/\d+\.\ds/g, '0.0s')).toBe(
      [
        '',
        'role       result  evidence  time  run',
        'coder      done    claimed   0.0s  RUN',
        'architect  done    claimed   0.0s  RUN',
        '',
        'done 2 · 0.0s',
        '  squad show RUN  what coder reported',
        '  squad show RUN  what architect reported',
        '',
      ].join('\n'),
    );
  });

  test('of one agent ends with its answer, made safe for the terminal; of several it does not', async () => {
    const RUN_TEMPLATE = squad.script('answer.sh', "printf 'All is well.\\033[2J\\n'");
    const one = await squad.run(['run', 'coder', 'x'], { env: { ENGINE_COMMAND: '', RUN_TEMPLATE } });
    expect(one.stdout).toMatch(/what coder reported\n\nResult\nAll is well\.␛\[2J\n$/);
    expect(one.stdout).not.toContain(ESCAPE);
    const two = await squad.run(['run', 'coder', fenced('report A'), 'coder', fenced('report B')]);
    expect(two.stdout).not.toContain('Result');
    const { stdout } = await squad.run(['run', '--json', 'coder', fenced('report A')]);
    expect(stdout).not.toContain('Result\n');
  });

  test('with --json prints one event a line, each with its version, and last the result', async () => {
    const { code, stderr, events } = await eventsOf(['coder', saying('hi'), 'planner', saying('ho')]);
    expect([code, stderr]).toEqual([0, '']);
    expect(events.every(event => event.v === 1)).toBe(true);
    expect(events.pop()).toMatchObject({
      ...{ type: 'result', squadId: expect.stringMatching(/^squad_/), exitCode: 0 },
      runs: [
        { role_id: 'coder', status: 'completed', result: 'hi' },
        { role_id: 'planner', status: 'completed', result: 'ho' },
      ],
    });
    expect(events.map(event => event.seq)).toEqual(events.map(event => event.seq).sort((a, b) => a - b));
    expect(events[0]).toMatchObject({ type: 'squad.created', members: 2, runId: null });
    const roles = events.filter(event => event.type === 'run.queued').map(event => event.roleId);
    expect(roles).toEqual(['coder', 'planner']);
    expect(events.filter(event => event.type === 'run.ended').map(event => event.status)).toEqual([
      'completed',
      'completed',
    ]);
  });

  test('ends with 1 when a run failed, says why and where to look', async () => {
    const { code, stdout } = await squad.run(['run', 'coder', fenced('fail no luck today')]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/coder {2}failed {5}exit 1: no luck today \(ENGINE_FAILED\) {2}squad log run_/);
    expect(stdout).toMatch(/^ {2}squad log run_\w+ {2}why coder failed \(ENGINE_FAILED\)$/m);
  });

  test('takes a task from standard input', async () => {
    const { code, stdout } = await squad.run(['run', 'coder', '-'], { input: saying('from a pipe') });
    expect(code).toBe(0);
    const id = /run_\w+/.exec(stdout)![0];
    expect((await squad.run(['log', id])).stdout).toBe('from a pipe\n');
  });

  test('without a role takes the coder, and says so', async () => {
    const { code, stdout, stderr } = await squad.run(['run', saying('hi')]);
    expect([code, stderr]).toEqual([0, 'No role was given: using coder.\n']);
    expect(stdout).toMatch(/^coder +done/m);
    expect((await squad.run(['run', '-'], { input: saying('ho') })).stderr).toContain('using coder');
    const env = { SQUAD_AGENTS_DIR: 'others' };
    squad.write('others/scout.md', 'You look.');
    expect((await squad.run(['run', saying('hi')], { env })).stderr).toContain('using scout');
    squad.write('others/tester.md', 'You test.');
    expect(await squad.run(['run', saying('hi')], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/default role coder[\s\S]*with one of these roles: scout, tester/),
    });
  });

  test('an error with --json is one line', async () => {
    const { code, stdout, stderr } = await squad.run(['run', '--json', 'nobody', 'x']);
    expect([code, stderr, stdout.trimEnd().split('\n').length]).toEqual([2, '', 1]);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'ROLE_UNKNOWN' } });
  });

  test('takes a task that looks like an option after --', async () => {
    const { code } = await squad.run(['run', '--', 'coder', '--version please']);
    expect(code).toBe(0);
    const { runs } = await squad.json<{ runs: { task: string }[] }>(['ls', '-n', '1']);
    expect(runs[0]!.task).toBe('--version please');
  });

  test('with --detach prints the ids, all of them, and leaves', async () => {
    const words = Array.from({ length: 60 }, () => ['coder', saying('x')]).flat();
    const { code, stdout } = await squad.run(['run', '--detach', ...words]);
    expect(code).toBe(0);
    const ids = stdout.trimEnd().split('\n');
    expect(ids).toHaveLength(60);
    for (const id of ids) expect(id).toMatch(/^run_[0-9a-z]{10}$/);
    const { squadId, runIds } = await squad.json<{ squadId: string; runIds: string[] }>([
      'run',
      '-d',
      'coder',
      saying('y'),
    ]);
    expect(squadId).toMatch(/^squad_/);
    expect(await squad.run(['log', '-f', runIds[0]!])).toMatchObject({ code: 0, stdout: 'y\n' });
  });

  test('works in the folder of --cwd', async () => {
    const { code } = await squad.run(['run', '--cwd', 'sub', 'coder', fenced('write mark\n| x')]);
    expect(code).toBe(0);
    expect(existsSync(join(squad.workspace, 'sub', 'mark'))).toBe(true);
  });

  test("with --engine and --timeout counts more than the role's own", async () => {
    squad.write('own/coder.md', '---\nengine: no-such-engine\ntimeout: 2h\n---\nYou code.');
    const env = { SQUAD_AGENTS_DIR: 'own', ENGINE_COMMAND: '' };
    expect(await squad.run(['run', 'coder', 'x'], { env })).toMatchObject({ code: 2 });
    const ran = await squad.run(
      ['run', '--engine', 'scripted', '--timeout', '500ms', 'coder', fenced('hang')],
      { env },
    );
    expect(ran.code).toBe(1);
    expect(ran.stdout).toMatch(/coder {2}stopping {3}over its time limit/);
    expect(ran.stdout).toMatch(/coder {2}timeout/);
  });

  test('says how to log in to an engine that nobody is logged in to, at the end and later', async () => {
    const says = {
      type: 'result',
      subtype: 'success',
      is_error: true,
      result: 'Not logged in · Please run /login',
    };
    const program = squad.script(
      'bin/claude',
      `case "$*" in *--version*) echo '2.1.325 (Claude Code)'; exit;; esac\nread -r prompt\necho '${JSON.stringify(says)}'\nexit 1`,
    );
    const { code, stdout } = await squad.run(['run', '--engine', program, 'coder', 'x']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/failed {5}exit 1: Not logged in · Please run \/login \(ENGINE_NOT_LOGGED_IN\)/);
    const id = /run_\w+/.exec(stdout)![0];
    const next = `or set ANTHROPIC_API_KEY. Set-up: https://github.com/squad-mcp/squad/blob/main/docs/guides/engines/claude.md. Then: squad retry ${id}\n`;
    expect(stdout).toContain(next);
    expect(await squad.run(['wait', id])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('(ENGINE_NOT_LOGGED_IN)\n'),
      stderr: expect.stringContaining(next),
    });
    expect((await squad.run(['show', id])).stdout).toContain(next);
  });

  test("with --model, --permission and --budget counts more than the role's own", async () => {
    squad.write('own/cheap.md', '---\nmodel: small\npermission: read\nbudget: 1\n---\nYou code.');
    const env = { SQUAD_AGENTS_DIR: 'own' };
    const options = ['--model', 'big', '--permission', 'full', '--budget', '2.50'];
    const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', ...options, 'cheap', 'x'], {
      env,
    });
    const { run } = await squad.json<{ run: { model: string; options: object } }>(['show', runIds[0]!]);
    expect(run).toMatchObject({ model: 'big', options: { permission: 'full', budgetUsd: 2.5 } });
    await squad.run(['wait', runIds[0]!]);
  });

  test('says where the name of an engine came from that nobody knows', async () => {
    const { stderr } = await squad.run(['run', 'coder', 'x'], { env: { ENGINE_COMMAND: 'nope' } });
    expect(stderr).toContain('There is no engine "nope" (set in ENGINE_COMMAND)');
  });

  test.each([
    [['run', 'coder'], 'Expected ROLE "TASK" pairs, got 1 argument'],
    [['run', 'coder', 'a', 'planner'], 'Expected ROLE "TASK" pairs, got 3 arguments'],
    [['run', 'coder', 'x', '--timeout', 'soon'], 'Invalid value for --timeout: "soon"'],
    [['run', 'coder', 'x', '--timeout', '0'], 'Invalid value for --timeout: "0"'],
    [['run', 'coder', 'x', '--budget', '0'], 'Invalid value for --budget: "0"'],
    [['run', 'coder', 'x', '--permission', 'all'], 'Allowed choices are read, edit, full'],
    [['run', 'codr', 'x'], 'Did you mean coder'],
    [['run', 'coder', ''], 'The task is empty'],
    [['run', 'coder', 'x', '--cwd', '..'], 'is outside the workspace'],
    [['run', 'coder', 'x', '--engine', 'none'], 'There is no engine "none"'],
    [['run', 'coder', 'x', '--only', 'planner'], '--only planner matches none of these runs'],
  ])('refuses wrong use with 2 and starts nothing: %j', async (args, words) => {
    const { runs: before } = await squad.json<{ runs: unknown[] }>(['ls', '-n', '1000']);
    expect(await squad.run(args)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(words),
    });
    expect((await squad.json<{ runs: unknown[] }>(['ls', '-n', '1000'])).runs).toHaveLength(before.length);
  });

  test('goes on when the hub is restarted under it, and then ends', async () => {
    const child = squad.start(['run', 'coder', fenced('say up\nawait release\nsay done')]);
    const ran = ended(child);
    await until('the agent is running', async () => {
      const { runs } = await squad.json<{ runs: { status: string }[] }>(['ls', '--running']);
      return runs[0]?.status === 'running';
    });
    await squad.run(['hub', 'stop']);
    squad.write('release', '');
    expect(await ran).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('done 1') });
  });
});

describe('Ctrl-C', () => {
  const hang = (name: string) => fenced(`run echo $PPID >${name}\nhang`);
  const pidIn = (name: string) =>
    until(`${name} is there`, () => {
      const file = join(squad.workspace, name);
      return existsSync(file) ? Number(readFileSync(file, 'utf8')) : null;
    });

  test('once asks the agents to stop, says so, waits for them and ends with 130', async () => {
    const child = squad.start(['run', 'coder', hang('one.pid')]);
    const ran = ended(child);
    const pid = await pidIn('one.pid');
    child.kill('SIGINT');
    const { code, stdout } = await ran;
    expect(code).toBe(130);
    expect(stdout).toContain('Stopping the agents…');
    expect(stdout).toMatch(/coder {2}cancelled/);
    expect(isAlive(pid)).toBe(false);
  });

  test('twice leaves at once, and a deaf agent is ended all the same', async () => {
    const child = squad.start(['run', 'coder', fenced('deafen\nrun echo $PPID >two.pid\nhang')]);
    let said = '';
    child.stdout!.on('data', chunk => {
      said += chunk;
    });
    const code = new Promise(settle => child.once('close', settle));
    const pid = await pidIn('two.pid');
    child.kill('SIGINT');
    await until('it says so', () => said.includes('Stopping the agents…'));
    child.kill('SIGINT');
    expect(await code).toBe(130);
    await until('the agent is gone', () => !isAlive(pid));
  });

  test('with --json tells of it on standard error and keeps standard output for events and the result', async () => {
    const child = squad.start(['run', '--json', 'coder', hang('three.pid')]);
    const ran = ended(child);
    await pidIn('three.pid');
    child.kill('SIGINT');
    const { code, stdout, stderr } = await ran;
    expect(code).toBe(130);
    expect(stderr).toContain('Stopping the agents…');
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as EventLine);
    expect(lines.slice(-2)).toMatchObject([
      { type: 'run.ended', status: 'cancelled' },
      { type: 'result', exitCode: 130, runs: [{ status: 'cancelled' }] },
    ]);
  });
});

describe('on a terminal', () => {
  const NASTY = '\u001b]0;owned\u0007\u001b[2Jred\u001b[31m\u009b8m\u0007\u202eflip';

  test('a run is shown live and leaves only its lines behind', async () => {
    const screen = Screen.open(squad, ['run', 'coder', fenced('say busy\nawait shown\nsay done')]);
    try {
      await screen.shows(' running 1');
      await screen.shows('busy');
      squad.write('shown', '');
      const { code } = await screen.ended();
      expect(code).toBe(0);
      const lines = screen.lines();
      expect(lines.filter(line => line.includes(' running 1'))).toEqual([]);
      expect(lines.filter(line => /coder {2}done/.test(line)).length).toBeGreaterThan(0);
    } finally {
      screen.close();
    }
  });

  test.each([100, 60])('nothing is wider than %d columns', async columns => {
    const screen = Screen.open(squad, ['demo'], { columns, rows: 100, env: { TMPDIR: squad.root } });
    try {
      const { code } = await screen.ended();
      expect(code).toBe(0);
      // A line that is too wide is broken by the terminal, and its rest begins a line of its own.
      const lines = screen.lines();
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
      expect(lines.filter(line => /started/.test(line))).toHaveLength(4);
      expect(lines).toContain('  squad show RUN  what each of them reported');
      expect(lines).toContainEqual(
        expect.stringMatching(/^ {2}squad install claude-code +adds it to an MCP client$/),
      );
    } finally {
      screen.close();
    }
  });

  test('control characters of an agent have no effect on the terminal', async () => {
    squad.write('nasty.txt', NASTY);
    const task = fenced('try cat nasty.txt; cat nasty.txt >&2\nstderr plain\nsay after');
    const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', 'coder', `${NASTY}\n${task}`]);
    await squad.run(['log', '-f', runIds[0]!]);
    const commands: [string[], string][] = [
      [['log', runIds[0]!], 'after'],
      [['show', runIds[0]!], '␛]0;owned␇␛[2Jred␛[31m<U+009B>8m␇<U+202E>flip'],
      [['ls'], '␛]0;owned␇␛[2J'],
      [['run', 'coder', task], 'coder'],
    ];
    for (const [args, harmless] of commands) {
      const screen = Screen.open(squad, args);
      try {
        const { bytes } = await screen.ended();
        expect(bytes).toContain(harmless);
        for (const bad of [
          `${ESCAPE}]0;owned`,
          `${ESCAPE}[2J`,
          '\u009b',
          '\u202e',
          `red${ESCAPE}[31m`,
          '\u0007',
        ])
          expect([args[0], bad, bytes.includes(bad)]).toEqual([args[0], bad, false]);
      } finally {
        screen.close();
      }
    }
  });

  test('NO_COLOR and a pipe get no escape codes, FORCE_COLOR does', async () => {
    const screen = Screen.open(squad, ['roles'], { env: { NO_COLOR: '1' } });
    try {
      expect((await screen.ended()).bytes).not.toContain(ESCAPE);
    } finally {
      screen.close();
    }
    for (const args of [['ls'], ['roles'], ['config', 'show'], ['doctor'], ['help']])
      expect((await squad.run(args)).stdout).not.toContain(ESCAPE);
    expect((await squad.run(['roles'], { env: { FORCE_COLOR: '1' } })).stdout).toContain(ESCAPE);
  });
});
