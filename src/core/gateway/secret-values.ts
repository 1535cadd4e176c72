import { SHORTEST_SECRET } from '../../redaction/secret-forms.ts';
import { looksSecretName } from './secret-names.ts';
import { namesIn } from './substitution.ts';
import { urlSecrets } from './variables.ts';

/** How keys begin that their makers have marked as such; then tokens that carry their own form. */
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

/** Whether a text holds a secret, whatever it is called. Where a variable stands in it, the secret is likely there. */
export function looksSecretValue(text: string): boolean {
  if (urlSecrets(text).some(({ value }) => namesIn(value).length === 0)) return true;
  if (PRIVATE_KEY.test(text) || KEY.test(text)) return true;
  return SCHEME.test(text) && namesIn(text).length === 0;
}

const FLAG = /^--?([\w.-]+)$/;
const FLAG_WITH_VALUE = /^--?([\w.-]+)=(.*)$/s;

/** Whether an argument is the value of an option that is named like a secret: `--api-key abc…`, `--token=abc…`. */
export function isSecretArgument(args: readonly string[], index: number): boolean {
  const arg = args[index]!;
  const [, name, value] = FLAG_WITH_VALUE.exec(arg) ?? [null, FLAG.exec(args[index - 1] ?? '')?.[1], arg];
  if (name === undefined || value === undefined || !looksSecretName(name)) return false;
  // `--token-file /run/token` and `--key ./server.pem` say where it is.
  return (
    value.length >= SHORTEST_SECRET &&
    !/^[-./~]/.test(value) &&
    !/file|path|env/i.test(name) &&
    namesIn(value).length === 0
  );
}
