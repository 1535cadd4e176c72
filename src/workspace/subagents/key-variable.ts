import type { SubagentModel } from '../../schema/subagent-model.ts';
import type { Findings } from './findings.ts';
import { isLocal, type Provider } from './providers.ts';
import type { Variables } from './variables.ts';
import type { Path } from './yaml-source.ts';

/** The variable that holds the key of a model; null: no key is sent. Said when it is not set. */
export function keyVariableOf(
  { api_key_env: given, auth_method: method, base_url }: Partial<SubagentModel>,
  path: Path,
  { host, keyVariable }: Provider,
  address: string | null,
  { env }: Variables,
  findings: Findings,
): string | null {
  const asked = URL.parse(address ?? '')?.hostname ?? host;
  const at = [...path, 'api_key_env'];
  // A key is for the provider it was made for: nobody else is sent it unless the file says so.
  const name = given || (base_url && asked !== host ? null : keyVariable(env));
  if (name !== null && !isName(name)) {
    findings.error(at, '"api_key_env" is not the name of a variable', {
      code: 'API_KEY_MISSING',
      suggestion: 'Put the key into a variable, and the name of that variable here.',
    });
    return null;
  }
  if (method && !/^api_?key$/i.test(method))
    findings.warn(
      [...path, 'auth_method'],
      `"${method}" is not there in Squad: ${name === null ? 'no key is sent' : `the key in ${name} is used instead`}`,
    );
  if (name === null && !isLocal(asked))
    findings.warn([...path, 'base_url'], `no key is sent to ${asked}: there is no "api_key_env"`, {
      suggestion: 'Add "api_key_env" with the name of the variable that holds the key, if it wants one.',
    });
  if (name !== null && !env[name])
    findings.lacking(given ? at : path, `the API key is missing: the variable ${name} is not set`, {
      code: 'API_KEY_MISSING',
      suggestion: `Set ${name} in the environment of the program that starts Squad (its "env" in the client's configuration).`,
    });
  return name;
}

/** What is none may be the key itself, which is not repeated to anybody. */
const isName = (text: string): boolean =>
  /^[A-Za-z_]\w*$/.test(text) && !(text.length >= 20 && /[a-z]/.test(text) && /\d/.test(text));
