import type { ModelSpec } from '../schema/model-spec.ts';
import { MODEL_PROVIDERS } from '../schema/subagent-names.ts';

export interface Address {
  url: string;
  /** What follows its `?`, or nothing. */
  query: string;
  /** It is the maker's own. */
  isUsual: boolean;
}

/** Where a model is asked: what its file says, else the variable its maker's tools know, else the maker. */
export function addressOf({ type, baseUrl }: ModelSpec, env: NodeJS.ProcessEnv): Address {
  const { address, addressVariables, addsVersion } = MODEL_PROVIDERS[type];
  const usual = new URL(address);
  const given = baseUrl ?? addressVariables.map(name => env[name]).find(Boolean) ?? address;
  const [place = '', query = ''] = given.replace(/#.*$/s, '').split(/\?(.*)/s);
  const plain = place.replace(/\/+$/, '');
  if (!URL.canParse(plain) || !/^https?:/i.test(plain))
    throw new Error(
      `${JSON.stringify(plainAddress(given))} is not an address of a model: it begins with http:// or https://`,
    );
  const { pathname, host } = new URL(plain);
  const isBare = pathname === '/';
  const hasVersion = /\/v\d\w*$/.test(pathname);
  const url = isBare || (addsVersion && !hasVersion) ? plain + usual.pathname : plain;
  return { url, query, isUsual: host === usual.host };
}

/** An address to be shown: without what may be a secret in it. */
export const plainAddress = (address: string): string =>
  address.replace(/[?#].*$/s, '').replace(/\/\/[^/]*@/, '//');
