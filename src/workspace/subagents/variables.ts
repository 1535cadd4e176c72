import { keyAsUser, looksSecretValue } from '../../core/gateway/secrets.ts';
import { looksSecretHeader, malformedVariable, namesIn, substitute } from '../../core/gateway/variables.ts';
import { MIN_SECRET_LENGTH } from '../../redaction/secret-forms.ts';
import type { SubagentModel } from '../../schema/subagent.ts';
import type { Findings, Path } from './findings.ts';

/** Context for reading every part of a file. */
export interface FileContext {
  env: Readonly<Record<string, string>>;
  /** The file's own folder: `${SUBAGENT_DIR}`. */
  folder: string;
  findings: Findings;
}

/** `$NAME` as `${NAME}`, and the file's own folder in its place. The values of other variables stay out. */
export const normalizeVariables = (text: string, folder: string): string =>
  text
    .replace(/\$([A-Za-z_][A-Za-z0-9_]*)/g, (_, name: string) => `\${${name}}`)
    .replaceAll(`\${SUBAGENT_DIR}`, () => folder);

/** The text with the values of its variables, for what is no secret. Null, and reported, when one is not set. */
export function fillVariables(text: string, path: Path, context: FileContext): string | null {
  const form = normalizeVariables(text, context.folder);
  if (!areVariablesSet(form, path, context)) return null;
  return substitute(form, name => context.env[name] ?? '');
}

/** Whether every variable has a value. An empty one counts as none: `Bearer ${TOKEN}` would become `Bearer `. */
export function areVariablesSet(form: string, path: Path, { env, findings }: FileContext): boolean {
  const malformed = malformedVariable(form);
  if (malformed !== null)
    findings.error(path, `"${malformed}" is not a variable`, {
      suggestion: `A variable is \${NAME}, of letters, digits and _; there are no defaults.`,
    });
  const missing = [...new Set(namesIn(form))].filter(name => !env[name]);
  for (const name of missing)
    findings.lacking(path, `the variable ${name} is not set`, {
      suggestion: `Set ${name} in the environment of the program that starts Squad.`,
    });
  return malformed === null && missing.length === 0;
}

/** For every model, used or not: others can read the file. */
export function warnOfSecrets(model: Partial<SubagentModel>, path: Path, findings: Findings): void {
  const warn = (at: Path, variable: string) =>
    findings.warn(at, 'this looks like a secret in a file that others read', {
      suggestion: `Put it into a variable and write \${${variable}}.`,
    });
  const address = normalizeVariables(model.base_url ?? '', '');
  const isKey = keyAsUser(address).some(({ value }) => namesIn(value).length === 0);
  if (isKey || looksSecretValue(address)) warn([...path, 'base_url'], 'API_KEY');
  for (const [name, text] of Object.entries(model.patchRequest?.includeHeaders ?? {})) {
    const value = normalizeVariables(text, '');
    const isNamed = looksSecretHeader(name) && value.length >= MIN_SECRET_LENGTH;
    if (looksSecretValue(value) || (isNamed && namesIn(value).length === 0))
      warn([...path, 'patchRequest', 'includeHeaders', name], name.toUpperCase().replace(/[^A-Z0-9_]/g, '_'));
  }
}
