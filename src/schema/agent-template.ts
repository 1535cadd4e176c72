import { z } from 'zod';
import { RoleMeta } from './role.ts';

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
