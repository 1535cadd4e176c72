const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** The names in `${NAME}`, in order. Any other `$` is only a character. */
export const namesIn = (text: string): string[] => [...text.matchAll(VARIABLE)].map(([, name]) => name!);

/**
 * Puts values in place, once: a value that looks like a variable stays what it is. `before` is all that stands before it,
 * values in place, `after` what follows it.
 */
export function substitute(
  text: string,
  valueFor: (name: string, before: string, after: string) => string,
): string {
  let done = '';
  let at = 0;
  for (const found of text.matchAll(VARIABLE)) {
    done += text.slice(at, found.index);
    at = found.index + found[0].length;
    done += valueFor(found[1]!, done, text.slice(at));
  }
  return done + text.slice(at);
}

/** A `${` that begins no variable, as it stands there; null when there is none. */
export function malformedVariable(text: string): string | null {
  const left = text.replace(VARIABLE, '');
  const at = left.indexOf('${');
  return at < 0 ? null : /^\$\{[^}]{0,40}\}?/.exec(left.slice(at))![0];
}
