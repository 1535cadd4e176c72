import { isVariable, type TemplateValues, type VariableName } from './variables.ts';

export class UnknownVariable extends Error {
  readonly variable: string;
  constructor(variable: string) {
    super(`unknown variable "${variable}"`);
    this.variable = variable;
  }
}

export interface Scope {
  /** Object for `with (…)` that resolves every name in a template. */
  names: object;
  /** Called for each variable that the template uses. */
  onRead: (name: VariableName) => void;
}

/**
 * Names available to a template: Squad's variables (`x` and `it.x`), local variables of the template, and some
 * JavaScript globals for text. This detects misspelt names. It is not a sandbox: a template is code that the user
 * trusts.
 */
export function createScope(values: TemplateValues, hidden: readonly string[]): Scope {
  const locals = new Map<string, unknown>();
  const scope: Scope = {
    onRead: () => {},
    names: new Proxy(Object.create(null) as object, {
      has: (_, name) => typeof name === 'string' && !hidden.includes(name) && !LANGUAGE.has(name),
      get: (_, name, self) => {
        if (typeof name === 'symbol') return undefined;
        if (name === 'it') return self;
        if (locals.has(name)) return locals.get(name);
        if (!isVariable(name)) throw new UnknownVariable(name);
        scope.onRead(name);
        return values[name];
      },
      set: (_, name, value) => {
        if (name === 'it' || isVariable(String(name)))
          throw new TypeError(`"${String(name)}" cannot be changed`);
        locals.set(String(name), value);
        return true;
      },
    }),
  };
  return scope;
}

const LANGUAGE = new Set([
  ...[
    'undefined',
    'NaN',
    'Infinity',
    'String',
    'Number',
    'Boolean',
    'Array',
    'Object',
    'RegExp',
    'JSON',
    'Math',
  ],
  ...['parseInt', 'parseFloat', 'encodeURIComponent'],
]);
