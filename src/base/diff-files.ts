/** Splits a unified diff of git into files. */
export function diffFiles(text: string): { path: string; body: string }[] {
  return text
    .split(/^(?=diff --git )/m)
    .filter(body => body.startsWith('diff --git '))
    .map(body => ({ path: pathOf(body), body }));
}

/**
 * The path of a file in its diff header. The header contains the old and the new name, and git quotes names with
 * control characters.
 */
function pathOf(body: string): string {
  const header = body.slice(0, body.indexOf('\n'));
  return / "?b\/(.*?)"?$/.exec(header)?.[1] ?? header.replace('diff --git ', '');
}
