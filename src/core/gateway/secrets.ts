import { percentDecoded } from '../../base/text.ts';
import type { Secret } from '../../redaction/redactor.ts';
import { MIN_SECRET_LENGTH } from '../../redaction/secret-forms.ts';
import type { ModelSpec } from '../../schema/model-spec.ts';
import { MODEL_PROVIDERS } from '../../schema/subagent-names.ts';
import {
  fillUrl,
  isOrdinaryVariable,
  looksSecretHeader,
  looksSecretName,
  namesIn,
  urlSecrets,
} from './variables.ts';

/** Keys with a known prefix, and tokens with a known format. */
const MARKED = [
  /sk-[\w-]{16,}/,
  /gsk_\w{16,}/,
  /gh[pousr]_\w{20,}/,
  /github_pat_\w{20,}/,
  /glpat-[\w-]{16,}/,
  /xox[abeprs]-[\w-]{10,}/,
  /AIza[\w-]{30,}/,
  /AKIA[0-9A-Z]{16}/,
  /hf_\w{20,}/,
  /npm_\w{30,}/,
  /eyJ[\w-]{10,}\.[\w-]{10,}/,
];
const KEY = new RegExp(`(?<![A-Za-z0-9])(${MARKED.map(({ source }) => source).join('|')})`);
const SCHEME = /^(Bearer|Basic|Token) +\S{8,}$/i;
const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----/;

/**
 * Whether a text itself looks like a secret, whatever the name of its field. A password or token that is a variable does not
 * count, because the variable holds the secret.
 */
export function looksSecretValue(text: string): boolean {
  if (urlSecrets(text).some(({ value }) => namesIn(value).length === 0)) return true;
  if (PRIVATE_KEY.test(text) || KEY.test(text)) return true;
  return SCHEME.test(text) && namesIn(text).length === 0;
}

const FLAG = /^--?([\w.-]+)$/;
const FLAG_WITH_VALUE = /^--?([\w.-]+)=(.*)$/s;

/** Whether an argument is the value of an option whose name suggests a secret: `--api-key abc…`, `--token=abc…`. */
export function isSecretArgument(args: readonly string[], index: number): boolean {
  const arg = args[index]!;
  const [, name, value] = FLAG_WITH_VALUE.exec(arg) ?? [null, FLAG.exec(args[index - 1] ?? '')?.[1], arg];
  if (name === undefined || value === undefined || !looksSecretName(name)) return false;
  // A file name is not secret: `--token-file /run/token` and `--key ./server.pem` name files.
  return (
    value.length >= MIN_SECRET_LENGTH &&
    !/^[-./~]/.test(value) &&
    !/file|path|env/i.test(name) &&
    namesIn(value).length === 0
  );
}

/** Matches the user part and the query of a URL. Host and path are not secret, and appear in error messages. */
const PRIVATE = /\/\/[^/?#]*@|\?.*/gs;
const AS_WRITTEN = /^(?:[a-z][a-z0-9+.-]*:\/\/)?[^:@/?#]*:(.+)@/is;

/** Secrets in the address of a model, which is in the file or in the variables of the provider's own tools. */
function addressSecrets(
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

/**
 * Secrets in an address that is not a URL. Its text appears in the error message, so every part that may be a password
 * counts as secret.
 */
function secretsIn(address: string): Secret[] {
  if (/^https?:$/.test(URL.parse(address)?.protocol ?? ''))
    return [...urlSecrets(address), ...keyAsUser(address)];
  const password = AS_WRITTEN.exec(address)?.[1];
  return password ? [{ name: 'password', value: password }] : [];
}

/** In `https://key@host`, a user without a password is a key. */
export function keyAsUser(address: string): Secret[] {
  const { username = '', password } = URL.parse(address) ?? {};
  return username && !password ? [{ name: 'user', value: percentDecoded(username) ?? username }] : [];
}

/**
 * Minimum length of a redacted key. A local model often has an ordinary word as its key; redacting that word would
 * garble the conversation.
 */
const MIN_KEY_LENGTH = 8;

/** Secrets that only the provider of a model may see: its key, and secrets in the headers and the address of its requests. */
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
    // In `Bearer abc` the scheme is not secret, and the token may appear without it.
    ...literal.map(([name, text]) => ({ name, value: text.replace(/^\S+ (?=\S+$)/, '') })),
  ].filter(({ value }) => value.length >= MIN_KEY_LENGTH);
  return [...sent, ...addressSecrets(model, env).filter(({ value }) => value !== '')];
}

/** Words for secrets that a form of an agent's server should not ask a user for. */
const SECRET = new RegExp(
  [
    String.raw`pass(word|phrase|code|wd)|credential|secrets?\b`,
    String.raw`\b(pwd|pin|otp|totp|mfa|2 ?fa|cvv|cvc|ssn|bearer|o?auth|authori[sz]ation|tokens?)\b`,
    String.raw`(api|access|ssh|private|signing|encryption) ?keys?\b`,
  ].join('|'),
);
/** Phrases in which "token" means a token of a language model, not a secret. */
const MODEL_TOKENS =
  /\b(max|min|maximum|minimum|number of|total|input|output|prompt|completion|context) tokens?\b|\btokens? (count|limit|budget|usage)\b/g;

/** Whether a text or the name of a field seems to ask for a secret. The result can be wrong in both directions. */
export function looksSecret(text: string): boolean {
  const plain = text
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .replace(/(\p{L})(\p{N})|(\p{N})(\p{L})/gu, '$1$3 $2$4')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .toLowerCase();
  return SECRET.test(plain.replace(MODEL_TOKENS, ''));
}
