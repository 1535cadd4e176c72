import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { PLAIN_OPTIONS } from '../core/testing/plain-options.ts';
import type { CliId } from '../schema/engine-spec.ts';
import { cliProfile } from './cli-profiles.ts';
import { codexPermissions } from './codex/codex-permissions.ts';
import { addressesIn, hostsIn } from './sandbox-needs.ts';

const hosts = (cli: CliId, env: Record<string, string>, model: string | null = null) =>
  cliProfile(cli).sandbox({ env: { HOME: '/home/u', ...env }, model, cwd: '/work', options: PLAIN_OPTIONS })
    .hosts ?? [];

test.each<[CliId, Record<string, string>, string[]]>([
  [
    'claude',
    { ANTHROPIC_BASE_URL: 'https://gate.example:8443/x' },
    ['api.anthropic.com', 'gate.example:8443'],
  ],
  [
    'claude',
    { CLAUDE_CODE_USE_BEDROCK: '1', AWS_REGION: 'eu-west-1' },
    ['bedrock-runtime.eu-west-1.amazonaws.com'],
  ],
  [
    'claude',
    { CLAUDE_CODE_USE_VERTEX: '1', VERTEX_REGION_CLAUDE_4_6_SONNET: 'europe-west1' },
    ['europe-west1-aiplatform.googleapis.com', 'aiplatform.eu.rep.googleapis.com'],
  ],
  ['claude', { ANTHROPIC_FOUNDRY_RESOURCE: 'mine' }, ['mine.services.ai.azure.com']],
  ['codex', { OPENAI_BASE_URL: 'http://models.example/v1' }, ['api.openai.com', 'models.example']],
  [
    'gemini',
    { GOOGLE_GEMINI_BASE_URL: 'https://g.example' },
    ['generativelanguage.googleapis.com', 'g.example'],
  ],
  ['qwen', { OPENAI_API_KEY: 'k' }, ['api.openai.com']],
  ['copilot', { COPILOT_PROVIDER_BASE_URL: 'https://p.example' }, ['*.githubcopilot.com', 'p.example']],
])('%s with %j reaches %j', { tags: ['I2'] }, (cli, env, expected) => {
  expect(hosts(cli, env)).toEqual(expect.arrayContaining(expected));
});

test('opencode reaches only the provider of its model, or of its configuration', { tags: ['I2'] }, () => {
  const content = JSON.stringify({ provider: { mine: { options: { baseURL: 'https://mine.example/v1' } } } });
  expect(hosts('opencode', { OPENCODE_CONFIG_CONTENT: content }, 'groq/x')).toEqual([
    'api.groq.com',
    'mine.example',
  ]);
});

test('addresses in a configuration of Codex count too', { tags: ['I2'] }, () => {
  const home = mkdtempSync(join(tmpdir(), 'squad-codex-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const file = join(home, '.codex/config.toml');
  mkdirSync(dirname(file));
  writeFileSync(file, '[model_providers.own]\nbase_url = "https://own.example/v1"\n');
  expect(hosts('codex', { HOME: home })).toContain('own.example');
});

test('a value that is not the address of a host is left out', () => {
  expect(
    hostsIn([
      '',
      undefined,
      'x',
      'file:///etc',
      'http://[::1]:8080',
      'https://a.example',
      'https://a.example/b',
    ]),
  ).toEqual(['a.example']);
  expect(
    addressesIn('baseURL: "https://a.example", base_url=\'http://b.example\', url = "https://c.example"'),
  ).toEqual(['https://a.example', 'http://b.example']);
});

test("Codex's own sandbox is off inside ours, which then holds that it writes nothing", {
  tags: ['I4'],
}, () => {
  const sandbox = { level: 'workspace' as const };
  for (const permission of ['read', 'edit', 'full'] as const)
    expect(codexPermissions({ permission, tools: null, sandbox })).toEqual([
      '--sandbox=danger-full-access',
      '--ignore-rules',
    ]);
  const needs = (tools: string[] | null) =>
    cliProfile('codex').sandbox({ env: {}, model: null, cwd: '/', options: { ...PLAIN_OPTIONS, tools } });
  expect(needs(['Read']).isReadOnly).toBe(true);
  expect(needs(null).isReadOnly).toBe(false);
});
