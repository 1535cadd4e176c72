import { percentDecoded } from '../../base/percent-decoded.ts';
import type { Secret } from '../../redaction/redactor.ts';
import { MODEL_PROVIDERS } from '../../schema/model-providers.ts';
import type { ModelSpec } from '../../schema/model-spec.ts';
import { isOrdinaryVariable, looksSecretName } from './secret-names.ts';
import { namesIn } from './substitution.ts';
import { fillUrl } from './url-variables.ts';
import { urlSecrets } from './variables.ts';

/** Who asks, and what follows the question mark. Host and path are no secrets, and are told when something fails. */
const PRIVATE = /\/\/[^/?#]*@|\?.*/gs;
const AS_WRITTEN = /^(?:[a-z][a-z0-9+.-]*:\/\/)?[^:@/?#]*:(.+)@/is;

/** What is secret of where a model is asked: in the address its file gives, or in the variables of its maker's tools. */
export function addressSecrets(
  { type, baseUrl }: Pick<ModelSpec, 'type' | 'baseUrl'>,
  env: Readonly<Record<string, string>>,
): Secret[] {
  const given = baseUrl ?? '';
  const named = [
    ...(given.match(PRIVATE) ?? []).flatMap(namesIn),
    ...namesIn(given).filter(looksSecretName),
  ].filter(name => !isOrdinaryVariable(name));
  const filled = fillUrl(given, name => env[name] ?? '');
  const addresses = [
    ...('url' in filled ? [filled.url] : []),
    ...MODEL_PROVIDERS[type].addressVariables.map(name => env[name] ?? ''),
  ];
  return [
    ...[...new Set(named)].map(name => ({ name, value: env[name] ?? '' })),
    ...addresses.flatMap(secretsIn),
  ];
}

/** What cannot be asked is quoted when it is refused: what may be a password in it counts too. */
function secretsIn(address: string): Secret[] {
  if (/^https?:$/.test(URL.parse(address)?.protocol ?? ''))
    return [...urlSecrets(address), ...keyAsUser(address)];
  const password = AS_WRITTEN.exec(address)?.[1];
  return password ? [{ name: 'password', value: password }] : [];
}

/** `https://key@host`: a user without a password is the key. */
export function keyAsUser(address: string): Secret[] {
  const { username = '', password } = URL.parse(address) ?? {};
  return username && !password ? [{ name: 'user', value: percentDecoded(username) ?? username }] : [];
}
