import { keyAsUser, looksSecretValue } from '../../core/gateway/secrets.ts';
import { looksSecretHeader, malformedVariable, namesIn, substitute } from '../../core/gateway/variables.ts';
import { MIN_SECRET_LENGTH } from '../../redaction/secret-forms.ts';
import type { Findings, Path } from './findings.ts';
import type { ListedModel } from './model.ts';

/** The folder of the file itself, for whatever lies beside it. */
const OWN_FOLDER = 'SUBAGENT_DIR';

export interface Variables {
  env: Readonly<Record<string, string>>;
  folder: string;
}

/** `$NAME` as `${NAME}`, and the file's own folder in its place; the values of the rest stay where they are. */
export const inOneForm = (text: string, { folder }: Variables): string =>
  text
    .replace(/\$([A-Za-z_][A-Za-z0-9_]*)/g, (_, name: string) => `\${${name}}`)
    .replaceAll(`\${${OWN_FOLDER}}`, () => folder);

/** With every value in place, for what is no secret; null, and said, when one is not there. */
export function filled(text: string, path: Path, variables: Variables, findings: Findings): string | null {
  const form = inOneForm(text, variables);
  return areSet(form, path, variables, findings) ? substitute(form, name => variables.env[name] ?? '') : null;
}

/** Whether every variable has a value. An empty one counts as none: it would make `Bearer ` of `Bearer ${TOKEN}`. */
export function areSet(form: string, path: Path, { env }: Variables, findings: Findings): boolean {
  const strange = malformedVariable(form);
  if (strange !== null)
    findings.error(path, `"${strange}" is not a variable`, {
      suggestion: `A variable is \${NAME}, of letters, digits and _; there are no defaults.`,
    });
  const missing = [...new Set(namesIn(form))].filter(name => !env[name]);
  for (const name of missing)
    findings.lacking(path, `the variable ${name} is not set`, {
      suggestion: `Set ${name} in the environment of the program that starts Squad.`,
    });
  return strange === null && missing.length === 0;
}

/** Keys that stand in the file itself, of every model: the file is read by others, whichever of them is used. */
export function warnOfSecretsInFile({ model, path }: ListedModel, findings: Findings): void {
  const { base_url: written = '', patchRequest } = model;
  const address = inOneForm(written, { env: {}, folder: '' });
  const isKey = keyAsUser(address).some(({ value }) => namesIn(value).length === 0);
  if (isKey || looksSecretValue(address)) warn([...path, 'base_url'], 'API_KEY', findings);
  for (const [name, text] of Object.entries(patchRequest?.includeHeaders ?? {})) {
    const value = inOneForm(text, { env: {}, folder: '' });
    const isNamed = looksSecretHeader(name) && value.length >= MIN_SECRET_LENGTH;
    if (!looksSecretValue(value) && !(isNamed && namesIn(value).length === 0)) continue;
    const variable = name.toUpperCase().replace(/[^A-Z0-9_]/g, '_');
    warn([...path, 'patchRequest', 'includeHeaders', name], variable, findings);
  }
}

function warn(path: Path, variable: string, findings: Findings): void {
  findings.warn(path, 'this looks like a secret in a file that others read', {
    suggestion: `Put it into a variable and write \${${variable}}.`,
  });
}
