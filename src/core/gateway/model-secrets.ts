import type { Secret } from '../../redaction/redactor.ts';
import type { ModelSpec } from '../../schema/model-spec.ts';
import { addressSecrets } from './address-secrets.ts';
import { isOrdinaryVariable, looksSecretHeader } from './secret-names.ts';
import { namesIn } from './substitution.ts';

/** A model on one's own machine wants some key, and gets a word: to hide that would hide what is talked about. */
const SHORTEST_KEY = 8;

/** What nobody but the provider of a model is to see: its key, and what goes into the headers and the address of its requests. */
export function modelSecrets(model: ModelSpec, env: Readonly<Record<string, string>>): Secret[] {
  const { apiKeyEnv, headers } = model;
  const named = Object.values(headers).flatMap(namesIn);
  const variables = new Set(apiKeyEnv === null ? named : [apiKeyEnv, ...named]);
  const literal = Object.entries(headers).filter(
    ([name, text]) => looksSecretHeader(name) && namesIn(text).length === 0,
  );
  const sent = [
    ...[...variables]
      .filter(name => !isOrdinaryVariable(name))
      .map(name => ({ name, value: env[name] ?? '' })),
    // `Bearer abc`: the scheme is no secret, and what follows may turn up without it.
    ...literal.map(([name, text]) => ({ name, value: text.replace(/^\S+ (?=\S+$)/, '') })),
  ].filter(({ value }) => value.length >= SHORTEST_KEY);
  return [...sent, ...addressSecrets(model, env).filter(({ value }) => value !== '')];
}
