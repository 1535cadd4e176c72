import type { JsonSchema } from '../../schema/run.ts';

const NEWEST = 'draft/2020-12';

/** Those that MCP's own clients know, who check every answer again. Draft 7 only adds to draft 6. */
const CHECKERS = {
  [NEWEST]: async () => (await import('ajv/dist/2020.js')).Ajv2020,
  'draft/2019-09': async () => (await import('ajv/dist/2019.js')).Ajv2019,
  'draft-07': async () => (await import('ajv')).Ajv,
  'draft-06': async () => (await import('ajv')).Ajv,
};

/** What checks by the draft that the schema names; by the newest if it names none. Loaded on first use: most runs have no schema. */
export async function checkerFor({ $schema = addressOf(NEWEST) }: JsonSchema) {
  const named = typeof $schema === 'string' ? $schema : '';
  const [, draft = ''] = /^https?:\/\/json-schema\.org\/(.+)\/schema#?$/.exec(named) ?? [];
  if (Object.hasOwn(CHECKERS, draft)) return CHECKERS[draft as keyof typeof CHECKERS]();
  throw new Error(
    `its "$schema" is ${JSON.stringify($schema).slice(0, LONGEST_SHOWN)}, which is no draft that answers can be checked by; those are ${KNOWN}`,
  );
}

const addressOf = (draft: string): string => `https://json-schema.org/${draft}/schema`;

const LONGEST_SHOWN = 200;
const KNOWN = Object.keys(CHECKERS).map(addressOf).join(', ');
