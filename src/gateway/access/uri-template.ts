import { matchesWildcard } from '../../core/gateway/wildcard.ts';

/**
 * Whether a template may have made this URI. `{name}` stands for something within one part of a path; only forms that are made
 * for more, such as `{+path}`, reach over slashes. A path that goes up is made by none.
 */
export function madeFrom(template: string, uri: string): boolean {
  if (uri.includes('*') || /(^|[/\\]|%2f|%5c)(\.|%2e){2}($|[/\\?#]|%2f|%5c)/i.test(uri)) return false;
  const literal = template.replace(/\{[^{}]*\}/g, '');
  if (literal.includes('*') || !matchesWildcard(template.replace(/\{[^{}]*\}/g, '*'), uri)) return false;
  return /\{[+#/][^{}]*\}|\{[^{}]*\*\}/.test(template) || slashes(uri) === slashes(literal);
}

const slashes = (text: string): number => text.split('/').length - 1;
