import { describe, expect, test } from 'vitest';
import type { CliId } from '../schema/engine-spec.ts';
import { createCliEngine } from './cli-profile.ts';
import { cliProfiles } from './cli-profiles.ts';

const NETWORK = ['HTTPS_PROXY', 'no_proxy', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE'];
/** Keys of servers an agent may reach through Squad. */
const OTHERS = [
  ...['TRACKER_TOKEN', 'LINEAR_API_KEY', 'NOTION_TOKEN', 'DATABASE_URL', 'GOOGLE_MAPS_API_KEY'],
  ...['MY_ANTHROPIC_API_KEY', 'GITHUB_TOKEN_OF_THE_TEAM', 'PROXY_PASSWORD'],
];

const NEEDED: Record<CliId, string[]> = {
  claude: [
    ...['ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL', 'CLAUDE_CODE_OAUTH_TOKEN', 'CLAUDE_CONFIG_DIR'],
    ...['AWS_PROFILE', 'AWS_BEARER_TOKEN_BEDROCK', 'CLOUD_ML_REGION', 'VERTEX_REGION_CLAUDE_4_0_OPUS'],
    ...['GOOGLE_APPLICATION_CREDENTIALS', 'GOOGLE_CLOUD_PROJECT', 'AZURE_CLIENT_SECRET', 'AZURE_TENANT_ID'],
  ],
  codex: ['CODEX_API_KEY', 'CODEX_HOME', 'OPENAI_API_KEY', 'AZURE_OPENAI_API_KEY'],
  copilot: [
    ...['COPILOT_GITHUB_TOKEN', 'COPILOT_PROVIDER_API_KEY', 'COPILOT_HOME'],
    ...['GH_TOKEN', 'GITHUB_TOKEN', 'GH_HOST'],
  ],
  cursor: ['CURSOR_API_KEY'],
  gemini: [
    ...['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENAI_USE_VERTEXAI', 'GOOGLE_GEMINI_BASE_URL'],
    ...['GOOGLE_CLOUD_PROJECT', 'GOOGLE_APPLICATION_CREDENTIALS', 'GOOGLE_VERTEX_BASE_URL'],
  ],
  opencode: [
    ...['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'OPENROUTER_API_KEY', 'GROQ_API_KEY', 'OPENCODE_CONFIG'],
    ...['AWS_ACCESS_KEY_ID', 'AZURE_RESOURCE_NAME', 'GOOGLE_GENERATIVE_AI_API_KEY', 'GOOGLE_VERTEX_PROJECT'],
  ],
  qwen: [
    ...['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'DASHSCOPE_API_KEY', 'ANTHROPIC_API_KEY', 'GEMINI_API_KEY'],
    ...['GOOGLE_API_KEY', 'BAILIAN_CODING_PLAN_API_KEY', 'QWEN_HOME'],
  ],
};

describe.each(cliProfiles().map(profile => [profile.id, profile] as const))('%s', (id, profile) => {
  const engine = createCliEngine(profile, { program: '/opt/bin/agent', version: null });

  test.each([...NEEDED[id], ...NETWORK])('cannot do without %s', name => {
    expect(engine.needsVariable(name)).toBe(true);
  });

  test.each(OTHERS)('has no need of %s', name => {
    expect(engine.needsVariable(name)).toBe(false);
  });
});

test("GitHub's token is Copilot's alone", () => {
  const having = cliProfiles().filter(({ variables }) => variables.test('GITHUB_TOKEN'));
  expect(having.map(({ id }) => id)).toEqual(['copilot']);
});
