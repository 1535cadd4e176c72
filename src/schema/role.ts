import { z } from 'zod';
import { AgentType } from './review.ts';
import { Approvals } from './run.ts';
import { RoleIsolation } from './worktree.ts';

const names = z.union([
  z.array(z.string()),
  z.string().transform(text => text.split(/[\s,]+/).filter(Boolean)),
]);

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
/** Timers cannot be set further ahead. */
const MAX_MS = 2 ** 31 - 1;

/** Minutes and hours are easier to read in a role than milliseconds: `90s`, `15m`, `2h`; a bare number is seconds. */
const duration = z
  .union([z.number(), z.string().regex(/^\d+(\.\d+)?(ms|s|m|h)?$/)])
  .transform(value => {
    if (typeof value === 'number') return value * 1000;
    const [, amount, unit] = /^([\d.]+)(ms|s|m|h)?$/.exec(value) ?? [];
    return Number(amount) * UNITS[(unit ?? 's') as keyof typeof UNITS];
  })
  .refine(ms => ms >= 1 && ms <= MAX_MS, 'must be from 1ms to 24 days')
  .transform(Math.round);

/** The whole list of keys a role file may carry. */
export const RoleMeta = z.object({
  name: z.string().optional(),
  description: z.string().optional(),
  type: AgentType.optional(),
  engine: z.string().optional(),
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
  // Yes or no and nothing else: whatever cannot be read must not grant.
  spawn: z.boolean().optional(),
  mcp: names.optional(),
  leftovers: z.enum(['kill', 'keep']).optional(),
  approvals: Approvals.optional(),
});
export type RoleMeta = z.infer<typeof RoleMeta>;

export interface Role {
  id: string;
  name: string;
  description: string;
  /** The prompt: the file without its frontmatter. */
  body: string;
  meta: RoleMeta;
  file: string;
  /** Why the role cannot be run; its listing goes on under its id. */
  fault: string | null;
  /** Keys Squad does not know: other tools' role files carry some, but a misspelt limit must not go unseen. */
  warnings: string[];
  /** Keys that grant something and have no effect, because nobody has trusted the file they came in. */
  ungranted: (keyof RoleMeta)[];
  /** What its file names under `mcp`, whether or not it has an effect. */
  wantedMcp: string[];
}

/** Keys with which a file that came with a repository could reach beyond its prompt. */
export const GRANTING_KEYS: readonly (keyof RoleMeta)[] = [
  // Reviews cost money, and pull requests speak in the user's name.
  'type',
  'engine',
  'tools',
  'permission',
  'env',
  'spawn',
  'mcp',
  'leftovers',
  'approvals',
];

/** Names that every engine and client takes for a tool and for a field. */
export const TEMPLATE_NAME = /^[a-z][a-z0-9_]{0,40}$/;
/** Prompts are typed by people, who write them with dashes. */
export const PROMPT_NAME = /^[a-z][a-z0-9_-]{0,40}$/;

const argument = z
  .strictObject({
    description: z.string().trim().min(1),
    required: z.boolean().optional(),
    default: z.union([z.string(), z.number(), z.boolean()]).transform(String).optional(),
  })
  // What must be given needs no value for when it is not.
  .refine(({ required, default: value }) => !(required && value !== undefined));

/** The keys of a prompt file. */
export const PromptMeta = z.object({
  name: z.string().optional(),
  description: z.string().trim().min(1),
  arguments: z.record(z.string().regex(TEMPLATE_NAME), argument).optional(),
});
export type PromptMeta = z.infer<typeof PromptMeta>;

/** The keys of a template file: those of a prompt, and those of a role that say how it is run. */
export const AgentTemplateMeta = PromptMeta.extend(
  RoleMeta.pick({
    engine: true,
    model: true,
    effort: true,
    tools: true,
    permission: true,
    timeout: true,
    stall: true,
    budget: true,
    output_schema: true,
    context: true,
  }).shape,
);
export type AgentTemplateMeta = z.infer<typeof AgentTemplateMeta>;

export interface TemplateArgument {
  name: string;
  description: string;
  required: boolean;
  /** What stands in its place when it is not given. */
  default: string;
}

/** A Markdown file that is a tool (it is run) or a prompt (it is handed to the client). */
export interface AgentTemplate {
  name: string;
  description: string;
  arguments: TemplateArgument[];
  /** With `{{argument}}` where its value goes. */
  body: string;
  /** How to run it; empty for a prompt. */
  meta: RoleMeta;
  file: string;
  from: 'workspace' | 'user' | 'shipped';
  /** Why it cannot be used; it is still listed. */
  fault: string | null;
  /** The fault is only that nobody has trusted the file it came in. */
  needsTrust: boolean;
  warnings: string[];
}
