/** Names of the filters in a repository's configuration, or `ask` when it takes in other files and only git can tell. */
export function filterNames(configs: readonly string[]): string[] | 'ask' {
  if (configs.some(text => /\[include/i.test(text))) return 'ask';
  return unique(configs.flatMap(text => [...text.matchAll(HEADER)].map(headerName)));
}

/** The same from `git config --list --name-only -z`. */
export function listedFilterNames(list: string): string[] {
  return unique(list.split('\0').map(key => /^filter\.(.+)\.[^.]+$/s.exec(key)?.[1] ?? ''));
}

/** Options that leave nothing of these filters to run, or null when one has a name no option can spell. */
export function withoutFilters(names: readonly string[]): string[] | null {
  if (names.some(name => /[=\n\0\uFFFD]/.test(name))) return null;
  return names.flatMap(name => [
    ...['-c', `filter.${name}.clean=`],
    ...['-c', `filter.${name}.smudge=`],
    ...['-c', `filter.${name}.process=`],
    ...['-c', `filter.${name}.required=false`],
  ]);
}

// A header may stand anywhere in a line. What only looks like one, in a comment say, does no harm.
const HEADER = /\[filter(?:\.([^\]\s]*))?\s*(?:"((?:[^"\\\n]|\\.)*)")?/gi;

const headerName = ([, dotted, quoted]: RegExpMatchArray): string =>
  quoted === undefined ? (dotted ?? '').toLowerCase() : quoted.replaceAll(/\\(.)/g, '$1');

const unique = (names: string[]): string[] => [...new Set(names.filter(name => name !== ''))];
