import type { ModelSpec } from '../schema/model-spec.ts';
import { MODEL_PROVIDERS } from '../schema/subagent-names.ts';

export interface Address {
  url: string;
  /** Without the `?`; may be empty. */
  query: string;
  /** It is the provider's own server, not a proxy or a compatible one. */
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
