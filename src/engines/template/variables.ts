/** Variables of a template. All are always defined, but may be empty. */
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

/** A value for an argument. It is never part of the text that is split. */
export interface Interpolated {
  text: string;
  /** The tag that it came from, for messages. */
  tag: string;
  /** Variables that its expression used. */
  reads: ReadonlySet<VariableName>;
}

/** Output of a template: its own text, and opaque values. */
export type Piece = string | Interpolated;
