import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { script } from '../../support/git-squad.ts';
import { Screen } from '../../support/screen.ts';
import { BIN, TestSquad, until } from '../../support/squad.ts';

const squad = new TestSquad({ NODE: process.execPath, SQUAD: BIN });
const userFile = join(squad.root, 'user', '.config', 'squad', 'config.json');
const projectFile = join(squad.workspace, '.squad', 'squad.json');
const read = (file: string) => readFileSync(file, 'utf8');

beforeAll(() => squad.unlimited());
afterAll(() => squad[Symbol.asyncDispose]());

describe('squad config set', () => {
  test('writes to the file of the user, says where, and needs no workspace', async () => {
    const home = { cwd: join(squad.root, 'user') };
    expect(await squad.run(['config', 'set', 'engine', 'codex'], home)).toMatchObject({
      ...{ code: 0, stdout: `engine is codex in ${userFile}\n`, stderr: '' },
    });
    expect(read(userFile)).toBe('{\n  "engine": "codex"\n}\n');
    expect(await squad.run(['config', 'get', 'engine'])).toMatchObject({ code: 0, stdout: 'codex\n' });
    expect(await squad.json(['config', 'get', 'engine'])).toEqual({
      ...{ key: 'engine', value: 'codex', origin: 'user', source: userFile },
    });
    expect(await squad.run(['config', 'unset', 'engine'])).toMatchObject({ code: 0 });
    expect(read(userFile)).toBe('{\n}\n');
    expect(await squad.run(['config', 'get', 'engine'])).toMatchObject({
      ...{ code: 1, stdout: '', stderr: 'engine is not set\n' },
    });
  });

  test('keeps comments, indentation and a link', async () => {
    const target = join(squad.root, 'dotfiles.json');
    const text =
      '{\n\t// fast enough for us\n\t"processTimeoutMs": 1000, // ms\n\t"stateMode": "stateful",\n}\n';
    writeFileSync(target, text);
    rmSync(userFile);
    symlinkSync(target, userFile);
    await squad.run(['config', 'set', 'processTimeoutMs', '2000']);
    expect(read(target)).toBe(text.replace('1000', '2000'));
    await squad.run(['config', 'set', 'context.budgetTokens', '500']);
    expect(read(target)).toContain('\t// fast enough for us\n\t"processTimeoutMs": 2000, // ms\n');
    expect(read(target)).toMatch(/\n\t"context": \{\n\t\t"budgetTokens": 500\n\t\}/);
    expect(lstatSync(userFile).isSymbolicLink()).toBe(true);
    expect(await squad.json(['config', 'get', 'context.budgetTokens'])).toMatchObject({ value: 500 });
    rmSync(userFile);
  });

  test('in a project trusts exactly what it wrote, if the file was new or trusted', async () => {
    expect(await squad.run(['config', 'set', '--project', 'check', 'npm', 'test'])).toMatchObject({
      ...{ code: 0, stderr: '', stdout: `check is ["npm","test"] in ${projectFile}\n` },
    });
    expect((await squad.run(['trust'])).stdout).toContain('Nothing in this workspace needs your trust');
    await squad.run(['config', 'set', '--project', 'engine', 'scripted']);
    expect(await squad.json(['config', 'get', 'engine'])).toMatchObject({
      ...{ value: 'scripted', source: projectFile },
    });

    // Somebody else adds a command: nothing that follows makes it trusted.
    writeFileSync(projectFile, '{ "onEnd": ["touch", "owned"] }');
    const set = await squad.run(['config', 'set', '--project', 'engine', 'scripted']);
    expect(set.stderr).toContain('is not trusted, so engine has no effect yet: squad trust');
    expect(await squad.json(['config', 'get', 'engine'])).toMatchObject({ value: null });

    // Without anything that needs trust, all that counts is what the user writes now.
    writeFileSync(projectFile, '{ "stateMode": "stateless" }');
    await squad.run(['config', 'set', '--project', 'engine', 'scripted']);
    expect(await squad.json(['config', 'get', 'engine'])).toMatchObject({ value: 'scripted' });
  });

  test('says when another place comes first', async () => {
    writeFileSync(projectFile, '{ "stateMode": "stateless" }');
    const { stderr } = await squad.run(['config', 'set', 'stateMode', 'stateful']);
    expect(stderr.replaceAll('\n', ' ')).toContain(
      `Here stateMode is stateless, because ${projectFile} comes first.`,
    );
    await squad.run(['config', 'unset', 'stateMode']);
  });

  test.each([
    [['engine', 'codx'], 'Did you mean codex?'],
    [['engin', 'codex'], 'Did you mean engine'],
    [['processTimeoutMs', 'soon'], 'expected number'],
    [['processTimeoutMs', '0'], 'processTimeoutMs cannot be "0"'],
    [['context.budget', '5'], 'Did you mean budgetTokens'],
    [['--project', 'allowedRoots', '/'], 'Nothing was written'],
    [['--project', '--user', 'engine', 'codex'], 'cannot be combined'],
    [['--user', 'limits.depth', '1'], 'is a limit of the hub'],
  ])('refuses %j and writes nothing', async (words, problem) => {
    const before = [existsSync(userFile) && read(userFile), read(projectFile)];
    expect(await squad.run(['config', 'set', ...words])).toMatchObject({
      ...{ code: 2, stdout: '', stderr: expect.stringContaining(problem) },
    });
    expect([existsSync(userFile) && read(userFile), read(projectFile)]).toEqual(before);
  });

  test('is not for agents', async () => {
    const before = read(projectFile);
    const { stdout } = await squad.run([
      ...['run', '--engine', 'scripted', 'planner'],
      `Do it.${script('try "$NODE" "$SQUAD" config set --project engine codex')}`,
    ]);
    expect(stdout).toContain('NOT_ALLOWED');
    expect(read(projectFile)).toBe(before);
  });
});

