const ID = /\b(run|squad)_[0-9a-z]{10}\b/g;
const open = (address: string) => `\u001b]8;;${address}\u001b\\`;

/** Ids of runs and squads as links to their pages (OSC 8). It takes no room on the screen; null: there is no page to link to. */
export const withPageLinks = (line: string, origin: string | null): string =>
  origin === null
    ? line
    : line.replace(
        ID,
        (id, kind) => `${open(`${origin}/${kind === 'run' ? 'r' : 's'}/${id}`)}${id}${open('')}`,
      );
