import { z } from 'zod';
import { AgentType } from './review.ts';
import { Approvals, MessageTarget, Wake } from './run.ts';
import { AllowedHost, NetworkAccess, SandboxLevel } from './sandbox.ts';
import { RoleIsolation } from './worktree.ts';

const names = z.union([
  z.array(z.string()),
  z.string().transform(text => text.split(/[\s,]+/).filter(Boolean)),
]);

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
/** Longest delay of Node's timers. */
const MAX_MS = 2 ** 31 - 1;

/** A duration such as `90s`, `15m` or `2h`; a number without a unit is seconds. Parsed to milliseconds. */
const duration = z
  .union([z.number(), z.string().regex(/^\d+(\.\d+)?(ms|s|m|h)?$/)])
  .transform(value => {
    if (typeof value === 'number') return value * 1000;
    const [, amount, unit] = /^([\d.]+)(ms|s|m|h)?$/.exec(value) ?? [];
    return Number(amount) * UNITS[(unit ?? 's') as keyof typeof UNITS];
  })
  .refine(ms => ms >= 1 && ms <= MAX_MS, 'must be from 1ms to 24 days')
  .transform(Math.round);

/** Engines in the order in which they take over from each other at a usage limit. */
const engineList = z
  .array(z.string().min(1))
  .min(1)
  .max(5)
  .refine(engines => new Set(engines).size === engines.length);

/** All keys of a role file. */
export const RoleMeta = z.object({
  name: z.string().optional(),
  description: z.string().optional(),
  type: AgentType.optional(),
  engine: z.union([z.string(), engineList]).optional(),
  model: z.string().optional(),
  effort: z.string().optional(),
  tools: names.optional(),
  permission: z.enum(['read', 'edit', 'full']).optional(),
  timeout: duration.optional(),
  stall: duration.optional(),
  budget: z.number().positive().optional(),
  output_schema: z.string().optional(),
  context: z.union([z.boolean(), names]).optional(),
  isolation: RoleIsolation.optional(),
  env: names.optional(),
  // Whether the role may start other runs. Only a boolean is accepted, because an unreadable value must not grant
  // anything.
  spawn: z.boolean().optional(),
  mcp: names.optional(),
  leftovers: z.enum(['kill', 'keep']).optional(),
  approvals: Approvals.optional(),
  messages: names.pipe(z.array(MessageTarget)).optional(),
  wake: Wake.optional(),
  // How long a run may wait for usage limits of its engine.
  park: duration.optional(),
  sandbox: SandboxLevel.optional(),
  network: NetworkAccess.optional(),
  hosts: names.pipe(z.array(AllowedHost)).optional(),
  machine: z.string().min(1).optional(),
  // Whether a run starts again if its agent's machine or hub is lost.
  takeover: z.boolean().optional(),
});
export type RoleMeta = z.infer<typeof RoleMeta>;

/** The engine that a role's runs start with, and those that take over from it at a usage limit. */
export function enginesOf({ engine }: RoleMeta): [first: string | undefined, ...others: string[]] {
  if (typeof engine === 'string' || engine === undefined) return [engine];
  const [first, ...others] = engine;
  return [first, ...others];
}

export interface Role {
  id: string;
  name: string;
  description: string;
  /** The prompt: the file's content after the frontmatter. */
  body: string;
  meta: RoleMeta;
  file: string;
  /** Why the role cannot be run. Null if it can. A faulty role is still listed by its id. */
  fault: string | null;
  /**
   * Remarks about the file, for example unknown keys: role files of other tools have some, but a misspelt limit must be
   * noticed.
   */
  warnings: string[];
  /** Keys that would grant something but have no effect, because the file is not trusted. */
  ungranted: (keyof RoleMeta)[];
  /** The file is not trusted, so its `sandbox` and `network` count only where they are stricter than the settings. */
  isUntrusted?: true;
  /** The file's `mcp` entries, whether or not they have an effect. */
  wantedMcp: string[];
}

/** Keys that give a role more than a prompt. They need trust if the file came with a repository. */
const GRANTING_KEYS: readonly (keyof RoleMeta)[] = [
  // The types of a role grant something: reviews cost money, and pull requests are made in the user's name.
  'type',
  'engine',
  'tools',
  'permission',
  'env',
  'spawn',
  'mcp',
  'leftovers',
  'approvals',
  'messages',
  'wake',
  'park',
  'sandbox',
  'network',
  'hosts',
  'machine',
];

/** Keys of this role that grant something. Keys that only restrict the role need no trust. */
export const grantingKeys = (meta: RoleMeta): (keyof RoleMeta)[] =>
  GRANTING_KEYS.filter(key => {
    if (key === 'sandbox') return meta.sandbox === 'off';
    if (key === 'network') return meta.network === 'full';
    return meta[key] !== undefined;
  });

/** Names that every engine and client accepts for tools and fields. */
export const TEMPLATE_NAME = /^[a-z][a-z0-9_]{0,40}$/;
/** Prompt names may have dashes, because people type them. */
export const PROMPT_NAME = /^[a-z][a-z0-9_-]{0,40}$/;

const argument = z
  .strictObject({
    description: z.string().trim().min(1),
    required: z.boolean().optional(),
    default: z.union([z.string(), z.number(), z.boolean()]).transform(String).optional(),
  })
  // A required argument cannot have a default.
  .refine(({ required, default: value }) => !(required && value !== undefined));

export const PromptMeta = z.object({
  name: z.string().optional(),
  description: z.string().trim().min(1),
  arguments: z.record(z.string().regex(TEMPLATE_NAME), argument).optional(),
});
export type PromptMeta = z.infer<typeof PromptMeta>;

/** Keys of a template file: the keys of a prompt, and the keys of a role that configure how a run is executed. */
export const AgentTemplateMeta = PromptMeta.extend(
  RoleMeta.pick({
    model: true,
    effort: true,
    tools: true,
    permission: true,
    timeout: true,
    stall: true,
    budget: true,
    output_schema: true,
    context: true,
    sandbox: true,
    network: true,
  }).shape,
).extend({ engine: z.string().optional() });
export type AgentTemplateMeta = z.infer<typeof AgentTemplateMeta>;

export interface TemplateArgument {
  name: string;
  description: string;
  required: boolean;
  /** Value that is used if the argument is not given. */
  default: string;
}

/** A Markdown file that is a tool (Squad runs it) or a prompt (the client gets its text). */
export interface AgentTemplate {
  name: string;
  description: string;
  arguments: TemplateArgument[];
  /** Text of the template with `{{argument}}` placeholders. */
  body: string;
  /** Options of the run. Empty for a prompt. */
  meta: RoleMeta;
  file: string;
  from: 'workspace' | 'user' | 'shipped';
  /** Why the template cannot be used. Null if it can. A faulty template is still listed. */
  fault: string | null;
  /** True if the only fault is that the file is not trusted. */
  needsTrust: boolean;
  warnings: string[];
}
