import type { JSONValue, LanguageModelCallOptions } from 'ai';
import type { ModelSpec } from '../schema/model-spec.ts';
import { MODEL_PROVIDERS } from '../schema/subagent-names.ts';

export interface Generation {
  settings: LanguageModelCallOptions;
  providerOptions: Record<string, Record<string, JSONValue>>;
  /** Notes for the user about settings that were left out. */
  notes: string[];
}

type Effort = NonNullable<LanguageModelCallOptions['reasoning']>;
const EFFORTS: readonly string[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] satisfies Effort[];

/** Translates our generation options into those of the SDK. */
export function generationOf(spec: ModelSpec, isDefaultHost: boolean): Generation {
  const { thinking, ...settings } = spec.generation;
  const own = ownOptions(spec, isDefaultHost);
  if (thinking === undefined) return { settings, providerOptions: own, notes: [] };
  if (typeof thinking === 'string' && EFFORTS.includes(thinking))
    return { settings: { ...settings, reasoning: thinking as Effort }, providerOptions: own, notes: [] };
  const [provider, more] = thinkingOptions(spec.type, thinking);
  if (more === null)
    return {
      settings,
      providerOptions: own,
      notes: [
        `thinking: ${thinking} is ignored: this provider accepts a level (low, medium, high), not a number of tokens.`,
      ],
    };
  return { settings, providerOptions: { ...own, [provider]: { ...own[provider], ...more } }, notes: [] };
}

function ownOptions({ type }: ModelSpec, isDefaultHost: boolean): Generation['providerOptions'] {
  // Caching is on, because every model turn sends the whole conversation again, and reading it from the cache costs a
  // tenth.
  if (type === 'anthropic' && isDefaultHost) return { anthropic: { cacheControl: { type: 'ephemeral' } } };
  // Squad stores the whole chat itself, so the provider does not have to.
  if (type === 'responses') return { openai: { store: false } };
  return {};
}

function thinkingOptions(
  type: ModelSpec['type'],
  thinking: number | string,
): [provider: string, options: Record<string, JSONValue> | null] {
  const isNumber = typeof thinking === 'number';
  if (type === 'anthropic')
    return [
      type,
      isNumber ? { thinking: { type: 'enabled', budgetTokens: thinking } } : { effort: thinking },
    ];
  if (type === 'google') {
    const depth = isNumber ? { thinkingBudget: thinking } : { thinkingLevel: thinking };
    return [type, { thinkingConfig: { ...depth, includeThoughts: true } }];
  }
  return ['openai', isNumber ? null : { reasoningEffort: thinking }];
}

export interface Address {
  url: string;
  /** Query string without the `?`. Empty if there is none. */
  query: string;
  /** True if the address is the provider's own server, not a proxy or a compatible server. */
  isDefaultHost: boolean;
}

/** The address of a model's API: from its file, or the provider's usual environment variable, or the provider's default. */
export function addressOf({ type, baseUrl }: ModelSpec, env: NodeJS.ProcessEnv): Address {
  const { address, addressVariables, addsVersion } = MODEL_PROVIDERS[type];
  const usual = new URL(address);
  const given = baseUrl ?? addressVariables.map(name => env[name]).find(Boolean) ?? address;
  const [place = '', query = ''] = given.replace(/#.*$/s, '').split(/\?(.*)/s);
  const plain = place.replace(/\/+$/, '');
  if (!URL.canParse(plain) || !/^https?:/i.test(plain))
    throw new Error(
      `Invalid model address ${JSON.stringify(plainAddress(given))}: it must start with http:// or https://`,
    );
  const { pathname, host } = new URL(plain);
  const isBare = pathname === '/';
  const hasVersion = /\/v\d\w*$/.test(pathname);
  const url = isBare || (addsVersion && !hasVersion) ? plain + usual.pathname : plain;
  return { url, query, isDefaultHost: host === usual.host };
}

/** An address without user, query and fragment, which may hold secrets. */
export const plainAddress = (address: string): string =>
  address.replace(/[?#].*$/s, '').replace(/\/\/[^/]*@/, '//');
