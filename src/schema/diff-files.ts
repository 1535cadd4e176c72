/** The files of a unified diff of git, by the names in its headers. */
export function diffFiles(text: string): { path: string; body: string }[] {
  return text
    .split(/^(?=diff --git )/m)
    .filter(body => body.startsWith('diff --git '))
    .map(body => ({ path: pathOf(body), body }));
}

/** A header names a file twice, the second time as it is now. Git puts names with control characters in quotes. */
function pathOf(body: string): string {
  const header = body.slice(0, body.indexOf('\n'));
  return / "?b\/(.*?)"?$/.exec(header)?.[1] ?? header.replace('diff --git ', '');
}