describe('squad run on a terminal', () => {
  let screen: Screen | null = null;
  const close = () => {
    screen?.close();
    screen = null;
  };
  afterEach(close);

  const role = (more = '') =>
    squad.write('agents/scout.md', `---\nengine: scripted\n---\nYou look.${more}\n`);
  const open = (env: Record<string, string> = {}) => {
    close();
    screen = Screen.open(squad, ['run', 'scout', `Look.${script('report Seen.')}`], { env });
    return screen;
  };

  test('shows what is not trusted, asks once, and continues', async () => {
    mkdirSync(join(squad.workspace, 'agents'), { recursive: true });
    squad.write('agents/other.md', '---\npermission: full\n---\nNot used here.\n');
    role(' \u202eflip');
    const shown = open();
    await shown.shows('Trust it? [y/N]');
    const text = shown.lines().join('\n');
    expect(text).toContain('engine: scripted');
    expect(text).toContain('<U+202E>flip');
    expect(text).not.toContain('Not used here');
    shown.press('y', 'Enter');
    expect((await shown.ended()).code).toBe(0);
    expect(shown.lines().join('\n')).toContain('Seen.');

    const again = open();
    expect((await again.ended()).code).toBe(0);
    expect(again.lines().join('\n')).not.toContain('[y/N]');
  });

  test('a no is kept until the content changes, and nothing runs in its place', async () => {
    role(' Twice.');
    const refused = open();
    await refused.shows('Trust it? [y/N]');
    refused.press('Enter');
    expect((await refused.ended()).code).toBe(2);
    expect(refused.lines().join('\n')).toContain('ENGINE_NOT_TRUSTED');

    const again = open();
    expect((await again.ended()).code).toBe(2);
    expect(again.lines().join('\n')).not.toContain('[y/N]');

    role(' Three times.');
    await open().shows('Trust it? [y/N]');
  });

  test('a process of an agent is never asked', { tags: ['B2'] }, async () => {
    role(' Four times.');
    const { runIds } = await squad.json<{ runIds: [string] }>([
      ...['run', '-d', '--engine', 'scripted', 'scout', `Wait.${script('hang')}`],
    ]);
    await until('it is running', async () => (await squad.statusOf(runIds[0])) === 'running');
    const agents = open({ SQUAD_RUN_ID: runIds[0], SQUAD_TURN: '1' });
    expect((await agents.ended()).code).not.toBe(0);
    expect(agents.lines().join('\n')).not.toContain('[y/N]');
    // With the end of the run everything that has its mark is ended, this terminal too.
    close();
    await squad.run(['cancel', runIds[0]]);
  });
});
