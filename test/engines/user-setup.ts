/** A user's own set-up of each CLI, so that it talks to the scripted model: what Squad finds, and must not need to know. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type CliName, cliAt } from '../../scripts/engine-clis.ts';
import { cleanEnvironment } from './bare/command.ts';

interface SetUp {
  env: Record<string, string>;
  /** Path below the home → content. */
  files?: Record<string, string>;
}

/** Writes it into a home; the environment is all a client needs to hand down. */
export function setUpClis(names: CliName[], home: string, url: string): Record<string, string> {
  const env = cleanEnvironment(home);
  mkdirSync(join(home, 'bin'));
  for (const name of names) {
    symlinkSync(onPath(name), join(home, 'bin', name));
    const { env: more, files = {} } = SET_UPS[name](url);
    Object.assign(env, more);
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(home, path)), { recursive: true });
      writeFileSync(join(home, path), content);
    }
  }
  return { ...env, PATH: `${join(home, 'bin')}:${env.PATH}` };
}

/** Program on the PATH of a user. The one of Copilot is a launcher, and Squad has to find the program behind it. */
const onPath = (name: CliName) => (name === 'copilot' ? cliAt(name).launcher : cliAt(name).program);

const SET_UPS: Record<CliName, (url: string) => SetUp> = {
  claude: url => ({
    env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'fake-key', CLAUDE_CODE_MAX_RETRIES: '1' },
  }),
  codex: url => ({ env: { MOCK_KEY: 'fake-key' }, files: { '.codex/config.toml': codexConfig(url) } }),
  gemini: url => ({
    env: { GEMINI_API_KEY: 'fake-key', GOOGLE_GEMINI_BASE_URL: url, GEMINI_MODEL: 'gemini-3-pro' },
  }),
  opencode: url => ({
    env: {},
    files: { '.config/opencode/opencode.json': JSON.stringify(opencodeConfig(url)) },
  }),
  copilot: url => ({
    env: {
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_PROVIDER_API_KEY: 'fake-key',
      COPILOT_MODEL: 'mock-model',
      COPILOT_OFFLINE: 'true',
    },
  }),
  qwen: url => ({
    env: { OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'fake-key', OPENAI_MODEL: 'mock-model' },
    files: { '.qwen/settings.json': JSON.stringify({ security: { auth: { selectedType: 'openai' } } }) },
  }),
};

const codexConfig = (url: string) => `model = "mock-model"
model_provider = "mock"

[model_providers.mock]
name = "mock"
base_url = "${url}/v1"
env_key = "MOCK_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
`;

const opencodeConfig = (url: string) => ({
  model: 'mock/mock-model',
  provider: {
    mock: {
      npm: '@ai-sdk/openai-compatible',
      name: 'Mock',
      options: { baseURL: `${url}/v1`, apiKey: 'fake-key' },
      models: {
        'mock-model': {
          limit: { context: 200_000, output: 8000 },
          tool_call: true,
          cost: { input: 3, output: 15 },
        },
      },
    },
  },
});
