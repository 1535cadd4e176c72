import type { ModelSpec, ModelType } from '../schema/model-spec.ts';

interface Place {
  usual: string;
  variables: readonly string[];
  /** What comes after a bare host. */
  path: string;
  /** Whether people leave it out even after a path: the makers' own tools add it themselves. */
  addsPath: boolean;
}

const OPENAI: Place = {
  usual: 'https://api.openai.com/v1',
  variables: ['OPENAI_BASE_URL'],
  path: '/v1',
  addsPath: false,
};

const PLACES: Record<ModelType, Place> = {
  anthropic: {
    usual: 'https://api.anthropic.com/v1',
    variables: ['ANTHROPIC_BASE_URL'],
    path: '/v1',
    addsPath: true,
  },
  openai: OPENAI,
  responses: OPENAI,
  google: {
    usual: 'https://generativelanguage.googleapis.com/v1beta',
    variables: ['GOOGLE_GENERATIVE_AI_BASE_URL', 'GEMINI_BASE_URL', 'GOOGLE_GEMINI_BASE_URL'],
    path: '/v1beta',
    addsPath: true,
  },
};

export interface Address {
  url: string;
  /** It is the maker's own. */
  isUsual: boolean;
}

/** Where a model is asked: what its file says, else the variable its maker's tools know, else the maker. */
export function addressOf({ type, baseUrl }: ModelSpec, env: NodeJS.ProcessEnv): Address {
  const { usual, variables, path, addsPath } = PLACES[type];
  const given = baseUrl ?? variables.map(name => env[name]).find(Boolean) ?? usual;
  const plain = given.replace(/\/+$/, '');
  if (!URL.canParse(plain) || !/^https?:/i.test(plain))
    throw new Error(
      `${JSON.stringify(given)} is not an address of a model: it begins with http:// or https://`,
    );
  const { pathname, host } = new URL(plain);
  const isBare = pathname === '/';
  const hasVersion = /\/v\d\w*$/.test(pathname);
  const url = isBare || (addsPath && !hasVersion) ? plain + path : plain;
  return { url, isUsual: host === new URL(usual).host };
}
