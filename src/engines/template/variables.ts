/** Variables of a template. All of them are always defined, but some may be empty. */
export const VARIABLES = [
  'prompt',
  'chatId',
  'cwd',
  'task',
  'roleId',
  'engine',
  'model',
  'promptFile',
  'mcpConfigFile',
] as const;

export type VariableName = (typeof VARIABLES)[number];
export type TemplateValues = Record<VariableName, string>;

export const isVariable = (name: string): name is VariableName =>
  (VARIABLES as readonly string[]).includes(name);

/** A value for an argument. It is never part of the text that is split into words. */
export interface Interpolated {
  text: string;
  /** The template tag that produced the value, for error messages. */
  tag: string;
  /** Variables that the tag's expression used. */
  reads: ReadonlySet<VariableName>;
}

/** Part of a template's output: text of the template itself, or an opaque value. */
export type Piece = string | Interpolated;
