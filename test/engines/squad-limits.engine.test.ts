/** A user whose own set-up of a CLI allows everything: what Squad says is held is held all the same. */
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CliName } from '../../scripts/engine-clis.ts';
import type { Output } from '../../src/operations/operations.ts';
import type { PolicyRule } from '../../src/schema/run.ts';
import { until } from '../support/squad.ts';
import { chosenClis } from './chosen-clis.ts';
import { EngineSquad } from './engine-squad.ts';
import { mock } from './model-server/script.ts';

/** In the home, because the temp folder is one that Codex lets its agents write in. */
const outsideOf = (home: string) => join(home, 'outside');

function change(file: string, settings: object): void {
  mkdirSync(dirname(file), { recursive: true });
  const before = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  writeFileSync(file, JSON.stringify({ ...before, ...settings }));
}

const LIBERAL: Record<CliName, (home: string) => void> = {
  claude: home =>
    change(join(home, '.claude/settings.json'), {
      permissions: { allow: ['Bash', 'Write', 'Edit'], additionalDirectories: [outsideOf(home)] },
    }),
  codex: home => {
    appendFileSync(
      join(home, '.codex/config.toml'),
      `\n[sandbox_workspace_write]\nnetwork_access = true\nwritable_roots = ["${outsideOf(home)}"]\n`,
    );
    mkdirSync(join(home, '.codex/rules'));
    writeFileSync(
      join(home, '.codex/rules/mine.rules'),
      'prefix_rule(pattern=["touch"], decision="allow")\n',
    );
  },
  gemini: home => {
    change(join(home, '.gemini/settings.json'), { tools: { allowed: ['run_shell_command', 'write_file'] } });
    mkdirSync(join(home, '.gemini/policies'));
    writeFileSync(
      join(home, '.gemini/policies/mine.toml'),
      '[[rule]]\ntoolName = ["run_shell_command", "write_file"]\ndecision = "allow"\npriority = 999\n',
    );
  },
  opencode: home =>
    change(join(home, '.config/opencode/opencode.json'), {
      permission: { '*': 'allow', bash: 'allow', edit: 'allow' },
      agent: { build: { permission: { bash: 'allow', edit: 'allow' } } },
    }),
  copilot: home =>
    change(join(home, '.copilot/config.json'), { trusted_folders: ['/'], allowed_tools: ['shell', 'write'] }),
  qwen: home =>
    change(join(home, '.qwen/settings.json'), {
      tools: { allowed: ['run_shell_command', 'write_file'], approvalMode: 'yolo' },
      permissions: { allow: ['run_shell_command', 'write_file'] },
    }),
};

describe.each(chosenClis())('%s', name => {
  let it: EngineSquad;
  let home: string;

  /** Tries to make a file with a tool, and with a command; says which it made, and who was to hold it to its permission. */
  async function trial(
    tag: string,
    folder: string,
    more: { permission: string; tools?: string[] },
    limit = 'permission',
  ) {
    const [written, touched] = [join(folder, `${tag}-written`), join(folder, `${tag}-touched`)];
    const steps = [
      { write: { path: written, content: 'x' } },
      { shell: `touch ${touched}` },
      { text: 'Tried.' },
    ];
    const { spawn_id } = await it.spawn(name, `Try. ${mock(steps, tag)}`, more);
    const { run } = await it.squad.json<{ run: { policy: PolicyRule[] } }>(['show', spawn_id]);
    const rule = run.policy.find(({ rule }) => rule.startsWith(limit));
    return { heldBy: rule?.heldBy, made: [written, touched].filter(existsSync) };
  }

  describe('of a user who allows everything', () => {
    beforeAll(async () => {
      it = await EngineSquad.start([name], {
        prepare: async (_, agentsHome) => {
          home = agentsHome;
          mkdirSync(outsideOf(home));
          LIBERAL[name](home);
        },
      });
    });
    afterAll(() => it[Symbol.asyncDispose]());

    test('writes nothing with permission to read', { tags: ['F5'] }, async () => {
      const { heldBy, made } = await trial('read', it.squad.workspace, { permission: 'read' });
      expect({ heldBy, made }).toEqual({ heldBy: 'engine', made: [] });
    });

    test('uses no tool that is not on its list, where that is said to be held', {
      tags: ['F5'],
    }, async () => {
      const more = { permission: 'edit', tools: ['Read'] };
      const { heldBy, made } = await trial('listed', it.squad.workspace, more, 'tools');
      expect(heldBy).toBe(name === 'codex' ? 'advisory' : 'engine');
      if (heldBy === 'engine') expect(made).toEqual([]);
    });

    test('is said to hold no rule that is not tried here, with this version', { tags: ['F5'] }, async () => {
      // A CLI may be too slow for the first question: its answer is there for a later one.
      const { version, tested, rules } = await until(
        'the CLI prints its version',
        async () => {
          const { engines } = await it.squad.json<Output<'inspect_engines'>>(['doctor']);
          const engine = engines.find(({ id }) => id === name)!;
          return engine.version !== null && engine;
        },
        120_000,
      );
      expect(version).toBe(tested);
      const held = rules.filter(({ heldBy }) => heldBy === 'engine').map(({ rule }) => rule);
      expect(held).toEqual(
        name === 'codex' ? ['permission: read', 'permission: edit'] : ['permission: read', 'tools'],
      );
    });

    test('writes outside its folder only where that is said not to be held', async () => {
      const { heldBy, made } = await trial('edit', outsideOf(home), { permission: 'edit' });
      expect(heldBy).toBe(name === 'codex' ? 'engine' : 'advisory');
      if (heldBy === 'engine') expect(made).toEqual([]);
    });

    test('writes outside its folder without a shell only where that is said not to be held', async () => {
      const { heldBy, made } = await trial('files', outsideOf(home), {
        permission: 'edit',
        tools: ['Write'],
      });
      if (heldBy === 'engine') expect(made).toEqual([]);
      else expect(heldBy).toBe('advisory');
    });
  });

  describe('of any other user', () => {
    beforeAll(async () => {
      it = await EngineSquad.start([name], {
        prepare: async (_, agentsHome) => {
          home = agentsHome;
          mkdirSync(outsideOf(home));
        },
      });
    });
    afterAll(() => it[Symbol.asyncDispose]());

    test('is not let out of its folder by a rule in the list of its tools', async () => {
      // Only Claude Code has such rules.
      const tools = name === 'claude' ? ['Write', `Edit(/${outsideOf(home)}/**)`] : ['Write'];
      const { heldBy, made } = await trial('rule', outsideOf(home), { permission: 'edit', tools });
      if (name === 'claude' || heldBy === 'engine') expect(made).toEqual([]);
      else expect(heldBy).toBe('advisory');
    });
  });
});
