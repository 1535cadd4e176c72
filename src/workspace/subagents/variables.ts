import { malformedVariable, namesIn, substitute } from '../../core/gateway/substitution.ts';
import type { Findings } from './findings.ts';
import type { Path } from './yaml-source.ts';

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
