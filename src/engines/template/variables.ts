/** What a template may name. Every one is always defined; empty means there is none. */
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

/** A value on its way into an argument. It is never part of the text that is split. */
export interface Interpolated {
  text: string;
  /** The tag it came from, to show in its place. */
  tag: string;
  /** The variables its expression looked at. */
  reads: ReadonlySet<VariableName>;
}

/** What a template puts out, in order: its own text, and values that nothing looks into. */
export type Piece = string | Interpolated;
