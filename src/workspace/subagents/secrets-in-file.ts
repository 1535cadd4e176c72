import { keyAsUser } from '../../core/gateway/address-secrets.ts';
import { looksSecretHeader } from '../../core/gateway/secret-names.ts';
import { looksSecretValue } from '../../core/gateway/secret-values.ts';
import { namesIn } from '../../core/gateway/substitution.ts';
import { SHORTEST_SECRET } from '../../redaction/secret-forms.ts';
import type { ListedModel } from './chosen-model.ts';
import type { Findings } from './findings.ts';
import { inOneForm } from './variables.ts';
import type { Path } from './yaml-source.ts';

/** Keys that stand in the file itself, of every model: the file is read by others, whichever of them is used. */
export function warnOfSecretsInFile({ model, path }: ListedModel, findings: Findings): void {
  const { base_url: written = '', patchRequest } = model;
  const address = inOneForm(written, { env: {}, folder: '' });
  const isKey = keyAsUser(address).some(({ value }) => namesIn(value).length === 0);
  if (isKey || looksSecretValue(address)) warn([...path, 'base_url'], 'API_KEY', findings);
  for (const [name, text] of Object.entries(patchRequest?.includeHeaders ?? {})) {
    const value = inOneForm(text, { env: {}, folder: '' });
    const isNamed = looksSecretHeader(name) && value.length >= SHORTEST_SECRET;
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
