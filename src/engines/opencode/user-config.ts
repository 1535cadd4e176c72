import { readFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { parse } from 'jsonc-parser';
import type { TurnInput } from '../../core/ports/engine.ts';
import type { CliProfile } from '../cli-profile.ts';
import { fields, text } from '../json-line.ts';
import { readText } from '../read-text.ts';
import { addressesIn, cloudLogin, filesOf, homeOf, hostsIn, namedFiles } from '../sandbox-needs.ts';
import { dataPath } from './opencode-log.ts';

/** The user's own MCP servers, which opencode can only disable by name. */
export function usersServers(env: Record<string, string>): string[] {
  const names = usersFiles(env).flatMap(file => Object.keys(fields(fields(parsed(file)).mcp)));
  return [...new Set(names)];
}

/** The model of a new chat. A continued chat keeps its model. */
export function configuredModel({ env, continues }: Pick<TurnInput, 'env' | 'continues'>): string | null {
  if (continues) return null;
  const configs = [...usersFiles(env).map(parsed), parse(env.OPENCODE_CONFIG_CONTENT ?? '')];
  const model = configs.map(config => text(fields(config).model)).findLast(name => name !== null) ?? null;
  // opencode replaces `{env:NAME}` and `{file:PATH}`, so the final model name is unknown here.
  return model?.includes('{') ? null : model;
}

/** The user's configuration files. Later files override earlier ones. */
function usersFiles(env: Record<string, string>): string[] {
  const {
    XDG_CONFIG_HOME: moved = '',
    HOME = '/',
    OPENCODE_CONFIG: named,
    OPENCODE_CONFIG_DIR: folder,
  } = env;
  const inFolder = (path: string) => NAMES.map(name => join(path, name));
  return [
    ...inFolder(join(isAbsolute(moved) ? moved : join(HOME, '.config'), 'opencode')),
    ...(named ? [named] : []),
    ...(folder ? inFolder(folder) : []),
  ];
}

const NAMES = ['config.json', 'opencode.json', 'opencode.jsonc'];

function parsed(file: string): unknown {
  try {
    return parse(readFileSync(file, 'utf8'), [], { allowTrailingComma: true });
  } catch {
    return null; // the file is missing or not readable, for opencode as well
  }
}

/** Hosts of providers. The key is the part before the slash in a model's name. */
const PROVIDER_HOSTS: Record<string, readonly string[]> = {
  opencode: ['opencode.ai'],
  'opencode-go': ['opencode.ai'],
  anthropic: ['api.anthropic.com'],
  openai: ['api.openai.com', 'chatgpt.com', 'auth.openai.com'],
  google: ['generativelanguage.googleapis.com'],
  'github-copilot': ['*.githubcopilot.com', 'api.github.com'],
  openrouter: ['openrouter.ai'],
  groq: ['api.groq.com'],
  mistral: ['api.mistral.ai'],
  xai: ['api.x.ai', 'auth.x.ai'],
  deepseek: ['api.deepseek.com'],
  cerebras: ['api.cerebras.ai'],
  togetherai: ['api.together.xyz'],
  'fireworks-ai': ['api.fireworks.ai'],
  zhipuai: ['open.bigmodel.cn'],
  'zhipuai-coding-plan': ['open.bigmodel.cn'],
  zai: ['api.z.ai'],
  'zai-coding-plan': ['api.z.ai'],
  moonshotai: ['api.moonshot.ai'],
  'moonshotai-cn': ['api.moonshot.cn'],
  alibaba: ['dashscope-intl.aliyuncs.com'],
  minimax: ['api.minimax.io'],
};

/**
 * Allows the addresses in the user's configuration and the hosts of providers. If the model is known, only its
 * provider's hosts are allowed.
 */
export const opencodeSandbox: CliProfile['sandbox'] = ({ env, model }) => {
  const home = homeOf(env);
  const provider = model?.split('/')[0] ?? '';
  const cloud = cloudLogin(env, {
    aws: provider === 'amazon-bedrock',
    google: provider.startsWith('google-vertex'),
  });
  const configs = [...usersFiles(env).map(readText), env.OPENCODE_CONFIG_CONTENT ?? ''];
  const known = PROVIDER_HOSTS[provider] ?? Object.values(PROVIDER_HOSTS).flat();
  const moved = env.XDG_CONFIG_HOME;
  return {
    login: [
      ...filesOf(dataPath(env), join(home, '.local/share/opencode'), ['auth.json']),
      ...filesOf(
        join(moved && isAbsolute(moved) ? moved : join(home, '.config'), 'opencode'),
        join(home, '.config/opencode'),
        [...NAMES, 'AGENTS.md'],
      ),
      ...namedFiles(env, ['OPENCODE_CONFIG', 'OPENCODE_CONFIG_DIR']),
      ...cloud.login,
    ],
    hosts: [
      ...known,
      ...hostsIn([env.ANTHROPIC_BASE_URL, env.OPENAI_BASE_URL, ...configs.flatMap(addressesIn)]),
      ...cloud.hosts,
    ],
  };
};
